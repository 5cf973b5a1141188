/**
 * What can be wrong with a kernel, and where. Every message is a sentence that ends with the remedy, and points at
 * the author's own file, line and column.
 */

import type { DiagnosticCode } from "./catalog/index.js";
import type { Message } from "./catalog/define-code.js";

/** A place in the author's source. Lines and columns count from 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The property that is read there, in engines that place it at the call before it: `f(x).row` at `f`. */
  readonly property?: string;
}

/** A change of the author's text that mends it: `text` replaces everything from `at` to `end`. */
export interface Edit {
  readonly at: Location;
  readonly end: Location;
  readonly text: string;
}

/** A mistake, or (as a warning) something that the author should know. */
export interface Diagnostic {
  /** Stable name of the rule, such as `scope-escape`. */
  readonly code: DiagnosticCode;
  readonly severity: "error" | "warning";
  /** A sentence; the remedy follows a semicolon. */
  readonly message: string;
  readonly at?: Location | undefined;
  /** Other places that explain it, such as where a value was made. */
  readonly related?: readonly { readonly message: string; readonly at: Location }[] | undefined;
  /** The remedy, where it is mechanical. */
  readonly edit?: Edit | undefined;
}

/** Thrown by the build when a kernel breaks a rule. Holds every diagnostic that was found, errors first. */
export class TileScriptError extends Error {
  override readonly name = "TileScriptError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(formatDiagnostic).join("\n"));
    this.diagnostics = diagnostics;
  }
}

/** `file:line:column` */
export function formatLocation(at: Location): string {
  return `${at.file}:${at.line}:${at.column}`;
}

/** One line a place: `gemm.ts:12:5 - error scope-escape: …`. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const where = diagnostic.at ? `${formatLocation(diagnostic.at)} - ` : "";
  const head = `${where}${diagnostic.severity} ${diagnostic.code}: ${diagnostic.message}`;
  const related = (diagnostic.related ?? []).map((note) => `    ${formatLocation(note.at)} - ${note.message}`);
  return [head, ...related].join("\n");
}

/** What a code of the catalog says. */
export type MessageOfCode = Message<DiagnosticCode>;
/** What a message may have beside its sentence and its place. */
export type DiagnosticDetails = Partial<Pick<Diagnostic, "related" | "edit">>;

/** An error. */
export function errorDiagnostic(
  said: MessageOfCode,
  at?: Location | undefined,
  beside: DiagnosticDetails = {},
): Diagnostic {
  return { code: said.code, severity: "error", message: said.message, ...(at && { at }), ...given(beside) };
}

/** A warning. */
export function warning(said: MessageOfCode, at?: Location | undefined, beside: DiagnosticDetails = {}): Diagnostic {
  return { code: said.code, severity: "warning", message: said.message, ...(at && { at }), ...given(beside) };
}

/** The first error that was thrown while the author's code runs. */
interface Heard {
  first?: TileScriptError;
}
let heard: Heard | undefined;

/** Throws one error. */
export function fail(said: MessageOfCode, at?: Location | undefined, beside?: DiagnosticDetails): never {
  const error = new TileScriptError([errorDiagnostic(said, at, beside)]);
  if (heard) heard.first ??= error;
  throw error;
}

/** Runs code that tries what may be refused, inside code that is heeded: an error that it catches is an answer to it. */
export function probe<T>(body: () => T): T {
  const outer = heard;
  heard = undefined;
  try {
    return body();
  } finally {
    heard = outer;
  }
}

/** Runs the author's code. An error that it catches, in a `try` or a `finally`, is thrown at its end. */
export function rethrowSwallowedErrors<T>(body: () => T): T {
  const outer = heard;
  const inner: Heard = {};
  heard = inner;
  try {
    const result = body();
    if (inner.first) throw inner.first;
    return result;
  } finally {
    heard = outer;
    // Code of the author's may stand around this too: an operator calls kernels.
    if (outer && inner.first) outer.first ??= inner.first;
  }
}

/** Without the parts that are undefined, which JSON would not show either. */
function given(beside: DiagnosticDetails): DiagnosticDetails {
  return Object.fromEntries(Object.entries(beside).filter(([, part]) => part !== undefined));
}
