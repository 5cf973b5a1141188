/** Special values among the inputs: which there are, and that kernels and references agree where they go. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { cases } from "tilescript/testing";
import type { SpecialValue } from "../../../src/compiled/compiled-kernel.js";
import { softmax } from "../../../examples/softmax.js";
import { vectorAdd } from "../../../examples/vector-add.js";
import { signatureOf } from "../../../src/codegen/module/signature.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { makeInputs } from "../../../src/eval/make-inputs.js";
import { fc } from "../../support/property.js";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32, tl.float64]);

const copy = (body: (x: any) => any, reference: (x: any, torch: any) => any) =>
  kernel(
    "k",
    {
      params: { x: tensor(T, ["N"]), y: tensor.out(T, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
      reference: ({ x }, torch) => reference(x, torch),
    },
    ({ x, y, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(offsets), body(tl.load(x.at(offsets))));
    },
  );

describe("inputs", () => {
  const ir = trace(
    definitionOf(
      copy(
        (x) => x,
        (x) => x,
      ),
    ),
  );
  const drawn = (dtype: string, special: boolean | readonly SpecialValue[], seed = 1) =>
    [
      ...makeInputs(
        signatureOf(ir),
        { sizes: { N: 4000 }, dtypes: { T: dtype }, config: 0, seed },
        { sizes: { N: 4000 } },
        special,
      )["x"]!.data,
    ].map(Number);

  test.each([
    ["float16", 65504, 2 ** -24],
    ["bfloat16", 2 ** 127 * (2 - 2 ** -7), 2 ** -133],
    ["float32", 2 ** 127 * (2 - 2 ** -23), 2 ** -149],
    ["float64", Number.MAX_VALUE, Number.MIN_VALUE],
  ])("of %s should hold each special value, of either sign, and mostly others", (dtype, largest, smallest) => {
    const all = drawn(dtype, true);
    const has = (value: number) => all.some((x) => Object.is(x, value));
    for (const value of [NaN, Infinity, -Infinity, -0, largest, -largest, smallest, -smallest])
      expect({ value, has: has(value) }).toEqual({ value, has: true });
    const plain = drawn(dtype, false);
    expect(all.filter((x, i) => !Object.is(x, plain[i])).length).toBeLessThan(4000 / 10);
    expect(plain.every((x) => Number.isFinite(x) && x !== 0)).toBe(true);
    expect(drawn(dtype, true)).toEqual(all);
  });

  test("should hold those that are named", () => {
    const all = drawn("float32", ["-0"]);
    expect(all.some((x) => Object.is(x, -0))).toBe(true);
    expect(all.every(Number.isFinite)).toBe(true);
  });
});

describe("property tests", () => {
  test("NaN and infinity go where the reference puts them", async () => {
    for (const [example, maxSize] of [
      [vectorAdd, 3000],
      [softmax, 100],
    ] as const) {
      const compiled = await build(example);
      const property = fc.property(cases(compiled, { maxSize }), (at) => {
        compiled.check(at, { special: true });
      });
      fc.assert(property, { numRuns: 40 });
    }
  });

  // Right for plain numbers, each wrong for one kind of special value.
  test.each([
    ["a maximum that drops NaN", "nan", (x: any) => tl.maximum(x, 0), (x: any) => x.relu()],
    ["a zero by multiplication", "infinity", (x: any) => x.mul(0), (_: any, torch: any) => torch.zeros_like(_)],
    [
      "a square that overflows",
      "largest",
      (x: any) => x.mul(x).to(tl.float32).div(x.to(tl.float32)).to(T),
      (x: any) => x,
    ],
  ] as const)("find %s", async (_, special, body, reference) => {
    const compiled = await build(copy(body, reference));
    const at = { sizes: { N: 200 }, dtypes: { T: "float32" }, config: 0, seed: 1 };
    compiled.check(at);
    expect(() => compiled.check(at, { special: [special] })).toThrow("elements are wrong");
  });
});
