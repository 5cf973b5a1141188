/**
 * How many blocks those rows of a partition have that lie before a row, which a loop over rows adds up. Each row may leave
 * a block partly filled, so that they are no more than the blocks of all elements, less those from where the row starts,
 * and one for each row.
 */
import {
  andTerm,
  atLeast,
  atMost,
  below,
  cdiv,
  difference,
  number,
  product,
  orTerm,
  substitute,
  sum,
  symbolsIn,
  type Term,
} from "../../symbolic/term.js";
import { expanded, minus } from "./maximum.js";
import { totalOf } from "./partitions.js";
import type { Environment } from "./symbolic-environment.js";

/** The blocks of one row, times what does not change from row to row. */
interface RowBlocks {
  readonly by: Term;
  readonly block: Term;
  /** Where the row starts. */
  readonly start: Term;
  /** Where the last row ends. */
  readonly total: Term;
}

/** What holds of the sum of what each turn adds, after so many turns; undefined if a turn adds something else. */
export function prefixSumOfBlocks(
  environment: Environment,
  added: readonly Term[],
  turn: Term,
): ((total: Term, turns: Term) => Term) | undefined {
  const found = added.length === 1 ? blocksOf(environment, added[0]!, turn) : undefined;
  if (!found) return undefined;
  const { by, block, start, total: end } = found;
  const isNegative = by.kind === "product" && by.parts[0]!.kind === "number" && by.parts[0]!.value < 0n;
  const times = isNegative ? product(number(-1), by) : by;
  return (total, turns) => {
    const count = isNegative ? product(number(-1), total) : total;
    const begun = substitute(start, new Map([[turn.name, turns]]));
    const before = difference(cdiv(end, block), cdiv(difference(end, begun), block));
    const holds = andTerm(atLeast(count, number(0)), atMost(count, product(times, sum(before, turns))));
    return orTerm(below(turns, number(0)), below(times, number(0)), below(block, number(1)), holds);
  };
}

function blocksOf(environment: Environment, added: Term, turn: Term): RowBlocks | undefined {
  const factors = added.kind === "product" ? added.parts : [added];
  const changing = factors.filter((each) => symbolsIn(each).has(turn.name));
  const [blocks, ...more] = changing;
  if (more.length > 0 || blocks?.kind !== "quotient") return undefined;
  const [dividend, block] = blocks.parts as [Term, Term];
  if (symbolsIn(block).has(turn.name)) return undefined;
  const start = startOf(minus(dividend, sum(block, number(-1))), turn);
  const total = start && totalOf(environment, start.name);
  return total && { by: product(...factors.filter((each) => each !== blocks)), block, start, total };
}

/** Where a row starts whose length this is: `ends[row] - ends[row - 1]`, or `offsets[row + 1] - offsets[row]`. */
function startOf(length: Term, turn: Term): Term | undefined {
  const [end, less, ...more] = length.kind === "sum" ? length.parts : [];
  if (end?.kind !== "call" || less?.kind !== "product" || more.length > 0) return undefined;
  const [sign, given, ...others] = less.parts;
  if (sign !== number(-1) || others.length > 0) return undefined;
  // State that lags behind is 0 before the first row, as is what comes before the first end.
  const [condition, held, otherwise] = given!.kind === "choice" ? given!.parts : [];
  const isLagging = condition === atLeast(turn, number(1)) && otherwise === number(0);
  const start = isLagging ? held! : given!;
  if (start.kind !== "call" || start.name !== end.name) return undefined;
  const [from, to] = [start.parts[0]!, end.parts[0]!];
  const isNext = expanded(substitute(from, new Map([[turn.name, sum(turn, number(1))]]))) === expanded(to);
  return isNext && minus(to, from) === number(1) ? start : undefined;
}
