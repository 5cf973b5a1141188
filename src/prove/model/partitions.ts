/**
 * Tensors that are declared as a partition of a size. Each element below that size belongs to one row: between two
 * consecutive offsets, or between the previous end (0 before the first) and an end. The row is an uninterpreted
 * function of the element.
 */
import { atAxis } from "../../types/dims.js";
import { paramsOf, type TensorParam } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  atMost,
  below,
  call,
  iteTerm,
  equal,
  number,
  sum,
  type Term,
  termsIn,
  cdiv,
  difference,
  product,
  orTerm,
  substitute,
  symbolsIn,
  symbol,
} from "../../symbolic/term.js";
import { assume, entails } from "../algebra/interpret.js";
import { FactSet, type MonotoneFunction } from "../algebra/facts.js";
import { add, ONE, type Polynomial } from "../algebra/polynomial.js";
import { type Environment, at, type TermTile } from "./symbolic-environment.js";
import { ELEMENT_PREFIX } from "./input-elements.js";
import { expand, minus } from "./maximum.js";
import { Budget } from "../algebra/budget.js";
import { zip } from "../algebra/zip.js";

const ROW = "row of ";

/**
 * For the row boundary at an index of a partition: the function from an element to its row, and the row that starts at
 * that boundary.
 */
export function rowFunction(
  { ir }: Pick<Environment, "ir">,
  contents: string,
  index: Polynomial,
): { readonly name: string; readonly row: Polynomial } | undefined {
  const partitioned = partitionOf({ ir }, contents, ELEMENT_PREFIX);
  if (!partitioned) return undefined;
  const { param, partition } = partitioned;
  return { name: `${ROW}${param.name}`, row: partition.holds === "ends" ? add(index, ONE) : index };
}

export const isRow = ({ kind, name }: Term): boolean => kind === "call" && name.startsWith(ROW);

/**
 * The uninterpreted functions that are monotone. Elements beyond the tensor are chosen so that the sequence continues,
 * from 0 and up to the size.
 */
export const monotoneFunctions =
  (model: Pick<Environment, "ir">): MonotoneFunction =>
  (name) =>
    partitionOf(model, name, ELEMENT_PREFIX) !== undefined;

/** The size that a partition ends at. */
function totalOf({ ir, launch }: Pick<Environment, "ir" | "launch">, contents: string): Term | undefined {
  const partitioned = partitionOf({ ir }, contents, ELEMENT_PREFIX);
  return partitioned && launch.term(partitioned.partition.total);
}

interface Partitioned {
  readonly param: TensorParam;
  readonly partition: NonNullable<TensorParam["partition"]>;
}

function partitionOf({ ir }: Pick<Environment, "ir">, name: string, prefix: string): Partitioned | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const param = paramsOf(ir, "tensor").find((candidate) => candidate.name === name.slice(prefix.length));
  return param?.partition && param.role === "in" ? { param, partition: param.partition } : undefined;
}

/** The partition and the element of a term that is an element's row. */
function rowOf(model: Pick<Environment, "ir">, term: Term): (Partitioned & { readonly element: Term }) | undefined {
  const partitioned = term.kind === "call" ? partitionOf(model, term.name, ROW) : undefined;
  const [element] = term.operands;
  return partitioned && element && { ...partitioned, element };
}

/** The condition that an element belongs to a row. */
function isInRow(
  { launch }: Pick<Environment, "launch">,
  { param, partition }: Partitioned,
  element: Term,
  row: Term,
): Term {
  const boundaryAt = (index: Term) => call(`${ELEMENT_PREFIX}${param.name}`, index);
  const count = atAxis(launch.tensorDims(param), 0);
  const [start, endIndex] =
    partition.holds === "offsets"
      ? [boundaryAt(row), sum(row, number(1))]
      : [iteTerm(atLeast(row, number(1)), boundaryAt(sum(row, number(-1))), number(0)), row];
  return andTerm(
    atLeast(row, number(0)),
    below(endIndex, count),
    atMost(start, element),
    below(element, boundaryAt(endIndex)),
  );
}

function isCovered(
  facts: FactSet,
  { launch }: Pick<Environment, "launch">,
  { partition }: Partitioned,
  element: Term,
): boolean {
  const total = launch.term(partition.total);
  return total !== undefined && entails(facts, andTerm(atLeast(element, number(0)), below(element, total)));
}

/** Assumes the definition of each row function in the terms, if its element certainly has a row. */
export function assumeRows(facts: FactSet, model: Pick<Environment, "ir" | "launch">, terms: readonly Term[]): void {
  for (const term of termsIn(...terms)) {
    const row = rowOf(model, term);
    if (row && isCovered(facts, model, row, row.element)) assume(facts, isInRow(model, row, row.element, term));
  }
}

/** Proves that two terms are equal. An element belongs to exactly one row. */
export function provesSame(facts: FactSet, model: Pick<Environment, "ir" | "launch">, x: Term, y: Term): boolean {
  if (entails(facts, equal(x, y))) return true;
  const row = rowOf(model, x);
  return (
    row !== undefined &&
    isCovered(facts, model, row, row.element) &&
    entails(facts, isInRow(model, row, row.element, y))
  );
}

// Bounds the number of blocks in the rows of a partition before a given row, which a loop over rows accumulates. Each
// row may have a partly filled block. The sum is therefore at most the blocks of all elements, minus those from the
// row's start on, plus one for each row.

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

// Loop invariants of variables without a closed form: bounds that the initial value satisfies and that each iteration
// preserves. A binary search keeps `0 <= low <= N` that way. Candidates are guessed and then checked together, as in
// Houdini.

/**
 * A loop-carried variable before the loop and at the end of an iteration. `mark` is the uninterpreted function that
 * represents it at the start of an iteration.
 */
export interface StateSnapshot {
  readonly mark: string;
  readonly initial: TermTile;
  readonly next: TermTile;
}

/** A condition on the value of a variable. */
export type Invariant = (value: Term) => Term;

interface Candidate {
  readonly snapshot: StateSnapshot;
  readonly invariant: Invariant;
  /** A candidate that implies this one. */
  readonly stronger?: Candidate;
}

const STEPS = 10_000;
/** The maximum number of sizes that a variable is compared with. */
const SIZES = 5;

/** The invariants of each variable. `path` is the path condition at the end of an iteration. */
export function inferInvariants(
  environment: Environment,
  states: readonly StateSnapshot[],
  path: readonly Term[],
): readonly (readonly Invariant[])[] {
  const budget = new Budget(STEPS);
  const initialFacts = factsInLoop(environment, budget, []);
  let candidates = filterCandidates(
    states.flatMap((snapshot) => candidatesFor(environment, snapshot)),
    ({ snapshot, invariant }) => provesIn(initialFacts, snapshot.initial, invariant),
  );
  for (let previousCount = 0; previousCount !== candidates.length && candidates.length > 0;) {
    previousCount = candidates.length;
    const assumed = candidates.map(({ snapshot: { mark }, invariant }) => ({ mark, invariant }));
    const facts = factsInLoop(environment, budget, assumed);
    for (const condition of path) assume(facts, condition);
    candidates = filterCandidates(candidates, ({ snapshot, invariant }) => provesIn(facts, snapshot.next, invariant));
  }
  return states.map((snapshot) => candidates.flatMap((each) => (each.snapshot === snapshot ? [each.invariant] : [])));
}

/** The candidates that a test accepts. A candidate that an accepted one implies is not tested. */
function filterCandidates(
  candidates: readonly Candidate[],
  isPreserved: (candidate: Candidate) => boolean,
): readonly Candidate[] {
  const accepted = new Set<Candidate>();
  for (const candidate of candidates)
    if ((candidate.stronger && accepted.has(candidate.stronger)) || isPreserved(candidate)) accepted.add(candidate);
  return [...accepted];
}

/** Proves an invariant for each lane of a tile. */
function provesIn(facts: FactSet, tile: TermTile, invariant: Invariant): boolean {
  const lane = probesOf(tile);
  const laneFacts = facts.child();
  for (const [dim, index] of zip(tile.shape, lane))
    assume(laneFacts, andTerm(atLeast(index, number(0)), below(index, dim)));
  return entails(laneFacts, invariant(at(tile, lane)));
}

const probesOf = ({ shape }: TermTile): readonly Term[] => shape.map((_, axis) => symbol(`probe ${axis}`));

/** An assumption about the values of a variable's mark. */
interface AssumedInvariant {
  readonly mark: string;
  readonly invariant: Invariant;
}

/** The facts inside the loop, including assumptions about its variables. */
export function factsInLoop(environment: Environment, budget: Budget, assumed: readonly AssumedInvariant[]): FactSet {
  const { launch, scope, ranges } = environment;
  const facts = new FactSet({
    budget,
    rises: monotoneFunctions(environment),
    callFacts: (name, args, value, inProgram) => [
      ...environment.factsOf(name, args, value, inProgram),
      ...assumed.flatMap(({ mark, invariant }) => (mark === name ? [invariant(value)] : [])),
    ],
  });
  facts.inProgram = true;
  for (const fact of launch.facts) assume(facts, fact);
  for (const variable of scope) {
    const range = ranges.get(variable.name);
    assume(
      facts,
      range ? andTerm(atLeast(variable, range.from), below(variable, range.to)) : atLeast(variable, number(0)),
    );
  }
  return facts;
}

/** Candidate invariants: nonnegative, and less than or at most a size that the variable is computed with. */
function candidatesFor({ launch }: Environment, snapshot: StateSnapshot): readonly Candidate[] {
  const { initial, next } = snapshot;
  const symbols = symbolsIn(...[initial, next].map((tile) => at(tile, probesOf(tile))));
  const sizes = [...symbols].filter((name) => launch.chosen.has(name)).slice(0, SIZES);
  const upperBounds = sizes.flatMap((name): readonly Candidate[] => {
    const stronger: Candidate = { snapshot, invariant: (value) => below(value, symbol(name)) };
    return [stronger, { snapshot, invariant: (value) => atMost(value, symbol(name)), stronger }];
  });
  return [{ snapshot, invariant: (value) => atLeast(value, number(0)) }, ...upperBounds];
}
