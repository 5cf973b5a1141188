/** An error of the worker at the author's line. */
import type { CompiledKernel } from "../compiled.js";
import type { CaseFailure } from "./outcome.js";
import type { Location } from "../diagnostics.js";
import { EnvironmentError } from "./problems.js";
import type { WireFailure, WireFrame } from "./protocol.js";
import { authorLocation } from "./source-map.js";

/**
 * The innermost line of the emitted module is where it went wrong; lines that the author did not write lie inside one.
 *
 * @throws EnvironmentError where no kernel is at fault: on a full disk.
 */
export function failureOf(kernel: CompiledKernel, error: WireFailure): CaseFailure {
  if (error.kind === "no-space")
    throw new EnvironmentError(`${error.message}; free some of the disk, or set TRITON_CACHE_DIR or TMPDIR to another`);
  const frame = error.frames.at(-1);
  const at = error.frames.map((each) => placeOf(kernel, each)).findLast((place) => place !== undefined);
  return {
    kind: error.kind,
    message: error.message,
    ...(error.exception !== undefined && { exception: error.exception }),
    ...(at && { at }),
    ...(frame && { python: { file: kernel.file, line: frame.line, text: frame.text } }),
    ...(error.raw !== undefined && { raw: error.raw }),
  };
}

/** The author's line, or where the function is defined that has a line of its own there: a wrapper, a reference. */
function placeOf({ map, python }: CompiledKernel, frame: WireFrame): Location | undefined {
  const definition = python.split("\n").findIndex((line) => line.startsWith(`def ${frame.function}(`));
  return authorLocation(map, frame.line) ?? (definition < 0 ? undefined : authorLocation(map, definition + 1));
}
