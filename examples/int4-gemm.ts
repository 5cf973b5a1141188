/** A matrix product with 4-bit weights, eight per word, which are widened tile by tile. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const WORD = [-(2 ** 31), 2 ** 31] as const;

export const int4Gemm = kernel(
  "int4_gemm",
  {
    doc: "C = A @ ((W - zero) * scale): W in int4 with a scale and a zero point for each group of rows and column.",
    params: {
      a: tensor(tl.float16, ["M", "K"]),
      // A word holds eight rows of W, the first in the lowest bits, or eight columns of zero points.
      packed: tensor(tl.int32, ["K_WORDS", "N"], { range: WORD }),
      scales: tensor(tl.float16, ["GROUPS", "N"]),
      zeros: tensor(tl.int32, ["GROUPS", "N_WORDS"], { range: WORD }),
      c: tensor.out(tl.float16, ["M", "N"]),
      GROUP_SIZE: constexpr.int({ default: 128 }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
    },
    dims: {
      K: ({ GROUPS, GROUP_SIZE }) => GROUPS.mul(GROUP_SIZE),
      K_WORDS: ({ GROUPS, GROUP_SIZE }) => GROUPS.mul(GROUP_SIZE.floorDiv(8)),
      N: ({ N_WORDS }) => N_WORDS.mul(8),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    // A block of K has one scale a column, and K has whole blocks.
    requires: ({ GROUP_SIZE, BLOCK_K }) => [GROUP_SIZE.mod(BLOCK_K).eq(0)],
    autotune: {
      key: ["M", "N", "K", "GROUP_SIZE"],
      configs: [
        { BLOCK_M: 16, BLOCK_N: 64, BLOCK_K: 128, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 32, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 32, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 32, GROUP_M: 8, numWarps: 8, numStages: 3 },
      ],
    },
    reference: ({ a, packed, scales, zeros, K, N, GROUPS, GROUP_SIZE }, torch) => {
      const shifts = torch.arange(8).mul(4);
      const weights = packed
        .unsqueeze(1)
        .bitwise_right_shift(shifts.reshape(1, 8, 1))
        .bitwise_and(15)
        .reshape(K, N);
      const zero = zeros.unsqueeze(2).bitwise_right_shift(shifts).bitwise_and(15).reshape(GROUPS, N);
      const grouped = weights.reshape(GROUPS, GROUP_SIZE, N).sub(zero.unsqueeze(1)).mul(scales.unsqueeze(1));
      // The dequantised weights are float16.
      return torch.matmul(a, grouped.reshape(K, N).half().to(a.dtype));
    },
    shapes: [
      { M: 16, GROUPS: 32, N_WORDS: 512 },
      { M: 4096, GROUPS: 32, N_WORDS: 512 },
      { M: 70, GROUPS: 2, N_WORDS: 17 },
    ],
  },
  ({ a, packed, scales, zeros, c, M, K, N, GROUP_SIZE, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    // Grouped order: neighbouring programs share rows of A in L2.
    const pid = tl.programId(0);
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const [pidM, pidN] = tl.swizzle2d(pid.floorDiv(numPidN), pid.mod(numPidN), numPidM, numPidN, GROUP_M);

    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const wn = tl.inBounds(rn.mod(N));
    const lanes = tl.arange(0, BLOCK_K);
    const shifts = lanes.mod(8).mul(4);
    const zeroShifts = wn.mod(8).mul(4);
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const x = tl.load(a.at(am, tl.inBounds(k.add(lanes))));
      const words = tl.load(packed.at(tl.inBounds(k.floorDiv(8).add(lanes.floorDiv(8))), wn));
      const group = tl.inBounds(k.floorDiv(GROUP_SIZE));
      const scale = tl.load(scales.at(group, wn));
      const zeroWords = tl.load(zeros.at(group, tl.inBounds(wn.floorDiv(8))));
      const zero = zeroWords.shr(zeroShifts).and(15);
      const weights = words.shr(shifts.col).and(15).sub(zero.row);
      acc.value = tl.dot(x, weights.to(tl.float16).mul(scale.row), acc.value);
    }
    tl.store(c.at(rm, rn), acc.value.to(tl.float16));
  },
);

main(import.meta, int4Gemm);
