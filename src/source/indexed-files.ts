/** A source index over files that someone reads: from disk, or from memory. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { ComparisonSite, SourceIndex } from "../ir/source.js";
import { deepestNode, withStackGuard } from "./stack-guard.js";
import type { Files } from "./imports.js";
import { lintFiles } from "./lint.js";
import { fixedCall } from "./call-fixes.js";
import { findSite, locate, siteIndex, type SiteIndex } from "./sites.js";
import { withConfigs } from "./rewrite-configs.js";
import { specPlaces } from "./spec-locations.js";
import type { ts } from "./typescript.js";

/** `beside` gives the text of a file by its path relative to another; it may be any kind of text. */
export function indexFiles(files: Files, beside: SourceIndex["beside"]): SourceIndex {
  const compared = new Map<ts.Node, ComparisonSite>();
  const indexes = new Map<ts.SourceFile, SiteIndex>();
  const find = (at: Location) => {
    const file = files.read(at.file);
    if (!file) return undefined;
    let index = indexes.get(file);
    if (!index) {
      index = withStackGuard(
        () => siteIndex(file),
        () => deepestNode([file]),
      );
      indexes.set(file, index);
    }
    return findSite(index, at);
  };
  return {
    site: (at) => find(at)?.site,
    endOf(at) {
      const found = find(at);
      return found && locate(found.node.getSourceFile(), found.node.getEnd());
    },
    mend(at, how) {
      const found = find(at);
      return found && fixedCall(found.node, how);
    },
    beside,
    spec(at) {
      const found = find(at);
      return found && specPlaces(found.node);
    },
    withConfigs(at, configs) {
      const found = find(at);
      return found && withConfigs(found.node, configs);
    },
    lint: (paths) =>
      withStackGuard(
        () => lintFiles(paths, files, compared),
        () => deepestNode(paths.flatMap((path) => files.read(path) ?? [])),
      ),
    compared(at) {
      const found = find(at);
      return found && compared.get(found.node);
    },
  };
}
