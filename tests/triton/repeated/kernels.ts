/** Kernels whose launches are compared: with and without numbers and strides. */
import { constexpr, kernel, pointer, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float32]);

export const summed = kernel(
  "summed",
  {
    params: {
      x: tensor(tl.float32, ["N"], { contiguous: true }),
      y: tensor(tl.float32, ["N"], { contiguous: true }),
      z: tensor.out(tl.float32, ["N"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 128 },
    shapes: [{ N: 1000 }],
  },
  ({ x, y, z, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(z.at(i), tl.load(x.at(i)).add(tl.load(y.at(i))));
  },
);

export const scaled = kernel(
  "scaled",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      y: tensor.out(T, ["M", "N"]),
      factor: scalar(tl.float32),
      shift: scalar(tl.int32),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    shapes: [{ M: 48, N: 80 }],
  },
  ({ x, y, factor, shift, BLOCK }) => {
    const row = tl.programId(0);
    const i = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.load(x.at(row, i)).to(tl.float32).mul(factor).add(shift.to(tl.float32));
    tl.store(y.at(row, i), value.to(T));
  },
);

/** Writes through a raw pointer, too. */
export const kept = kernel(
  "kept",
  {
    params: {
      x: tensor(tl.float32, ["N"], { contiguous: true }),
      into: pointer(tl.float32, { numel: "N" }),
      y: tensor.out(tl.float32, ["N"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 128 },
    shapes: [{ N: 1000 }],
  },
  ({ x, into, y, N, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(i));
    tl.store(into.add(i), values, { mask: i.lt(N) });
    tl.store(y.at(i), values);
  },
);
