/** Matrix product C = A B through tensor descriptors, as in Triton's ninth tutorial: blocks without masks, by TMA. */
import { constexpr, descriptor, kernel, main, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const gemmTma = kernel(
  "gemm_tma",
  {
    doc: "C = A @ B, accumulated in float32, in blocks that the GPU's copy engine moves.",
    params: {
      a: descriptor(T, ["M", "K"], ["BLOCK_M", "BLOCK_K"]),
      b: descriptor(T, ["K", "N"], ["BLOCK_K", "BLOCK_N"]),
      c: descriptor.out(T, ["M", "N"], ["BLOCK_M", "BLOCK_N"]),
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
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
      ],
    },
    reference: ({ a, b }, torch) => torch.matmul(a, b),
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 1000, N: 776, K: 328 },
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

    const offM = pidM.mul(BLOCK_M);
    const offN = pidN.mul(BLOCK_N);
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const step of tl.range(tl.cdiv(K, BLOCK_K))) {
      const k = step.mul(BLOCK_K);
      // What lies outside A and B reads as 0.
      const x = a.load([offM, k]);
      const y = b.load([k, offN]);
      acc.value = tl.dot(x, y, acc.value);
    }
    // What lies outside C is not written.
    c.store([offM, offN], acc.value.to(T));
  },
);

main(import.meta, gemmTma);
