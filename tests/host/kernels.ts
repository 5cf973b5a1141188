/** Kernels of the host tests: small, each with one thing that the host side must get right. */
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float32]);

/** Every kind of constexpr as an argument of the caller. */
export const choices = kernel(
  "choices",
  {
    doc: "Scales, shifts and activates x.",
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.dtype("OUT", [tl.float16, tl.float32]), ["N"]),
      scale: scalar(tl.float32, { default: 2 }),
      TIMES: constexpr.int(),
      SHIFT: constexpr.float({ default: 0.5 }),
      NEGATE: constexpr.bool({ default: false }),
      ACTIVATION: constexpr.string(["none", "relu", "square"], { default: "none" }),
      OUT: constexpr.dtype([tl.float16, tl.float32], { default: tl.float32 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
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
