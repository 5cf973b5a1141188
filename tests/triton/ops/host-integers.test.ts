/** Integers of constexprs and of the host, of any size: the evaluator's against Python's. */
import { expect, test } from "vitest";
import { table } from "../../../src/ops/table.js";
import { runScript, requirePython } from "../../support/python.js";
import { fc } from "../../support/property.js";

const OPS = ["add", "sub", "mul", "floorDiv", "mod", "and", "or", "xor", "cdiv", "minimum", "maximum", "eq", "lt"];
const SHIFTS = ["shl", "shr"];
const ALONE = ["neg", "not", "bitLength"];

const small = fc.bigInt({ min: -100n, max: 100n });
/** Around powers of two, where words and float64 end. */
const near = fc
  .tuple(fc.integer({ min: 20, max: 62 }), fc.bigInt({ min: -3n, max: 3n }), fc.boolean())
  .map(([exponent, beside, isNegative]) => (isNegative ? -1n : 1n) * (2n ** BigInt(exponent) + beside));
const integer = fc.oneof(small, near, fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }));
const drawnCase = fc.oneof(
  fc.record({ op: fc.constantFrom(...OPS), x: integer, y: integer.map((y) => (y === 0n ? 7n : y)) }),
  fc.record({ op: fc.constantFrom(...SHIFTS), x: integer, y: fc.bigInt({ min: 0n, max: 60n }) }),
  fc.record({ op: fc.constantFrom(...ALONE), x: integer, y: fc.constant(0n) }),
);

/** As authors and ops hold it: a number where one keeps it. */
const held = (x: bigint): number | bigint => (Number.isSafeInteger(Number(x)) ? Number(x) : x);

test("integers have as many digits as they need", { timeout: 60_000 }, async () => {
  const cases = fc
    .sample(drawnCase, { numRuns: 4000, seed: 1 })
    .filter(({ op, x }) => op !== "bitLength" || typeof held(x) === "number");
  const asked = cases.map(({ op, x, y }) => ({ op, x: String(x), y: String(y) }));
  const script = new URL("./host_integers.py", import.meta.url);
  const answers = await runScript<readonly string[]>(await requirePython(), script, asked);
  const folds = new Map(table.map(({ name, fold }) => [name, fold]));
  const wrong = cases.flatMap(({ op, x, y }, i) => {
    const got = folds.get(op)!(...(ALONE.includes(op) ? [held(x)] : [held(x), held(y)]));
    const [is, due] = [String(got).toLowerCase(), answers[i]!.toLowerCase()];
    return is === due || (is === "-0" && due === "0") ? [] : [`${op}(${x}, ${y}) is ${due}, not ${is}`];
  });
  expect(wrong).toEqual([]);
  expect(new Set(cases.map(({ op }) => op)).size).toBe(OPS.length + SHIFTS.length + ALONE.length);
});
