/** Errors of the worker and the evaluator, located at the author's line. */
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
 * An error belongs to the innermost line of the emitted module that has a line of the author's.
 *
 * @throws EnvironmentError if the machine is at fault, such as a full disk.
 */
export function failureOf(kernel: CompiledKernel, error: WireFailure): CaseFailure {
  if (error.kind === "no-space")
    throw new EnvironmentError(`${error.message}; free some of the disk, or set TRITON_CACHE_DIR or TMPDIR to another`);
  const frame = error.frames.at(-1);
  const places =
    // The reference's result is checked after it has returned.
    error.kind === "reference"
      ? [definitionOf(kernel, "reference_fn")]
      : error.frames.map((each) => authorLocation(kernel.map, each.line) ?? definitionOf(kernel, each.function));
  const at = places.findLast((place) => place !== undefined);
  return {
    kind: error.kind,
    message: `${error.message}${renamed(kernel, error.message)}`,
    ...(error.exception !== undefined && { exception: error.exception }),
    ...(at && { at }),
    ...(frame && { python: { file: kernel.file, line: frame.line, text: frame.text } }),
    ...(error.raw !== undefined && { raw: error.raw }),
  };
}

/** In Python, as the author writes it in a reference, a param may have another name. */
function renamed({ signature }: CompiledKernel, message: string): string {
  const missing = /^name '(\w+)' is not defined/.exec(message)?.[1];
  const { tensors, pointers, scalars, constexprs } = signature;
  const param = [...tensors, ...pointers, ...scalars, ...constexprs].find(({ name }) => name === missing);
  if (param === undefined) return "";
  return param.python === missing
    ? `; a reference gets inputs and what the caller gives, not ${missing}`
    : `; in Python ${missing} is called ${param.python}`;
}

/** The author's line for a function whose body has none: a wrapper, a reference. */
function definitionOf({ map, python }: CompiledKernel, name: string): Location | undefined {
  const definition = python.split("\n").findIndex((line) => line.startsWith(`def ${name}(`));
  return definition < 0 ? undefined : authorLocation(map, definition + 1);
}

/** The kinds of mistakes that show when a case runs; others are the reference's. */
const mistakes: Readonly<Record<string, MistakeKind>> = {
  [torchCall.code]: "torch",
  [specInputs.code]: "inputs",
  [hostValue.code]: "launch",
  [endlessLoop.code]: "loop",
};

/** An exception of the evaluator. */
export function evaluatorFailure(error: unknown): CaseFailure {
  if (error instanceof TileScriptError) {
    const { code, message, at } = error.diagnostics[0]!;
    return { kind: mistakes[code] ?? "reference", message, ...(at && { at }) };
  }
  if (error instanceof EvaluationTimeout)
    return { kind: "timeout", message: error.message, ...(error.at && { at: error.at }) };
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof RangeError && /allocation|array length/i.test(message)
    ? { kind: "out-of-memory", message: `the evaluator ran out of memory for tensors of these sizes (${message})` }
    : { kind: "internal", message: `the evaluator stopped: ${message}` };
}
