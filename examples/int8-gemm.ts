/**
 * Matrix product of 8-bit integers, as in quantized models: each row of A and of B has a scale. The sums are exact; the
 * scales are applied once, after the loop. `fp8-gemm.ts` does the same for 8-bit floats.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const int8Gemm = kernel(
  "int8_gemm",
  {
    doc: "C = (A * aScale[:, None]) @ (B * bScale[:, None]).T, with exact sums.",
    params: {
      a: tensor(tl.int8, ["M", "K"]),
      b: tensor(tl.int8, ["N", "K"]),
      aScale: tensor(tl.float32, ["M"]),
      bScale: tensor(tl.float32, ["N"]),
      c: tensor.out(T, ["M", "N"]),
      OUT: constexpr.dtype(T),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
    },
    // Longer sums of products of up to 2^14 may not fit in int32.
    requires: ({ K }) => [K.le(2 ** 16)],
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 128, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, numWarps: 4, numStages: 4 },
      ],
    },
    reference: ({ a, b, aScale, bScale, OUT }, torch) => {
      const [x, y] = [a.float().mul(aScale.unsqueeze(1)), b.float().mul(bScale.unsqueeze(1))];
      return torch.matmul(x, y.mT).to(OUT);
    },
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 100, N: 77, K: 333 },
    ],
  },
  ({ a, b, aScale, bScale, c, OUT, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    // Grouped order: neighboring programs share rows of A in L2.
    const pid = tl.programId(0);
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const [pidM, pidN] = tl.swizzle2d(pid.floorDiv(numPidN), pid.mod(numPidN), numPidM, numPidN, GROUP_M);

    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.int32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      // K's tail is masked and holds 0.
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(a.at(am, rk)), tl.load(b.at(bn, rk)).T, acc.value);
    }
    const scale = tl.load(aScale.at(rm)).col.mul(tl.load(bScale.at(rn)).row);
    tl.store(c.at(rm, rn), acc.value.to(tl.float32).mul(scale).to(OUT));
  },
);

main(import.meta, int8Gemm);
