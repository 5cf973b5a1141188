/** Answers to an editor: diagnostics, code actions, inlay hints and hovers. */
import {
  type CodeAction,
  CodeActionKind,
  type CodeActionParams,
  type Range,
  type TextEdit,
  type InlayHint,
  InlayHintKind,
  type Hover,
  MarkupKind,
  type Diagnostic as WireDiagnostic,
  DiagnosticSeverity,
} from "vscode-languageserver-protocol";
import type { Diagnostic, Edit, Location } from "../../diagnostics/diagnostic.js";
import { editsByFile, withoutOverlaps } from "../invocation/edits.js";
import { type OpenDocument, uriIn } from "./documents.js";
import type { AnalysisOutcome, KernelAnalysis } from "./file-analysis.js";
import type { NamedTile, Obligation } from "../../compiled/compiled-kernel.js";
import { type EmittedStatement, emittedStatements } from "../cases/outcome.js";
import { homepage } from "../system/files.js";

// Diagnostics in the form of the protocol.

/** The source of diagnostics, as editors show it. */
const SOURCE = "tilescript";

const positionOf = ({ line, column }: Location): Range["start"] => ({ line: line - 1, character: column - 1 });

const editRange = ({ at: start, end }: Edit): Range => ({ start: positionOf(start), end: positionOf(end) });

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

function toDiagnostic(document: OpenDocument, diagnostic: Diagnostic): WireDiagnostic {
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

/** The kind of the action that applies all edits, as `tilescript fix` does for one build. */
export const FIX_ALL = `${CodeActionKind.SourceFixAll}.tilescript`;

type Context = Pick<CodeActionParams, "range" | "context">;

/** The actions that the editor asks for. */
export function codeActions(
  document: OpenDocument,
  outcome: AnalysisOutcome,
  { range, context: { only } }: Context,
): CodeAction[] {
  const { diagnostics = [] } = outcome;
  const isWanted = (kind: string): boolean =>
    !only || only.some((each) => kind === each || kind.startsWith(`${each}.`));
  const fixes = isWanted(CodeActionKind.QuickFix) ? quickFixes(document, diagnostics, range) : [];
  return isWanted(FIX_ALL) ? [...fixes, ...fixAll(document, "build" in outcome ? outcome.build : diagnostics)] : fixes;
}

function quickFixes(document: OpenDocument, diagnostics: readonly Diagnostic[], range: Range): CodeAction[] {
  const actions = diagnostics.flatMap((diagnostic): CodeAction[] => {
    const { edit, remedy } = diagnostic;
    const converted = toDiagnostic(document, diagnostic);
    if (!edit || !(overlaps(converted.range, range) || overlaps(editRange(edit), range))) return [];
    const changes = { [uriIn(document, edit.at.file)]: [toTextEdit(edit)] };
    return [
      {
        title: remedy ?? `replace it by ${edit.text}`,
        kind: CodeActionKind.QuickFix,
        diagnostics: [converted],
        isPreferred: true,
        edit: { changes },
      },
    ];
  });
  // The kernels of a file may share a mistake.
  return [...new Map(actions.map((action) => [JSON.stringify(action.edit), action])).values()];
}

function fixAll(document: OpenDocument, diagnostics: readonly Diagnostic[]): CodeAction[] {
  const files = [...editsByFile(diagnostics)];
  if (files.length === 0) return [];
  const changes = files.map(
    ([file, edits]) => [uriIn(document, file), withoutOverlaps(edits).map(toTextEdit)] as const,
  );
  return [
    {
      title: "Fix all mistakes of the kernels that have an edit",
      kind: FIX_ALL,
      edit: { changes: Object.fromEntries(changes) },
    },
  ];
}

const toTextEdit = (edit: Edit): TextEdit => ({ range: editRange(edit), newText: edit.text });

const compare = (a: Range["start"], b: Range["start"]): number => a.line - b.line || a.character - b.character;
const overlaps = (a: Range, b: Range): boolean => compare(a.start, b.end) <= 0 && compare(b.start, a.end) <= 0;

// The types of tiles as inlay hints.

/** A hint after each variable that holds a tile. Variables of several types, as in helper functions, have none. */
export function inlayHints(document: OpenDocument, tiles: readonly NamedTile[], { start, end }: Range): InlayHint[] {
  const lines = document.text.split(/\r?\n/);
  const types = new Map<string, Set<string>>();
  for (const { name, statement, type } of tiles) {
    if (statement.file !== document.path) continue;
    const line = statement.line - 1;
    const character = declarationEnd(lines[line]?.slice(statement.column - 1) ?? "", name);
    if (character === undefined || line < start.line || line > end.line) continue;
    const key = `${line}:${statement.column - 1 + character}`;
    types.set(key, (types.get(key) ?? new Set()).add(type));
  }
  return [...types].flatMap(([key, [type, ...others]]) => {
    const [line = 0, character = 0] = key.split(":").map(Number);
    if (type === undefined || others.length > 0) return [];
    return [{ position: { line, character }, label: `: ${type}`, kind: InlayHintKind.Type }];
  });
}

/** The end of a variable's name in the statement that declares it; undefined for an assignment. */
function declarationEnd(statement: string, name: string): number | undefined {
  const [declaration] = /^(?:const|let)\s[^=]*/.exec(statement) ?? [""];
  const names = [...declaration.matchAll(/[\p{ID_Continue}$]+/gu)];
  const match = names.find(([text]) => text === name);
  return match && match.index + name.length;
}

// The hover of a line with accesses: their proofs, their masks, and the emitted Python.

/** The hover of a line; null if no kernel accesses memory there. */
export function hoverOf(kernels: readonly KernelAnalysis[], file: string, line: number): Hover | null {
  const sections = kernels.flatMap((kernel) => {
    const accesses = kernel.proof.obligations.filter(
      ({ property, at: location }) => property === "bounds" && location?.file === file && location.line === line,
    );
    return accesses.length === 0 ? [] : [sectionOf(kernel, accesses)];
  });
  // Launches with other dtypes share the text.
  const value = [...new Set(sections)].join("\n\n---\n\n");
  return value === "" ? null : { contents: { kind: MarkupKind.Markdown, value } };
}

function sectionOf({ python, map, proof }: KernelAnalysis, accesses: readonly Obligation[]): string {
  const statements = emittedStatements(python, map);
  const pythonStatements = [...new Set(accesses.flatMap(({ at: location }) => statementsOf(statements, location)))];
  const masks = [
    ...new Set(pythonStatements.flatMap(({ text }) => masksIn(text)).map((mask) => definitionOf(mask, statements))),
  ];
  const verdicts = accesses.map((access) => `- ${access.of}: ${verdictText(access, proof.configs)}`);
  const blocks = [verdicts.join("\n")];
  if (masks.length > 0) blocks.push(`Mask: ${masks.map((mask) => `\`${mask}\``).join(", ")}`);
  if (pythonStatements.length > 0)
    blocks.push(`\`\`\`python\n${pythonStatements.map(({ text }) => text).join("\n")}\n\`\`\``);
  return blocks.join("\n\n");
}

/** The emitted statements of the access's line, or the last one that starts before it. */
function statementsOf(
  statements: readonly EmittedStatement[],
  location: Location | undefined,
): readonly EmittedStatement[] {
  const inFile = statements.filter(({ at: { file } }) => file === location?.file);
  const ofLine = inFile.filter(({ at: { line } }) => line === location?.line);
  if (ofLine.length > 0 || !location) return ofLine;
  return inFile.filter(({ at: { line } }) => line < location.line).slice(-1);
}

/** The `mask` arguments of the calls in a statement. */
function masksIn(text: string): readonly string[] {
  return [...text.matchAll(/\bmask=/g)].map(({ index }) => {
    const argument = text.slice(index + "mask=".length);
    let depth = 0;
    const end = [...argument].findIndex((character) => {
      if (/[([]/.test(character)) depth++;
      if (/[)\]]/.test(character)) depth--;
      return depth < 0 || (depth === 0 && character === ",");
    });
    return argument.slice(0, end).replaceAll(/\s+/g, " ").trim();
  });
}

/** The expression that a variable of the kernel holds; other masks as they are. */
function definitionOf(mask: string, statements: readonly EmittedStatement[]): string {
  const definition = statements.find(({ text }) => text.startsWith(`${mask} = `));
  return definition ? definition.text.slice(`${mask} = `.length).replaceAll(/\s+/g, " ") : mask;
}

function verdictText({ verdict }: Obligation, configs: number): string {
  switch (verdict.kind) {
    case "proved":
      return `proved in bounds for all shapes and ${configs} config${configs === 1 ? "" : "s"}`;
    case "refuted":
      return "leaves its tensor";
    case "unknown":
      return `not proved to be in bounds: ${verdict.missing}`;
    case "waived":
      return `in bounds by the author's word: ${verdict.reason}`;
    case "impossible":
    case "unreached":
      return "no launch performs it";
    default:
      return verdict satisfies never;
  }
}
