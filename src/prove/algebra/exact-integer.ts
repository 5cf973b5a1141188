/**
 * Exact integers of any size. Number arithmetic is many times faster than bigint arithmetic, so an integer is a number
 * if it is safe, else a bigint. Equal integers are therefore `===`, and `<` compares both kinds.
 */
export type Integer = number | bigint;

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

export const integer = (x: bigint): Integer => (x <= MAX_SAFE && x >= -MAX_SAFE ? Number(x) : x);

// A sum or a product that is not exact in floating point exceeds every safe integer.

export function plus(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const total = x + y;
    if (Number.isSafeInteger(total)) return total;
  }
  return integer(BigInt(x) + BigInt(y));
}

export function times(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const product = x * y;
    if (Number.isSafeInteger(product)) return product;
  }
  return integer(BigInt(x) * BigInt(y));
}

/** The remainder of `x` divided by `y`, from 0 to below the magnitude of `y`. */
export function remainderOf(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const remainder = x % y;
    return remainder < 0 ? remainder + Math.abs(y) : remainder;
  }
  const remainder = BigInt(x) % BigInt(y);
  return integer(remainder < 0n ? remainder + BigInt(magnitude(y)) : remainder);
}

/** `x / y`, if `y` divides `x`. */
export function exactQuotient(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") return x / y;
  return integer(BigInt(x) / BigInt(y));
}

/** The largest integer that is at most `x / y`, for `y > 0`. */
export const floorQuotient = (x: Integer, y: Integer): Integer => exactQuotient(plus(x, -remainderOf(x, y)), y);

export const magnitude = (x: Integer): Integer => (x < 0 ? -x : x);

export function gcd(x: Integer, y: Integer): Integer {
  let [a, b] = [magnitude(x), magnitude(y)];
  while (b !== 0) [a, b] = [b, remainderOf(a, b)];
  return a;
}
