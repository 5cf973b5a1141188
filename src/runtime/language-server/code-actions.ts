/** The edits of diagnostics as code actions. */
import {
  type CodeAction,
  CodeActionKind,
  type CodeActionParams,
  type Range,
  type TextEdit,
} from "vscode-languageserver-protocol";
import type { Diagnostic, Edit } from "../../diagnostics/diagnostic.js";
import { editsByFile, withoutOverlaps } from "../invocation/apply-edits.js";
import { editRange, toDiagnostic } from "./diagnostics.js";
import { type OpenDocument, uriIn } from "./documents.js";
import type { AnalysisOutcome } from "./file-analysis.js";

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
