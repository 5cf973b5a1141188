/** Triton's sorting network loses elements of a row with NaN. The evaluator loses the same. */
import { expect, test } from "vitest";
import { kernel, NDArray, tensor, tl } from "tilescript";

const [rows, columns] = [4, 16];

const orders = kernel(
  "orders",
  {
    params: {
      x: tensor(tl.float32, [4, 16]),
      rising: tensor.out(tl.float32, [4, 16]),
      falling: tensor.out(tl.float32, [4, 16]),
      merged: tensor.out(tl.float32, [4, 16]),
      top: tensor.out(tl.float32, [4, 4]),
      two: tensor.out(tl.float32, [4, 2]),
    },
    grid: () => [1],
  },
  ({ x, rising, falling, merged, top, two }) => {
    const [i, j] = [tl.arange(0, 4), tl.arange(0, 16)];
    const values = tl.load(x.at(i, j));
    tl.store(rising.at(i, j), tl.sort(values));
    tl.store(falling.at(i, j), tl.sort(values, 1, { descending: true }));
    tl.store(merged.at(i, j), tl.bitonicMerge(values));
    tl.store(top.at(i, tl.arange(0, 4)), tl.topk(values, 4));
    tl.store(two.at(i, tl.arange(0, 2)), tl.topk(values, 2));
  },
);

test("rows with NaN and with zeros of both signs come out as on Triton's interpreter", async () => {
  const special = new Map([
    [3, NaN],
    [columns, NaN],
    [columns + 5, NaN],
    [2 * columns + 7, Infinity],
    [2 * columns + 8, -0],
    [2 * columns + 9, 0],
  ]);
  const x = NDArray.of(
    Float32Array.from({ length: rows * columns }, (_, i) => special.get(i) ?? ((i * 37) % 23) - 11),
    [rows, columns],
  );
  const here = await orders.evaluate({ x });
  const there = await orders.run({ x }, { device: "interpreter" });
  for (const name of ["rising", "falling", "merged", "top", "two"] as const)
    expect({ name, values: there.outputs[name].toArray() }).toEqual({ name, values: here.outputs[name].toArray() });
  const countNaN = (values: Iterable<number>): number => [...values].filter(Number.isNaN).length;
  expect(countNaN(here.outputs.rising.data)).not.toBe(countNaN(x.data));
});

const chosen = kernel(
  "chosen",
  {
    params: {
      x: tensor(tl.float32, ["M", 16]),
      most: tensor.out(tl.int32, ["M"]),
      least: tensor.out(tl.int32, ["M"]),
    },
    grid: ({ M }) => [tl.cdiv(M, 4)],
  },
  ({ x, most, least }) => {
    const i = tl.programId(0).mul(4).add(tl.arange(0, 4));
    const values = tl.load(x.at(i, tl.arange(0, 16)), { other: -Infinity });
    // Rows past the end are NaN.
    const scaled = values.sub(tl.max(values, 1).col);
    tl.store(most.at(i), tl.argmax(scaled, 1));
    tl.store(least.at(i), tl.argmin(scaled, 1));
  },
);

test("rows of NaN that no one stores do not stop Triton's interpreter", async () => {
  const x = NDArray.of(
    Float32Array.from({ length: 5 * columns }, (_, i) => ((i * 37) % 23) - 11),
    [5, columns],
  );
  const here = await chosen.evaluate({ x });
  const there = await chosen.run({ x }, { device: "interpreter" });
  for (const name of ["most", "least"] as const)
    expect({ name, values: there.outputs[name].toArray() }).toEqual({ name, values: here.outputs[name].toArray() });
});
