/**
 * A product of 8-bit floats with scales for groups of K, which need not be a whole block of rows of the weights: the
 * scales of a block of columns are loaded one by one.
 */
import { constexpr, kernel, tensor, tl } from "tilescript";

export const fp8BlockGemm = kernel(
  "fp8_block_gemm",
  {
    doc: "C = A @ B.T, where A and B are 8-bit floats times the scales of their groups, accumulated in float32.",
    params: {
      a: tensor(tl.float8e4nv, ["M", "K"]),
      b: tensor(tl.float8e4nv, ["N", "K"]),
      aScale: tensor(tl.float32, ["M", "K_GROUPS"]),
      bScale: tensor(tl.float32, ["N_GROUPS", "K_GROUPS"]),
      c: tensor.out(tl.bfloat16, ["M", "N"]),
      GROUP_N: constexpr.int({ default: 128, range: [1, 1 << 16] }),
      GROUP_K: constexpr.int({ default: 128, range: [1, 1 << 16] }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
    },
    dims: {
      K_GROUPS: ({ K, GROUP_K }) => tl.cdiv(K, GROUP_K),
      N_GROUPS: ({ N, GROUP_N }) => tl.cdiv(N, GROUP_N),
    },
    requires: ({ GROUP_K, BLOCK_K }) => [GROUP_K.mod(BLOCK_K).eq(0)],
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    config: { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 128, GROUP_M: 32, numWarps: 4, numStages: 3 },
    targets: { cuda: 89, hip: ["gfx942", "gfx950", "gfx1200"], reason: "others have no products of 8-bit floats" },
    reference: ({ a, b, aScale, bScale, N, K, GROUP_N, GROUP_K }, torch) => {
      const rows = aScale.repeat_interleave(GROUP_K, 1).narrow(1, 0, K);
      const columns = bScale
        .repeat_interleave(GROUP_K, 1)
        .narrow(1, 0, K)
        .repeat_interleave(GROUP_N, 0)
        .narrow(0, 0, N);
      return torch.matmul(a.float().mul(rows), b.float().mul(columns).mT).to(tl.bfloat16);
    },
    shapes: [{ M: 100, N: 77, K: 336 }],
  },
  ({ a, b, aScale, bScale, c, M, N, K, GROUP_N, GROUP_K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    const pid = tl.programId(0);
    const numPidM = tl.cdiv(M, BLOCK_M);
    const numPidInGroup = tl.cdiv(N, BLOCK_N).mul(GROUP_M);
    const firstPidM = pid.floorDiv(numPidInGroup).mul(GROUP_M);
    const groupSizeM = tl.minimum(numPidM.sub(firstPidM), GROUP_M);
    const pidM = firstPidM.add(pid.mod(numPidInGroup).mod(groupSizeM));
    const pidN = pid.mod(numPidInGroup).floorDiv(groupSizeM);

    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap, so that the loop masks K alone.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      const group = tl.inBounds(k.floorDiv(GROUP_K));
      const x = tl.load(a.at(am, rk));
      const y = tl.load(b.at(bn, rk)).T;
      const rowScale = tl.load(aScale.at(am, group));
      const columnScale = tl.load(bScale.at(tl.inBounds(bn.floorDiv(GROUP_N)), group));
      acc.value = acc.value.add(tl.dot(x, y).mul(rowScale.col).mul(columnScale.row));
    }
    tl.store(c.at(rm, rn), acc.value.to(tl.bfloat16));
  },
);
