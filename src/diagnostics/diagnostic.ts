/**
 * Diagnostics of the build. Every message is a sentence that ends with the remedy, and has a location in the author's
 * code.
 */

import type { DiagnosticCode } from "./catalog/index.js";
import type { Message } from "./message.js";

/** A location in the author's source. Lines and columns start at 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The property that is read there, in engines that report the location of the preceding call: `f(x).row` at `f`. */
  readonly property?: string;
}

/** A fix: a change of the author's text. `text` replaces everything from `at` to `end`. */
export interface Edit {
  readonly at: Location;
  readonly end: Location;
  readonly text: string;
}

/** A kind of fix of the call or property access at a location. The author's text determines the edit. */
export type SourceFix =
  /** Renames the key `from` of a call's options to `to`. */
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  /** Adds `.value` to a loop-carried variable: an argument, the receiver of a method, or an assigned value. */
  | { readonly kind: "value" }
  /** Adds a condition, which uses these names, to the `requires` of a kernel. */
  | { readonly kind: "require"; readonly names: readonly string[]; readonly condition: string }
  /** Sets an option of a param, such as `range: [0, "N"]`, at the definition of the kernel. */
  | { readonly kind: "declare"; readonly param: string; readonly option: string; readonly value: string }
  /** Removes the only `tl.inBounds` of an access, so that its view is masked there. */
  | { readonly kind: "mask" }
  /** Puts `tl.debugBarrier()` before the statement. */
  | { readonly kind: "barrier" }
  /** Gives a load this `other`. */
  | { readonly kind: "other"; readonly value: number }
  /** Removes a statement that is only this call. */
  | { readonly kind: "omit" };

/** A mistake, or, as a warning, a fact that the author should know. */
export interface Diagnostic {
  /** Stable name of the rule, such as `scope-escape`. */
  readonly code: DiagnosticCode;
  readonly severity: "error" | "warning";
  /** A sentence: the problem, and after a semicolon the remedy. */
  readonly message: string;
  /** The remedy by itself, unless the message has none. */
  readonly remedy?: string | undefined;
  readonly at?: Location | undefined;
  /** Related locations, such as the definition of a value. */
  readonly related?: readonly { readonly message: string; readonly at: Location }[] | undefined;
  /** The remedy as an edit, if it is mechanical. */
  readonly edit?: Edit | undefined;
}

/** Thrown by the build if a kernel breaks a rule. Contains all diagnostics, errors first. */
export class TileScriptError extends Error {
  override readonly name = "TileScriptError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(formatDiagnostic).join("\n"));
    this.diagnostics = diagnostics;
  }
}

/** `file:line:column` */
export function formatLocation(location: Location): string {
  return `${location.file}:${location.line}:${location.column}`;
}

export const isSameLocation = (x: Location | undefined, y: Location | undefined): boolean =>
  x?.file === y?.file && x?.line === y?.line && x?.column === y?.column;

/** One line per location: `gemm.ts:12:5 - error scope-escape: …`. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const prefix = diagnostic.at ? `${formatLocation(diagnostic.at)} - ` : "";
  const head = `${prefix}${diagnostic.severity} ${diagnostic.code}: ${diagnostic.message}`;
  const related = (diagnostic.related ?? []).map((note) => `    ${formatLocation(note.at)} - ${note.message}`);
  return [head, ...related].join("\n");
}

/** A message with a code of the catalog. */
export type MessageOfCode = Message<DiagnosticCode>;
/** Optional details of a diagnostic, in addition to its message and location. */
export type DiagnosticDetails = Partial<Pick<Diagnostic, "related" | "edit" | "remedy">>;

export function errorDiagnostic(message: MessageOfCode, location?: Location, details?: DiagnosticDetails): Diagnostic {
  return diagnostic("error", message, location, details);
}

export function warning(message: MessageOfCode, location?: Location, details?: DiagnosticDetails): Diagnostic {
  return diagnostic("warning", message, location, details);
}

function diagnostic(
  severity: Diagnostic["severity"],
  { code, text, remedy }: MessageOfCode,
  location: Location | undefined,
  details: DiagnosticDetails = {},
): Diagnostic {
  return {
    code,
    severity,
    message: text,
    ...(remedy !== "" && { remedy }),
    ...(location && { at: location }),
    ...omitUndefined(details),
  };
}

/** Records the first error that is thrown while the author's code runs. */
interface ErrorRecorder {
  firstError?: TileScriptError;
}
let recorder: ErrorRecorder | undefined;

/** Throws one error, and records it. */
export function fail(message: MessageOfCode, location?: Location, details?: DiagnosticDetails): never {
  const error = new TileScriptError([errorDiagnostic(message, location, details)]);
  if (recorder) recorder.firstError ??= error;
  throw error;
}

/** Runs code that may fail on purpose: errors thrown inside, and caught by the caller, are not recorded. */
export function probe<T>(body: () => T): T {
  const outer = recorder;
  recorder = undefined;
  try {
    return body();
  } finally {
    recorder = outer;
  }
}

/**
 * Runs the author's code. If the code swallows an error, in a `try` or a `finally`, the error is thrown again at the
 * end.
 */
export function rethrowSwallowedErrors<T>(body: () => T): T {
  const outer = recorder;
  const inner: ErrorRecorder = {};
  recorder = inner;
  try {
    const result = body();
    if (inner.firstError) throw inner.firstError;
    return result;
  } finally {
    recorder = outer;
    // The outer code may be the author's too: an operator calls kernels.
    if (outer && inner.firstError) outer.firstError ??= inner.firstError;
  }
}

/** Omits undefined properties, as JSON does. */
function omitUndefined(details: DiagnosticDetails): DiagnosticDetails {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}
