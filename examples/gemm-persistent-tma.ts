/**
 * Matrix product C = A B at the GPU's limit: as many programs as there are multiprocessors, blocks moved by the copy
 * engine (TMA), one loop over all blocks so that loads never stop, and an epilogue in halves to leave room for them.
 */
import { constexpr, descriptor, kernel, main, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const gemmPersistentTma = kernel(
  "gemm_persistent_tma",
  {
    doc: "C = A @ B, accumulated in float32, by one program for each multiprocessor.",
    params: {
      a: descriptor(T, ["M", "K"], ["BLOCK_M", "BLOCK_K"]),
      b: descriptor(T, ["K", "N"], ["BLOCK_K", "BLOCK_N"]),
      c: descriptor.out(T, ["M", "N"], ["BLOCK_M", "HALF_N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      HALF_N: constexpr(),
      GROUP_M: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N, device }) => [
      tl.minimum(device.multiProcessorCount, tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))),
    ],
    autotune: {
      key: ["M", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 256, HALF_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 64, HALF_N: 32, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
      ],
    },
    reference: ({ a, b }, torch) => torch.matmul(a, b),
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 8192, N: 8192, K: 8192 },
      { M: 1000, N: 776, K: 328 },
    ],
  },
  ({ a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, HALF_N, GROUP_M }) => {
    const numPidM = tl.cdiv(M, BLOCK_M);
    const numPidN = tl.cdiv(N, BLOCK_N);
    const numPidInGroup = numPidN.mul(GROUP_M);
    for (const tile of tl.range(tl.programId(0), numPidM.mul(numPidN), tl.numPrograms(0), { flatten: true })) {
      // Grouped order: programs that run at one time share rows of A in L2.
      const firstPidM = tile.floorDiv(numPidInGroup).mul(GROUP_M);
      const groupSizeM = tl.minimum(numPidM.sub(firstPidM), GROUP_M);
      const offM = firstPidM.add(tile.mod(numPidInGroup).mod(groupSizeM)).mul(BLOCK_M);
      const offN = tile.mod(numPidInGroup).floorDiv(groupSizeM).mul(BLOCK_N);

      const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
      for (const step of tl.range(tl.cdiv(K, BLOCK_K))) {
        const k = step.mul(BLOCK_K);
        // What lies outside A and B reads as 0.
        acc.value = tl.dot(a.load([offM, k]), b.load([k, offN]), acc.value);
      }
      // A half needs half the shared memory on its way out; what lies outside C is not written.
      const [left, right] = tl.split(tl.permute(tl.reshape(acc.value, [BLOCK_M, 2, HALF_N]), [0, 2, 1]));
      c.store([offM, offN], left.to(T));
      c.store([offM, offN.add(HALF_N)], right.to(T));
    }
  },
);

main(import.meta, gemmPersistentTma);
