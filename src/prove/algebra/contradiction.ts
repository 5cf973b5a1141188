/**
 * Linear reasoning: proves that conditions `p >= 0` and `p = 0` contradict each other, with each monomial as a
 * variable. By Farkas' lemma they do if a sum of them with nonnegative factors is a negative constant. A floating-point
 * simplex finds the conditions of the sum. Exact rational arithmetic then verifies it, so no result depends on
 * rounding.
 */
import type { Budget } from "./budget.js";
import { exactQuotient, gcd, type Integer, magnitude, plus, times } from "./exact-integer.js";
import { type Monomial, monomialCount, UNIT } from "./monomial.js";
import { add, constantOf, isConstant, opposite, type Polynomial, PolynomialSet, tighten } from "./polynomial.js";

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
  const columns = [...useful, ...system.zero, ...system.zero.map(opposite)];
  const support = infeasibleSupport(columns);
  return support !== undefined && sumsToContradiction(support.map((i) => columns[i]!));
}

interface System {
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

/** Eliminates monomials that an equation defines. Undefined if an equation is false. */
function eliminate(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[]): System | undefined {
  const [conditions, pending, remaining] = [[...atLeastZero], [...zero], [] as Polynomial[]];
  const uses = new UseCounts([...atLeastZero, ...zero]);
  for (let equation = pending.pop(); equation !== undefined; equation = pending.pop()) {
    uses.count(equation, -1);
    if (isConstant(equation)) {
      if (constantOf(equation) !== 0) return undefined;
      continue;
    }
    const monomial = uses.rarest(equation);
    if (monomial === undefined) {
      remaining.push(equation);
      continue;
    }
    const coefficient = equation.coefficientOf(monomial);
    for (const list of [conditions, pending, remaining])
      for (let i = 0; i < list.length; i++) {
        const p = list[i]!;
        const factor = p.coefficientOf(monomial);
        if (factor === 0) continue;
        const replaced = add(p, equation, times(-factor, coefficient));
        list[i] = replaced;
        if (list === remaining) continue;
        uses.count(p, -1);
        uses.count(replaced, 1);
      }
  }
  return { atLeastZero: conditions, zero: remaining };
}

/** The number of polynomials that contain each monomial. */
class UseCounts {
  readonly #counts = new Int32Array(monomialCount());

  constructor(polynomials: readonly Polynomial[]) {
    for (const p of polynomials) this.count(p, 1);
  }

  count({ monomials }: Polynomial, change: 1 | -1): void {
    for (const { id } of monomials) this.#counts[id]! += change;
  }

  /** The monomial of an equation that the fewest polynomials contain, among those with coefficient 1 or -1. */
  rarest({ monomials, coefficients }: Polynomial): Monomial | undefined {
    let [rarest, fewest]: [Monomial | undefined, number] = [undefined, Infinity];
    monomials.forEach((monomial, i) => {
      if (monomial === UNIT || (coefficients[i] !== 1 && coefficients[i] !== -1)) return;
      const uses = this.#counts[monomial.id]!;
      if (uses < fewest) [rarest, fewest] = [monomial, uses];
    });
    return rarest;
  }
}

function distinct(list: readonly Polynomial[]): readonly Polynomial[] {
  const polynomials = new PolynomialSet();
  return list.filter((p) => polynomials.add(p));
}

/** Removes conditions with a monomial that has the same sign in all conditions, because nothing cancels it. */
function removeUncancelable(conditions: readonly Polynomial[], zero: readonly Polynomial[]): readonly Polynomial[] {
  const [positiveCounts, negativeCounts] = [new Int32Array(monomialCount()), new Int32Array(monomialCount())];
  // An equation can be negated, so it counts for both signs.
  for (const { monomials } of zero)
    for (const { id } of monomials) {
      positiveCounts[id]!++;
      negativeCounts[id]!++;
    }
  const count = ({ monomials, coefficients }: Polynomial, change: 1 | -1): void => {
    for (let i = 0; i < monomials.length; i++)
      (coefficients[i]! > 0 ? positiveCounts : negativeCounts)[monomials[i]!.id]! += change;
  };
  for (const p of conditions) count(p, 1);
  const isUseful = ({ monomials, coefficients }: Polynomial): boolean =>
    monomials.every(
      (monomial, i) => monomial === UNIT || (coefficients[i]! > 0 ? negativeCounts : positiveCounts)[monomial.id]! > 0,
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
function infeasibleSupport(columns: readonly Polynomial[]): readonly number[] | undefined {
  const { rows, width } = tableau(columns);
  const basis = rows.map((_, i) => width + i);
  const costs = new Float64Array(width + 1);
  for (const row of rows) for (let j = 0; j <= width; j++) costs[j]! += row[j]!;
  for (let iteration = 0; costs[width]! > 1e-7; iteration++) {
    if (iteration > MAX_PIVOTS) return undefined;
    const entering = enteringColumn(costs, width, iteration < GREEDY_PIVOTS);
    if (entering < 0) return undefined;
    const leaving = leavingRow(rows, basis, entering, width, iteration < GREEDY_PIVOTS);
    if (leaving < 0) return undefined;
    pivot(rows, costs, leaving, entering);
    basis[leaving] = entering;
  }
  return basis.flatMap((column, i) => (column < width && rows[i]![width]! > 1e-12 ? [column] : []));
}

/** One row for each monomial, whose sum must vanish, and the last for the constant, scaled to entries near 1. */
function tableau(columns: readonly Polynomial[]): { readonly rows: readonly Float64Array[]; readonly width: number } {
  // The row of each monomial, counted from 1. 0 if it has none.
  const rowIndices = new Int32Array(monomialCount());
  let count = 0;
  for (const { monomials } of columns)
    for (const monomial of monomials)
      if (monomial !== UNIT && rowIndices[monomial.id] === 0) rowIndices[monomial.id] = ++count;
  const width = columns.length;
  const rows = Array.from({ length: count + 1 }, () => new Float64Array(width + 1));
  const last = rows[count]!;
  columns.forEach(({ monomials, coefficients }, j) => {
    // Constants such as 2^31 are excluded from the scale.
    let size = 0;
    for (let i = 0; i < monomials.length; i++)
      if (monomials[i] !== UNIT) size = Math.max(size, Math.abs(Number(coefficients[i])));
    for (let i = 0; i < monomials.length; i++) {
      const scaled = Number(coefficients[i]) / size;
      if (monomials[i] === UNIT) last[j] = -scaled;
      else rows[rowIndices[monomials[i]!.id]! - 1]![j] = scaled;
    }
  });
  for (const row of rows) {
    let size = 0;
    for (let j = 0; j < width; j++) size = Math.max(size, Math.abs(row[j]!));
    if (size > 0) for (let j = 0; j < width; j++) row[j]! /= size;
  }
  last[width] = 1;
  return { rows, width };
}

function enteringColumn(costs: Float64Array, width: number, greedy: boolean): number {
  let [best, highestCost] = [-1, EPSILON];
  for (let j = 0; j < width; j++) {
    if (costs[j]! <= highestCost) continue;
    if (!greedy) return j;
    [best, highestCost] = [j, costs[j]!];
  }
  return best;
}

function leavingRow(
  rows: readonly Float64Array[],
  basis: readonly number[],
  entering: number,
  width: number,
  greedy: boolean,
): number {
  let [best, lowestRatio] = [-1, Infinity];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const pivotEntry = row[entering]!;
    if (pivotEntry <= EPSILON) continue;
    const ratio = row[width]! / pivotEntry;
    const ties = Math.abs(ratio - lowestRatio) <= 1e-12;
    const wins = ties && (best < 0 || (greedy ? pivotEntry > rows[best]![entering]! : basis[i]! < basis[best]!));
    if (ratio < lowestRatio - 1e-12 || wins) [best, lowestRatio] = [i, ratio];
  }
  return best;
}

function pivot(rows: readonly Float64Array[], costs: Float64Array, leaving: number, entering: number): void {
  const row = rows[leaving]!;
  const pivotEntry = row[entering]!;
  for (let j = 0; j < row.length; j++) row[j]! /= pivotEntry;
  for (const otherRow of [...rows, costs]) {
    const factor = otherRow === row ? 0 : otherRow[entering]!;
    if (factor !== 0) for (let j = 0; j < row.length; j++) otherRow[j]! -= factor * row[j]!;
  }
}

/** Checks in exact arithmetic whether factors `>= 0` with `Σ factor · column = -1` exist, for independent columns. */
function sumsToContradiction(columns: readonly Polynomial[]): boolean {
  const monomials = new Set(columns.flatMap((p) => p.monomials));
  monomials.delete(UNIT);
  const rows: Integer[][] = [...monomials, UNIT].map((monomial) => [
    ...columns.map((p) => p.coefficientOf(monomial)),
    monomial === UNIT ? -1 : 0,
  ]);
  const width = columns.length;
  let rank = 0;
  for (let j = 0; j < width; j++) {
    const pivotRow = rows.findIndex((row, i) => i >= rank && row[j] !== 0);
    if (pivotRow < 0) continue;
    [rows[rank], rows[pivotRow]] = [rows[pivotRow]!, rows[rank]!];
    const lead = rows[rank]!;
    const pivotEntry = lead[j]!;
    for (let i = 0; i < rows.length; i++) {
      const factor = rows[i]![j]!;
      if (i === rank || factor === 0) continue;
      const multiplier = pivotEntry < 0 ? factor : -factor;
      rows[i] = reduceRow(rows[i]!.map((x, k) => plus(times(x, magnitude(pivotEntry)), times(multiplier, lead[k]!))));
    }
    rank++;
  }
  const solved = rows.slice(0, rank).every((row) => {
    const lead = row.find((x) => x !== 0) ?? 1;
    return times(row[width]!, lead) >= 0;
  });
  return solved && rows.slice(rank).every((row) => row[width] === 0);
}

function reduceRow(row: Integer[]): Integer[] {
  let divisor: Integer = 0;
  for (const x of row) if (divisor !== 1) divisor = gcd(divisor, x);
  return divisor > 1 ? row.map((x) => exactQuotient(x, divisor)) : row;
}
