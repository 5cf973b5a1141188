/**
 * The author's source, read with TypeScript's parser: which variable a call is bound to, the comments above it, and the lint.
 * Needs Node and costs about half a second to import, so it is loaded with a dynamic `import()`.
 */
import { existsSync, readFileSync } from "node:fs";
import type { SourceIndex } from "../ir/source.js";
import { parseSource } from "./stack-guard.js";
import { indexFiles } from "./indexed-files.js";
import { moduleFile } from "./module-files.js";
import { pathBeside } from "./paths.js";
import type { ts } from "./typescript.js";

const parsed = (path: string): ts.SourceFile => parseSource(path, readFileSync(path, "utf8").replace(/^\uFEFF/, ""));

/** A source index over the files on disk; each is read on first use. */
export function createSourceIndex(): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const read = (path: string): ts.SourceFile | undefined => {
    if (!files.has(path)) files.set(path, existsSync(path) ? parsed(path) : undefined);
    return files.get(path);
  };
  return indexFiles({ read, moduleFile: (from, specifier) => moduleFile(from, specifier, read) }, (at, path) => {
    const file = pathBeside(at.file, path);
    return existsSync(file) ? { text: readFileSync(file, "utf8"), file } : undefined;
  });
}
