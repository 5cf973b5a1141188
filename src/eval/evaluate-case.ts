/**
 * Evaluates one case of a kernel and compares it with its reference: the implementation of `CompiledKernel.evaluate`.
 */
import type { TestCase, EvaluateOptions, Evaluation, Signature, TensorData } from "../compiled/compiled-kernel.js";
import type { KernelIR } from "../ir/nodes.js";
import { formatLocation } from "../diagnostics/diagnostic.js";
import { walkAll } from "../ir/walk.js";
import { Prints } from "./prints.js";
import { AccessRecord } from "./access-record.js";
import { Bindings, type Launch } from "./bindings.js";
import { checkMemoryLimit } from "./memory-limit.js";
import { checkHostValues } from "./host-values.js";
import { evaluateForms } from "./emitted-form.js";
import { evaluateKernel, type RunResult } from "./evaluate-kernel.js";
import { compareWithReference } from "./compare-reference.js";
import type { Tolerances } from "./reference-outputs.js";
import { checkRanges, describedInputs, makeInputs } from "./make-inputs.js";
import { launchOf, rangesOf, sizesOf } from "./case-launch.js";
import { UnknownAddress } from "./tensor.js";

/** Options of a case, with the lowered kernel where that is run too. */
export interface CaseOptions extends Omit<EvaluateOptions, "lowered"> {
  readonly lowered?: KernelIR | undefined;
}

/** Evaluates one case. The seed determines inputs that are not given. Without `tolerance`, which is that of rounding, nothing is compared. */
export function evaluateCase(
  ir: KernelIR,
  signature: Signature,
  at: TestCase,
  tolerance: Tolerances | undefined,
  { inputs: given = {}, special, lowered, tolerance: override = {}, accesses, ...options }: CaseOptions = {},
): Evaluation {
  const why = notEvaluated(ir, given);
  if (why !== undefined) return { outputs: {}, findings: [], unchecked: [why] };
  const launch = launchOf(ir, at);
  const bindings = new Bindings(ir, launch);
  checkHostValues(ir, bindings);
  checkMemoryLimit(ir, bindings, at.absent);
  const inputs = { ...inputsOf(ir, signature, at, special ?? at.special), ...given };
  checkRanges(signature, inputs, rangesOf(ir, at), { inputs: withoutGiven(ir, given), at: ir.at });
  const { absent = [], layouts, seed } = at;
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
  const { outputs, findings, more, reached } = result;
  const missing = Object.fromEntries(absent.map((name) => [name, null]));
  const known = { ...numbersOf(ir, launch), ...inputs, ...missing };
  const { unchecked, ...verdict } = compareWithReference(ir, result, known, tolerance, override, () =>
    evaluateKernel(ir, { ...run, nonFinite: false, unrounded: true, record: undefined, prints: undefined }),
  );
  const unlisted = more > 0 ? [`${more} more findings are not listed`] : [];
  const left = record?.leftOut() ?? [];
  const seen = {
    reached,
    ...(record && { accesses: record.accesses }),
    ...(prints.lines.length > 0 && { printed: prints.lines }),
  };
  return { outputs, findings, unchecked: [...left, ...unlisted, ...unchecked], ...verdict, ...seen };
}

/** The inputs that the author describes and the caller does not give. */
function withoutGiven({ inputs }: KernelIR, given: Readonly<Record<string, TensorData>>): KernelIR["inputs"] {
  return Object.fromEntries(Object.entries(inputs).filter(([name]) => !(name in given)));
}

/** Sizes, scalars and constexprs by name. None is a bigint, because the host computes in numbers. */
function numbersOf(ir: KernelIR, launch: Launch): Record<string, number | boolean | string> {
  const { sizes, scalars, constexprs } = new Bindings(ir, launch);
  return { ...sizes, ...scalars, ...constexprs } as Record<string, number | boolean | string>;
}

/** The inputs of a case: those that the author describes, and the others drawn from the seed. */
export function inputsOf(
  ir: KernelIR,
  signature: Signature,
  at: TestCase,
  special?: EvaluateOptions["special"],
): Record<string, TensorData> {
  const drawn = makeInputs(signature, at, { sizes: sizesOf(ir, at), ranges: rangesOf(ir, at) }, special);
  return { ...drawn, ...describedInputs(ir, drawn, numbersOf(ir, launchOf(ir, at)), at.seed) };
}

/** Why the kernel cannot be evaluated: raw pointers without memory, or ops without an evaluation. */
export function notEvaluated(ir: KernelIR, given: Readonly<Record<string, TensorData>>): string | undefined {
  const pointers = ir.params
    .filter((param) => param.kind === "pointer" && !param.given && param.numel === undefined && !(param.name in given))
    .map((param) => param.name);
  if (pointers.length > 0)
    return `${pointers.join(", ")}: the extent of a raw pointer is unknown, so the kernel was not evaluated; pointer(dtype, { numel: … }) states it`;
  const found = new Map<string, string>();
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || statement.op.evaluate || statement.op.fold) return;
    const where = statement.at ? ` at ${formatLocation(statement.at)}` : "";
    if (!found.has(statement.op.name)) found.set(statement.op.name, `tl.${statement.op.name}${where}`);
  });
  if (found.size === 0) return undefined;
  return `${[...found.values()].join(", ")}: not modeled, so the kernel was not evaluated`;
}
