/**
 * The source index on Node: TypeScript's parser over the author's files on disk.
 *
 * Its import takes about half a second, so it is loaded with a dynamic `import()`.
 */
import { existsSync, readFileSync } from "node:fs";
import type { SourceIndex } from "../ir/source-index.js";
import { parseSource } from "./stack-guard.js";
import { indexFiles } from "./indexed-files.js";
import { moduleFile } from "./module-files.js";
import { resolvePath } from "./imports.js";
import type { ts } from "./typescript.js";

const parseFile = (path: string): ts.SourceFile => parseSource(path, readFileSync(path, "utf8").replace(/^\uFEFF/, ""));

/** A source index over the files on disk; each is read on first use. */
export function createSourceIndex(): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const read = (path: string): ts.SourceFile | undefined => {
    if (!files.has(path)) files.set(path, existsSync(path) ? parseFile(path) : undefined);
    return files.get(path);
  };
  return indexFiles(
    { read, moduleFile: (importer, specifier) => moduleFile(importer, specifier, read) },
    (location, path) => {
      const file = resolvePath(location.file, path);
      return existsSync(file) ? { text: readFileSync(file, "utf8"), file } : undefined;
    },
    async (...call) => (await import("./rewrite-configs.js")).rewriteConfigs(...call),
  );
}
