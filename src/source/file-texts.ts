/** The source index over texts in memory, for web pages. */
import type { SourceIndex } from "../ir/source-index.js";
import { resolveFile, resolvePath } from "./author-modules.js";
import { indexFiles, parseSource } from "./indexed-files.js";
import type { ts } from "./typescript.js";

/** Creates a source index from texts, keyed by the paths in stack traces. Imports are resolved among these texts. */
export function indexTexts(texts: ReadonlyMap<string, string>): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const read = (path: string): ts.SourceFile | undefined => {
    const text = texts.get(path);
    if (text === undefined) return undefined;
    let file = files.get(path);
    if (!file) files.set(path, (file = parseSource(path, text)));
    return file;
  };
  const moduleFile = (importer: ts.SourceFile, specifier: string) => {
    const file = resolveFile(importer, specifier, read);
    return file && { file, isForeign: false };
  };
  return indexFiles({ read, moduleFile }, (location, path) => {
    const file = resolvePath(location.file, path);
    const text = texts.get(file);
    return text === undefined ? undefined : { text, file };
  });
}
