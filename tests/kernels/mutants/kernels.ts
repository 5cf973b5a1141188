/** Kernels that are wrong on purpose, each beside the mark of the line that is to blame. */
import { constexpr, kernel, tensor, tl } from "tilescript";

const gemmParams = {
  a: tensor(tl.float16, ["M", "K"]),
  b: tensor(tl.float16, ["K", "N"]),
  c: tensor.out(tl.float32, ["M", "N"]),
  BLOCK: constexpr(),
};

interface Gemm {
  /** K's tail is not masked. */
  readonly tail?: true;
  /** B is read with the strides of its axes swapped. */
  readonly strides?: true;
  /** The store is not masked. */
  readonly mask?: true;
}

function gemm(name: string, wrong: Gemm) {
  return kernel(
    name,
    {
      params: gemmParams,
      grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
      reference: ({ a, b }, torch) => torch.matmul(a, b),
    },
    ({ a, b, c, M, N, K, BLOCK }) => {
      const rm = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const rn = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
      const acc = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
      for (const k of tl.range(0, K, BLOCK)) {
        const rk = k.add(tl.arange(0, BLOCK));
        const ak = wrong.tail ? tl.inBounds(rk) : rk;
        const x = tl.load(a.at(rm, ak)); // blame: tail
        const rows = wrong.strides ? rn.row.mul(b.stride(0)) : rn.row.mul(b.stride(1));
        const columns = wrong.strides ? rk.col.mul(b.stride(1)) : rk.col.mul(b.stride(0));
        const y = tl.load(b.ptr.add(rows, columns), { mask: rk.col.lt(K).and(rn.row.lt(N)), other: 0 }); // blame: strides
        acc.value = tl.dot(x, y, acc.value);
      }
      const pointers = c.ptr.add(rm.col.mul(c.stride(0)), rn.row.mul(c.stride(1)));
      if (wrong.mask)
        tl.store(pointers, acc.value); // blame: mask
      else tl.store(pointers, acc.value, { mask: rm.col.lt(M).and(rn.row.lt(N)) });
    },
  );
}

export const right = gemm("right", {});
export const maskDropped = gemm("mask_dropped", { mask: true });
export const tailUnmasked = gemm("tail_unmasked", { tail: true });
export const wrongStride = gemm("wrong_stride", { strides: true });
