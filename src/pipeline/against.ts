/** Kernel against kernel: the outputs of two compiled kernels or operators, which take the same arguments by name. */
import { preconditions } from "../analysis/preconditions.js";
import { signatureOf } from "../codegen/module/signature.js";
import type { Certificate, CompiledKernel, Comparison, TensorData, TestCase } from "../compiled/compiled-kernel.js";
import { estimateWork } from "../eval/cost-estimate.js";
import { evaluateUnrounded, inputsOf } from "../eval/evaluate-case.js";
import { coordinates } from "../eval/findings.js";
import { refusal } from "../eval/refusal.js";
import type { KernelIR } from "../ir/nodes.js";
import { kernelsOf } from "../ir/operator-ir.js";
import { outputsAgainst, type Side } from "../prove/equivalence/output-proofs.js";
import type { ComparingRunner } from "../prove/equivalence/refute.js";

/** What a comparison needs of a compiled kernel, besides its interface. */
export interface ComparedSide extends Side {
  readonly loweredOf: (ir: KernelIR) => KernelIR;
  readonly certificateOf: (ir: KernelIR) => Certificate;
}

/** The kernels that this copy of the package has compiled. */
const sides = new WeakMap<CompiledKernel, ComparedSide>();

/** A compiled kernel that others can be compared with. */
export function withSide(compiled: Omit<CompiledKernel, "against">, side: ComparedSide): CompiledKernel {
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
    runner: own.forward || other.forward ? undefined : runnerOf(own, other),
  });
}

/** Runs both kernels on the inputs of a test case of the first, the other one in its first config. */
function runnerOf(own: ComparedSide, other: ComparedSide): ComparingRunner {
  const [lowered, otherLowered] = [own.loweredOf(own.ir), other.loweredOf(other.ir)];
  const otherCase = (testCase: TestCase): TestCase => ({ ...testCase, config: 0 });
  return {
    refusal: (at) => refusal(lowered, at) ?? refusal(otherLowered, otherCase(at)),
    lanes: (at) => estimateWork(own.ir, at).lanes + estimateWork(other.ir, otherCase(at)).lanes,
    compare: (at) => {
      const inputs = inputsOf(own.ir, signatureOf(lowered), at);
      const outputs = evaluateUnrounded(own.ir, at, inputs);
      const expected = evaluateUnrounded(other.ir, otherCase(at), inputs);
      return outputs && expected && largestDifference(outputs, expected);
    },
  };
}

type Tensors = Readonly<Record<string, TensorData>>;

/** The element that differs most, if any differs. */
function largestDifference(outputs: Tensors, expected: Tensors): Comparison | undefined {
  let worst: Comparison["worst"];
  let largest = 0;
  for (const [output, { data, shape }] of Object.entries(outputs)) {
    const other = expected[output];
    if (!other || other.shape.join() !== shape.join()) continue;
    for (let flat = 0; flat < data.length; flat++) {
      const [got, wanted] = [data[flat] ?? 0, other.data[flat] ?? 0];
      const difference = Math.abs(Number(got) - Number(wanted)) / (1 + Math.abs(Number(wanted)));
      if (!(difference > largest) || !Number.isFinite(difference)) continue;
      largest = difference;
      worst = { output, index: coordinates(shape, flat), expected: wanted, got };
    }
  }
  if (!worst) return undefined;
  return { correct: false, maxAbsDiff: largest, maxRelDiff: largest, worst, finds: "mistake", wrong: 1, total: 1 };
}
