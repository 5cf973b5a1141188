/** The author's variables that hold tiles, for the hints of an editor. */
import type { NamedTile } from "../compiled/compiled-kernel.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { walk } from "../ir/walk.js";
import { showType, type Type } from "../types/types.js";

export function namedTiles({ body, functions }: KernelIR, source: SourceIndex | undefined): readonly NamedTile[] {
  const tiles: NamedTile[] = [];
  const add = (name: string | undefined, statement: NamedTile["statement"], type: Type): void => {
    if (name !== undefined && type.kind === "tile" && type.shape.length > 0)
      tiles.push({ name, statement, type: showType(type) });
  };
  for (const block of [body, ...functions.map((helper) => helper.body)])
    walk(block, (statement) => {
      const site = statement.location && source?.site(statement.location);
      if (!site) return;
      if (statement.kind === "let") add(site.name, site.statement, statement.variable.type);
      if (statement.kind === "op")
        statement.results.forEach(({ type, isAnonymous }, i) => {
          if (!isAnonymous) add(site.names ? site.names[i] : site.name, site.statement, type);
        });
    });
  return tiles;
}
