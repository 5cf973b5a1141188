/** Φ of the GELU examples is as exact where it is small as where it is large. */
import { expect, test } from "vitest";
import { kernel, NDArray, tensor, tl } from "tilescript";
import { phi } from "../../examples/linear-gelu.js";

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
