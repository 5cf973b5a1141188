/** The ends of the key ranges that rows attend to: keys that all rows attend to, and keys that any row attends to. */
import type { Argument, ForStatement } from "../../../ir/nodes.js";
import type { KeyLimit, Masks } from "../pattern/attention-masks.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { INTEGER, type PartitionBuilder } from "./partition-builder.js";
import type { AttentionContext } from "./partition-context.js";

/** The end of the keys that any row of the tile attends to, or any row of the consumer. */
export function keyEnd(
  { builder, names, rows }: AttentionContext,
  { end }: ForStatement,
  masks: Masks,
  isPerConsumer: boolean,
): Argument {
  const rowCount = isPerConsumer ? rows.count() : names.rows;
  return minimumOf(builder, isPerConsumer ? "own_end" : "end", end, endLimits(masks), (limit, { offset }) => {
    const firstKey = isPerConsumer ? rows.firstRow(limit) : limit;
    return py.binary(firstKey, "+", offset ? rowCount : py.binary(rowCount, "-", py.number("1")));
  });
}

/** True if each consumer stops at the last key that its own rows attend to. */
export function hasConsumerEnds({ specialized, isConsumer }: AttentionContext, loop: ForStatement): boolean {
  const masks = specialized.masks.get(loop);
  return isConsumer && specialized.loops.size === 1 && masks !== undefined && endLimits(masks).length > 0;
}

/** The end of the iterations whose keys all rows attend to, of the tile or of the consumer. */
export function unmaskedKeyEnd(
  { builder, rows }: AttentionContext,
  { end, step }: ForStatement,
  { limits }: Masks,
  isPerConsumer: boolean,
): Argument {
  const edge = minimumOf(builder, "edge", end, limits, (limit, { offset, isPerRow }) => {
    const firstKey = isPerConsumer && isPerRow ? rows.firstRow(limit) : limit;
    return offset ? py.binary(firstKey, "+", py.number("1")) : firstKey;
  });
  const wholeBlocks = (last: Expression, keys: Expression) => py.binary(py.binary(last, "//", keys), "*", keys);
  return builder.namedValue("whole", INTEGER, wholeBlocks, edge, step);
}

/** The minimum of a loop's end and the limits that apply. */
function minimumOf(
  builder: PartitionBuilder,
  name: string,
  end: Argument,
  limits: readonly KeyLimit[],
  keyOf: (limit: Expression, keyLimit: KeyLimit) => Expression,
): Argument {
  let minimum = end;
  for (const limit of limits) {
    const { starts, offset, branch, isPerRow } = limit;
    if (!isPerRow && offset === 0 && starts.length === 1 && starts[0] === end) continue;
    const smallerOf = (previous: Expression, ...terms: readonly Expression[]) => {
      const sum = terms.reduce((x, y) => py.binary(x, "+", y));
      return py.call("tl.minimum", previous, keyOf(sum, limit));
    };
    const inBranch = (previous: Expression, condition: Expression, ...terms: readonly Expression[]) => {
      const smaller = smallerOf(previous, ...terms);
      return branch?.isThen
        ? py.conditional(smaller, condition, previous)
        : py.conditional(previous, condition, smaller);
    };
    minimum = branch
      ? builder.namedValue(name, INTEGER, inBranch, minimum, branch.condition, ...starts)
      : builder.namedValue(name, INTEGER, smallerOf, minimum, ...starts);
  }
  return minimum;
}

/**
 * Limits past which no row attends to a key. A limit that is equal for all rows may hide all keys from all rows, and
 * then the first iteration has to run.
 */
const endLimits = ({ limits }: Masks): readonly KeyLimit[] =>
  limits.filter(({ isSkippable, isPerRow }) => isSkippable && isPerRow);
