/** Where the keys end that rows of a tile see: all of them, and any. */
import type { Argument, ForStatement } from "../../../ir/nodes.js";
import type { KeyLimit, Masks } from "../pattern/attention-masks.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { AttentionStatements } from "./attention-statements.js";
import { type OpPrinter, INTEGER } from "./partition-builder.js";

export class AttentionBounds extends AttentionStatements {
  /** Where keys end that any row of the tile sees, or any of the consumer's. */
  endOf({ end }: ForStatement, masks: Masks, isOwn: boolean): Argument {
    const count = isOwn ? this.rowsOfPart() : this.names.rows;
    return this.#least(isOwn ? "own_end" : "end", end, ending(masks), (limit, { more }) => {
      const first = isOwn ? this.rowsFrom(limit, this.names.part) : limit;
      return py.binary(first, "+", more ? count : py.binary(count, "-", py.number("1")));
    });
  }

  /** Whether consumers end with the keys of their own rows. */
  endsApart(loop: ForStatement): boolean {
    const { loops, masks } = this.specialized;
    const found = masks.get(loop);
    return this.isConsumer && loops.size === 1 && found !== undefined && ending(found).length > 0;
  }

  /** Where the turns end whose keys all rows see, of the tile or of the consumer. */
  wholeOf({ end, step }: ForStatement, { limits }: Masks, isOwn: boolean): Argument {
    const least = this.#least("edge", end, limits, (limit, { more, isOfRows }) => {
      const first = isOwn && isOfRows ? this.rowsFrom(limit, this.names.part) : limit;
      return more ? py.binary(first, "+", py.number("1")) : first;
    });
    return this.made(
      "whole",
      INTEGER,
      (edge, keys) => py.binary(py.binary(edge!, "//", keys!), "*", keys!),
      least,
      step,
    );
  }

  /** The least of a loop's end and limits, as many as hold. */
  #least(
    name: string,
    end: Argument,
    limits: readonly KeyLimit[],
    at: (limit: Expression, given: KeyLimit) => Expression,
  ): Argument {
    let least = end;
    for (const limit of limits) {
      const { starts, more, arm, isOfRows } = limit;
      if (!isOfRows && more === 0 && starts.length === 1 && starts[0] === end) continue;
      const build: OpPrinter = (before, ...given) => {
        const [condition, ...parts] = arm ? given : [undefined, ...given];
        const sum = parts.reduce((x, y) => py.binary(x!, "+", y!))!;
        const lesser = py.call("tl.minimum", before!, at(sum, limit));
        if (!arm || !condition) return lesser;
        return arm.isThen ? py.conditional(lesser, condition, before!) : py.conditional(before!, condition, lesser);
      };
      least = this.made(name, INTEGER, build, least, ...(arm ? [arm.condition] : []), ...starts);
    }
    return least;
  }
}

/** Limits behind which no row sees a key. A number may hide all keys from all rows; then the first turn must say so. */
const ending = ({ limits }: Masks): readonly KeyLimit[] => limits.filter(({ hides, isOfRows }) => hides && isOfRows);
