/**
 * Linear reasoning: whether conditions `p >= 0` and `p = 0` contradict each other, with each monomial as a variable. By
 * Farkas' lemma they do if a sum of them with non-negative factors is a negative constant. A simplex in floating point
 * finds which conditions take part; exact rational arithmetic then decides, so no answer rests on floating point.
 */
import type { Budget } from "./budget.js";
import { exactQuotient, gcd, type Integer, magnitude, plus, times } from "./exact-integer.js";
import { type Monomial, monomialCount, UNIT } from "./monomial.js";
import { add, constantOf, isConstant, opposite, type Polynomial, PolynomialSet, tightened } from "./polynomial.js";

export function contradict(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[], budget: Budget): boolean {
  // Numbers such as 2^31 hide small ones from floating point, and are rarely needed.
  const small = atLeastZero.filter((p) => constantOf(p) < LARGE && constantOf(p) > -LARGE);
  if (small.length < atLeastZero.length && isContradiction(small, zero, budget)) return true;
  return isContradiction(atLeastZero, zero, budget);
}

const LARGE = 2 ** 24;

function isContradiction(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[], budget: Budget): boolean {
  if (!budget.spend(atLeastZero.length + zero.length)) return false;
  const left = eliminated(atLeastZero, zero);
  if (left === undefined) return true;
  const conditions: Polynomial[] = [];
  for (const each of left.atLeastZero) {
    const condition = tightened(each);
    if (!isConstant(condition)) conditions.push(condition);
    else if (constantOf(condition) < 0) return true;
  }
  const useful = distinct(withBothSigns(conditions, left.zero));
  if (useful.length === 0) return false;
  const columns = [...useful, ...left.zero, ...left.zero.map(opposite)];
  const support = infeasibleSupport(columns);
  return support !== undefined && sumsToContradiction(support.map((i) => columns[i]!));
}

interface System {
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

/** Replaces monomials that an equation defines; undefined if an equation is false. */
function eliminated(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[]): System | undefined {
  const [conditions, open, kept] = [[...atLeastZero], [...zero], [] as Polynomial[]];
  const uses = new Uses([...atLeastZero, ...zero]);
  for (let equation = open.pop(); equation !== undefined; equation = open.pop()) {
    uses.count(equation, -1);
    if (isConstant(equation)) {
      if (constantOf(equation) !== 0) return undefined;
      continue;
    }
    const monomial = uses.rarest(equation);
    if (monomial === undefined) {
      kept.push(equation);
      continue;
    }
    const by = equation.of(monomial);
    for (const list of [conditions, open, kept])
      for (let i = 0; i < list.length; i++) {
        const p = list[i]!;
        const factor = p.of(monomial);
        if (factor === 0) continue;
        const replaced = add(p, equation, times(-factor, by));
        list[i] = replaced;
        if (list === kept) continue;
        uses.count(p, -1);
        uses.count(replaced, 1);
      }
  }
  return { atLeastZero: conditions, zero: kept };
}

/** In how many polynomials each monomial occurs. */
class Uses {
  readonly #counts = new Int32Array(monomialCount());

  constructor(of: readonly Polynomial[]) {
    for (const p of of) this.count(p, 1);
  }

  count({ monomials }: Polynomial, by: 1 | -1): void {
    for (const { id } of monomials) this.#counts[id]! += by;
  }

  /** The monomial of an equation that fewest polynomials have, of those that it can be solved for. */
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
  const seen = new PolynomialSet();
  return list.filter((p) => seen.add(p));
}

/** Leaves out conditions with a monomial that has the same sign in all: nothing cancels it. */
function withBothSigns(conditions: readonly Polynomial[], zero: readonly Polynomial[]): readonly Polynomial[] {
  const [above, below] = [new Int32Array(monomialCount()), new Int32Array(monomialCount())];
  // An equation has each of its monomials with both signs.
  for (const { monomials } of zero)
    for (const { id } of monomials) {
      above[id]!++;
      below[id]!++;
    }
  const count = ({ monomials, coefficients }: Polynomial, times: 1 | -1): void => {
    for (let i = 0; i < monomials.length; i++) (coefficients[i]! > 0 ? above : below)[monomials[i]!.id]! += times;
  };
  for (const p of conditions) count(p, 1);
  const isUseful = ({ monomials, coefficients }: Polynomial): boolean =>
    monomials.every((monomial, i) => monomial === UNIT || (coefficients[i]! > 0 ? below : above)[monomial.id]! > 0);
  for (let left = conditions; ;) {
    const next = left.filter((p) => {
      const kept = isUseful(p);
      if (!kept) count(p, -1);
      return kept;
    });
    if (next.length === left.length) return left;
    left = next;
  }
}

const PIVOTS = 600;
/** Then Bland's rule takes over, which always ends. */
const GREEDY_PIVOTS = 150;
const SMALL = 1e-9;

/** The columns with a factor above zero in a solution of `Σ factor · column = -1`, found in floating point. */
function infeasibleSupport(columns: readonly Polynomial[]): readonly number[] | undefined {
  const { rows, width } = tableau(columns);
  const basis = rows.map((_, i) => width + i);
  const costs = new Float64Array(width + 1);
  for (const row of rows) for (let j = 0; j <= width; j++) costs[j]! += row[j]!;
  for (let turn = 0; costs[width]! > 1e-7; turn++) {
    if (turn > PIVOTS) return undefined;
    const entering = enteringColumn(costs, width, turn < GREEDY_PIVOTS);
    if (entering < 0) return undefined;
    const leaving = leavingRow(rows, basis, entering, width, turn < GREEDY_PIVOTS);
    if (leaving < 0) return undefined;
    pivot(rows, costs, leaving, entering);
    basis[leaving] = entering;
  }
  return basis.flatMap((column, i) => (column < width && rows[i]![width]! > 1e-12 ? [column] : []));
}

/** One row for each monomial, which must vanish, and the last for the constant; scaled to entries near 1. */
function tableau(columns: readonly Polynomial[]): { readonly rows: readonly Float64Array[]; readonly width: number } {
  // The row of each monomial, counted from 1; 0 where it has none.
  const places = new Int32Array(monomialCount());
  let count = 0;
  for (const { monomials } of columns)
    for (const monomial of monomials) if (monomial !== UNIT && places[monomial.id] === 0) places[monomial.id] = ++count;
  const width = columns.length;
  const rows = Array.from({ length: count + 1 }, () => new Float64Array(width + 1));
  const last = rows[count]!;
  columns.forEach(({ monomials, coefficients }, j) => {
    // Constants can be 2^31; they are no measure of a condition.
    let size = 0;
    for (let i = 0; i < monomials.length; i++)
      if (monomials[i] !== UNIT) size = Math.max(size, Math.abs(Number(coefficients[i])));
    for (let i = 0; i < monomials.length; i++) {
      const by = Number(coefficients[i]) / size;
      if (monomials[i] === UNIT) last[j] = -by;
      else rows[places[monomials[i]!.id]! - 1]![j] = by;
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
  let [best, most] = [-1, SMALL];
  for (let j = 0; j < width; j++) {
    if (costs[j]! <= most) continue;
    if (!greedy) return j;
    [best, most] = [j, costs[j]!];
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
  let [best, least] = [-1, Infinity];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const by = row[entering]!;
    if (by <= SMALL) continue;
    const ratio = row[width]! / by;
    const ties = Math.abs(ratio - least) <= 1e-12;
    const wins = ties && (best < 0 || (greedy ? by > rows[best]![entering]! : basis[i]! < basis[best]!));
    if (ratio < least - 1e-12 || wins) [best, least] = [i, ratio];
  }
  return best;
}

function pivot(rows: readonly Float64Array[], costs: Float64Array, leaving: number, entering: number): void {
  const row = rows[leaving]!;
  const by = row[entering]!;
  for (let j = 0; j < row.length; j++) row[j]! /= by;
  for (const other of [...rows, costs]) {
    const factor = other === row ? 0 : other[entering]!;
    if (factor !== 0) for (let j = 0; j < row.length; j++) other[j]! -= factor * row[j]!;
  }
}

/** Whether factors `>= 0` with `Σ factor · column = -1` exist for independent columns, in exact arithmetic. */
function sumsToContradiction(columns: readonly Polynomial[]): boolean {
  const monomials = new Set(columns.flatMap((p) => p.monomials));
  monomials.delete(UNIT);
  const rows: Integer[][] = [...monomials, UNIT].map((monomial) => [
    ...columns.map((p) => p.of(monomial)),
    monomial === UNIT ? -1 : 0,
  ]);
  const width = columns.length;
  let rank = 0;
  for (let j = 0; j < width; j++) {
    const found = rows.findIndex((row, i) => i >= rank && row[j] !== 0);
    if (found < 0) continue;
    [rows[rank], rows[found]] = [rows[found]!, rows[rank]!];
    const lead = rows[rank]!;
    const by = lead[j]!;
    for (let i = 0; i < rows.length; i++) {
      const factor = rows[i]![j]!;
      if (i === rank || factor === 0) continue;
      const less = by < 0 ? factor : -factor;
      rows[i] = reduced(rows[i]!.map((x, k) => plus(times(x, magnitude(by)), times(less, lead[k]!))));
    }
    rank++;
  }
  const solved = rows.slice(0, rank).every((row) => {
    const lead = row.find((x) => x !== 0) ?? 1;
    return times(row[width]!, lead) >= 0;
  });
  return solved && rows.slice(rank).every((row) => row[width] === 0);
}

function reduced(row: Integer[]): Integer[] {
  let shared: Integer = 0;
  for (const x of row) if (shared !== 1) shared = gcd(shared, x);
  return shared > 1 ? row.map((x) => exactQuotient(x, shared)) : row;
}
