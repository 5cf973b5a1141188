/**
 * What a lane may hold, as far as padding matters: a set of kinds of numbers, as bits. A rule gets one kind for each
 * operand and gives all kinds that the result may be. Floats are taken neither to overflow nor to underflow.
 */

export type NumberClasses = number;

export const EMPTY: NumberClasses = 0;
/** -Infinity, or the lowest number of an integer dtype. */
export const LOWEST: NumberClasses = 1;
/** Any other number below 0. */
export const NEGATIVE: NumberClasses = 2;
export const ZERO: NumberClasses = 4;
export const ONE: NumberClasses = 8;
/** A number above 0, which may be 1. */
export const POSITIVE: NumberClasses = 16;
/** Infinity, or the highest number of an integer dtype. */
export const HIGHEST: NumberClasses = 32;
export const NAN: NumberClasses = 64;
/** No value: a mask turned the lane off, and nothing says what it holds instead. */
export const POISON: NumberClasses = 128;

export const FINITE: NumberClasses = NEGATIVE | ZERO | POSITIVE;
export const NUMBERS: NumberClasses = LOWEST | FINITE | HIGHEST;
export const ANY_VALUE: NumberClasses = NUMBERS | NAN;

const EACH = [LOWEST, NEGATIVE, ZERO, ONE, POSITIVE, HIGHEST, NAN, POISON] as const;
/** The kinds of a set, one by one. */
export const classesIn = (kinds: NumberClasses): readonly NumberClasses[] =>
  EACH.filter((kind) => (kinds & kind) !== 0);

/** The kind of a number. `least` and `most` are those of an integer dtype, and infinities for floats. */
export function classify(value: number, least = -Infinity, most = Infinity): NumberClasses {
  if (Number.isNaN(value)) return NAN;
  if (value <= least && value < 0) return LOWEST;
  if (value >= most) return HIGHEST;
  return value < 0 ? NEGATIVE : value === 0 ? ZERO : value === 1 ? ONE : POSITIVE;
}

/** Whether a number of one kind is among those that the kinds describe. */
export const covers = (kinds: NumberClasses, kind: NumberClasses): boolean =>
  (kinds & kind) !== 0 || (kind === ONE && (kinds & POSITIVE) !== 0);

const isAbove = (x: NumberClasses) => x === ONE || x === POSITIVE;
const isInfinite = (x: NumberClasses) => x === LOWEST || x === HIGHEST;

/** A rule for numbers; NaN gives NaN. */
export const propagateNaN =
  (rule: (x: NumberClasses, y: NumberClasses) => NumberClasses) =>
  (x: NumberClasses, y: NumberClasses): NumberClasses =>
    x === NAN || y === NAN ? NAN : rule(x, y);

export const negateClass = (x: NumberClasses): NumberClasses =>
  x === LOWEST ? HIGHEST : x === HIGHEST ? LOWEST : x === NEGATIVE ? POSITIVE : isAbove(x) ? NEGATIVE : x;

export const addClasses = propagateNaN((x, y) => {
  if (x === ZERO) return y;
  if (y === ZERO) return x;
  if (isInfinite(x) || isInfinite(y)) return isInfinite(x) && isInfinite(y) && x !== y ? NAN : isInfinite(x) ? x : y;
  if (isAbove(x) && isAbove(y)) return POSITIVE;
  return x === NEGATIVE && y === NEGATIVE ? NEGATIVE : FINITE;
});

export const multiplyClasses = propagateNaN((x, y) => {
  if (x === ONE) return y;
  if (y === ONE) return x;
  if (x === ZERO || y === ZERO) return isInfinite(x) || isInfinite(y) ? NAN : ZERO;
  const isNegative = (x === LOWEST || x === NEGATIVE) !== (y === LOWEST || y === NEGATIVE);
  if (isInfinite(x) || isInfinite(y)) return isNegative ? LOWEST : HIGHEST;
  return isNegative ? NEGATIVE : POSITIVE;
});

/** `x / y` of floats. A zero may be negative. */
export const divideClasses = propagateNaN((x, y) => {
  if (y === ONE) return x;
  if (y === ZERO) return x === ZERO ? NAN : LOWEST | HIGHEST;
  if (isInfinite(y)) return isInfinite(x) ? NAN : ZERO;
  return multiplyClasses(x, y === NEGATIVE ? NEGATIVE : POSITIVE);
});

/** The kinds in order: all numbers of one place are below all of the next. */
const PLACES: ReadonlyMap<NumberClasses, number> = new Map([
  [LOWEST, 0],
  [NEGATIVE, 1],
  [ZERO, 2],
  [ONE, 3],
  [POSITIVE, 3],
  [HIGHEST, 4],
]);
const place = (x: NumberClasses): number => PLACES.get(x) ?? NaN;

/** Whether every number of one kind is at most every number of the other. */
function isAtMost(x: NumberClasses, y: NumberClasses): boolean {
  return place(x) < place(y) || (x === y && (x === LOWEST || x === ZERO || x === ONE || x === HIGHEST));
}

/** Whether a number never wins beside another, where the largest is wanted or the smallest. */
export const losesComparison =
  (isLargest: boolean) =>
  (held: NumberClasses, beside: NumberClasses): boolean =>
    isLargest ? isAtMost(held, beside) : isAtMost(beside, held);

/** The larger of two; a number wins over NaN. */
export function maxClasses(x: NumberClasses, y: NumberClasses): NumberClasses {
  if (x === NAN) return y;
  if (y === NAN) return x;
  return place(x) > place(y) ? x : place(y) > place(x) ? y : x | y;
}

export function minClasses(x: NumberClasses, y: NumberClasses): NumberClasses {
  if (x === NAN) return y;
  if (y === NAN) return x;
  return place(x) < place(y) ? x : place(y) < place(x) ? y : x | y;
}

/** A rule for functions of one number, by the kind of it; NaN gives NaN. */
export function unaryTransfer(
  results: Readonly<Record<"least" | "negative" | "zero" | "one" | "positive" | "most", NumberClasses>>,
): (x: NumberClasses) => NumberClasses {
  const { least, negative, zero, one, positive, most } = results;
  const table = new Map([
    [LOWEST, least],
    [NEGATIVE, negative],
    [ZERO, zero],
    [ONE, one],
    [POSITIVE, positive],
    [HIGHEST, most],
  ]);
  return (x) => table.get(x) ?? NAN;
}

/** Arithmetic of integers: beyond the ends of the dtype it wraps. `idle` leaves the other number as it is. */
export const ofIntegers =
  (rule: (x: NumberClasses, y: NumberClasses) => NumberClasses, idle: NumberClasses) =>
  (x: NumberClasses, y: NumberClasses): NumberClasses =>
    x === idle ? y : y === idle ? x : isInfinite(x) || isInfinite(y) ? NUMBERS : rule(x, y);

/** The kind of an integer as a float, which has more room at its ends. */
export const asFloat = (x: NumberClasses): NumberClasses => (x === LOWEST ? NEGATIVE : x === HIGHEST ? POSITIVE : x);
