/** Evaluates one test case of a kernel and compares it with its reference. Implements `CompiledKernel.evaluate`. */
import type {
  TestCase,
  EvaluateOptions,
  Evaluation,
  Signature,
  TensorData,
  CompiledKernel,
} from "../compiled/compiled-kernel.js";
import type { KernelIR, OpStatement } from "../ir/nodes.js";
import { formatLocation, TileScriptError } from "../diagnostics/diagnostic.js";
import { walkAll } from "../ir/walk.js";
import { Prints } from "./findings.js";
import { AccessRecord } from "./sanitizer.js";
import { Bindings, type Launch, targetQueries, launchOf, rangesOf, sizesOf } from "./bindings.js";
import { checkMemoryLimit } from "./execution-state.js";
import { checkHostValues } from "./refusal.js";
import { evaluateKernel, type RunResult, evaluateForms } from "./evaluate-kernel.js";
import { compareWithReference, type Tolerances } from "./compare-reference.js";
import { checkRanges, describedInputs, makeInputs } from "./make-inputs.js";
import { UnknownAddress } from "./tensor.js";
import { torchCall } from "../diagnostics/catalog/reference-codes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import type { TorchArray } from "../torch/array.js";
import { isCallNode, reachableNodes, type TorchNode } from "../torch/node.js";
import { isFp8 } from "../types/dtype.js";

/** Options of a test case. `lowered` is the lowered kernel, if it is evaluated too. */
export interface CaseOptions extends Omit<EvaluateOptions, "lowered"> {
  readonly lowered?: KernelIR | undefined;
}

/**
 * Evaluates one test case. The seed determines the inputs that are not given. Without `tolerance`, outputs are not
 * compared.
 */
export function evaluateCase(
  ir: KernelIR,
  signature: Signature,
  testCase: TestCase,
  tolerance: Tolerances | undefined,
  { inputs: callerInputs = {}, special, lowered, tolerance: override = {}, accesses, ...options }: CaseOptions = {},
): Evaluation {
  const reason = describeUnsupported(ir, callerInputs);
  if (reason !== undefined) return { outputs: {}, findings: [], unchecked: [reason] };
  const launch = launchOf(ir, testCase);
  const bindings = new Bindings(ir, launch);
  checkHostValues(ir, bindings);
  checkMemoryLimit(ir, bindings, testCase.absent);
  const inputs = { ...inputsOf(ir, signature, testCase, special ?? testCase.special), ...callerInputs };
  checkRanges(signature, inputs, rangesOf(ir, testCase), { inputs: describedExcept(ir, callerInputs), at: ir.at });
  const { absent = [], layouts, seed } = testCase;
  const record = accesses && new AccessRecord(accesses);
  const prints = new Prints();
  const run = { ...launch, inputs, absent, layouts, seed, record, prints, ...options };
  let result: RunResult;
  try {
    result = evaluateForms(ir, lowered, run);
  } catch (error) {
    if (error instanceof UnknownAddress) return { outputs: {}, findings: [], unchecked: [error.message] };
    throw error;
  }
  const { outputs, findings, unlistedFindings: more, reached } = result;
  const missing = Object.fromEntries(absent.map((name) => [name, null]));
  const referenceInputs = { ...numbersOf(ir, launch), ...inputs, ...missing };
  const { unchecked, ...verdict } = compareWithReference(ir, result, referenceInputs, tolerance, override, () =>
    evaluateKernel(ir, { ...run, nonFinite: false, unrounded: true, record: undefined, prints: undefined }),
  );
  const unlisted = more > 0 ? [`${more} more findings are not listed`] : [];
  const omissions = record?.describeOmissions() ?? [];
  const observations = {
    reached,
    ...(record && { accesses: record.accesses }),
    ...(prints.lines.length > 0 && { printed: prints.lines }),
  };
  const answers = describeAnswers(ir, bindings);
  return {
    outputs,
    findings,
    unchecked: [...omissions, ...unlisted, ...answers, ...unchecked],
    ...verdict,
    ...observations,
  };
}

/** The outputs of a test case with every float in float64. Undefined if a run has findings, or rounds all the same. */
export function evaluateUnrounded(
  ir: KernelIR,
  testCase: TestCase,
  inputs: Readonly<Record<string, TensorData>>,
  limits: Pick<EvaluateOptions, "maxIterations">,
): Readonly<Record<string, TensorData>> | undefined {
  if (describeUnsupported(ir, inputs) !== undefined) return undefined;
  const launch = launchOf(ir, testCase);
  checkMemoryLimit(ir, new Bindings(ir, launch), testCase.absent);
  const { absent = [], layouts, seed } = testCase;
  const run = { ...launch, ...limits, inputs, absent, layouts, seed };
  if (evaluateKernel(ir, run).findings.length > 0) return undefined;
  const { outputs, rounded } = evaluateKernel(ir, { ...run, unrounded: true });
  return rounded.length === 0 ? outputs : undefined;
}

/** The author's input descriptions, except those replaced by the caller's inputs. */
function describedExcept({ inputs }: KernelIR, callerInputs: Readonly<Record<string, TensorData>>): KernelIR["inputs"] {
  return Object.fromEntries(Object.entries(inputs).filter(([name]) => !(name in callerInputs)));
}

/** Sizes, scalars and constexprs by name. None is a bigint, because the host computes in numbers. */
export function numbersOf(ir: KernelIR, launch: Launch): Record<string, number | boolean | string> {
  const { sizes, scalars, constexprs } = new Bindings(ir, launch);
  return { ...sizes, ...scalars, ...constexprs } as Record<string, number | boolean | string>;
}

/** The inputs of a test case: described by the author, or drawn from the seed. */
export function inputsOf(
  ir: KernelIR,
  signature: Signature,
  testCase: TestCase,
  special?: EvaluateOptions["special"],
): Record<string, TensorData> {
  const randomInputs = makeInputs(
    signature,
    testCase,
    { sizes: sizesOf(ir, testCase), ranges: rangesOf(ir, testCase) },
    special,
  );
  return {
    ...randomInputs,
    ...describedInputs(ir, randomInputs, numbersOf(ir, launchOf(ir, testCase)), testCase.seed),
  };
}

/** The reason why the kernel cannot be evaluated: a raw pointer without memory, or an op without `evaluate`. */
export function describeUnsupported(
  ir: KernelIR,
  callerInputs: Readonly<Record<string, TensorData>>,
): string | undefined {
  const pointers = ir.params
    .filter(
      (param) => param.kind === "pointer" && !param.given && param.numel === undefined && !(param.name in callerInputs),
    )
    .map((param) => param.name);
  if (pointers.length > 0)
    return `${pointers.join(", ")}: the extent of a raw pointer is unknown, so the kernel was not evaluated; pointer(dtype, { numel: … }) states it`;
  const unsupportedOps = new Map<string, string>();
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || statement.op.evaluate || statement.op.fold || statement.op.facts.answer) return;
    if (!unsupportedOps.has(statement.op.name)) unsupportedOps.set(statement.op.name, formatOp(statement));
  });
  if (unsupportedOps.size === 0) return undefined;
  return `${[...unsupportedOps.values()].join(", ")}: not modeled, so the kernel was not evaluated`;
}

/** The ops that ask for the target, whose answers other GPUs may give otherwise. */
function describeAnswers(ir: KernelIR, { gpu }: Bindings): readonly string[] {
  return [...new Set(targetQueries(ir).map(formatOp))].map(
    (query) => `${query}: answered as on sm_${gpu.major}${gpu.minor}`,
  );
}

function formatOp({ op, location }: OpStatement): string {
  return `tl.${op.name}${location ? ` at ${formatLocation(location)}` : ""}`;
}

// Queries of the reference in a test case. PyTorch refuses some calls at some sizes, such as a `narrow` beyond an axis.

/** Asks the recorded reference of a kernel or an operator. */
export function referenceQueries(
  ir: KernelIR,
  signature: Signature,
): Pick<CompiledKernel, "referenceRefusal" | "isSpecialDefined"> {
  const { reference } = ir;
  if (reference?.kind !== "recorded") return {};
  const outputs = (testCase: TestCase): readonly TorchArray[] => {
    // The config of an operator is not one of its interface.
    const first = { ...testCase, config: 0 };
    const missing = Object.fromEntries((testCase.absent ?? []).map((name) => [name, null]));
    const numbers = numbersOf(ir, launchOf(ir, first));
    return evaluateReference(reference.outputs, {
      ...numbers,
      ...inputsOf(ir, signature, first, first.special),
      ...missing,
    });
  };
  return {
    referenceRefusal(testCase) {
      try {
        outputs(testCase);
      } catch (error) {
        const [diagnostic] = error instanceof TileScriptError ? error.diagnostics : [];
        return diagnostic?.code === torchCall.code ? diagnostic : undefined;
      }
      return undefined;
    },
    isSpecialDefined(testCase) {
      // Ops of PyTorch and of GPUs differ beside NaN, unless they are about it.
      if (testCase.special?.includes("nan") && !asksForNaN(reference.outputs)) return false;
      // A GPU casts an infinity to the largest 8-bit float.
      if (testCase.special?.includes("-infinity rows") && castsToFloat8(reference.outputs)) return false;
      try {
        return outputs(testCase).every(({ data }) => !data.some(Number.isNaN));
      } catch {
        return false;
      }
    },
  };
}

const castsToFloat8 = (outputs: readonly TorchNode[]): boolean =>
  [...reachableNodes(outputs)].some((node) => node.kind === "dtype" && isFp8(node.name));

const ABOUT_NAN: ReadonlySet<string | undefined> = new Set(["isnan", "isfinite", "nan_to_num"]);

const asksForNaN = (outputs: readonly TorchNode[]): boolean =>
  [...reachableNodes(outputs)].some((node) => isCallNode(node) && ABOUT_NAN.has(node.name.split(".").at(-1)));
