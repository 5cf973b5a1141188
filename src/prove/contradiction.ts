/**
 * Linear reasoning: whether conditions `p >= 0` and `p = 0` contradict each other, with each monomial as a variable. By
 * Farkas' lemma they do if a sum of them with non-negative factors is a negative constant. A simplex in floating point
 * finds which conditions take part; exact rational arithmetic then decides, so no answer rests on floating point.
 */
import type { Budget } from "./budget.js";
import { add, constantOf, gcd, isConstant, type Polynomial, PolynomialSet, tightened } from "./polynomial.js";

export function contradict(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[], budget: Budget): boolean {
  // Numbers such as 2^31 hide small ones from floating point, and are rarely needed.
  const small = atLeastZero.filter((p) => constantOf(p) < LARGE && constantOf(p) > -LARGE);
  if (small.length < atLeastZero.length && isContradiction(small, zero, budget)) return true;
  return isContradiction(atLeastZero, zero, budget);
}

const LARGE = 1n << 24n;

function isContradiction(atLeastZero: readonly Polynomial[], zero: readonly Polynomial[], budget: Budget): boolean {
  if (!budget.spend(atLeastZero.length + zero.length)) return false;
  const left = eliminated(atLeastZero, zero);
  if (left === undefined) return true;
  const conditions: Polynomial[] = [];
  for (const each of left.atLeastZero) {
    const condition = tightened(each);
    if (!isConstant(condition)) conditions.push(condition);
    else if (constantOf(condition) < 0n) return true;
  }
  const useful = distinct(withBothSigns(conditions, left.zero));
  if (useful.length === 0) return false;
  const columns = [...useful, ...left.zero, ...left.zero.map((p) => new Map([...p].map(([m, by]) => [m, -by])))];
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
      if (constantOf(equation) !== 0n) return undefined;
      continue;
    }
    const monomial = uses.rarest(equation);
    if (monomial === undefined) {
      kept.push(equation);
      continue;
    }
    const by = equation.get(monomial)!;
    for (const list of [conditions, open, kept])
      for (let i = 0; i < list.length; i++) {
        const p = list[i]!;
        const factor = p.get(monomial);
        if (factor === undefined) continue;
        const replaced = add(p, equation, -factor * by);
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
  readonly #counts = new Map<string, number>();

  constructor(of: readonly Polynomial[]) {
    for (const p of of) this.count(p, 1);
  }

  count(p: Polynomial, by: 1 | -1): void {
    for (const monomial of p.keys()) this.#counts.set(monomial, (this.#counts.get(monomial) ?? 0) + by);
  }

  /** The monomial of an equation that fewest polynomials have, of those that it can be solved for. */
  rarest(equation: Polynomial): string | undefined {
    let [rarest, fewest]: [string | undefined, number] = [undefined, Infinity];
    for (const [monomial, by] of equation) {
      if (monomial === "" || (by !== 1n && by !== -1n)) continue;
      const uses = this.#counts.get(monomial) ?? 0;
      if (uses < fewest) [rarest, fewest] = [monomial, uses];
    }
    return rarest;
  }
}

function distinct(list: readonly Polynomial[]): readonly Polynomial[] {
  const seen = new PolynomialSet();
  return list.filter((p) => seen.add(p));
}

/** Leaves out conditions with a monomial that has the same sign in all: nothing cancels it. */
function withBothSigns(conditions: readonly Polynomial[], zero: readonly Polynomial[]): readonly Polynomial[] {
  const [positive, negative] = [new Map<string, number>(), new Map<string, number>()];
  const count = (p: Polynomial, times: number): void => {
    for (const [monomial, by] of p) {
      const counts = by > 0n ? positive : negative;
      counts.set(monomial, (counts.get(monomial) ?? 0) + times);
    }
  };
  for (const p of conditions) count(p, 1);
  const inEquations = new Set(zero.flatMap((p) => [...p.keys()]));
  const isCancelled = (monomial: string, by: bigint): boolean =>
    monomial === "" || inEquations.has(monomial) || ((by > 0n ? negative : positive).get(monomial) ?? 0) > 0;
  const isUseful = (p: Polynomial): boolean => {
    for (const [monomial, by] of p) if (!isCancelled(monomial, by)) return false;
    return true;
  };
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
  const place = new Map<string, number>();
  for (const p of columns)
    for (const monomial of p.keys()) if (monomial !== "" && !place.has(monomial)) place.set(monomial, place.size);
  const width = columns.length;
  const rows = Array.from({ length: place.size + 1 }, () => new Float64Array(width + 1));
  columns.forEach((p, j) => {
    // Constants can be 2^31; they are no measure of a condition.
    let size = 0;
    for (const [monomial, by] of p) if (monomial !== "") size = Math.max(size, Math.abs(Number(by)));
    for (const [monomial, by] of p)
      if (monomial === "") rows.at(-1)![j] = -Number(by) / size;
      else rows[place.get(monomial)!]![j] = Number(by) / size;
  });
  for (const row of rows) {
    const size = row.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    if (size > 0) for (let j = 0; j < width; j++) row[j]! /= size;
  }
  rows.at(-1)![width] = 1;
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
  const monomials = new Set(columns.flatMap((p) => [...p.keys()]));
  monomials.delete("");
  const rows = [...monomials, ""].map((monomial) => [
    ...columns.map((p) => p.get(monomial) ?? 0n),
    monomial === "" ? -1n : 0n,
  ]);
  const width = columns.length;
  let rank = 0;
  for (let j = 0; j < width; j++) {
    const found = rows.findIndex((row, i) => i >= rank && row[j] !== 0n);
    if (found < 0) continue;
    [rows[rank], rows[found]] = [rows[found]!, rows[rank]!];
    const lead = rows[rank]!;
    const by = lead[j]!;
    for (let i = 0; i < rows.length; i++) {
      const factor = rows[i]![j]!;
      if (i === rank || factor === 0n) continue;
      rows[i] = reduced(rows[i]!.map((x, k) => (by < 0n ? -1n : 1n) * (x * by - factor * lead[k]!)));
    }
    rank++;
  }
  const solved = rows.slice(0, rank).every((row) => {
    const lead = row.find((x) => x !== 0n) ?? 1n;
    return row[width]! * lead >= 0n;
  });
  return solved && rows.slice(rank).every((row) => row[width] === 0n);
}

function reduced(row: bigint[]): bigint[] {
  const shared = row.reduce((divisor, x) => gcd(divisor, x), 0n);
  return shared > 1n ? row.map((x) => x / shared) : row;
}
