/** The author's source as texts in memory: what a page has. */
import type { SourceIndex } from "../ir/source.js";
import { parseSource } from "./stack-guard.js";
import { resolveFile } from "./imports.js";
import { indexFiles } from "./indexed-files.js";
import { pathBeside } from "./paths.js";
import type { ts } from "./typescript.js";

/** A source index over texts, by the paths that stack traces have. Imports are followed among them. */
export function indexTexts(texts: ReadonlyMap<string, string>): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const read = (path: string): ts.SourceFile | undefined => {
    const text = texts.get(path);
    if (text === undefined) return undefined;
    let file = files.get(path);
    if (!file) files.set(path, (file = parseSource(path, text)));
    return file;
  };
  const moduleFile = (from: ts.SourceFile, specifier: string) => {
    const file = resolveFile(from, specifier, read);
    return file && { file, isForeign: false };
  };
  return indexFiles({ read, moduleFile }, (at, path) => {
    const file = pathBeside(at.file, path);
    const text = texts.get(file);
    return text === undefined ? undefined : { text, file };
  });
}
