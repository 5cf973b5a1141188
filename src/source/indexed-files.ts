/** A source index over files, independent of whether they are read from disk or from memory. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { FoundConfigs } from "../compiled/compiled-kernel.js";
import type { ComparisonSite, RewrittenText, SourceIndex } from "../ir/source-index.js";
import { deepestNode, withStackGuard } from "./stack-guard.js";
import type { Files } from "./imports.js";
import { lintFiles } from "./lint.js";
import { fixCall } from "./call-fixes.js";
import { findSite, locate, siteIndex, type SiteIndex } from "./sites.js";
import { specLocations } from "./spec-locations.js";
import type { ts } from "./typescript.js";

/**
 * Creates the index. `readRelative` reads a file of any kind by its path relative to another file. Files in memory have
 * no `rewriteConfigs`.
 */
export function indexFiles(
  files: Files,
  readRelative: SourceIndex["readRelative"],
  rewriteConfigs?: (call: ts.Node, results: readonly FoundConfigs[]) => Promise<RewrittenText | undefined>,
): SourceIndex {
  const comparisons = new Map<ts.Node, ComparisonSite>();
  const indexes = new Map<ts.SourceFile, SiteIndex>();
  const find = (location: Location) => {
    const file = files.read(location.file);
    if (!file) return undefined;
    let index = indexes.get(file);
    if (!index) {
      index = withStackGuard(
        () => siteIndex(file),
        () => deepestNode([file]),
      );
      indexes.set(file, index);
    }
    return findSite(index, location);
  };
  return {
    site: (location) => find(location)?.site,
    endOf(location) {
      const match = find(location);
      return match && locate(match.node.getSourceFile(), match.node.getEnd());
    },
    fixFor(location, fix) {
      const match = find(location);
      return match && fixCall(match.node, fix);
    },
    readRelative,
    spec(location) {
      const match = find(location);
      return match && specLocations(match.node);
    },
    async withConfigs(location, results) {
      const match = find(location);
      return match && rewriteConfigs?.(match.node, results);
    },
    lint: (paths) =>
      withStackGuard(
        () => lintFiles(paths, files, comparisons),
        () => deepestNode(paths.flatMap((path) => files.read(path) ?? [])),
      ),
    comparisonAt(location) {
      const match = find(location);
      return match && comparisons.get(match.node);
    },
  };
}
