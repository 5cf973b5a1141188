/** Row-wise softmax: one row per program, in one tile. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const softmax = kernel(
  "softmax",
  {
    doc: "Softmax over the last axis of a matrix.",
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    // One tile must contain a whole row.
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    autotune: {
      key: ["N"],
      configs: [{ numWarps: 1 }, { numWarps: 2 }, { numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }, { numWarps: 32 }],
    },
    reference: ({ x }, torch) => torch.softmax(x, -1),
    shapes: [
      { M: 128, N: 1000 },
      { M: 4096, N: 12672 },
    ],
  },
  ({ x, y, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    // Columns past the end are -inf: they change neither the maximum nor the sum.
    const values = tl.load(x.at(row, cols), { other: -Infinity });
    const shifted = values.sub(tl.max(values, 0));
    const numerator = tl.exp(shifted);
    const denominator = tl.sum(numerator, 0);
    tl.store(y.at(row, cols), numerator.div(denominator));
  },
);

main(import.meta, softmax);
