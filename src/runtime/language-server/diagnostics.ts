/** Diagnostics in the form of the protocol. */
import { type Diagnostic as WireDiagnostic, DiagnosticSeverity, type Range } from "vscode-languageserver-protocol";
import type { Diagnostic, Edit, Location } from "../../diagnostics/diagnostic.js";
import { type OpenDocument, uriIn } from "./documents.js";
import type { AnalysisOutcome } from "./file-analysis.js";
import { homepage } from "../system/package-folder.js";

/** The source of diagnostics, as editors show it. */
const SOURCE = "tilescript";

const positionOf = ({ line, column }: Location): Range["start"] => ({ line: line - 1, character: column - 1 });

export const editRange = ({ at: start, end }: Edit): Range => ({ start: positionOf(start), end: positionOf(end) });

/** The diagnostics of an outcome, each once: the kernels of a file may share a mistake. */
export function toDiagnostics(document: OpenDocument, outcome: AnalysisOutcome): WireDiagnostic[] {
  const { diagnostics } = outcome;
  if (!diagnostics && "details" in outcome)
    return [
      {
        range: wordAt(document, undefined),
        severity: DiagnosticSeverity.Warning,
        source: SOURCE,
        message: outcome.details,
      },
    ];
  const converted = (diagnostics ?? []).map((diagnostic) => toDiagnostic(document, diagnostic));
  return [...new Map(converted.map((each) => [JSON.stringify(each), each])).values()];
}

export function toDiagnostic(document: OpenDocument, diagnostic: Diagnostic): WireDiagnostic {
  const { at: location, code, message, severity, related = [] } = diagnostic;
  const isHere = location?.file === document.path;
  const elsewhere = location && !isHere ? [{ message: "the location of the mistake", at: location }] : [];
  const notes = [...elsewhere, ...related].map(({ message: note, at: noteLocation }) => {
    const start = positionOf(noteLocation);
    return { message: note, location: { uri: uriIn(document, noteLocation.file), range: { start, end: start } } };
  });
  return {
    range: wordAt(document, isHere ? location : undefined),
    severity: severity === "error" ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code,
    ...(homepage && { codeDescription: { href: `${homepage}/diagnostics.html#${code}` } }),
    source: SOURCE,
    message,
    ...(notes.length > 0 && { relatedInformation: notes }),
  };
}

/** The word at a location; the first line for a location in another file. */
function wordAt({ text }: OpenDocument, location: Location | undefined): Range {
  const { line, character } = location ? positionOf(location) : { line: 0, character: 0 };
  const lineText = text.split(/\r?\n/, line + 1)[line] ?? "";
  const length = location ? (/^[\w$]+|^./u.exec(lineText.slice(character))?.[0].length ?? 0) : lineText.length;
  return { start: { line, character }, end: { line, character: character + length } };
}
