/** Kernels for what a wrapper says of single arguments: numbers of each dtype, tensors of every kind, gradients. */
import { constexpr, kernel, pointer, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** Adds up a number of each dtype. */
export const numbers = kernel(
  "numbers",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      i8: scalar(tl.int8, { default: 0 }),
      u8: scalar(tl.uint8, { default: 0 }),
      i32: scalar(tl.int32, { default: 0 }),
      i64: scalar(tl.int64, { default: 0 }),
      u64: scalar(tl.uint64, { default: 0 }),
      f16: scalar(tl.float16, { default: 0 }),
      f32: scalar(tl.float32, { default: 0 }),
      f64: scalar(tl.float64, { default: 0 }),
      flag: scalar(tl.int1, { default: 0 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, i8, u8, i32, i64, u64, f16, f32, f64, flag, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const whole = i8.to(tl.int64).add(u8.to(tl.int64)).add(i32.to(tl.int64)).add(i64).add(u64.to(tl.int64));
    const sum = tl.load(x.at(offsets)).to(tl.float64).add(whole.to(tl.float64)).add(flag.to(tl.float64));
    tl.store(y.at(offsets), sum.add(f16).add(f32).add(f64).to(tl.float32));
  },
);

/** Doubles x, with an optional bias; counts its calls. Configs are tuned. */
export const doubled = kernel(
  "doubled",
  {
    params: {
      x: tensor(T, ["N"]),
      bias: tensor(T, ["N"]).optional(),
      y: tensor.out(T, ["N"]),
      longest: tensor.out(tl.int32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    requires: ({ BLOCK, N }) => [BLOCK.le(N)],
    autotune: { key: ["N"], configs: [{ BLOCK: 64 }, { BLOCK: 16 }, { BLOCK: 8 }] },
  },
  ({ x, bias, y, longest, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.mut(tl.load(x.at(offsets)).mul(2));
    tl.when(bias.given, () => {
      value.value = value.value.add(tl.load(bias.at(offsets)));
    });
    tl.store(y.at(offsets), value.value);
    tl.store(longest.at(offsets), tl.zeros([BLOCK], tl.int32).add(BLOCK));
  },
);

/** Adds x to y in place. */
export const accumulate = kernel(
  "accumulate",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(offsets), tl.load(y.at(offsets)).add(tl.load(x.at(offsets))));
  },
);

/** The place of the largest: an integer has no gradient to lose. */
export const places = kernel(
  "places",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.int32, [1]), BLOCK: constexpr() },
    grid: () => [1],
    config: { BLOCK: 16 },
    requires: ({ N, BLOCK }) => [N.eq(BLOCK)],
  },
  ({ x, y, BLOCK }) => {
    tl.store(y.at(tl.arange(0, 1)), tl.argmax(tl.load(x.at(tl.arange(0, BLOCK))), 0));
  },
);

/** Through raw pointers. */
export const copied = kernel(
  "copied",
  {
    params: { from: pointer(tl.float32), into: pointer(tl.float32), BLOCK: constexpr() },
    grid: () => [1],
    config: { BLOCK: 16 },
  },
  ({ from, into, BLOCK }) => {
    const lanes = tl.arange(0, BLOCK);
    tl.store(into.add(lanes), tl.load(from.add(lanes)));
  },
);

/** Through a raw pointer beside a result. */
export const kept = kernel(
  "kept",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      into: pointer(tl.float32),
      places: tensor.out(tl.int32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: () => [1],
    config: { BLOCK: 16 },
    requires: ({ N, BLOCK }) => [N.eq(BLOCK)],
  },
  ({ x, into, places, BLOCK }) => {
    const lanes = tl.arange(0, BLOCK);
    tl.store(into.add(lanes), tl.load(x.at(lanes)));
    tl.store(places.at(lanes), lanes);
  },
);

/** In bfloat16 inside, whatever it is given. */
export const rounded = kernel(
  "rounded",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(offsets), tl.load(x.at(offsets)).to(tl.bfloat16).to(tl.float32));
  },
);
