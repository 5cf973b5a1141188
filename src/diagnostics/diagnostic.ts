/**
 * What can be wrong with a kernel, and where. Every message is a sentence that ends with the remedy, and points at
 * the author's own file, line and column.
 */

/** A place in the author's source. Lines and columns count from 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong, or (as a warning) that the author should know. */
export interface Diagnostic {
  /** Stable name of the rule, such as `scope-escape`. */
  readonly code: string;
  readonly severity: "error" | "warning";
  /** A sentence; the remedy follows a semicolon. */
  readonly message: string;
  readonly at?: Location | undefined;
  /** Other places that explain it, such as where a value was made. */
  readonly related?: readonly { readonly message: string; readonly at: Location }[];
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

/** An error diagnostic of one rule. */
export function problem(
  code: string,
  message: string,
  at?: Location | undefined,
  related?: Diagnostic["related"],
): Diagnostic {
  return { code, severity: "error", message, ...(at && { at }), ...(related && { related }) };
}

/** A warning diagnostic of one rule. */
export function warning(code: string, message: string, at?: Location | undefined): Diagnostic {
  return { code, severity: "warning", message, ...(at && { at }) };
}

/** Throws one error. */
export function fail(code: string, message: string, at?: Location | undefined, related?: Diagnostic["related"]): never {
  throw new TileScriptError([problem(code, message, at, related)]);
}
