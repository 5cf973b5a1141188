/** Integers are exact whatever their size, and equal ones are identical. */
import { expect, test } from "vitest";
import {
  exactQuotient,
  floorQuotient,
  gcd,
  integer,
  type Integer,
  magnitude,
  plus,
  remainderOf,
  times,
} from "../../../src/prove/algebra/polynomial.js";
import { fc, runCount } from "../../support/property.js";

/** Small ones, large ones, and those around the end of what numbers hold exactly. */
const values = fc.oneof(
  fc.bigInt(-20n, 20n),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  fc.bigInt(2n ** 53n - 3n, 2n ** 53n + 3n),
  fc.bigInt(-(2n ** 53n) - 3n, 3n - 2n ** 53n),
);
const floor = (x: bigint, y: bigint): bigint => (x - (((x % y) + y) % y)) / y;
const divisor = (x: bigint, y: bigint): bigint => (y === 0n ? (x < 0n ? -x : x) : divisor(y, x % y));

test("arithmetic gives what that of bigints gives, as a number where a number holds it", () => {
  const expectSame = (got: Integer, expected: bigint) => {
    expect(BigInt(got)).toBe(expected);
    expect(typeof got).toBe(Number.isSafeInteger(Number(expected)) ? "number" : "bigint");
  };
  fc.assert(
    fc.property(values, values, (a, b) => {
      const [x, y] = [integer(a), integer(b)];
      expectSame(plus(x, y), a + b);
      expectSame(times(x, y), a * b);
      expectSame(magnitude(x), a < 0n ? -a : a);
      expectSame(gcd(x, y), divisor(a, b));
      expect(x < y).toBe(a < b);
      if (b === 0n) return;
      expectSame(exactQuotient(times(x, y), y), a);
      const size = b < 0n ? -b : b;
      expectSame(remainderOf(x, y), ((a % size) + size) % size);
      expectSame(floorQuotient(x, magnitude(y)), floor(a, size));
    }),
    { numRuns: runCount(2000) },
  );
});
