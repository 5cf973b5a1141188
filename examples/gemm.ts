/** Matrix product C = A B, in the grouped order of Triton's third tutorial. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const gemm = kernel(
  "gemm",
  {
    doc: "C = A @ B, accumulated in float32.",
    params: {
      a: tensor(T, ["M", "K"]),
      b: tensor(T, ["K", "N"]),
      c: tensor.out(T, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 256, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 64, BLOCK_K: 32, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 32, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 32, BLOCK_N: 64, BLOCK_K: 32, GROUP_M: 8, numWarps: 2, numStages: 5 },
      ],
    },
    reference: ({ a, b }, torch) => torch.matmul(a, b),
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 1000, N: 777, K: 333 },
    ],
  },
  ({ a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    // Grouped order: neighboring programs share rows of A in L2.
    const pid = tl.programId(0);
    const numPidM = tl.cdiv(M, BLOCK_M);
    const numPidN = tl.cdiv(N, BLOCK_N);
    const numPidInGroup = numPidN.mul(GROUP_M);
    const firstPidM = pid.floorDiv(numPidInGroup).mul(GROUP_M);
    const groupSizeM = tl.minimum(numPidM.sub(firstPidM), GROUP_M);
    const pidM = firstPidM.add(pid.mod(numPidInGroup).mod(groupSizeM));
    const pidN = pid.mod(numPidInGroup).floorDiv(groupSizeM);

    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      // K's tail is masked and holds 0.
      const rk = k.add(tl.arange(0, BLOCK_K));
      const x = tl.load(a.at(am, rk));
      const y = tl.load(b.at(rk, bn));
      acc.value = tl.dot(x, y, acc.value);
    }
    tl.store(c.at(rm, rn), acc.value.to(T));
  },
);

main(import.meta, gemm);
