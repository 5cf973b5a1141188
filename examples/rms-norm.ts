/** RMS normalization with its gradient: a PyTorch operator made of two kernels and a PyTorch sum. */
import { constexpr, kernel, main, op, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** One row per program, in one tile. */
const rmsNormForward = kernel(
  "rms_norm_forward",
  {
    doc: "y = x * rstd * weight with rstd = 1 / sqrt(mean(x²) + eps) of each row.",
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      y: tensor.out(T, ["M", "N"]),
      rstd: tensor.out(tl.float32, ["M"]),
      eps: scalar(tl.float32, { default: 1e-6 }),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],
    autotune: { key: ["N"], configs: [{ numWarps: 2 }, { numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192 }],
  },
  ({ x, weight, y, rstd, eps, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    // Zeros past the end add nothing to the sum of squares. A row is read once, but an H200 is faster with this hint
    // than with `evict_first` or none.
    const values = tl.load(x.at(row, cols), { other: 0, evictionPolicy: "evict_last" }).to(tl.float32);
    // Asked for before the sum, so that it is there when the sum is.
    const w = tl.load(weight.at(cols), { evictionPolicy: "evict_last" });
    const meanSquare = tl.sum(values.mul(values), 0).div(N.to(tl.float32));
    const scale = tl.rsqrt(meanSquare.add(eps));
    tl.store(rstd.at(row), scale);
    tl.store(y.at(row, cols), values.mul(scale).mul(w.to(tl.float32)).to(T));
  },
);

/** A program takes every GROUPSth row and sums their share of the weight's gradient in registers. */
const rmsNormGradients = kernel(
  "rms_norm_gradients",
  {
    doc: "The gradient of x, and for each group of rows the sum of theirs of weight.",
    params: {
      dy: tensor(T, ["M", "N"]),
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      rstd: tensor(tl.float32, ["M"]),
      dx: tensor.out(T, ["M", "N"]),
      dwPartial: tensor.out(tl.float32, ["GROUPS", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ GROUPS }) => [GROUPS],
    requires: ({ N, BLOCK_N, GROUPS }) => [BLOCK_N.ge(N), GROUPS.ge(1)],
    autotune: { key: ["N"], configs: [{ numWarps: 4 }, { numWarps: 8 }, { numWarps: 16 }] },
    shapes: [{ M: 4096, N: 8192, GROUPS: 132 }],
  },
  ({ dy, x, weight, rstd, dx, dwPartial, M, N, GROUPS, BLOCK_N }) => {
    const group = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const w = tl.load(weight.at(cols), { other: 0 }).to(tl.float32);
    const dwSum = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    for (const m of tl.range(group, M, GROUPS, { numStages: 3 })) {
      const row = tl.inBounds(m);
      const gradient = tl.load(dy.at(row, cols), { other: 0 }).to(tl.float32);
      const values = tl.load(x.at(row, cols), { other: 0 }).to(tl.float32);
      const scale = tl.load(rstd.at(row));
      const normalized = values.mul(scale);
      const weighted = gradient.mul(w);
      // What the norm takes away: the share of the gradient that lies along x.
      const alongX = tl.sum(weighted.mul(normalized), 0).div(N.to(tl.float32));
      tl.store(dx.at(row, cols), weighted.sub(normalized.mul(alongX)).mul(scale).to(T));
      dwSum.value = dwSum.value.add(gradient.mul(normalized));
    }
    tl.store(dwPartial.at(group, cols), dwSum.value);
  },
);

export const rmsNorm = op(
  "rms_norm",
  {
    doc: "RMS normalization over the last axis of a matrix, with its gradient.",
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      y: tensor.out(T, ["M", "N"]),
      eps: scalar(tl.float32, { default: 1e-6 }),
    },
    reference: ({ x, weight, N, eps }, torch) => torch.nn.functional.rms_norm(x, [N], weight, eps),
    shapes: [
      { M: 128, N: 1000 },
      { M: 4096, N: 8192 },
    ],
  },
  ({ x, weight, eps }) => rmsNormForward.call({ x, weight, eps }),
  ({ x, weight, rstd }, { y: dy }) => {
    const { dx, dwPartial } = rmsNormGradients.call({ dy, x, weight, rstd, GROUPS: 132 });
    // Left out where the weight needs no gradient.
    return { x: dx, weight: dwPartial.sum(0).to(T) };
  },
);

main(import.meta, rmsNorm);
