/** Kernels whose arguments can be wrong in many ways; the tests launch none of them. */
import { constexpr, descriptor, kernel, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float32]);
const D = tl.dtype("D", [tl.float16, tl.int8]);
const OUT = tl.dtype("OUT", [tl.float16, tl.float32]);

/** Optional tensors, requirements, and a tile that follows from a size. */
export const rows = kernel(
  "rows",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]).optional(),
      table: tensor(tl.int32, ["K"]).optional(),
      y: tensor.out(T, ["M", "N"]),
      total: tensor.out(tl.float32, ["M"]).optional(),
      eps: scalar(tl.float32, { default: 0.5 }),
      shift: scalar(tl.int8),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    requires: ({ M, N, BLOCK }) => [N.gt(0), M.mod(2).eq(0), BLOCK.le(16)],
    grid: ({ M }) => [M],
  },
  ({ x, weight, table, y, total, eps, shift, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK);
    const value = tl.mut(tl.load(x.at(row, cols)).to(tl.float32).add(eps).add(shift.to(tl.float32)));
    tl.when(weight.given, () => {
      value.value = value.value.mul(tl.load(weight.at(cols)).to(tl.float32));
    });
    tl.when(table.given, () => {
      value.value = value.value.add(tl.load(table.at(cols)).to(tl.float32));
    });
    tl.store(y.at(row, cols), value.value.to(T));
    tl.when(total.given, () => {
      tl.store(total.at(row), tl.sum(value.value, 0));
    });
  },
);

const plane = ["M", "N"] as const;

/** Equal strides, a contiguous tensor, a fixed size, and a size that follows from another. */
export const planes = kernel(
  "planes",
  {
    params: {
      q: tensor(tl.float32, plane),
      k: tensor(tl.float32, plane),
      s: tensor.inout(tl.float32, plane),
      flat: tensor(tl.int32, plane, { contiguous: true }),
      half: tensor(tl.int64, ["H"]),
      three: tensor(tl.uint8, [3]),
      BLOCK: constexpr(),
    },
    dims: { H: ({ N }) => tl.cdiv(N, 2) },
    sameStrides: [["q", "k", "s"]],
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ q, k, s, flat, half, three, BLOCK }) => {
    const row = tl.programId(0);
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl
      .load(q.at(row, cols))
      .add(tl.load(k.at(row, cols)))
      .add(tl.load(flat.at(row, cols)).to(tl.float32));
    const both = tl
      .load(half.at(cols))
      .to(tl.float32)
      .add(tl.load(three.at(row)).to(tl.float32));
    tl.store(s.at(row, cols), tl.load(s.at(row, cols)).add(sum).add(both));
  },
);

/** A tensor that is reached through a descriptor. */
export const described = kernel(
  "described",
  {
    params: {
      x: descriptor(D, ["M", "N"], ["BLOCK_M", "BLOCK_N"]),
      y: tensor.out(D, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
    config: { BLOCK_M: 16, BLOCK_N: 32 },
  },
  ({ x, y, BLOCK_M, BLOCK_N }) => {
    const [row, col] = [tl.programId(0).mul(BLOCK_M), tl.programId(1).mul(BLOCK_N)];
    const tile = x.load([row, col]);
    tl.store(y.at(row.add(tl.arange(0, BLOCK_M)), col.add(tl.arange(0, BLOCK_N))), tile);
  },
);

/** Numbers, flags and words of every kind. */
export const values = kernel(
  "values",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(OUT, ["N"]),
      u8: scalar(tl.uint8, { default: 0 }),
      i32: scalar(tl.int32, { default: 0 }),
      i64: scalar(tl.int64, { default: 0 }),
      u64: scalar(tl.uint64, { default: 0 }),
      near: scalar(tl.int32, { default: 1, range: [0, 10] }),
      f16: scalar(tl.float16, { default: 0 }),
      f32: scalar(tl.float32, { default: 0 }),
      f64: scalar(tl.float64, { default: 0 }),
      flag: scalar(tl.int1, { default: 0 }),
      TIMES: constexpr.int({ default: 1 }),
      LANES: constexpr.int({ default: 4 }),
      SHIFT: constexpr.float({ default: 0.5 }),
      NEGATE: constexpr.bool({ default: false }),
      ACTIVATION: constexpr.string(["none", "relu"], { default: "none" }),
      OUT: constexpr.dtype(OUT, { default: tl.float32 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
  },
  (args) => {
    const { x, y, u8, i32, i64, u64, near, f16, f32, f64, flag, TIMES, LANES, SHIFT, NEGATE, ACTIVATION, OUT, BLOCK } =
      args;
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const whole = i32.to(tl.int64).add(i64).add(u8.to(tl.int64)).add(u64.to(tl.int64)).add(near.to(tl.int64));
    const floats = f64
      .add(f16.to(tl.float64))
      .add(f32.to(tl.float64))
      .add(whole.to(tl.float64))
      .add(flag.to(tl.float64));
    const lanes = tl.sum(tl.zeros([LANES], tl.float32).add(1), 0);
    const value = tl.mut(tl.load(x.at(offsets)).mul(TIMES).add(SHIFT).add(floats.to(tl.float32)).add(lanes));
    tl.when(NEGATE, () => {
      value.value = value.value.neg();
    });
    tl.when(ACTIVATION.eq("relu"), () => {
      value.value = tl.maximum(value.value, 0);
    });
    tl.store(y.at(offsets), value.value.to(OUT));
  },
);

/** A grid whose second axis a size may exceed. */
export const tall = kernel(
  "tall",
  {
    params: { x: tensor(tl.int8, ["N"]), y: tensor.out(tl.int8, ["N"]) },
    grid: ({ N }) => [1, N],
  },
  ({ x, y }) => {
    const at = tl.programId(1);
    tl.store(y.at(at), tl.load(x.at(at)));
  },
);

/** Dimensions of tiles that the launch computes, which are 0 or no power of two for some sizes that outputs lack. */
export const sums = kernel(
  "sums",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
      HALF: constexpr.launch(({ N }) => N.sub(N.floorDiv(2))),
    },
    grid: ({ M }) => [M],
  },
  ({ x, y, BLOCK, HALF }) => {
    const row = tl.inBounds(tl.programId(0));
    const first = tl.sum(tl.load(x.at(row, tl.arange(0, HALF))), 0);
    tl.store(y.at(row), first.add(tl.sum(tl.load(x.at(row, tl.arange(0, BLOCK))), 0)));
  },
);

/** A size that is negative where the window is longer than what it moves over, and whose formula divides. */
export const windows = kernel(
  "windows",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      window: tensor(tl.float32, ["SPAN"]),
      y: tensor.out(tl.float32, ["P"]),
      STRIDE: constexpr.int({ default: 1, range: [1, 9] }),
      PAD: constexpr.int({ default: 0 }),
      BLOCK: constexpr(),
    },
    dims: { P: ({ N, SPAN, STRIDE, PAD }) => N.add(PAD.mul(2)).sub(SPAN).floorDiv(STRIDE).add(1) },
    grid: ({ P, BLOCK }) => [tl.cdiv(P, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, window, y, SPAN, STRIDE, PAD, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const i of tl.range(0, SPAN)) {
      const weight = tl.load(window.at(tl.inBounds(i)));
      const value = tl.load(x.at(places.mul(STRIDE).sub(PAD).add(i)), { other: 0 });
      sum.value = sum.value.add(value.mul(weight));
    }
    tl.store(y.at(places), sum.value);
  },
);
