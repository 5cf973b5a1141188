/**
 * Number classes: the abstract values of the padding analysis, as a bit set. A transfer function gets one class for
 * each operand and returns all classes of the result. It assumes that floats neither overflow nor underflow.
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
/** Poison: a masked lane without a defined value. */
export const POISON: NumberClasses = 128;

export const FINITE: NumberClasses = NEGATIVE | ZERO | POSITIVE;
export const NUMBERS: NumberClasses = LOWEST | FINITE | HIGHEST;
export const ANY_VALUE: NumberClasses = NUMBERS | NAN;

const ALL_CLASSES = [LOWEST, NEGATIVE, ZERO, ONE, POSITIVE, HIGHEST, NAN, POISON] as const;
/** The members of a set, each as a set of one class. */
export const classesIn = (classes: NumberClasses): readonly NumberClasses[] =>
  ALL_CLASSES.filter((numberClass) => (classes & numberClass) !== 0);

/** The class of a number. `least` and `most` are the ends of an integer dtype, and infinities for floats. */
export function classify(value: number, lowest = -Infinity, highest = Infinity): NumberClasses {
  if (Number.isNaN(value)) return NAN;
  if (value <= lowest && value < 0) return LOWEST;
  if (value >= highest) return HIGHEST;
  if (value === 0) return ZERO;
  if (value === 1) return ONE;
  return value < 0 ? NEGATIVE : POSITIVE;
}

/** True if the classes contain this class. `POSITIVE` contains `ONE`. */
export const covers = (classes: NumberClasses, numberClass: NumberClasses): boolean =>
  (classes & numberClass) !== 0 || (numberClass === ONE && (classes & POSITIVE) !== 0);

const isAbove = (x: NumberClasses) => x === ONE || x === POSITIVE;
const isInfinite = (x: NumberClasses) => x === LOWEST || x === HIGHEST;

/** Lifts a rule for numbers so that a NaN operand gives NaN. */
const propagateNaN =
  (rule: (x: NumberClasses, y: NumberClasses) => NumberClasses) =>
  (x: NumberClasses, y: NumberClasses): NumberClasses =>
    x === NAN || y === NAN ? NAN : rule(x, y);

export function negateClass(x: NumberClasses): NumberClasses {
  if (x === LOWEST) return HIGHEST;
  if (x === HIGHEST) return LOWEST;
  if (x === NEGATIVE) return POSITIVE;
  return isAbove(x) ? NEGATIVE : x;
}

export const addClasses = propagateNaN((x, y) => {
  if (x === ZERO) return y;
  if (y === ZERO) return x;
  if (isInfinite(x)) return isInfinite(y) && x !== y ? NAN : x;
  if (isInfinite(y)) return y;
  if (isAbove(x) && isAbove(y)) return POSITIVE;
  return x === NEGATIVE && y === NEGATIVE ? NEGATIVE : FINITE;
});

/** The class of a bitwise or of integers, or of an exclusive one: 0 is the neutral element. */
export function orClasses(x: NumberClasses, y: NumberClasses): NumberClasses {
  if (x === ZERO) return y;
  return y === ZERO ? x : NUMBERS;
}

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

/** The classes in order: all numbers of one rank are less than all numbers of the next. */
const RANKS: ReadonlyMap<NumberClasses, number> = new Map([
  [LOWEST, 0],
  [NEGATIVE, 1],
  [ZERO, 2],
  [ONE, 3],
  [POSITIVE, 3],
  [HIGHEST, 4],
]);
const rank = (x: NumberClasses): number => RANKS.get(x) ?? NaN;

/** True if every number of one class is at most every number of the other. */
function isAtMost(x: NumberClasses, y: NumberClasses): boolean {
  return rank(x) < rank(y) || (x === y && (x === LOWEST || x === ZERO || x === ONE || x === HIGHEST));
}

/** Returns a test whether a class is never selected over another by max (`isLargest`) or min. */
export const losesComparison =
  (isMax: boolean) =>
  (x: NumberClasses, y: NumberClasses): boolean =>
    isMax ? isAtMost(x, y) : isAtMost(y, x);

/** The larger of two numbers. A number wins over NaN. */
export function maxClasses(x: NumberClasses, y: NumberClasses): NumberClasses {
  if (x === NAN) return y;
  if (y === NAN) return x;
  if (rank(x) === rank(y)) return x | y;
  return rank(x) > rank(y) ? x : y;
}

export function minClasses(x: NumberClasses, y: NumberClasses): NumberClasses {
  if (x === NAN) return y;
  if (y === NAN) return x;
  if (rank(x) === rank(y)) return x | y;
  return rank(x) < rank(y) ? x : y;
}

/** The transfer function of a function of one number, from its result for each class. NaN gives NaN. */
export function unaryTransfer(
  results: Readonly<Record<"least" | "negative" | "zero" | "one" | "positive" | "most", NumberClasses>>,
): (x: NumberClasses) => NumberClasses {
  const { least: lowest, negative, zero, one, positive, most: highest } = results;
  const table = new Map([
    [LOWEST, lowest],
    [NEGATIVE, negative],
    [ZERO, zero],
    [ONE, one],
    [POSITIVE, positive],
    [HIGHEST, highest],
  ]);
  return (x) => table.get(x) ?? NAN;
}

/** The transfer function of integer arithmetic, which wraps at the ends of the dtype. `idle` is the neutral element. */
export const wrapIntegers =
  (rule: (x: NumberClasses, y: NumberClasses) => NumberClasses, neutral: NumberClasses) =>
  (x: NumberClasses, y: NumberClasses): NumberClasses => {
    if (x === neutral) return y;
    if (y === neutral) return x;
    return isInfinite(x) || isInfinite(y) ? NUMBERS : rule(x, y);
  };

/** The class of an integer that is converted to a float, whose range is larger. */
export function asFloat(x: NumberClasses): NumberClasses {
  if (x === LOWEST) return NEGATIVE;
  return x === HIGHEST ? POSITIVE : x;
}
