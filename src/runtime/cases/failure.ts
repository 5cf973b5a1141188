/** Errors of the worker and the evaluator, with the location in the author's source. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { CaseFailure, MistakeKind } from "./outcome.js";
import { type Location, TileScriptError } from "../../diagnostics/diagnostic.js";
import { endlessLoop } from "../../diagnostics/catalog/control-codes.js";
import { hostValue } from "../../diagnostics/catalog/host-codes.js";
import { specInputs, torchCall } from "../../diagnostics/catalog/reference-codes.js";
import { EvaluationTimeout } from "../../compiled/timeout.js";
import { EnvironmentError } from "../system/errors.js";
import type { WireFailure } from "../worker/protocol.js";
import { authorLocation } from "./mapped-lines.js";

/**
 * Converts a worker's error. Its location is the innermost frame of the emitted module that maps to the author's
 * source.
 *
 * @throws EnvironmentError if the machine is at fault, such as a full disk.
 */
export function failureOf(kernel: CompiledKernel, error: WireFailure): CaseFailure {
  if (error.kind === "no-space")
    throw new EnvironmentError(`${error.message}; free some of the disk, or set TRITON_CACHE_DIR or TMPDIR to another`);
  const frame = error.frames.at(-1);
  const locations =
    // The reference's result is checked after it has returned.
    error.kind === "reference"
      ? [definitionOf(kernel, "reference_fn")]
      : error.frames.map(
          (callFrame) => authorLocation(kernel.map, callFrame.line) ?? definitionOf(kernel, callFrame.function),
        );
  const location = locations.findLast((candidate) => candidate !== undefined);
  return {
    kind: error.kind,
    message: `${error.message}${describeRenamedParam(kernel, error.message)}`,
    ...(error.exception !== undefined && { exception: error.exception }),
    ...(location && { at: location }),
    ...(isRefusedReference(error) && { isRefusedReference: true }),
    ...(frame && { python: { file: kernel.file, line: frame.line, text: frame.text } }),
    ...(error.raw !== undefined && { raw: error.raw }),
  };
}

/** PyTorch's exceptions for arguments of unsuitable shapes. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(["RuntimeError", "IndexError"]);

/** A `view` that strides forbid is refused in every shape. */
const isRefusedReference = ({ exception, message, frames }: WireFailure): boolean =>
  REFUSALS.has(exception) && !/\bstrides?\b/.test(message) && frames.some((each) => each.function === "reference_fn");

/** A hint for references, where a param may have another name in Python. */
function describeRenamedParam({ signature }: CompiledKernel, message: string): string {
  const missingName = /^name '(\w+)' is not defined/.exec(message)?.[1];
  const { tensors, pointers, scalars, constexprs } = signature;
  const param = [...tensors, ...pointers, ...scalars, ...constexprs].find(({ name }) => name === missingName);
  if (param === undefined) return "";
  return param.python === missingName
    ? `; a reference gets inputs and arguments, not ${missingName}`
    : `; in Python ${missingName} is called ${param.python}`;
}

/** The location of an emitted function whose body has no mapping, such as a wrapper or a reference. */
function definitionOf({ map, python }: CompiledKernel, name: string): Location | undefined {
  const definition = python.split("\n").findIndex((line) => line.startsWith(`def ${name}(`));
  return definition < 0 ? undefined : authorLocation(map, definition + 1);
}

/** Mistakes that only appear when a case runs. All other codes are mistakes in the reference. */
const MISTAKE_KINDS: Readonly<Record<string, MistakeKind>> = {
  [torchCall.code]: "torch",
  [specInputs.code]: "inputs",
  [hostValue.code]: "launch",
  [endlessLoop.code]: "loop",
};

/** Converts an exception of the evaluator. */
export function evaluatorFailure(error: unknown): CaseFailure {
  const [diagnostic] = error instanceof TileScriptError ? error.diagnostics : [];
  if (diagnostic) {
    const { code, message, at } = diagnostic;
    const kind = MISTAKE_KINDS[code] ?? "reference";
    return { kind, message, ...(at && { at }), ...(kind === "torch" && { isRefusedReference: true }) };
  }
  if (error instanceof EvaluationTimeout)
    return { kind: "timeout", message: error.message, ...(error.at && { at: error.at }) };
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof RangeError && /allocation|array length/i.test(message)
    ? { kind: "out-of-memory", message: `the evaluator ran out of memory for tensors of these sizes (${message})` }
    : { kind: "internal", message: `the evaluator stopped: ${message}` };
}
