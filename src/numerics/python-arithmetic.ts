/** Python's arithmetic on the host and on constexprs: an integer has as many digits as it needs. */

type Given = number | bigint | boolean | string;

/** A float64 keeps an integer exactly up to here. */
const isSafe = (x: number): boolean => Math.abs(x) <= Number.MAX_SAFE_INTEGER;

const isInteger = (x: Given): boolean =>
  typeof x !== "string" && (typeof x === "bigint" || Number.isInteger(Number(x)));

/** The integer as a number, if one keeps it exactly. */
function asGiven(x: bigint): number | bigint {
  const number = Number(x);
  return isSafe(number) ? number : x;
}

/** Integers that are equal are so as values, whichever of the two forms they came in. */
export const exactly = (x: Given): Given =>
  typeof x === "number" && Number.isInteger(x) && !isSafe(x) ? BigInt(x) : x;

/** A function of two numbers: in float64 where that is exact or an operand is no integer, else in integers. */
export function pythonArithmetic(
  floats: (x: number, y: number) => number,
  integers: (x: bigint, y: bigint) => bigint,
): (x: Given, y: Given) => number | bigint {
  return (x, y) => {
    const [left, right] = [Number(x), Number(y)];
    const result = floats(left, right);
    if (isSafe(result) && isSafe(left) && isSafe(right)) return result;
    return isInteger(x) && isInteger(y) ? asGiven(integers(BigInt(x), BigInt(y))) : result;
  };
}

/** The same for a division. By 0 Python raises an error, which a number that is not finite stands for. */
export function pythonDivision(floats: (x: number, y: number) => number, integers: (x: bigint, y: bigint) => bigint) {
  const divided = pythonArithmetic(floats, integers);
  return (x: Given, y: Given): number | bigint => (Number(y) === 0 ? floats(Number(x), 0) : divided(x, y));
}

/** The same for what is exact in 32 bits alone, such as JavaScript's operators on bits. */
export function pythonBitwise(
  words: (x: number, y: number) => number,
  integers: (x: bigint, y: bigint) => bigint,
): (x: Given, y: Given) => number | bigint {
  const isWord = (x: number): boolean => (x | 0) === x;
  return (x, y) => {
    const [left, right] = [Number(x), Number(y)];
    const isExact = (isWord(left) && isWord(right)) || !isInteger(x) || !isInteger(y);
    return isExact ? words(left, right) : asGiven(integers(BigInt(x), BigInt(y)));
  };
}

/** `x // y`, which rounds down, for a divisor that is not 0. */
export function floorDivided(x: bigint, y: bigint): bigint {
  const quotient = x / y;
  return quotient * y !== x && x < 0n !== y < 0n ? quotient - 1n : quotient;
}
