/**
 * The author's source, read with TypeScript's parser: which variable a call is bound to, the comments above it, and the lint.
 * Needs Node and costs about half a second to import, so it is loaded with a dynamic `import()`.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ts } from "@ts-morph/common";
import type { Location } from "../diagnostics/diagnostic.js";
import type { SourceIndex } from "../ir/source.js";
import { lintFiles } from "./lint.js";
import { findSite, locate, siteIndex, type SiteIndex } from "./sites.js";
import { withConfigs } from "./rewrite-configs.js";
import { specPlaces } from "./spec-places.js";

/** A file is only parsed: no tsconfig, no lib, no program. */
const parsed = (path: string): ts.SourceFile =>
  ts.createSourceFile(path, readFileSync(path, "utf8").replace(/^\uFEFF/, ""), ts.ScriptTarget.Latest, true);

/** A source index over the files on disk; each is read on first use. */
export function createSourceIndex(): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const indexes = new Map<ts.SourceFile, SiteIndex>();

  const read = (path: string): ts.SourceFile | undefined => {
    if (!files.has(path)) files.set(path, existsSync(path) ? parsed(path) : undefined);
    return files.get(path);
  };
  const find = (at: Location) => {
    const file = read(at.file);
    if (!file) return undefined;
    let index = indexes.get(file);
    if (!index) indexes.set(file, (index = siteIndex(file)));
    return findSite(index, at);
  };

  return {
    site: (at) => find(at)?.site,
    endOf(at) {
      const found = find(at);
      return found && locate(found.node.getSourceFile(), found.node.getEnd());
    },
    beside(at, path) {
      const file = resolve(dirname(at.file), path);
      return existsSync(file) ? { text: readFileSync(file, "utf8"), file } : undefined;
    },
    spec(at) {
      const found = find(at);
      return found && specPlaces(found.node);
    },
    withConfigs(at, configs) {
      const found = find(at);
      return found && withConfigs(found.node, configs);
    },
    lint: (paths) => lintFiles(paths, read),
  };
}
