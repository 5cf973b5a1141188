/** Residual addition and RMS normalization in one pass, with gradients: an operator of two kernels and a PyTorch sum. */
import { constexpr, kernel, main, op, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

const rows = tensor(T, ["M", "N"]);
const newRows = tensor.out(T, ["M", "N"]);

/** One row per program, in one tile. */
const addRmsNormForward = kernel(
  "add_rms_norm_forward",
  {
    doc: "sum = x + residual and y = sum * rstd * weight with rstd = 1 / sqrt(mean(sum²) + eps) of each row.",
    params: {
      x: rows,
      residual: rows,
      weight: tensor(T, ["N"]),
      y: newRows,
      sum: newRows,
      rstd: tensor.out(tl.float32, ["M"]),
      eps: scalar(tl.float32, { default: 1e-6 }),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192 }],
  },
  ({ x, residual, weight, y, sum, rstd, eps, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const left = tl.load(x.at(row, cols)).to(tl.float32);
    const right = tl.load(residual.at(row, cols)).to(tl.float32);
    // As PyTorch does it: the sum is rounded before it is normalized.
    const rounded = left.add(right).to(T);
    tl.store(sum.at(row, cols), rounded);
    // Zeros past the end add nothing to the sum of squares.
    const values = rounded.to(tl.float32);
    const scale = tl.rsqrt(tl.sum(values.mul(values), 0).div(N.to(tl.float32)).add(eps));
    tl.store(rstd.at(row), scale);
    const w = tl.load(weight.at(cols)).to(tl.float32);
    tl.store(y.at(row, cols), values.mul(scale).mul(w).to(T));
  },
);

/** A program takes every GROUPSth row and sums their share of the weight's gradient in registers. */
const addRmsNormGradients = kernel(
  "add_rms_norm_gradients",
  {
    doc: "The gradient of the sum, with what reaches it past the norm, and each group's sum of that of weight.",
    params: {
      dy: rows,
      dsum: rows,
      sum: rows,
      weight: tensor(T, ["N"]),
      rstd: tensor(tl.float32, ["M"]),
      dx: newRows,
      dwPartial: tensor.out(tl.float32, ["GROUPS", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ GROUPS }) => [GROUPS],
    requires: ({ N, BLOCK_N, GROUPS }) => [BLOCK_N.ge(N), GROUPS.ge(1)],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192, GROUPS: 132 }],
  },
  ({ dy, dsum, sum, weight, rstd, dx, dwPartial, M, N, GROUPS, BLOCK_N }) => {
    const group = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const w = tl.load(weight.at(cols)).to(tl.float32);
    const dwSum = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    for (const m of tl.range(group, M, GROUPS, { numStages: 3 })) {
      const row = tl.inBounds(m);
      const gradient = tl.load(dy.at(row, cols)).to(tl.float32);
      const scale = tl.load(rstd.at(row));
      const normalized = tl.load(sum.at(row, cols)).to(tl.float32).mul(scale);
      const weighted = gradient.mul(w);
      // What the norm takes away: the share of the gradient that lies along x.
      const alongX = tl.sum(weighted.mul(normalized), 0).div(N.to(tl.float32));
      const past = tl.load(dsum.at(row, cols)).to(tl.float32);
      tl.store(dx.at(row, cols), weighted.sub(normalized.mul(alongX)).mul(scale).add(past).to(T));
      dwSum.value = dwSum.value.add(gradient.mul(normalized));
    }
    tl.store(dwPartial.at(group, cols), dwSum.value);
  },
);

export const addRmsNorm = op(
  "add_rms_norm",
  {
    doc: "The sum of x and residual, and its RMS normalization over the last axis, with gradients.",
    params: {
      x: rows,
      residual: rows,
      weight: tensor(T, ["N"]),
      y: newRows,
      sum: newRows,
      eps: scalar(tl.float32, { default: 1e-6 }),
    },
    reference: ({ x, residual, weight, N, eps }, torch) => {
      const sum = x.add(residual);
      return [torch.nn.functional.rms_norm(sum, [N], weight, eps), sum];
    },
    shapes: [
      { M: 128, N: 1000 },
      { M: 4096, N: 8192 },
    ],
  },
  ({ x, residual, weight, eps }) => addRmsNormForward.call({ x, residual, weight, eps }),
  ({ weight, sum, rstd }, { y: dy, sum: dsum }) => {
    const { dx, dwPartial } = addRmsNormGradients.call({ dy, dsum, sum, weight, rstd, GROUPS: 132 });
    return { x: dx, residual: dx, weight: dwPartial.sum(0).to(T) };
  },
);

main(import.meta, addRmsNorm);
