/**
 * Matrix product of 8-bit floats with a scale for each block of 128, as DeepSeek-V3 quantizes: activations have a scale for
 * each row and 128 elements of K, weights one for each block of 128 by 128. So an outlier costs the precision of its block
 * only. `gemm-block-scaled.ts` has the MX formats, whose scales Blackwell's tensor cores apply themselves.
 *
 * Scales differ along K, so each product of 128 elements is scaled before it is added to the sum.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.bfloat16, tl.float16]);
/** Elements that share a scale. */
const GROUP = 128;

export const fp8GemmBlockScaled = kernel(
  "fp8_gemm_block_scaled",
  {
    doc: "C = A @ B.T, where A and B are 8-bit floats times the scales of their blocks, accumulated in float32.",
    params: {
      a: tensor(tl.float8e4nv, ["M", "K"]),
      // Column by column, as the rows of a block of A lie side by side then.
      aScale: tensor(tl.float32, ["K_GROUPS", "M"]),
      b: tensor(tl.float8e4nv, ["N", "K"]),
      bScale: tensor(tl.float32, ["N_GROUPS", "K_GROUPS"]),
      c: tensor.out(T, ["M", "N"]),
      OUT: constexpr.dtype(T),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      GROUP_M: constexpr(),
    },
    dims: {
      K_GROUPS: ({ K }) => tl.cdiv(K, GROUP),
      N_GROUPS: ({ N }) => tl.cdiv(N, GROUP),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 128, GROUP_M: 8, numWarps: 8, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
      ],
    },
    targets: {
      cuda: 89,
      hip: ["gfx942", "gfx950", "gfx1200"],
      reason: "others have no products of 8-bit floats",
    },
    reference: ({ a, aScale, b, bScale, OUT, N, K }, torch) => {
      // Each scale stands beside all elements of its block.
      const rows = aScale.mT.repeat_interleave(GROUP, 1).narrow(1, 0, K);
      const columns = bScale.repeat_interleave(GROUP, 1).narrow(1, 0, K).repeat_interleave(GROUP, 0).narrow(0, 0, N);
      return torch.matmul(a.float().mul(rows), b.float().mul(columns).mT).to(OUT);
    },
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 100, N: 77, K: 336 },
    ],
  },
  ({ a, aScale, b, bScale, c, OUT, M, N, K, BLOCK_M, BLOCK_N, GROUP_M }) => {
    // Grouped order: programs that run at one time share rows of A in L2.
    const pid = tl.programId(0);
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const [pidM, pidN] = tl.swizzle2d(pid.floorDiv(numPidN), pid.mod(numPidN), numPidM, numPidN, GROUP_M);
    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const group of tl.range(tl.cdiv(K, GROUP))) {
      const rk = group.mul(GROUP).add(tl.arange(0, GROUP));
      const x = tl.load(a.at(am, rk));
      const y = tl.load(b.at(bn, rk)).T;
      const rowScale = tl.load(aScale.at(group, am));
      const blockScale = tl.load(bScale.at(pidN.mul(BLOCK_N).floorDiv(GROUP), group));
      acc.value = acc.value.add(tl.dot(x, y).mul(rowScale.mul(blockScale).col));
    }
    tl.store(c.at(rm, rn), acc.value.to(OUT));
  },
);

main(import.meta, fp8GemmBlockScaled);
