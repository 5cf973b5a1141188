/** GELU of the examples is as exact where it is small as where it is large. */
import { expect, test } from "vitest";
import { kernel, NDArray, tensor, tl } from "tilescript";
import { phi } from "../../examples/gelu-dropout.js";
import { gelu } from "../../examples/linear-gelu.js";

const integral = kernel(
  "integral",
  { params: { x: tensor(tl.float32, [8]), y: tensor.out(tl.float32, [8]) }, grid: () => [1] },
  ({ x, y }) => {
    const lanes = tl.arange(0, 8);
    tl.store(y.at(lanes), phi(tl.load(x.at(lanes))));
  },
);

/** What float64 gives. */
const exact: readonly (readonly [number, number])[] = [
  [-9, 1.1285884059538405e-19],
  [-6, 9.865876450376946e-10],
  [-3, 0.0013498980316300933],
  [-1, 0.15865525393145705],
  [0, 0.5],
  [1, 0.8413447460685429],
  [2, 0.9772498680518208],
  [3, 0.9986501019683699],
];

test("Φ keeps the digits of a float32, but for those that the square of its argument costs", async () => {
  const x = NDArray.of(
    exact.map(([at]) => at),
    [8],
  );
  const { outputs } = await integral.evaluate({ x });
  for (const [i, got] of outputs.y.data.entries()) {
    const [at, wanted] = exact[i]!;
    expect(Math.abs(Number(got) / wanted - 1)).toBeLessThan(5e-7 + (at * at * 2) / 2 ** 24);
  }
});

const activation = kernel(
  "activation",
  { params: { x: tensor(tl.float32, [8]), y: tensor.out(tl.float32, [8]) }, grid: () => [1] },
  ({ x, y }) => {
    const lanes = tl.arange(0, 8);
    tl.store(y.at(lanes), gelu(tl.load(x.at(lanes))));
  },
);

test("GELU keeps more digits than a bfloat16 has, and than a float16 where that has all of its own", async () => {
  const x = NDArray.of(
    exact.map(([at]) => at),
    [8],
  );
  const { outputs } = await activation.evaluate({ x });
  for (const [i, got] of outputs.y.data.entries()) {
    const [at, wanted] = exact[i]!;
    if (at === 0) expect(Number(got)).toBe(0);
    else expect(Math.abs(Number(got) / (at * wanted) - 1)).toBeLessThan(at > -4.3 ? 1e-4 : 1.3e-3);
  }
});

test("GELU of what is no number, or too large for one, is as PyTorch has it", async () => {
  const x = NDArray.of([NaN, Infinity, -Infinity, 100, -100, 0, 0, 0], [8]);
  const { outputs } = await activation.evaluate({ x });
  const [nan, large, small, hundred, less] = Array.from(outputs.y.data, Number);
  expect([nan, large, small, hundred]).toEqual([NaN, Infinity, NaN, 100]);
  expect(Math.abs(less!)).toBeLessThan(1e-38);
});
