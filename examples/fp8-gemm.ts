/**
 * Matrix product of 8-bit floats, as quantized models have it: each row of A and of B has a scale. A scale is a factor of
 * whole sums, so it is applied once, after the loop. `int8-gemm.ts` is the same for integers.
 *
 * Tensor cores of Hopper GPUs keep only some 14 bits of a sum of 8-bit floats. So each block of K is summed there, and
 * added to a float32 sum outside, unless FAST_ACCUM asks for the whole sum there: it takes a third less time, and the
 * result has an error of its own beside that of its dtype. cuBLAS has the same choice.
 */
import { constexpr, descriptor, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const fp8Gemm = kernel(
  "fp8_gemm",
  {
    doc: "C = (A * aScale[:, None]) @ (B * bScale[:, None]).T, accumulated in float32.",
    params: {
      a: descriptor(tl.float8e4nv, ["M", "K"], ["BLOCK_M", "BLOCK_K"]),
      b: descriptor(tl.float8e4nv, ["N", "K"], ["BLOCK_N", "BLOCK_K"]),
      aScale: tensor(tl.float32, ["M"]),
      bScale: tensor(tl.float32, ["N"]),
      c: tensor.out(T, ["M", "N"]),
      OUT: constexpr.dtype(T),
      FAST_ACCUM: constexpr.bool({ default: false }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
      // Programs that share a multiprocessor: one multiplies while the other adds what it has to its sum.
      RESIDENT: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N, RESIDENT, device }) => [
      tl.minimum(device.multiProcessorCount.mul(RESIDENT), tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))),
    ],
    autotune: {
      key: ["M", "N", "K", "FAST_ACCUM"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 1, numWarps: 8, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 2, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 2, numWarps: 4, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 3, numWarps: 4, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 256, BLOCK_K: 128, GROUP_M: 8, RESIDENT: 2, numWarps: 8, numStages: 2 },
      ],
    },
    targets: {
      cuda: 89,
      hip: ["gfx942", "gfx950", "gfx1200"],
      reason: "others have no products of 8-bit floats",
    },
    reference: ({ a, b, aScale, bScale, OUT }, torch) => {
      const [x, y] = [a.float().mul(aScale.unsqueeze(1)), b.float().mul(bScale.unsqueeze(1))];
      return torch.matmul(x, y.mT).to(OUT);
    },
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 100, N: 77, K: 336 },
    ],
  },
  ({ a, b, aScale, bScale, c, OUT, FAST_ACCUM, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    for (const tile of tl.range(tl.programId(0), numPidM.mul(numPidN), tl.numPrograms(0), { flatten: true })) {
      // Grouped order: programs that run at one time share rows of A in L2.
      const [pidM, pidN] = tl.swizzle2d(tile.floorDiv(numPidN), tile.mod(numPidN), numPidM, numPidN, GROUP_M);
      const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
      const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
      const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
      for (const step of tl.range(tl.cdiv(K, BLOCK_K))) {
        const k = step.mul(BLOCK_K);
        // What lies outside A and B reads as 0.
        const x = a.load([pidM.mul(BLOCK_M), k]);
        const y = b.load([pidN.mul(BLOCK_N), k]).T;
        tl.when(FAST_ACCUM, () => {
          acc.value = tl.dot(x, y, acc.value);
        }).otherwise(() => {
          acc.value = tl.dot(x, y, acc.value, { maxNumImpreciseAcc: BLOCK_K });
        });
      }
      const scale = tl.load(aScale.at(rm)).col.mul(tl.load(bScale.at(rn)).row);
      tl.store(c.at(rm, rn), acc.value.mul(scale).to(OUT));
    }
  },
);

main(import.meta, fp8Gemm);
