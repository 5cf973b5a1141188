/** Values that live on while the buffers of others are used again. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { evaluate, float32s } from "../../support/evaluate.js";

const [BLOCK, TURNS] = [32, 5];

const carried = kernel(
  "carried",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      z: tensor.out(tl.float32, ["N"]),
      TURNS: constexpr(),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK, TURNS },
  },
  ({ x, y, z, TURNS, BLOCK }) => {
    const lanes = tl.arange(0, BLOCK);
    const offsets = tl.programId(0).mul(BLOCK).add(lanes);
    const twice = tl.fn((value: ReturnType<typeof tl.load>) => value.add(value));
    const [place, sum, last] = [tl.mut(offsets), tl.mut(tl.zeros([BLOCK], tl.float32)), tl.mut(tl.load(x.at(offsets)))];
    for (const i of tl.range(0, TURNS)) {
      // The same view in each turn, of an index that was made before the loop, by its name and through a variable.
      const here = tl.load(x.at(offsets));
      const there = tl.load(x.at(place.value));
      for (const _ of tl.range(0, 2)) sum.value = sum.value.add(twice(here.add(there)));
      last.value = tl.reshape(here.mul(i.to(tl.float32)), [BLOCK]);
      place.value = offsets;
    }
    for (const i of tl.staticRange(TURNS)) sum.value = sum.value.add(twice(last.value).mul(i));
    tl.store(y.at(offsets), sum.value);
    tl.store(z.at(offsets), last.value);
  },
);

test("tiles that variables hold, views, and what helper functions give", () => {
  const values = Array.from({ length: 3 * BLOCK - 5 }, (_, i) => i);
  for (const order of ["sequential", "reversed"] as const) {
    const at = { sizes: { N: values.length } };
    const { outputs, findings } = evaluate(carried, at, { x: float32s(...values) }, undefined, { order });
    expect(findings).toEqual([]);
    // Each turn adds 2 * (2x + 2x); then the last tile, 4x, comes twice for each of 0 + 1 + 2 + 3 + 4.
    expect([...outputs["y"]!.data]).toEqual(values.map((x) => TURNS * 2 * 4 * x + 2 * 4 * x * 10));
    expect([...outputs["z"]!.data]).toEqual(values.map((x) => 4 * x));
  }
});

const told = kernel(
  "told",
  {
    params: { y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK },
  },
  ({ y, N, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    // The same for every program, and wrong in each.
    const none = tl.cdiv(N, N.sub(N));
    tl.store(y.at(offsets), none.add(offsets).to(tl.float32));
  },
);

test("what is the same for every program is reported for each of them", () => {
  const [first, ...others] = evaluate(told, { sizes: { N: 3 * BLOCK } }).findings.filter(
    ({ code }) => code === "division",
  );
  expect(others).toEqual([]);
  expect(first!.message).toContain("(and 2 more like it)");
});
