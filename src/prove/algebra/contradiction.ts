/**
 * Linear reasoning: proves that conditions `p >= 0` and `p = 0` contradict each other, with each monomial as a
 * variable. By Farkas' lemma they do if a sum of them with nonnegative factors is a negative constant. A floating-point
 * simplex finds the conditions of the sum. Exact rational arithmetic then verifies it, so no result depends on
 * rounding.
 */
import type { Budget } from "./budget.js";
import {
  add,
  constantOf,
  isConstant,
  opposite,
  type Polynomial,
  PolynomialSet,
  type PolynomialTerm,
  tighten,
  exactQuotient,
  gcd,
  type Integer,
  magnitude,
  plus,
  times,
  type Monomial,
  monomialCount,
  UNIT,
} from "./polynomial.js";
import { zip } from "./zip.js";

export function contradict(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[], budget: Budget): boolean {
  // Large constants such as 2^31 hide small ones in floating point and are rarely needed.
  const small = atLeastZero.filter((p) => constantOf(p) < LARGE && constantOf(p) > -LARGE);
  if (small.length < atLeastZero.length && isContradiction(small, zero, budget)) return true;
  return isContradiction(atLeastZero, zero, budget);
}

const LARGE = 2 ** 24;

function isContradiction(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[], budget: Budget): boolean {
  if (!budget.spend(atLeastZero.length + zero.length)) return false;
  const system = eliminate(atLeastZero, zero);
  if (system === undefined) return true;
  const conditions: Polynomial[] = [];
  for (const reducedCondition of system.atLeastZero) {
    const condition = tighten(reducedCondition);
    if (!isConstant(condition)) conditions.push(condition);
    else if (constantOf(condition) < 0) return true;
  }
  const useful = distinct(removeUncancelable(conditions, system.zero));
  if (useful.length === 0) return false;
  const support = infeasibleSupport([...useful, ...system.zero, ...system.zero.map(opposite)]);
  return support !== undefined && sumsToContradiction(support);
}

interface System {
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

/** Eliminates monomials that an equation defines. Undefined if an equation is false. */
function eliminate(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[]): System | undefined {
  const [conditions, pending, remaining] = [[...atLeastZero], [...zero], [] as Polynomial[]];
  const uses = new MonomialCounts();
  for (const p of [...atLeastZero, ...zero]) uses.addAll(p, 1);
  for (let equation = pending.pop(); equation !== undefined; equation = pending.pop()) {
    uses.addAll(equation, -1);
    if (isConstant(equation)) {
      if (constantOf(equation) !== 0) return undefined;
      continue;
    }
    const defining = rarestTerm(equation, uses);
    if (defining === undefined) {
      remaining.push(equation);
      continue;
    }
    for (const list of [conditions, pending, remaining])
      list.forEach((p, i) => {
        const factor = p.coefficientOf(defining.monomial);
        if (factor === 0) return;
        const replaced = add(p, equation, times(-factor, defining.coefficient));
        list[i] = replaced;
        if (list === remaining) return;
        uses.addAll(p, -1);
        uses.addAll(replaced, 1);
      });
  }
  return { atLeastZero: conditions, zero: remaining };
}

/** A count for each monomial. */
class MonomialCounts {
  readonly #counts = new Int32Array(monomialCount());

  of({ id }: Monomial): number {
    return this.#counts[id] ?? 0;
  }

  add(monomial: Monomial, change: 1 | -1): void {
    this.#counts[monomial.id] = this.of(monomial) + change;
  }

  addAll({ terms }: Polynomial, change: 1 | -1): void {
    for (const { monomial } of terms) this.add(monomial, change);
  }
}

/** The term of an equation whose monomial is used least, among those with coefficient 1 or -1. */
function rarestTerm({ terms }: Polynomial, uses: MonomialCounts): PolynomialTerm | undefined {
  let [rarest, fewest]: [PolynomialTerm | undefined, number] = [undefined, Infinity];
  for (const term of terms) {
    if (term.monomial === UNIT || (term.coefficient !== 1 && term.coefficient !== -1)) continue;
    const count = uses.of(term.monomial);
    if (count < fewest) [rarest, fewest] = [term, count];
  }
  return rarest;
}

function distinct(list: readonly Polynomial[]): readonly Polynomial[] {
  const polynomials = new PolynomialSet();
  return list.filter((p) => polynomials.add(p));
}

/** Removes conditions with a monomial that has the same sign in all conditions, because nothing cancels it. */
function removeUncancelable(conditions: readonly Polynomial[], zero: readonly Polynomial[]): readonly Polynomial[] {
  const [positive, negative] = [new MonomialCounts(), new MonomialCounts()];
  // An equation can be negated, so it counts for both signs.
  for (const p of zero) {
    positive.addAll(p, 1);
    negative.addAll(p, 1);
  }
  const count = ({ terms }: Polynomial, change: 1 | -1): void => {
    for (const { monomial, coefficient } of terms) (coefficient > 0 ? positive : negative).add(monomial, change);
  };
  for (const p of conditions) count(p, 1);
  const isUseful = ({ terms }: Polynomial): boolean =>
    terms.every(
      ({ monomial, coefficient }) => monomial === UNIT || (coefficient > 0 ? negative : positive).of(monomial) > 0,
    );
  for (let remaining = conditions; ;) {
    const next = remaining.filter((p) => {
      const isKept = isUseful(p);
      if (!isKept) count(p, -1);
      return isKept;
    });
    if (next.length === remaining.length) return remaining;
    remaining = next;
  }
}

const MAX_PIVOTS = 600;
/** After these pivots, Bland's rule is used, which always terminates. */
const GREEDY_PIVOTS = 150;
const EPSILON = 1e-9;

/** The columns with a positive factor in a solution of `Σ factor · column = -1`, found in floating point. */
function infeasibleSupport(columns: readonly Polynomial[]): readonly Polynomial[] | undefined {
  const width = columns.length;
  const rows = tableau(columns);
  const costs = new Row(width + 1, -1);
  for (const row of rows) costs.subtract(row, -1, row.nonZeroColumns());
  const allRows = [...rows, costs];
  for (let iteration = 0; costs.at(width) > 1e-7; iteration++) {
    if (iteration > MAX_PIVOTS) return undefined;
    const entering = enteringColumn(costs, width, iteration < GREEDY_PIVOTS);
    if (entering < 0) return undefined;
    const leaving = leavingRow(rows, entering, width, iteration < GREEDY_PIVOTS);
    if (!leaving) return undefined;
    leaving.divide(leaving.at(entering));
    const columnsToChange = leaving.nonZeroColumns();
    for (const row of allRows) if (row !== leaving) row.subtract(leaving, row.at(entering), columnsToChange);
    leaving.basis = entering;
  }
  const support = new Set(rows.filter((row) => row.at(width) > 1e-12).map(({ basis }) => basis));
  return columns.filter((_, j) => support.has(j));
}

/** A row of the tableau: an entry for each column, and the right-hand side. */
class Row {
  readonly #entries: Float64Array;

  /** `basis` is the row's basic variable: a column, or from `length - 1` on an artificial variable. */
  constructor(
    length: number,
    public basis: number,
  ) {
    this.#entries = new Float64Array(length);
  }

  at(j: number): number {
    return this.#entries[j]!;
  }

  set(j: number, value: number): void {
    this.#entries[j] = value;
  }

  divide(by: number): void {
    const entries = this.#entries;
    for (let j = 0; j < entries.length; j++) entries[j]! /= by;
  }

  /** Few of a row's entries differ from 0. */
  nonZeroColumns(): readonly number[] {
    const entries = this.#entries;
    const columns: number[] = [];
    for (let j = 0; j < entries.length; j++) if (entries[j] !== 0) columns.push(j);
    return columns;
  }

  /** Subtracts a multiple of another row, whose other columns are 0. */
  subtract(row: Row, factor: number, columns: readonly number[]): void {
    if (factor === 0) return;
    const [entries, subtracted] = [this.#entries, row.#entries];
    for (const j of columns) entries[j]! -= factor * subtracted[j]!;
  }
}

/** One row for each monomial, whose sum must vanish, and the last for the constant, scaled to entries near 1. */
function tableau(columns: readonly Polynomial[]): readonly Row[] {
  const width = columns.length;
  const rows = new Map<Monomial, Row>();
  const rowOf = (monomial: Monomial): Row => {
    let row = rows.get(monomial);
    if (!row) rows.set(monomial, (row = new Row(width + 1, width + rows.size)));
    return row;
  };
  for (const { terms } of columns) for (const { monomial } of terms) if (monomial !== UNIT) rowOf(monomial);
  columns.forEach(({ terms }, j) => {
    // Constants such as 2^31 are excluded from the scale.
    let size = 0;
    for (const { monomial, coefficient } of terms)
      if (monomial !== UNIT) size = Math.max(size, Math.abs(Number(coefficient)));
    for (const { monomial, coefficient } of terms)
      rowOf(monomial).set(j, Number(monomial === UNIT ? -coefficient : coefficient) / size);
  });
  const last = rowOf(UNIT);
  for (const row of rows.values()) {
    let size = 0;
    for (let j = 0; j < width; j++) size = Math.max(size, Math.abs(row.at(j)));
    if (size > 0) row.divide(size);
  }
  last.set(width, 1);
  return [...rows.values()];
}

function enteringColumn(costs: Row, width: number, greedy: boolean): number {
  let [best, highestCost] = [-1, EPSILON];
  for (let j = 0; j < width; j++) {
    const cost = costs.at(j);
    if (cost <= highestCost) continue;
    if (!greedy) return j;
    [best, highestCost] = [j, cost];
  }
  return best;
}

function leavingRow(rows: readonly Row[], entering: number, width: number, greedy: boolean): Row | undefined {
  let [best, lowestRatio]: [Row | undefined, number] = [undefined, Infinity];
  for (const row of rows) {
    const pivotEntry = row.at(entering);
    if (pivotEntry <= EPSILON) continue;
    const ratio = row.at(width) / pivotEntry;
    const isTied = Math.abs(ratio - lowestRatio) <= 1e-12;
    const wins = best && isTied && (greedy ? pivotEntry > best.at(entering) : row.basis < best.basis);
    if (ratio < lowestRatio - 1e-12 || wins) [best, lowestRatio] = [row, ratio];
  }
  return best;
}

/** Checks in exact arithmetic whether factors `>= 0` with `Σ factor · column = -1` exist, for independent columns. */
function sumsToContradiction(columns: readonly Polynomial[]): boolean {
  const monomials = new Set(columns.flatMap((p) => p.monomials));
  monomials.delete(UNIT);
  // An equation of the factors for each monomial: the coefficients, and the right-hand side.
  let pending: readonly (readonly Integer[])[] = [...monomials, UNIT].map((monomial) => [
    ...columns.map((p) => p.coefficientOf(monomial)),
    monomial === UNIT ? -1 : 0,
  ]);
  let solved: readonly (readonly Integer[])[] = [];
  for (let remaining = columns.length; remaining > 0; remaining--) {
    const pivot = pending.find(([entry]) => entry !== 0);
    const eliminate = (row: readonly Integer[]): readonly Integer[] =>
      pivot ? eliminateFirst(row, pivot) : row.slice(1);
    solved = solved.map(eliminate);
    pending = pending.filter((row) => row !== pivot).map(eliminate);
    if (!pivot) continue;
    const [entry = 0, ...rest] = pivot;
    solved = [...solved, entry < 0 ? rest.map((x) => -x) : rest];
  }
  // Only the right-hand sides remain.
  return solved.flat().every((x) => x >= 0) && pending.flat().every((x) => x === 0);
}

/** A row without its first entry, which a multiple of the pivot row cancels. The row is scaled by a positive factor. */
function eliminateFirst(
  [entry = 0, ...rest]: readonly Integer[],
  [pivotEntry = 0, ...pivotRest]: readonly Integer[],
): readonly Integer[] {
  if (entry === 0) return rest;
  const multiplier = pivotEntry < 0 ? entry : -entry;
  return reduceRow(
    zip(rest, pivotRest).map(([x, pivotX]) => plus(times(x, magnitude(pivotEntry)), times(multiplier, pivotX))),
  );
}

function reduceRow(row: readonly Integer[]): readonly Integer[] {
  let divisor: Integer = 0;
  for (const x of row) if (divisor !== 1) divisor = gcd(divisor, x);
  return divisor > 1 ? row.map((x) => exactQuotient(x, divisor)) : row;
}
