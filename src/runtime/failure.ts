/** An error of the worker at the author's line. */
import type { CompiledKernel } from "../compiled.js";
import type { CaseFailure } from "./outcome.js";
import type { WireFailure } from "./protocol.js";
import { authorLocation } from "./source-map.js";

/** The innermost line of the emitted module is where it went wrong; lines that the author did not write lie inside one. */
export function failureOf(kernel: CompiledKernel, error: WireFailure): CaseFailure {
  const frame = error.frames.at(-1);
  const at = error.frames.map(({ line }) => authorLocation(kernel.map, line)).findLast((place) => place !== undefined);
  return {
    kind: error.kind,
    message: error.message,
    ...(error.exception !== undefined && { exception: error.exception }),
    ...(at && { at }),
    ...(frame && { python: { file: kernel.file, line: frame.line, text: frame.text } }),
    ...(error.raw !== undefined && { raw: error.raw }),
  };
}
