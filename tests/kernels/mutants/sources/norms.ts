/** Kernels over the rows of a matrix. */
import { constexpr, kernel, tensor, tl } from "tilescript";

export const layerNorm = kernel(
  "layer_norm",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      weight: tensor(tl.float32, ["N"]),
      bias: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
    reference: ({ x, weight, bias, N }, torch) => torch.nn.functional.layer_norm(x, [N], weight, bias),
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, weight, bias, y, N, BLOCK }) => {
    const row = tl.programId(0);
    const columns = tl.arange(0, BLOCK);
    const inside = columns.lt(N);
    const values = tl.load(x.at(row, columns));
    const mean = tl.sum(values, 0).div(N.to(tl.float32));
    const centered = tl.where(inside, values.sub(mean), 0);
    const variance = tl.sum(centered.mul(centered), 0).div(N.to(tl.float32));
    const scaled = centered.mul(tl.rsqrt(variance.add(1e-5)));
    tl.store(y.at(row, columns), scaled.mul(tl.load(weight.at(columns))).add(tl.load(bias.at(columns))));
  },
);

/** log Σ exp of each row, block by block. */
export const logSumExp = kernel(
  "log_sum_exp",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
    grid: ({ M }) => [M],
    config: { BLOCK: 16 },
    reference: ({ x }, torch) => torch.logsumexp(x, 1),
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, y, N, BLOCK }) => {
    const row = tl.programId(0);
    const best = tl.mut(tl.full([], -Infinity, tl.float32));
    const total = tl.mut(tl.full([], 0, tl.float32));
    for (const start of tl.range(0, N, BLOCK)) {
      const columns = start.add(tl.arange(0, BLOCK));
      const values = tl.load(x.ptr.add(row.mul(x.stride(0)), columns.mul(x.stride(1))), {
        mask: columns.lt(N),
        other: -Infinity,
      });
      const newBest = tl.maximum(best.value, tl.max(values, 0));
      const rescaled = total.value.mul(tl.exp(best.value.sub(newBest)));
      total.value = rescaled.add(tl.sum(tl.exp(values.sub(newBest)), 0));
      best.value = newBest;
    }
    tl.store(y.at(row), best.value.add(tl.log(total.value)));
  },
);

/** The sum of each column: a program takes a block of columns and goes down the rows. */
export const columnSums = kernel(
  "column_sums",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
    },
    grid: ({ N, BLOCK_N }) => [tl.cdiv(N, BLOCK_N)],
    config: { BLOCK_M: 8, BLOCK_N: 16 },
    reference: ({ x }, torch) => torch.sum(x, 0),
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  },
  ({ x, y, M, N, BLOCK_M, BLOCK_N }) => {
    const columns = tl.programId(0).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const total = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    for (const start of tl.range(0, M, BLOCK_M)) {
      const rows = start.add(tl.arange(0, BLOCK_M));
      const inside = rows.col.lt(M).and(columns.row.lt(N));
      const pointers = x.ptr.add(rows.col.mul(x.stride(0)), columns.row.mul(x.stride(1)));
      const values = tl.load(pointers, { mask: inside, other: 0 });
      total.value = total.value.add(tl.sum(values, 0));
    }
    tl.store(y.ptr.add(columns.mul(y.stride(0))), total.value, { mask: columns.lt(N) });
  },
);

/** The largest element of each row, and where it is. */
export const rowMax = kernel(
  "row_max",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      best: tensor.out(tl.float32, ["M"]),
      place: tensor.out(tl.int32, ["M"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M, BLOCK_M }) => [tl.cdiv(M, BLOCK_M)],
    config: { BLOCK_M: 4 },
    reference: ({ x }, torch) => [torch.amax(x, 1), x.argmax(1).int()],
  },
  ({ x, best, place, BLOCK_M, BLOCK_N }) => {
    const rows = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const values = tl.load(x.at(rows, tl.arange(0, BLOCK_N)), { other: -Infinity });
    tl.store(best.at(rows), tl.max(values, 1));
    tl.store(place.at(rows), tl.argmax(values, 1));
  },
);
