/** Kernel against kernel: the outputs of two compiled kernels or operators, which take the same arguments by name. */
import { preconditions } from "../analysis/preconditions.js";
import type {
  Certificate,
  CompiledKernel,
  Comparison,
  Signature,
  TensorData,
  TestCase,
} from "../compiled/compiled-kernel.js";
import { evaluateUnrounded, inputsOf } from "../eval/evaluate-case.js";
import { rangesOf } from "../eval/bindings.js";
import { checkRanges } from "../eval/make-inputs.js";
import { coordinates } from "../eval/findings.js";
import type { KernelIR } from "../ir/nodes.js";
import { kernelsOf } from "../ir/operator-ir.js";
import { outputsAgainst, type Side, type ComparingRunner } from "../prove/equivalence/output-proofs.js";
import { SEARCH_LIMITS } from "./proof.js";

type Tensors = Readonly<Record<string, TensorData>>;

/** What a comparison needs of a compiled kernel, besides its interface. */
export interface ComparableSide extends Side {
  readonly loweredOf: (ir: KernelIR) => KernelIR;
  readonly certificateOf: (ir: KernelIR) => Certificate;
  /** The inputs of a test case. */
  readonly inputs: (testCase: TestCase) => Tensors;
  /**
   * The outputs of a test case in float64, if they can be computed.
   *
   * @throws Error if an input is out of its declared range.
   */
  readonly unrounded: (testCase: TestCase, inputs: Tensors) => Tensors | undefined;
}

type ComparedSide = ComparableSide & Pick<CompiledKernel, "refusal" | "work">;

/** A kernel, for comparisons. */
export const kernelSide = (
  ir: KernelIR,
  lowered: KernelIR,
  signature: Signature,
  certificate: () => Certificate,
): ComparableSide => ({
  ir,
  forward: undefined,
  loweredOf: () => lowered,
  certificateOf: certificate,
  inputs: (testCase) => inputsOf(ir, signature, testCase),
  unrounded(testCase, inputs) {
    checkRanges(signature, inputs, rangesOf(ir, testCase), ir);
    return evaluateUnrounded(ir, testCase, inputs, SEARCH_LIMITS);
  },
});

/** The kernels that this copy of the package has compiled. */
const sides = new WeakMap<CompiledKernel, ComparedSide>();

/** A compiled kernel that others can be compared with. */
export function withSide(compiled: Omit<CompiledKernel, "against">, comparable: ComparableSide): CompiledKernel {
  const side = { ...comparable, refusal: compiled.refusal, work: compiled.work };
  const result: CompiledKernel = Object.defineProperties(
    { against: (other: CompiledKernel) => compare(side, sides.get(other)) },
    Object.getOwnPropertyDescriptors(compiled),
  ) as CompiledKernel;
  sides.set(result, side);
  return result;
}

function compare(own: ComparedSide, other: ComparedSide | undefined): ReturnType<CompiledKernel["against"]> {
  if (!other) throw new Error("the other kernel was compiled by another copy of the package");
  const sideOf = (ir: KernelIR): ComparedSide =>
    ir === own.ir || (own.forward && kernelsOf(own.forward).includes(ir)) ? own : other;
  return outputsAgainst(own, other, {
    checkedOf: (ir) => preconditions(sideOf(ir).loweredOf(ir)),
    certificateOf: (ir) => sideOf(ir).certificateOf(ir),
    runner: runnerOf(own, other),
  });
}

/** Runs both sides on the inputs of a test case of the first, the other one in its first config. */
function runnerOf(own: ComparedSide, other: ComparedSide): ComparingRunner {
  const otherCase = (testCase: TestCase): TestCase => ({ ...testCase, config: 0 });
  return {
    refusal: (at) => own.refusal(at) ?? other.refusal(otherCase(at)),
    lanes: (at) => own.work(at).lanes + other.work(otherCase(at)).lanes,
    compare: (at, output) => {
      const inputs = own.inputs(at);
      const computed = own.unrounded(at, inputs)?.[output];
      const expected = computed && other.unrounded(otherCase(at), inputs)?.[output];
      return expected && largestDifference(output, computed, expected);
    },
  };
}

/** The element that differs most, if any differs. Undefined for tensors of other shapes. */
function largestDifference(output: string, computed: TensorData, expected: TensorData): Comparison | undefined {
  const { data, shape } = computed;
  if (expected.shape.join() !== shape.join()) return undefined;
  let worst: Comparison["worst"];
  let largest = 0;
  for (let flat = 0; flat < data.length; flat++) {
    const [got, wanted] = [data[flat] ?? 0, expected.data[flat] ?? 0];
    const difference = Math.abs(Number(got) - Number(wanted)) / (1 + Math.abs(Number(wanted)));
    if (!(difference > largest) || !Number.isFinite(difference)) continue;
    largest = difference;
    worst = { output, index: coordinates(shape, flat), expected: wanted, got };
  }
  const difference = { maxAbsDiff: largest, maxRelDiff: largest, total: data.length };
  if (!worst) return { correct: true, ...difference, wrong: 0 };
  return { correct: false, ...difference, worst, finds: "mistake", wrong: 1 };
}
