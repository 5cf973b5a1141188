/**
 * What a lane may hold, as far as padding matters: a set of kinds of numbers, as bits. A rule gets one kind for each
 * operand and gives all kinds that the result may be. Floats are taken neither to overflow nor to underflow.
 */

export type Kinds = number;

export const NONE: Kinds = 0;
/** -Infinity, or the lowest number of an integer dtype. */
export const LEAST: Kinds = 1;
/** Any other number below 0. */
export const NEGATIVE: Kinds = 2;
export const ZERO: Kinds = 4;
export const ONE: Kinds = 8;
/** A number above 0, which may be 1. */
export const POSITIVE: Kinds = 16;
/** Infinity, or the highest number of an integer dtype. */
export const MOST: Kinds = 32;
export const NAN: Kinds = 64;
/** No value: a mask turned the lane off, and nothing says what it holds instead. */
export const NOTHING: Kinds = 128;

export const FINITE: Kinds = NEGATIVE | ZERO | POSITIVE;
export const NUMBERS: Kinds = LEAST | FINITE | MOST;
export const ANYTHING: Kinds = NUMBERS | NAN;

const EACH = [LEAST, NEGATIVE, ZERO, ONE, POSITIVE, MOST, NAN, NOTHING] as const;
/** The kinds of a set, one by one. */
export const kindsIn = (kinds: Kinds): readonly Kinds[] => EACH.filter((kind) => (kinds & kind) !== 0);

/** The kind of a number. `least` and `most` are those of an integer dtype, and infinities for floats. */
export function kindOf(value: number, least = -Infinity, most = Infinity): Kinds {
  if (Number.isNaN(value)) return NAN;
  if (value <= least && value < 0) return LEAST;
  if (value >= most) return MOST;
  return value < 0 ? NEGATIVE : value === 0 ? ZERO : value === 1 ? ONE : POSITIVE;
}

/** Whether a number of one kind is among those that the kinds describe. */
export const covers = (kinds: Kinds, kind: Kinds): boolean =>
  (kinds & kind) !== 0 || (kind === ONE && (kinds & POSITIVE) !== 0);

const isAbove = (x: Kinds) => x === ONE || x === POSITIVE;
const isInfinite = (x: Kinds) => x === LEAST || x === MOST;

/** A rule for numbers; NaN gives NaN. */
export const ofNumbers =
  (rule: (x: Kinds, y: Kinds) => Kinds) =>
  (x: Kinds, y: Kinds): Kinds =>
    x === NAN || y === NAN ? NAN : rule(x, y);

export const opposite = (x: Kinds): Kinds =>
  x === LEAST ? MOST : x === MOST ? LEAST : x === NEGATIVE ? POSITIVE : isAbove(x) ? NEGATIVE : x;

export const total = ofNumbers((x, y) => {
  if (x === ZERO) return y;
  if (y === ZERO) return x;
  if (isInfinite(x) || isInfinite(y)) return isInfinite(x) && isInfinite(y) && x !== y ? NAN : isInfinite(x) ? x : y;
  if (isAbove(x) && isAbove(y)) return POSITIVE;
  return x === NEGATIVE && y === NEGATIVE ? NEGATIVE : FINITE;
});

export const productOf = ofNumbers((x, y) => {
  if (x === ONE) return y;
  if (y === ONE) return x;
  if (x === ZERO || y === ZERO) return isInfinite(x) || isInfinite(y) ? NAN : ZERO;
  const isNegative = (x === LEAST || x === NEGATIVE) !== (y === LEAST || y === NEGATIVE);
  if (isInfinite(x) || isInfinite(y)) return isNegative ? LEAST : MOST;
  return isNegative ? NEGATIVE : POSITIVE;
});

/** `x / y` of floats. A zero may be negative. */
export const ratio = ofNumbers((x, y) => {
  if (y === ONE) return x;
  if (y === ZERO) return x === ZERO ? NAN : LEAST | MOST;
  if (isInfinite(y)) return isInfinite(x) ? NAN : ZERO;
  return productOf(x, y === NEGATIVE ? NEGATIVE : POSITIVE);
});

/** The kinds in order: all numbers of one place are below all of the next. */
const PLACES: ReadonlyMap<Kinds, number> = new Map([
  [LEAST, 0],
  [NEGATIVE, 1],
  [ZERO, 2],
  [ONE, 3],
  [POSITIVE, 3],
  [MOST, 4],
]);
const place = (x: Kinds): number => PLACES.get(x) ?? NaN;

/** Whether every number of one kind is at most every number of the other. */
function isAtMost(x: Kinds, y: Kinds): boolean {
  return place(x) < place(y) || (x === y && (x === LEAST || x === ZERO || x === ONE || x === MOST));
}

/** Whether a number never wins beside another, where the largest is wanted or the smallest. */
export const beaten =
  (isLargest: boolean) =>
  (held: Kinds, beside: Kinds): boolean =>
    isLargest ? isAtMost(held, beside) : isAtMost(beside, held);

/** The larger of two; a number wins over NaN. */
export function larger(x: Kinds, y: Kinds): Kinds {
  if (x === NAN) return y;
  if (y === NAN) return x;
  return place(x) > place(y) ? x : place(y) > place(x) ? y : x | y;
}

export function smaller(x: Kinds, y: Kinds): Kinds {
  if (x === NAN) return y;
  if (y === NAN) return x;
  return place(x) < place(y) ? x : place(y) < place(x) ? y : x | y;
}

/** A rule for functions of one number, by the kind of it; NaN gives NaN. */
export function byKind(
  results: Readonly<Record<"least" | "negative" | "zero" | "one" | "positive" | "most", Kinds>>,
): (x: Kinds) => Kinds {
  const { least, negative, zero, one, positive, most } = results;
  const table = new Map([
    [LEAST, least],
    [NEGATIVE, negative],
    [ZERO, zero],
    [ONE, one],
    [POSITIVE, positive],
    [MOST, most],
  ]);
  return (x) => table.get(x) ?? NAN;
}

/** Arithmetic of integers: beyond the ends of the dtype it wraps. `idle` leaves the other number as it is. */
export const ofIntegers =
  (rule: (x: Kinds, y: Kinds) => Kinds, idle: Kinds) =>
  (x: Kinds, y: Kinds): Kinds =>
    x === idle ? y : y === idle ? x : isInfinite(x) || isInfinite(y) ? NUMBERS : rule(x, y);

/** The kind of an integer as a float, which has more room at its ends. */
export const asFloat = (x: Kinds): Kinds => (x === LEAST ? NEGATIVE : x === MOST ? POSITIVE : x);
