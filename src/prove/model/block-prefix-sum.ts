/**
 * Bounds the number of blocks in the rows of a partition before a given row, which a loop over rows accumulates. Each
 * row may have a partly filled block. The sum is therefore at most the blocks of all elements, minus those from the
 * row's start on, plus one for each row.
 */
import { atAxis } from "../../types/axis.js";
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
import { expand, minus } from "./maximum.js";
import { totalOf } from "./partitions.js";
import type { Environment } from "./symbolic-environment.js";

/** The blocks of one row, times a loop-invariant factor. */
interface RowBlocks {
  readonly factor: Term;
  readonly block: Term;
  /** The first element of the row. */
  readonly start: Term;
  /** The end of the last row. */
  readonly total: Term;
}

/**
 * The bound on the sum of the increments of the first iterations. Undefined if an increment is not a row's block count.
 */
export function prefixSumOfBlocks(
  environment: Environment,
  increments: readonly Term[],
  iteration: Term,
): ((total: Term, iterations: Term) => Term) | undefined {
  const [increment, ...more] = increments;
  const blocks = increment && more.length === 0 ? blocksOf(environment, increment, iteration) : undefined;
  if (!blocks) return undefined;
  const { factor, block, start, total: end } = blocks;
  const isNegative = factor.kind === "product" && factor.operands[0].kind === "number" && factor.operands[0].value < 0n;
  const absoluteFactor = isNegative ? product(number(-1), factor) : factor;
  return (total, iterations) => {
    const count = isNegative ? product(number(-1), total) : total;
    const rowStart = substitute(start, new Map([[iteration.name, iterations]]));
    const blocksBefore = difference(cdiv(end, block), cdiv(difference(end, rowStart), block));
    const bound = andTerm(
      atLeast(count, number(0)),
      atMost(count, product(absoluteFactor, sum(blocksBefore, iterations))),
    );
    return orTerm(below(iterations, number(0)), below(absoluteFactor, number(0)), below(block, number(1)), bound);
  };
}

function blocksOf(environment: Environment, increment: Term, iteration: Term): RowBlocks | undefined {
  const factors: readonly Term[] = increment.kind === "product" ? increment.operands : [increment];
  const changing = factors.filter((each) => symbolsIn(each).has(iteration.name));
  const [blocks, ...more] = changing;
  if (more.length > 0 || blocks?.kind !== "quotient") return undefined;
  const [dividend, block] = blocks.operands;
  if (symbolsIn(block).has(iteration.name)) return undefined;
  const start = startOf(minus(dividend, sum(block, number(-1))), iteration);
  const total = start && totalOf(environment, start.name);
  return total && { factor: product(...factors.filter((each) => each !== blocks)), block, start, total };
}

/** The start of a row from its length: `ends[row] - ends[row - 1]`, or `offsets[row + 1] - offsets[row]`. */
function startOf(length: Term, iteration: Term): Term | undefined {
  const [end, less, ...more] = length.kind === "sum" ? length.operands : [];
  if (end?.kind !== "call" || less?.kind !== "product" || more.length > 0) return undefined;
  const [sign, subtrahend, ...others] = less.operands;
  if (sign !== number(-1) || !subtrahend || others.length > 0) return undefined;
  const start = previousValue(subtrahend, iteration);
  if (start.kind !== "call" || start.name !== end.name) return undefined;
  const [from, to] = [atAxis(start.operands, 0), atAxis(end.operands, 0)];
  const isNext = expand(substitute(from, new Map([[iteration.name, sum(iteration, number(1))]]))) === expand(to);
  return isNext && minus(to, from) === number(1) ? start : undefined;
}

/** The value from the previous iteration. Before the first row it is 0, like the end before the first end. */
function previousValue(term: Term, iteration: Term): Term {
  if (term.kind !== "choice") return term;
  const [condition, previous, otherwise] = term.operands;
  return condition === atLeast(iteration, number(1)) && otherwise === number(0) ? previous : term;
}
