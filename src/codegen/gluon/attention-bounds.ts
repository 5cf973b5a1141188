/** Where the keys end that rows of a tile see: all of them, and any. */
import type { Argument, ForStatement } from "../../ir/nodes.js";
import type { KeyLimit, Masks } from "../../specialise/attention-masks.js";
import type { Expression } from "../python/py.js";
import * as py from "../python/py-build.js";
import { AttentionStatements } from "./attention-statements.js";
import { type Build, INTEGER } from "./part-writer.js";

export class AttentionBounds extends AttentionStatements {
  /** Where keys end that any row sees. */
  endOf({ end }: ForStatement, { limits }: Masks): Argument {
    const last = py.binary(this.names.rows, "-", py.number("1"));
    // A number may hide all keys from all rows; then the first turn must say so.
    const ending = limits.filter(({ hides, isOfRows }) => hides && isOfRows);
    return this.#least("end", end, ending, (limit, more) => py.binary(limit, "+", more ? this.names.rows : last));
  }

  /** Where the turns end whose keys all rows see. */
  wholeOf({ end, step }: ForStatement, { limits }: Masks): Argument {
    const least = this.#least("edge", end, limits, (limit, more) =>
      more ? py.binary(limit, "+", py.number("1")) : limit,
    );
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
    at: (limit: Expression, more: boolean) => Expression,
  ): Argument {
    let least = end;
    for (const { starts, more, arm, isOfRows } of limits) {
      if (!isOfRows && more === 0 && starts.length === 1 && starts[0] === end) continue;
      const build: Build = (before, ...given) => {
        const [condition, ...parts] = arm ? given : [undefined, ...given];
        const limit = at(
          parts.reduce((sum, part) => py.binary(sum!, "+", part!))!,
          more === 1,
        );
        const lesser = py.call("tl.minimum", before!, limit);
        if (!arm || !condition) return lesser;
        return arm.isThen ? py.conditional(lesser, condition, before!) : py.conditional(before!, condition, lesser);
      };
      least = this.made(name, INTEGER, build, least, ...(arm ? [arm.condition] : []), ...starts);
    }
    return least;
  }
}
