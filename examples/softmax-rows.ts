/**
 * Softmax of short rows: a program computes several rows at once, then the next ones, with as many programs as the GPU
 * runs at once. The rows of its next iteration are loaded while it computes those of the current one.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const softmaxRows = kernel(
  "softmax_rows",
  {
    doc: "Softmax over the last axis of a matrix, of rows that are short.",
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      ROWS: constexpr(),
      // Programs that share a multiprocessor.
      RESIDENT: constexpr(),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M, ROWS, RESIDENT, device }) => [tl.minimum(tl.cdiv(M, ROWS), device.multiProcessorCount.mul(RESIDENT))],
    // One tile must contain a whole row.
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    autotune: {
      key: ["M", "N"],
      configs: [
        { ROWS: 1, RESIDENT: 8, numWarps: 4 },
        { ROWS: 2, RESIDENT: 8, numWarps: 4 },
        { ROWS: 4, RESIDENT: 4, numWarps: 4 },
        { ROWS: 4, RESIDENT: 8, numWarps: 4 },
        { ROWS: 8, RESIDENT: 4, numWarps: 8 },
      ],
    },
    reference: ({ x }, torch) => torch.softmax(x, -1),
    shapes: [
      { M: 130, N: 100 },
      { M: 4096, N: 1024 },
    ],
  },
  ({ x, y, M, ROWS, BLOCK_N }) => {
    const cols = tl.arange(0, BLOCK_N);
    const first = tl.programId(0).mul(ROWS);
    for (const start of tl.range(first, M, tl.numPrograms(0).mul(ROWS), { numStages: 2 })) {
      const rows = start.add(tl.arange(0, ROWS));
      // Columns past the end are -inf: they change neither the maximum nor the sum.
      const values = tl.load(x.at(rows, cols), { other: -Infinity });
      const numerator = tl.exp(values.sub(tl.max(values, 1).col));
      tl.store(y.at(rows, cols), numerator.div(tl.sum(numerator, 1).col));
    }
  },
);

main(import.meta, softmaxRows);
