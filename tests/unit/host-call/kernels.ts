/** Kernels that tests call. */
import { constexpr, descriptor, kernel, pointer, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float32, tl.float16, tl.float8e5]);

/** y = alpha · x + bias, negated if asked. */
export const scaled = kernel(
  "scaled",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      bias: tensor(tl.float32, ["N"]).optional(),
      alpha: scalar(tl.float32, { default: 2 }),
      y: tensor.out(T, ["M", "N"]),
      NEGATE: constexpr.bool({ default: false }),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs: [{ BLOCK: 32, numWarps: 1 }, { BLOCK: 64 }] },
    reference: ({ x, bias, alpha, NEGATE }, torch) => {
      const sum = x.mul(alpha).add(bias.otherwise(torch.zeros_like(x)));
      return NEGATE.choose(sum.neg(), sum);
    },
  },
  ({ x, bias, alpha, y, NEGATE, BLOCK }) => {
    const row = tl.programId(0);
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.mut(tl.load(x.at(row, cols)).to(tl.float32).mul(alpha));
    tl.when(bias.given, () => {
      value.value = value.value.add(tl.load(bias.at(cols)));
    });
    tl.when(NEGATE, () => {
      value.value = value.value.neg();
    });
    tl.store(y.at(row, cols), value.value.to(T));
  },
);

/** Counts up in place; has no reference. */
export const counting = kernel(
  "counting",
  {
    params: {
      n: tensor.inout(tl.int64, ["N"]),
      by: scalar(tl.int32),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ n, by, BLOCK }) => {
    const at = n.at(tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)));
    tl.store(at, tl.load(at).add(by.to(tl.int64)));
  },
);

/** Forgets that rows may end before a block does. */
export const careless = kernel(
  "careless",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x }) => x.add(1),
  },
  ({ x, y, BLOCK }) => {
    const at = tl.inBounds(tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)));
    tl.store(y.at(at), tl.load(x.at(at)).add(1));
  },
);

/** Fills as many elements as it is told, through a raw pointer. */
export const filled = kernel(
  "filled",
  {
    params: { p: pointer(tl.float32), value: scalar(tl.float32), N: scalar(tl.int32), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ p, value, N, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(p.add(at), value, { mask: at.lt(N) });
  },
);

/** Has a size that no input tells, and a dtype that the caller chooses. */
export const ramp = kernel(
  "ramp",
  {
    params: {
      step: scalar(tl.float32, { default: 1 }),
      y: tensor.out(tl.dtype("OUT", [tl.float32, tl.float16]), ["N"]),
      DTYPE: constexpr.dtype(tl.dtype("OUT", [tl.float32, tl.float16])),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ step, y, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(
      y.at(at),
      at
        .to(tl.float32)
        .mul(step)
        .to(tl.dtype("OUT", [tl.float32, tl.float16])),
    );
  },
);

/** Copies blocks through descriptors. */
export const copied = kernel(
  "copied",
  {
    params: {
      x: descriptor(tl.float16, ["M", "N"], ["BLOCK", "BLOCK"]),
      y: descriptor.out(tl.float16, ["M", "N"], ["BLOCK", "BLOCK"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    reference: ({ x }, torch) => torch.add(x, 0),
  },
  ({ x, y, BLOCK }) => {
    const at = [tl.programId(0).mul(BLOCK), tl.programId(1).mul(BLOCK)] as const;
    y.store(at, x.load(at));
  },
);
