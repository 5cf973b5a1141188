/**
 * Integers of any size. Most are small, and arithmetic of numbers is many times faster than that of bigints: an integer is a
 * number where that is exact, else a bigint, so that equal integers are `===`. `<` compares both kinds.
 */
export type Integer = number | bigint;

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

export const integer = (x: bigint): Integer => (x <= MOST && x >= -MOST ? Number(x) : x);

// A sum or a product that is not exact is larger than any safe integer.

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

/** What is left of `x` divided by `y`, from 0 to below the magnitude of `y`. */
export function remainderOf(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const rest = x % y;
    return rest < 0 ? rest + Math.abs(y) : rest;
  }
  const rest = BigInt(x) % BigInt(y);
  return integer(rest < 0n ? rest + BigInt(magnitude(y)) : rest);
}

/** `x / y`, where `y` divides `x`. */
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
