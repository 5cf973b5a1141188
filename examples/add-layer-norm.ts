/** Residual addition and layer normalization in one pass, with gradients: an operator of two kernels and PyTorch sums. */
import { constexpr, kernel, main, op, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

const rows = tensor(T, ["M", "N"]);
const newRows = tensor.out(T, ["M", "N"]);

/** One row per program, in one tile. */
const addLayerNormForward = kernel(
  "add_layer_norm_forward",
  {
    doc: "sum = x + residual and y = (sum - mean) * rstd * weight + bias, with mean and rstd of each row.",
    params: {
      x: rows,
      residual: rows,
      weight: tensor(T, ["N"]),
      bias: tensor(T, ["N"]),
      y: newRows,
      sum: newRows,
      mean: tensor.out(tl.float32, ["M"]),
      rstd: tensor.out(tl.float32, ["M"]),
      eps: scalar(tl.float32, { default: 1e-5 }),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192 }],
  },
  ({ x, residual, weight, bias, y, sum, mean, rstd, eps, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const left = tl.load(x.at(row, cols)).to(tl.float32);
    const right = tl.load(residual.at(row, cols)).to(tl.float32);
    // What is normalized is the sum as it is. Rows of few elements would lose digits with a rounded one.
    const values = left.add(right);
    tl.store(sum.at(row, cols), values.to(T));
    const average = tl.sum(values, 0).div(N.to(tl.float32));
    // Columns past the end count neither in the mean nor in the variance.
    const centered = tl.where(cols.lt(N), values.sub(average), 0);
    const scale = tl.rsqrt(tl.sum(centered.mul(centered), 0).div(N.to(tl.float32)).add(eps));
    tl.store(mean.at(row), average);
    tl.store(rstd.at(row), scale);
    const w = tl.load(weight.at(cols)).to(tl.float32);
    const b = tl.load(bias.at(cols)).to(tl.float32);
    tl.store(y.at(row, cols), centered.mul(scale).mul(w).add(b).to(T));
  },
);

/** A program takes every GROUPSth row and sums their share of the gradients of weight and bias in registers. */
const addLayerNormGradients = kernel(
  "add_layer_norm_gradients",
  {
    doc: "The gradient of the sum, with what reaches it past the norm, and each group's sums of those of weight and bias.",
    params: {
      dy: rows,
      dsum: rows,
      sum: rows,
      weight: tensor(T, ["N"]),
      mean: tensor(tl.float32, ["M"]),
      rstd: tensor(tl.float32, ["M"]),
      dx: newRows,
      dwPartial: tensor.out(tl.float32, ["GROUPS", "N"]),
      dbPartial: tensor.out(tl.float32, ["GROUPS", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ GROUPS }) => [GROUPS],
    requires: ({ N, BLOCK_N, GROUPS }) => [BLOCK_N.ge(N), GROUPS.ge(1)],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192, GROUPS: 132 }],
  },
  ({ dy, dsum, sum, weight, mean, rstd, dx, dwPartial, dbPartial, M, N, GROUPS, BLOCK_N }) => {
    const group = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const w = tl.load(weight.at(cols)).to(tl.float32);
    const dwSum = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    const dbSum = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    for (const m of tl.range(group, M, GROUPS, { numStages: 3 })) {
      const row = tl.inBounds(m);
      const gradient = tl.load(dy.at(row, cols)).to(tl.float32);
      const scale = tl.load(rstd.at(row));
      const normalized = tl
        .load(sum.at(row, cols))
        .to(tl.float32)
        .sub(tl.load(mean.at(row)))
        .mul(scale);
      const weighted = gradient.mul(w);
      // What the norm takes away: the shares of the gradient that lie along x and along ones.
      const alongX = tl.sum(weighted.mul(normalized), 0).div(N.to(tl.float32));
      const alongOne = tl.sum(weighted, 0).div(N.to(tl.float32));
      const past = tl.load(dsum.at(row, cols)).to(tl.float32);
      const through = weighted.sub(normalized.mul(alongX)).sub(alongOne).mul(scale);
      tl.store(dx.at(row, cols), through.add(past).to(T));
      dwSum.value = dwSum.value.add(gradient.mul(normalized));
      dbSum.value = dbSum.value.add(gradient);
    }
    tl.store(dwPartial.at(group, cols), dwSum.value);
    tl.store(dbPartial.at(group, cols), dbSum.value);
  },
);

export const addLayerNorm = op(
  "add_layer_norm",
  {
    doc: "The sum of x and residual, and its layer normalization over the last axis, with gradients.",
    params: {
      x: rows,
      residual: rows,
      weight: tensor(T, ["N"]),
      bias: tensor(T, ["N"]),
      y: newRows,
      sum: newRows,
      eps: scalar(tl.float32, { default: 1e-5 }),
    },
    reference: ({ x, residual, weight, bias, N, eps }, torch) => {
      const sum = x.add(residual);
      return [torch.nn.functional.layer_norm(sum, [N], weight, bias, eps), sum];
    },
    shapes: [
      { M: 128, N: 1000 },
      { M: 4096, N: 8192 },
    ],
  },
  ({ x, residual, weight, bias, eps }) => addLayerNormForward.call({ x, residual, weight, bias, eps }),
  ({ weight, sum, mean, rstd }, { y: dy, sum: dsum }) => {
    const { dx, dwPartial, dbPartial } = addLayerNormGradients.call({
      dy,
      dsum,
      sum,
      weight,
      mean,
      rstd,
      GROUPS: 132,
    });
    return { x: dx, residual: dx, weight: dwPartial.sum(0).to(T), bias: dbPartial.sum(0).to(T) };
  },
);

main(import.meta, addLayerNorm);
