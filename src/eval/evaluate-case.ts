/**
 * Evaluates one case of a kernel and compares it with its reference: the implementation of `CompiledKernel.evaluate`.
 */
import type {
  Case,
  Comparison,
  EvaluateOptions,
  Evaluation,
  Signature,
  TensorData,
  Tolerance,
} from "../contract/compiled.js";
import type { KernelIR } from "../ir/nodes.js";
import { fail, formatLocation } from "../diagnostics/diagnostic.js";
import { referenceResult } from "../diagnostics/catalogue/reference-codes.js";
import { walkAll } from "../ir/walk.js";
import { Bindings, type Launch } from "./bindings.js";
import { compareOutput, joined } from "./compare-outputs.js";
import { evaluateForms } from "./emitted-form.js";
import type { RunResult } from "./evaluate-kernel.js";
import { checkRanges, describedInputs, makeInputs } from "./make-inputs.js";
import { launchOf, sizesOf } from "./case-launch.js";
import { NotEvaluated, TorchRefuses } from "../torch/not-evaluated.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import type { ReferenceInputs } from "../torch/torch-node.js";
import { UnknownAddress } from "./tensor.js";

/** The tolerance of every output, or of each dtype. */
export type Tolerances = Tolerance | ((dtype: string) => Tolerance);

/** Options of a case, with the lowered kernel where that is run too. */
export interface CaseOptions extends Omit<EvaluateOptions, "tolerance" | "lowered"> {
  readonly lowered?: KernelIR | undefined;
}

/** Evaluates one case. The seed determines inputs that are not given. Without a tolerance, nothing is compared. */
export function evaluateCase(
  ir: KernelIR,
  signature: Signature,
  at: Case,
  tolerance: Tolerances | undefined,
  { inputs: given = {}, special, order, nonFinite, until, lowered }: CaseOptions = {},
): Evaluation {
  const why = notEvaluated(ir, given);
  if (why !== undefined) return { outputs: {}, findings: [], unchecked: [why] };
  const launch = launchOf(ir, at);
  const inputs = { ...inputsOf(ir, signature, at, special ?? at.special), ...given };
  checkRanges(signature, inputs, sizesOf(ir, at));
  const { absent = [], layouts, seed } = at;
  let result: RunResult;
  try {
    result = evaluateForms(ir, lowered, { ...launch, inputs, absent, layouts, seed, order, nonFinite, until });
  } catch (error) {
    if (error instanceof UnknownAddress) return { outputs: {}, findings: [], unchecked: [error.message] };
    throw error;
  }
  const { outputs, findings, more } = result;
  const missing = Object.fromEntries(absent.map((name) => [name, null]));
  const unchecked = more > 0 ? [`${more} more findings are not listed`] : [];
  const verdict = compared(ir, outputs, { ...numbersOf(ir, launch), ...inputs, ...missing }, tolerance);
  if (typeof verdict === "string") return { outputs, findings, unchecked: [...unchecked, verdict] };
  return { outputs, findings, unchecked, ...(verdict && { comparison: verdict }) };
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
  at: Case,
  special?: EvaluateOptions["special"],
): Record<string, TensorData> {
  const drawn = makeInputs(signature, at, sizesOf(ir, at), special);
  return { ...drawn, ...describedInputs(ir, drawn, numbersOf(ir, launchOf(ir, at)), at.seed) };
}

/** Why the kernel cannot be evaluated: raw pointers without memory, or ops without an evaluation. */
export function notEvaluated(ir: KernelIR, given: Readonly<Record<string, TensorData>>): string | undefined {
  const pointers = ir.params
    .filter((param) => param.kind === "pointer" && !param.given && !(param.name in given))
    .map((param) => param.name);
  if (pointers.length > 0)
    return `${pointers.join(", ")}: the extent of a raw pointer is unknown, so the kernel was not evaluated`;
  const found = new Map<string, string>();
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || statement.op.evaluate || statement.op.fold) return;
    const where = statement.at ? ` at ${formatLocation(statement.at)}` : "";
    if (!found.has(statement.op.name)) found.set(statement.op.name, `tl.${statement.op.name}${where}`);
  });
  if (found.size === 0) return undefined;
  return `${[...found.values()].join(", ")}: not modelled, so the kernel was not evaluated`;
}

/**
 * The comparison with the reference, the reason why there is none, or undefined without a reference.
 *
 * @throws TileScriptError at the reference if its shape is not the output's.
 */
export function compared(
  { reference, params }: KernelIR,
  outputs: Readonly<Record<string, TensorData>>,
  inputs: ReferenceInputs,
  tolerance: Tolerances | undefined,
): Comparison | string | undefined {
  if (!reference) return undefined;
  if (reference.kind === "python") return "the reference is Python source, which cannot be evaluated here";
  if (!tolerance) return "no tolerance was given, so the numbers were not compared with the reference";
  const toleranceOf = typeof tolerance === "function" ? tolerance : () => tolerance;
  try {
    const expected = evaluateReference(reference.outputs, inputs);
    // The reference does not compute memory behind raw pointers.
    const names = params.flatMap(({ kind, name }) => (kind === "tensor" && name in outputs ? [name] : []));
    return joined(
      names.map((name, i) => compareOutput(name, outputs[name]!, expected[i]!, toleranceOf(outputs[name]!.dtype))),
    );
  } catch (error) {
    if (error instanceof NotEvaluated) return error.message;
    if (error instanceof TorchRefuses) fail(referenceResult.refused(error.message), reference.at);
    throw error;
  }
}
