/** The worker judges rounding by the same scales as `src/eval/compare-outputs.ts`: of drawn outputs, both give the same. */
import { expect, test } from "vitest";
import { magnitudes } from "../../src/eval/compare-outputs.js";
import { sizeOf } from "../../src/numerics/array.js";
import { fc } from "../support/property.js";
import { runScript, requirePython } from "../support/python.js";

/** Elements of every size: what fills, what is left out, what under- and overflows when it is squared. */
const element = fc.oneof(
  { weight: 6, arbitrary: fc.double({ min: -4, max: 4, noNaN: true }) },
  { weight: 2, arbitrary: fc.constantFrom(0, -0, -1e9, 1e9, 4096, -4096) },
  { weight: 1, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, 1e-300, 1e300, Number.MAX_VALUE, 5e-324) },
);
const output = fc
  .array(fc.constantFrom(1, 1, 2, 3, 5, 8), { maxLength: 3 })
  .chain((shape) => fc.record({ shape: fc.constant(shape), data: fc.array(element, exactly(sizeOf(shape))) }));
/** Rows of very different magnitude, as those of causal attention. */
const causal = fc
  .record({ rows: fc.integer({ min: 1, max: 6 }), columns: fc.integer({ min: 1, max: 6 }) })
  .chain(({ rows, columns }) =>
    fc.array(element, exactly(rows * columns)).map((all) => ({
      shape: [rows, columns],
      data: all.map((x, i) => (Number.isFinite(x) ? x * 10 ** -Math.floor(i / columns) : x)),
    })),
  );

function exactly(length: number) {
  return { minLength: length, maxLength: length };
}

test("both rules give the same scales for drawn outputs", { timeout: 60_000 }, async () => {
  const drawn = [
    ...fc.sample(output, { numRuns: 300, seed: 3 }),
    ...fc.sample(causal, { numRuns: 200, seed: 4 }),
    // A constant that fills two elements of four, and two constants.
    { shape: [4], data: [1, -1, -1e9, -1e9] },
    { shape: [6], data: [1, 1, -1e9, -1e9, 1e30, 1e30] },
    { shape: [], data: [3] },
    { shape: [0, 3], data: [] },
    { shape: [2, 2], data: [NaN, NaN, Infinity, 0] },
  ];
  // JSON has neither infinities nor NaN.
  const cases = drawn.map(({ shape, data }) => ({ shape, data: data.map(String) }));
  const script = new URL("row_scales.py", import.meta.url);
  const scales = await runScript<string[][]>(await requirePython(), script, cases);
  drawn.forEach(({ shape, data }, i) => {
    const [own, other] = [[...magnitudes(shape, data)], scales[i]!.map(Number)];
    const worst = own.map((scale, at) => (scale === other[at] ? 0 : Math.abs(scale - other[at]!) / Math.abs(scale)));
    expect({ shape, data, own, other, same: worst.every((error) => error < 1e-12) }).toMatchObject({ same: true });
    expect(other).toHaveLength(own.length);
  });
});
