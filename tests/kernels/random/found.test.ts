/** What random kernels found, each as small as it gets: compiled with every version of Triton, or refused with a reason. */
import { expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { type TileArray, tileArray } from "../../../src/numerics/array.js";
import { tileType } from "../../../src/types/types.js";
import { opOf } from "../../../src/ops/define.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { requirePython } from "../../support/python.js";
import { caseFor } from "./cases.js";
import { exact } from "./exactness.js";
import { checked, compileScript, jobOf } from "./jobs.js";
import { interpreted } from "./python.js";
import { Worker } from "./workers.js";

sampledTests("what random kernels found", "src/codegen/body");

const params = { x: tensor(tl.float32, [16]), y: tensor.out(tl.float32, [16]) };
const over = (body: (x: any, args: any) => any, more: object = {}, config: object = {}) =>
  kernel(
    "found",
    { params: { ...params, ...more }, grid: () => [1], config } as never,
    (({ x, y, ...args }: any) => {
      const lanes = tl.arange(0, 16);
      tl.store(y.at(lanes), body(tl.load(x.at(lanes)), args));
    }) as never,
  );

const kernels: Readonly<Record<string, unknown>> = {
  "the index of a loop stays defined after it": over((x) => {
    const state = tl.mut(x);
    for (const _ of tl.range(0, tl.programId(0).add(2))) state.value = (state.value as any).mul(2);
    tl.when(tl.programId(0).gt(0), () => {
      state.value = (state.value as any).add(1);
    }).otherwise(() => {
      for (const _ of tl.staticRange(0, 2)) state.value = (state.value as any).add(2);
    });
    return state.value;
  }),
  "a result without use has the name of an index without use": over((x) => {
    const state = tl.mut(x);
    for (const _ of tl.range(0, 3)) state.value = (state.value as any).mul(2);
    for (const _ of tl.range(0, 4)) {
      const [, word] = tl.randint4x(7, tl.arange(0, 16));
      state.value = (state.value as any).add(word!.to(tl.float32));
    }
    return state.value;
  }),
  "a loop in an unrolled loop meets what the copy before it defined": over((x) => {
    const result = tl.mut(x);
    for (const _ of tl.staticRange(0, 2)) {
      for (const _ of tl.range(0, 3)) {
        const inner = tl.mut(tl.full([16], 0, tl.int8));
        for (const _ of tl.range(0, 2)) inner.value = (inner.value as any).add(1);
        result.value = (result.value as any).add(inner.value.to(tl.float32));
      }
      const outer = tl.mut(tl.zeros([16], tl.float64));
      for (const _ of tl.range(0, 2)) outer.value = (outer.value as any).add(result.value);
      result.value = (outer.value as any).to(tl.float32);
    }
    return result.value;
  }),
  "a helper function gives an argument of the kernel as it is": over((x, { s }) => x.mul(tl.fn("given", () => s)()), {
    s: scalar(tl.float32),
  }),
  "an accumulator of int32": over((x) => {
    const a = tl.broadcastTo(tl.max(x), [32, 32]).to(tl.int8);
    return tl
      .max(tl.dot(a, a, tl.zeros([32, 32], tl.int32)), 0)
      .to(tl.float32)
      .max()
      .add(x);
  }),
  "an accumulator of float64": over((x) => {
    const a = tl.broadcastTo(tl.max(x), [16, 16]).to(tl.float64);
    return tl.max(tl.dot(a, a, tl.zeros([16, 16], tl.float64)), 0).to(tl.float32);
  }),
  "a division of halves by a number, correctly rounded": over((x) =>
    tl.fdiv(x.to(tl.float16), 3, { ieeeRounding: true }).add(tl.fdiv(x.to(tl.bfloat16), 0.1, { ieeeRounding: true })),
  ),
  "a reshape in an arm that no config takes": over(
    (x, { BLOCK }) =>
      tl
        .when(BLOCK.gt(8).and(BLOCK.lt(32)), () => x)
        .otherwise(() => (tl.reshape as any)(tl.arange(0, BLOCK), [32]).to(tl.float32).sum().add(x)),
    { BLOCK: constexpr() },
    { BLOCK: 16 },
  ),
  "the shape of a tile whose length the kernel has not computed": over(
    (x, { BLOCK }) => {
      const pairs: any = tl.ravel(tl.join(tl.arange(0, BLOCK), tl.arange(0, BLOCK)));
      return tl.sum(tl.zeros(pairs.shape, tl.int32).add(pairs)).add(x).to(tl.float32);
    },
    { BLOCK: constexpr() },
    { BLOCK: 16 },
  ),
};

const pythons = async () =>
  [await requirePython(), process.env["TILESCRIPT_PYTHON36"]].filter((each) => each !== undefined);

test("Triton takes them", { timeout: 120_000 }, async () => {
  for (const python of await pythons()) {
    const worker = new Worker(python, compileScript);
    for (const [id, made] of Object.entries(kernels)) {
      const job = jobOf(
        id.replaceAll(" ", "_"),
        checked({ kernel: made, outputs: [], sizes: {}, scalars: {} }),
        "llir",
        "odd",
      );
      expect({ id, error: (await worker.ask(job)).error }).toEqual({ id, error: undefined });
    }
    worker.close();
  }
});

const refused: readonly (readonly [string, unknown])[] = [
  [
    "flip: Triton does not take a tile of one element; leave it as it is",
    over((x) => tl.flip(tl.broadcastTo(tl.max(x), [1]) as any)),
  ],
  [
    "bitonicMerge: the last axis has one element, which is in order",
    over((x) => (tl.bitonicMerge as any)(tl.max(x, 0, { keepDims: true }))),
  ],
  [
    "histogram: the mask is [16, 16], the tile [16]",
    over((x) => tl.histogram(x.to(tl.int32), 16, { mask: tl.broadcastTo(x.col, [16, 16]).gt(0) }).to(tl.float32)),
  ],
  [
    "swizzle2d: works on int32 and int64; cast with .to(tl.int32)",
    over((x) => (tl.swizzle2d as any)(x.to(tl.uint8), x.to(tl.uint8), 4, 4, 2)[0].to(tl.float32)),
  ],
  [
    "reshape: [8] and [16] do not hold the same number of elements",
    over(
      (x, { BLOCK }) => (tl.reshape as any)(tl.arange(0, BLOCK), [16]).to(tl.float32).add(x),
      { BLOCK: constexpr() },
      { BLOCK: 8 },
    ),
  ],
  [
    "reshape: [16] and [8, 4] do not hold the same number of elements",
    over(
      (x, { BLOCK, FLAG }) =>
        tl
          .when(FLAG, () =>
            tl
              .when(BLOCK.gt(8), () => (tl.reshape as any)(tl.arange(0, BLOCK), [8, 4]).to(tl.float32).sum().add(x))
              .otherwise(() => x),
          )
          .otherwise(() => x),
      { BLOCK: constexpr(), FLAG: constexpr.bool() },
      { BLOCK: 16, FLAG: true },
    ),
  ],
  [
    "the number of elements (2) * (1) is 2; casts from and to float8e4b15 need at least 4",
    over((x) => tl.broadcastTo(tl.max(x), [2, 1]).to(tl.float8e4b15).to(tl.float32).max().add(x)),
  ],
  [
    "cdiv: int1 is a truth value; combine masks with and, or, not, or cast with .to(tl.int32)",
    over((x) => (tl.cdiv as any)(x.to(tl.uint8), x.gt(0)).to(tl.float32)),
  ],
];

test.each(refused)("a check says: %s", (sentence, made) => {
  expect(() => checked({ kernel: made, outputs: [], sizes: {}, scalars: {} })).toThrow(sentence);
});

const values: Readonly<Record<string, (x: any) => any>> = {
  "an integer by a half is divided as float32": (x) =>
    tl
      .arange(32750, 32766)
      .to(tl.int16)
      .mod(tl.full([16], 3, tl.float16))
      .add(x),
  "a half by a number that no half is": (x) => x.to(tl.float16).mod(0.3),
  "a quotient of halves by such a number": (x) => tl.fdiv(x.to(tl.float16), 0.1, { ieeeRounding: true }),
};

test("Triton's interpreter computes them as the evaluator does", { timeout: 60_000 }, async () => {
  const outputs = [{ name: "y", dtype: "float32", shape: [16], partial: false, rule: exact }] as const;
  const cases = Object.values(values).map((body, i) => {
    const made = caseFor(i, checked({ kernel: over(body), outputs, sizes: {}, scalars: {} }));
    if ("left" in made) throw new Error(made.why);
    return made;
  });
  const { agree, failures } = await interpreted(cases);
  expect({ agree, failures }).toEqual({ agree: cases.length, failures: [] });
});

test("fma of float64 has the sign of its zeros, and every digit at the ends of the range", () => {
  const rounded = (x: number, y: number, z: number): number => {
    const one = (value: number) => tileArray("float64", [1], Float64Array.of(value));
    const result = tileType("float64", [1]);
    const context = { result, results: [result] };
    return (opOf(tl.fma)!.evaluate!({ x: one(x), y: one(y), z: one(z) }, context as never) as TileArray)
      .data[0] as number;
  };
  expect(rounded(-0, 3, -0)).toBe(-0);
  expect(rounded(2, 3, -6)).toBe(0);
  // 1.5 · 2^-1074 of 2^-1074: half of the last place goes to the even neighbor, a little more goes up.
  expect(rounded(2 ** -1000, 2 ** -75, 2 ** -1073)).toBe(2 ** -1073);
  expect(rounded(2 ** -1000, 1.5 * 2 ** -75, 2 ** -1073)).toBe(3 * 2 ** -1074);
  expect(rounded(2 ** 1000, 2 ** 24, -(2 ** 1023))).toBe(2 ** 1023);
});
