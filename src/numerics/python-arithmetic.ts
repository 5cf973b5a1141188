/** Python's arithmetic on the host and on constexprs, with integers of arbitrary precision. */

type PythonValue = number | bigint | boolean | string;

/** True if a float64 represents the integer exactly. */
const isSafe = (x: number): boolean => Math.abs(x) <= Number.MAX_SAFE_INTEGER;

const isInteger = (x: PythonValue): boolean =>
  typeof x !== "string" && (typeof x === "bigint" || Number.isInteger(Number(x)));

/** The integer as a number, if that is exact. */
function normalizeInteger(x: bigint): number | bigint {
  const number = Number(x);
  return isSafe(number) ? number : x;
}

/** Normalizes an integer to the form in which equal integers are equal JavaScript values. */
export const toExact = (x: PythonValue): PythonValue =>
  typeof x === "number" && Number.isInteger(x) && !isSafe(x) ? BigInt(x) : x;

/** Arithmetic of two numbers: in float64 if that is exact or an operand is not an integer, else with bigints. */
export function pythonArithmetic(
  floats: (x: number, y: number) => number,
  integers: (x: bigint, y: bigint) => bigint,
): (x: PythonValue, y: PythonValue) => number | bigint {
  return (x, y) => {
    const [a, b] = [Number(x), Number(y)];
    const result = floats(a, b);
    if (isSafe(result) && isSafe(a) && isSafe(b)) return result;
    return isInteger(x) && isInteger(y) ? normalizeInteger(integers(BigInt(x), BigInt(y))) : result;
  };
}

/**
 * {@link pythonArithmetic} for a division. Division by 0, where Python raises an error, returns a non-finite number.
 */
export function pythonDivision(floats: (x: number, y: number) => number, integers: (x: bigint, y: bigint) => bigint) {
  const divide = pythonArithmetic(floats, integers);
  return (x: PythonValue, y: PythonValue): number | bigint => (Number(y) === 0 ? floats(Number(x), 0) : divide(x, y));
}

/** {@link pythonArithmetic} for ops that are exact only in 32 bits, such as JavaScript's bitwise operators. */
export function pythonBitwise(
  int32Operation: (x: number, y: number) => number,
  integers: (x: bigint, y: bigint) => bigint,
): (x: PythonValue, y: PythonValue) => number | bigint {
  const isInt32 = (x: number): boolean => (x | 0) === x;
  return (x, y) => {
    const [a, b] = [Number(x), Number(y)];
    const isExact = (isInt32(a) && isInt32(b)) || !isInteger(x) || !isInteger(y);
    return isExact ? int32Operation(a, b) : normalizeInteger(integers(BigInt(x), BigInt(y)));
  };
}

/** `x // y`, which rounds down, for a nonzero divisor. */
export function floorDivide(x: bigint, y: bigint): bigint {
  const quotient = x / y;
  return quotient * y !== x && x < 0n !== y < 0n ? quotient - 1n : quotient;
}
