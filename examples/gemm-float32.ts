/**
 * Matrix product C = A Bᵀ of float32, by tensor cores. They round each operand to TF32, with 10 bits of fraction. With EXACT,
 * each operand is split into two TF32 numbers and three products are added up: almost float32, for three times the work.
 * B is given by its columns, as weights are: Hopper's tensor cores read 32-bit numbers along K alone.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const gemmFloat32 = kernel(
  "gemm_float32",
  {
    doc: "C = A @ B.T in float32: products in TF32, or in three of them with EXACT.",
    params: {
      a: tensor(tl.float32, ["M", "K"]),
      b: tensor(tl.float32, ["N", "K"]),
      c: tensor.out(tl.float32, ["M", "N"]),
      EXACT: constexpr.bool({ default: false }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N", "K", "EXACT"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 32, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 32, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 64, BLOCK_K: 32, GROUP_M: 8, numWarps: 4, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32, GROUP_M: 8, numWarps: 4, numStages: 3 },
      ],
    },
    targets: { cuda: 80, reason: "Triton divides a product into three of TF32 for NVIDIA's GPUs only" },
    reference: ({ a, b }, torch) => torch.matmul(a, b.mT),
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 100, N: 77, K: 333 },
    ],
  },
  ({ a, b, c, EXACT, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    // Grouped order: neighboring programs share rows of A in L2.
    const pid = tl.programId(0);
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const [pidM, pidN] = tl.swizzle2d(pid.floorDiv(numPidN), pid.mod(numPidN), numPidM, numPidN, GROUP_M);

    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      // K's tail is masked and holds 0.
      const rk = k.add(tl.arange(0, BLOCK_K));
      const x = tl.load(a.at(am, rk));
      const y = tl.load(b.at(bn, rk)).T;
      tl.when(EXACT, () => {
        acc.value = tl.dot(x, y, acc.value, { inputPrecision: "tf32x3" });
      }).otherwise(() => {
        acc.value = tl.dot(x, y, acc.value, { inputPrecision: "tf32" });
      });
    }
    tl.store(c.at(rm, rn), acc.value);
  },
);

main(import.meta, gemmFloat32);
