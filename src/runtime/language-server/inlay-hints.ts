/** The types of tiles as inlay hints. */
import { type InlayHint, InlayHintKind, type Range } from "vscode-languageserver-protocol";
import type { NamedTile } from "../../compiled/compiled-kernel.js";
import type { OpenDocument } from "./documents.js";

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
