/** Kernels of the host tests: small, each with one thing that the host side must get right. */
import { constexpr, kernel, python, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float32]);
const OUT = tl.dtype("OUT", [tl.float16, tl.float32]);

/** Every kind of constexpr as an argument of the caller. */
export const choices = kernel(
  "choices",
  {
    doc: "Scales, shifts and activates x.",
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(OUT, ["N"]),
      scale: scalar(tl.float32, { default: 2 }),
      TIMES: constexpr.int(),
      SHIFT: constexpr.float({ default: 0.5 }),
      NEGATE: constexpr.bool({ default: false }),
      ACTIVATION: constexpr.string(["none", "relu", "square"], { default: "none" }),
      OUT: constexpr.dtype(OUT, { default: tl.float32 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: python`
      value = x * scale * TIMES + SHIFT
      value = -value if NEGATE else value
      if ACTIVATION != "none":
          value = value.relu() if ACTIVATION == "relu" else value * value
      return value.to(OUT)
    `,
    shapes: [{ N: 100, TIMES: 3, ACTIVATION: "relu" }],
  },
  ({ x, y, scale, TIMES, SHIFT, NEGATE, ACTIVATION, OUT, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.mut(tl.load(x.at(offsets)).mul(scale).mul(TIMES).add(SHIFT));
    tl.when(NEGATE, () => {
      value.value = value.value.neg();
    });
    tl.when(ACTIVATION.eq("relu"), () => {
      value.value = tl.maximum(value.value, 0);
    }).elseWhen(ACTIVATION.eq("square"), () => {
      value.value = value.value.mul(value.value);
    });
    tl.store(y.at(offsets), value.value.to(OUT));
  },
);

/** Sums in float32 where the dtype is narrow, and in the dtype itself where it is not. */
export const reflecting = kernel(
  "reflecting",
  {
    params: { x: tensor(T, ["N"]), y: tensor.out(T, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x }) => x.add(x),
  },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const loaded = tl.load(x.at(offsets));
    tl.when(T.bits.eq(16), () => {
      tl.store(y.at(offsets), loaded.to(tl.float32).mul(2).to(T));
    }).otherwise(() => {
      tl.store(y.at(offsets), loaded.add(loaded));
    });
  },
);

/** A flag that follows from a size and from the config that runs. */
export const even = kernel(
  "even",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      EVEN_N: constexpr.bool(),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs: [{ BLOCK: 64 }, { BLOCK: 128 }] },
    heuristics: { EVEN_N: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },
    reference: ({ x }) => x.add(1),
  },
  ({ x, y, EVEN_N, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.when(EVEN_N, () => {
      const all = tl.inBounds(offsets);
      tl.store(y.at(all), tl.load(x.at(all)).add(1));
    }).otherwise(() => {
      tl.store(y.at(offsets), tl.load(x.at(offsets)).add(1));
    });
  },
);

const W = tl.dtype("W", [tl.float16, tl.int32, tl.uint8]);

/** Asks a dtype variable everything that its members differ in; the width decides a tile's size. */
export const asked = kernel(
  "asked",
  {
    params: { x: tensor(W, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr() },
    grid: ({ N }) => [N],
    config: { BLOCK: 1024 },
    reference: python`
      # A reference is computed in float64 where the kernel has float16.
      if x.dtype.is_floating_point:
          return torch.full_like(x, 1064, dtype=torch.int32)
      answer = torch.full_like(x, 1024 // (8 * x.element_size()), dtype=torch.int32)
      return answer + 2000 if x.dtype.is_signed else answer + x.int()
    `,
  },
  ({ x, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const lanes = tl.zeros([BLOCK.floorDiv(W.bits)], tl.int32).add(1);
    const answer = tl.mut(tl.sum(lanes, 0));
    tl.when(W.isFloating, () => {
      answer.value = answer.value.add(1000);
    });
    tl.when(W.isInteger.and(W.isSigned), () => {
      answer.value = answer.value.add(2000);
    });
    tl.when(W.isSigned.not(), () => {
      answer.value = answer.value.add(tl.load(x.at(row)).to(tl.int32));
    });
    tl.store(y.at(row), answer.value);
  },
);

/** No input at all: the caller says how large the result is. */
export const ramp = kernel(
  "ramp",
  {
    params: { y: tensor.out(tl.float32, ["M", "N"]), step: scalar(tl.float32, { default: 0.5 }), BLOCK: constexpr() },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
    reference: ({ M, N, step }, torch) => torch.arange(N).mul(step).expand(M, N),
    shapes: [{ M: 3, N: 70 }],
  },
  ({ y, step, BLOCK }) => {
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(tl.inBounds(tl.programId(0)), cols), cols.to(tl.float32).mul(step));
  },
);

/** Two outputs and a tensor that is updated in place. */
export const moments = kernel(
  "moments",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      seen: tensor.inout(tl.int32, ["M"]),
      mean: tensor.out(tl.float32, ["M"]),
      centered: tensor.out(T, ["M", "N"]),
      eps: scalar(tl.float32, { default: 0 }),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    config: { numWarps: 4 },
    requires: ({ N, BLOCK_N }) => [N.gt(0), BLOCK_N.le(4096)],
    reference: ({ x, seen, eps }, torch) => ({
      mean: torch.mean(x, 1).add(eps),
      centered: x.sub(torch.mean(x, 1, { keepdim: true })),
      seen: seen.add(1),
    }),
  },
  ({ x, seen, mean, centered, eps, N, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const values = tl.load(x.at(row, cols)).to(tl.float32);
    const average = tl.sum(values, 0).div(N.to(tl.float32));
    tl.store(mean.at(row), average.add(eps));
    tl.store(centered.at(row, cols), values.sub(average).to(T));
    tl.store(seen.at(row), tl.load(seen.at(row)).add(1));
  },
);

/** Configs that a requirement prunes; the decorators and the launch say all that they can. */
export const pruned = kernel(
  "pruned",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M"], { zeroed: true }),
      seed: scalar(tl.int32, { default: 1 }),
      BLOCK_N: constexpr(),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N), N.gt(0)],
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK_N: 64, numWarps: 1, numStages: 2 },
        { BLOCK_N: 256, numWarps: 4, numStages: 2, numCtas: 1, maxnreg: 128 },
      ],
      cacheResults: true,
    },
    launch: { launchPdl: true, launchCooperativeGrid: false, enableFpFusion: true },
    doNotSpecialize: ["seed"],
    doNotSpecializeOnAlignment: ["M", "x"],
    reference: ({ x, seed }, torch) => torch.sum(x, 1).add(seed),
  },
  ({ x, y, seed, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    const total = tl.sum(tl.load(x.at(row, cols)), 0).add(seed);
    tl.store(y.at(row), tl.load(y.at(row)).add(total));
  },
);

const plane = ["M", "N"] as const;

/** Tensors with equal strides, one of them updated; the result has its own. */
export const strided = kernel(
  "strided",
  {
    params: {
      q: tensor(tl.float32, plane),
      k: tensor(tl.float32, plane),
      s: tensor.inout(tl.float32, plane),
      o: tensor.out(tl.float32, plane),
      BLOCK: constexpr(),
    },
    sameStrides: [["q", "k", "s"]],
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ q, k, s }) => [s.add(q), q.add(k)],
  },
  ({ q, k, s, o, BLOCK }) => {
    const row = tl.programId(0);
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(o.at(row, cols), tl.load(q.at(row, cols)).add(tl.load(k.at(row, cols))));
    tl.store(s.at(row, cols), tl.load(s.at(row, cols)).add(tl.load(q.at(row, cols))));
  },
);

/** A heuristic and a choice of config that follow a float, of which Triton compiles for the type alone. */
export const signed = kernel(
  "signed",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      factor: scalar(tl.float32, { default: 0.5 }),
      shift: scalar(tl.float32, { default: 0 }),
      other: scalar(tl.float32, { default: 1 }),
      IS_POSITIVE: constexpr.bool(),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    heuristics: { IS_POSITIVE: ({ factor }) => factor.gt(0) },
    autotune: { key: ["N", "shift"], configs: [{ BLOCK: 64 }, { BLOCK: 128 }] },
    reference: ({ x, factor, shift, other }, torch) =>
      torch.where(torch.full([], factor).gt(0), x.mul(factor), x).add(shift).mul(other),
  },
  ({ x, y, factor, shift, other, IS_POSITIVE, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.mut(tl.load(x.at(i)));
    tl.when(IS_POSITIVE, () => {
      value.value = value.value.mul(factor);
    });
    tl.store(y.at(i), value.value.add(shift).mul(other));
  },
);
