/** Control flow by value, where Triton's interpreter cannot be asked; the rest is in tests/kernels/control. */
import { describe, expect, test } from "vitest";
import { compile, constexpr, kernel, tensor, tl } from "tilescript";
import { escaped, leaves, mapped } from "../../kernels/control/kernels.js";
import { evaluate, float32s } from "../../support/evaluate.js";

const N = 32;
const values = Array.from({ length: N }, (_, i) => i / 4 - 4);
const x = float32s(...values);

test("a branch for every element", () => {
  const { outputs, findings } = evaluate(mapped, { sizes: { N } }, { x });
  const expected = values.map((value, i) => Math.fround(value > 0 ? value * i : Math.exp(value)));
  expect(findings).toEqual([]);
  expect([...outputs["y"]!.data]).toEqual(expected);
});

test("a program that exits leaves what it has not written", () => {
  const y = float32s(...Array.from({ length: 64 }, () => 9));
  const { outputs } = evaluate(
    leaves,
    { sizes: { N: 64 } },
    { x: float32s(...Array.from({ length: 64 }, () => 1)), y },
  );
  expect([...outputs["y"]!.data]).toEqual([
    ...Array.from({ length: 32 }, () => 1),
    ...Array.from({ length: 32 }, () => 9),
  ]);
});

describe("the most iterations of a loop", () => {
  const spec = {
    params: { x: tensor(tl.int32, ["N"]), y: tensor.out(tl.int32, [1]) },
    grid: () => [1] as const,
  };
  const counted = kernel("counted", spec, ({ x, y, N }) => {
    const count = tl.mut(tl.full([], 0, tl.int32));
    for (const _ of tl.range(0, tl.load(x.at(0)), 1, { most: tl.cdiv(N, 2), numStages: 2 }))
      count.value = count.value.add(1);
    tl.store(y.at(0), count.value);
  });
  const halved = kernel("halved", spec, ({ x, y, N }) => {
    const [left, count] = [tl.mut(tl.load(x.at(0))), tl.mut(tl.full([], 0, tl.int32))];
    tl.whileLoop(
      () => left.value.gt(0),
      () => {
        left.value = left.value.shr(1);
        count.value = count.value.add(1);
      },
      { most: N },
    );
    tl.store(y.at(0), count.value);
  });
  const run = (of: any, first: number) =>
    compile(of).evaluate(
      { sizes: { N: 8 }, dtypes: {}, config: 0, seed: 1 },
      { lowered: true, inputs: { x: { dtype: "int32", shape: [8], data: Int32Array.of(first, 0, 0, 0, 0, 0, 0, 0) } } },
    );

  test("is checked, and the loop ends as without it", () => {
    expect([run(counted, 4).findings, run(halved, 255).findings]).toEqual([[], []]);
    const [long, longer] = [run(counted, 5), run(halved, 256)];
    expect(long.findings.map(({ message }) => message)).toEqual([
      "this loop has more than 4 iterations, which its option most excludes; give a larger one, or leave it out",
    ]);
    expect(longer.findings.map(({ code }) => code)).toEqual(["false-hint"]);
    expect([Number(long.outputs["y"]!.data[0]), Number(longer.outputs["y"]!.data[0])]).toEqual([5, 9]);
  });

  test("is not emitted, nor what only it needs", () => {
    const jit = (of: unknown): string => /@triton.jit\n[^]*?\n\n/.exec(compile(of).python)![0];
    expect(jit(counted)).toContain("num_stages=2):");
    expect(jit(counted) + jit(halved)).not.toMatch(/most|cdiv|condition/);
  });

  test("is a number, a constexpr or a size", () => {
    const wrong = kernel("wrong", spec, ({ x, y }) => {
      for (const _ of tl.range(0, 3, 1, { most: tl.load(x.at(tl.arange(0, 2))) as never })) tl.store(y.at(0), 1);
    });
    expect(() => compile(wrong)).toThrow("range: most is an integer; give a number, a constexpr or a size");
  });
});

test("what is not modeled is said, with its place", () => {
  const { unchecked, outputs } = compile(escaped).evaluate({ sizes: { N }, dtypes: {}, config: 0, seed: 1 });
  expect(outputs).toEqual({});
  expect(unchecked).toHaveLength(1);
  expect(unchecked[0]).toMatch(
    /^tl\.raw at .*kernels\.ts:\d+:\d+, tl\.inlineAsmElementwise at .*: not modeled, so the kernel was not evaluated$/,
  );
});

describe("folds", () => {
  const folds = kernel(
    "folds",
    {
      params: {
        a: tensor(tl.int64, ["M", "N"]),
        rows: tensor.out(tl.int64, ["M"]),
        scans: tensor.out(tl.int64, ["M", "N"]),
        B: constexpr(),
      },
      grid: () => [1],
      config: { B: 4 },
    },
    ({ a, rows, scans, B }) => {
      const i = tl.arange(0, B);
      const tile = tl.load(a.at(i, i));
      // Not commutative: the order shows.
      tl.store(
        rows.at(i),
        tl.reduce(tile, -1, (p, q) => p.mul(2).add(q)),
      );
      tl.store(
        scans.at(i, i),
        tl.associativeScan(tile, 0, (p, q) => p.add(q), { reverse: true }),
      );
    },
  );

  test("go along their axis, first element to last", () => {
    const data = BigInt64Array.from(Array.from({ length: 16 }, (_, i) => BigInt(i)));
    const { outputs } = evaluate(folds, { sizes: { M: 4, N: 4 } }, { a: { dtype: "int64", shape: [4, 4], data } });
    const fold = (row: number) => [0, 1, 2, 3].map((j) => 4 * row + j).reduce((p, q) => 2 * p + q);
    expect([...outputs["rows"]!.data].map(Number)).toEqual([0, 1, 2, 3].map(fold));
    const below = (row: number, j: number) => [0, 1, 2, 3].slice(row).reduce((sum, r) => sum + 4 * r + j, 0);
    const expected = [0, 1, 2, 3].flatMap((row) => [0, 1, 2, 3].map((j) => below(row, j)));
    expect([...outputs["scans"]!.data].map(Number)).toEqual(expected);
  });

  test("an element that was never given makes its fold unknown", () => {
    const data = BigInt64Array.from(Array.from({ length: 12 }, (_, i) => BigInt(i)));
    const { findings } = evaluate(folds, { sizes: { M: 3, N: 4 } }, { a: { dtype: "int64", shape: [3, 4], data } });
    expect(findings).toEqual([]);
  });
});
