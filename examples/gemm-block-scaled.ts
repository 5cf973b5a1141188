/**
 * Matrix product of small floats that share scales: each 32 elements along K have one power of two (the MX formats of the
 * Open Compute Project). From sm_100 on, the GPU multiplies them as they are; elsewhere Triton widens them first.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const gemmBlockScaled = kernel(
  "gemm_block_scaled",
  {
    doc: "C = (A * 2^(aScale - 127)) @ (B * 2^(bScale - 127))^T, each scale for 32 elements of a row.",
    params: {
      a: tensor(tl.float8e4nv, ["M", "K"]),
      aScale: tensor(tl.uint8, ["M", "GROUPS"]),
      b: tensor(tl.float8e4nv, ["N", "K"]),
      bScale: tensor(tl.uint8, ["N", "GROUPS"]),
      c: tensor.out(tl.float16, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      // BLOCK_K / 32
      BLOCK_G: constexpr(),
    },
    dims: { K: ({ GROUPS }) => GROUPS.mul(32) },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
    autotune: {
      key: ["M", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 64, BLOCK_K: 128, BLOCK_G: 4, numWarps: 4, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, BLOCK_G: 4, numWarps: 8, numStages: 3 },
      ],
    },
    targets: { cuda: 89, hip: ["gfx942", "gfx950"], reason: "others have no products of 8-bit floats" },
    // Scales around 1.
    inputs: ({ M, N, GROUPS }, torch) => ({
      aScale: torch.randint(124, 131, [M, GROUPS]),
      bScale: torch.randint(124, 131, [N, GROUPS]),
    }),
    reference: ({ a, aScale, b, bScale }, torch) => {
      const x = a.float().mul(torch.exp2(aScale.float().sub(127)).repeat_interleave(32, 1));
      const y = b.float().mul(torch.exp2(bScale.float().sub(127)).repeat_interleave(32, 1));
      return torch.matmul(x, y.mT);
    },
    shapes: [
      { M: 100, N: 40, GROUPS: 3 },
      { M: 8192, N: 8192, GROUPS: 256 },
    ],
  },
  ({ a, aScale, b, bScale, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, BLOCK_G }) => {
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const step of tl.range(tl.cdiv(K, BLOCK_K))) {
      // K's tail is masked: elements of 0, with any scale, add nothing.
      const rk = step.mul(BLOCK_K).add(tl.arange(0, BLOCK_K));
      const rg = step.mul(BLOCK_G).add(tl.arange(0, BLOCK_G));
      const x = tl.load(a.at(am, rk));
      const y = tl.load(b.at(bn, rk));
      const xScale = tl.load(aScale.at(am, rg));
      const yScale = tl.load(bScale.at(bn, rg));
      acc.value = tl.dotScaled(x, xScale, "e4m3", y.T, yScale, "e4m3", acc.value);
    }
    // With a name the block's address comes before the store's mask, which Triton computes first otherwise: 3 % on an H200.
    const block = c.at(rm, rn);
    tl.store(block, acc.value.to(tl.float16));
  },
);

main(import.meta, gemmBlockScaled);
