/** Layer normalization with its gradient: a PyTorch operator made of three kernels. */
import { constexpr, kernel, main, op, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** One row per program, in one tile. */
const layerNormForward = kernel(
  "layer_norm_forward",
  {
    doc: "y = (x - mean) * rstd * weight + bias over the last axis, with mean and rstd of each row.",
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      bias: tensor(T, ["N"]),
      y: tensor.out(T, ["M", "N"]),
      mean: tensor.out(tl.float32, ["M"]),
      rstd: tensor.out(tl.float32, ["M"]),
      eps: scalar(tl.float32, { default: 1e-5 }),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    autotune: { key: ["N"], configs: [{ numWarps: 2 }, { numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192 }],
  },
  ({ x, weight, bias, y, mean, rstd, eps, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const values = tl.load(x.at(row, cols), { other: 0 }).to(tl.float32);
    const average = tl.sum(values, 0).div(N.to(tl.float32));
    // Columns past the end count neither in the mean nor in the variance.
    const centered = tl.where(cols.lt(N), values.sub(average), 0);
    const variance = tl.sum(centered.mul(centered), 0).div(N.to(tl.float32));
    const scale = tl.rsqrt(variance.add(eps));
    tl.store(mean.at(row), average);
    tl.store(rstd.at(row), scale);
    const w = tl.load(weight.at(cols)).to(tl.float32);
    const b = tl.load(bias.at(cols)).to(tl.float32);
    tl.store(y.at(row, cols), centered.mul(scale).mul(w).add(b).to(T));
  },
);

/** A program takes every GROUPSth row and sums their share of the weight's gradient in registers. */
const layerNormGradients = kernel(
  "layer_norm_gradients",
  {
    doc: "The gradient of x, and for each group of rows the sum of theirs of weight and bias.",
    params: {
      dy: tensor(T, ["M", "N"]),
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      mean: tensor(tl.float32, ["M"]),
      rstd: tensor(tl.float32, ["M"]),
      dx: tensor.out(T, ["M", "N"]),
      dwPartial: tensor.out(tl.float32, ["GROUPS", "N"]),
      dbPartial: tensor.out(tl.float32, ["GROUPS", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ GROUPS }) => [GROUPS],
    requires: ({ N, BLOCK_N, GROUPS }) => [BLOCK_N.ge(N), GROUPS.ge(1)],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192, GROUPS: 132 }],
  },
  ({ dy, x, weight, mean, rstd, dx, dwPartial, dbPartial, M, N, GROUPS, BLOCK_N }) => {
    const group = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const w = tl.load(weight.at(cols), { other: 0 }).to(tl.float32);
    const dwSum = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    const dbSum = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    for (const m of tl.range(group, M, GROUPS, { numStages: 3 })) {
      const row = tl.inBounds(m);
      const gradient = tl.load(dy.at(row, cols), { other: 0 }).to(tl.float32);
      const values = tl.load(x.at(row, cols), { other: 0 }).to(tl.float32);
      const scale = tl.load(rstd.at(row));
      const normalized = values.sub(tl.load(mean.at(row))).mul(scale);
      const weighted = gradient.mul(w);
      // Past the end both gradient and weight are 0.
      const alongX = tl.sum(weighted.mul(normalized), 0).div(N.to(tl.float32));
      const alongOne = tl.sum(weighted, 0).div(N.to(tl.float32));
      const result = weighted.sub(normalized.mul(alongX)).sub(alongOne).mul(scale);
      tl.store(dx.at(row, cols), result.to(T));
      dwSum.value = dwSum.value.add(gradient.mul(normalized));
      dbSum.value = dbSum.value.add(gradient);
    }
    tl.store(dwPartial.at(group, cols), dwSum.value);
    tl.store(dbPartial.at(group, cols), dbSum.value);
  },
);

/** The sums of two matrices over their first axis, in a fixed order. */
const columnSums = kernel(
  "column_sums",
  {
    doc: "The sums of a and of b over their rows, in the dtype that is asked for.",
    params: {
      a: tensor(tl.float32, ["R", "N"]),
      b: tensor(tl.float32, ["R", "N"]),
      aSum: tensor.out(T, ["N"]),
      bSum: tensor.out(T, ["N"]),
      OUT: constexpr.dtype(T),
      BLOCK_R: constexpr(),
      BLOCK_N: constexpr(),
    },
    grid: ({ N, BLOCK_N }) => [tl.cdiv(N, BLOCK_N)],
    config: { BLOCK_R: 32, BLOCK_N: 32 },
    reference: ({ a, b, OUT }) => [a.sum(0).to(OUT), b.sum(0).to(OUT)],
    shapes: [{ R: 132, N: 8192 }],
  },
  ({ a, b, aSum, bSum, OUT, R, BLOCK_R, BLOCK_N }) => {
    const cols = tl.programId(0).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const aTotal = tl.mut(tl.zeros([BLOCK_R, BLOCK_N], tl.float32));
    const bTotal = tl.mut(tl.zeros([BLOCK_R, BLOCK_N], tl.float32));
    for (const r of tl.range(0, R, BLOCK_R)) {
      const rows = r.add(tl.arange(0, BLOCK_R));
      aTotal.value = aTotal.value.add(tl.load(a.at(rows, cols), { other: 0 }));
      bTotal.value = bTotal.value.add(tl.load(b.at(rows, cols), { other: 0 }));
    }
    tl.store(aSum.at(cols), tl.sum(aTotal.value, 0).to(OUT));
    tl.store(bSum.at(cols), tl.sum(bTotal.value, 0).to(OUT));
  },
);

export const layerNorm = op(
  "layer_norm",
  {
    doc: "Layer normalization over the last axis of a matrix, with its gradient.",
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      bias: tensor(T, ["N"]),
      y: tensor.out(T, ["M", "N"]),
      eps: scalar(tl.float32, { default: 1e-5 }),
    },
    reference: ({ x, weight, bias, N, eps }, torch) => torch.nn.functional.layer_norm(x, [N], weight, bias, eps),
    shapes: [
      { M: 128, N: 1000 },
      { M: 4096, N: 8192 },
    ],
  },
  ({ x, weight, bias, eps }) => layerNormForward.call({ x, weight, bias, eps }),
  ({ x, weight, mean, rstd }, { y: dy }) => {
    // Each group of rows has its own sum. The second kernel adds these sums, always in the same order.
    const { dx, dwPartial, dbPartial } = layerNormGradients.call({ dy, x, weight, mean, rstd, GROUPS: 132 });
    const { aSum: dw, bSum: db } = columnSums.call({ a: dwPartial, b: dbPartial, OUT: T });
    return { x: dx, weight: dw, bias: db };
  },
);

main(import.meta, layerNorm);
