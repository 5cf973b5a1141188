/**
 * A matrix product with 4-bit weights, eight per word, which are widened tile by tile.
 *
 * With many rows, what costs time is not the memory but the widening. Conversions of integers to floats run at a quarter
 * of the rate of other arithmetic, so none is used: the float16 with the bits 0x6400 is 1024, its lowest bits count ones,
 * and 1024 + v less 1024 + zero is v - zero, exactly. Two weights of a word lie 16 bits apart and are widened at once.
 */
import { constexpr, kernel, main, tensor, type Tile, tl } from "tilescript";

const WORD = [-(2 ** 31), 2 ** 31] as const;

type Row = Tile<"float16", ["BLOCK_N"]>;

/** Two weights of each word: of the lowest 4 bits, and of those that lie 16 bits above. */
const twoWeights = tl.fn((words: Tile<"int32", ["BLOCK_K // 8", "BLOCK_N"]>, zero: Row, scale: Row) => {
  const bits = words.and(0x000f000f).or(0x64006400);
  const low = bits.to(tl.int16).to(tl.float16, { bitcast: true });
  const high = bits.shr(16).to(tl.int16).to(tl.float16, { bitcast: true });
  return tl.join(low.sub(zero.row).mul(scale.row), high.sub(zero.row).mul(scale.row));
});

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
        { BLOCK_M: 16, BLOCK_N: 32, BLOCK_K: 128, GROUP_M: 8, numWarps: 8, numStages: 5 },
        { BLOCK_M: 16, BLOCK_N: 32, BLOCK_K: 128, GROUP_M: 8, numWarps: 2, numStages: 3 },
        { BLOCK_M: 32, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 4, numStages: 4 },
        // With 128 registers, two programs share a multiprocessor: one multiplies while the other widens.
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3, maxnreg: 128 },
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_M: 256, BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
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
      // The dequantized weights are float16.
      return torch.matmul(a, grouped.reshape(K, N).half().to(a.dtype));
    },
    shapes: [
      { M: 16, GROUPS: 32, N_WORDS: 512 },
      { M: 4096, GROUPS: 32, N_WORDS: 512 },
      { M: 70, GROUPS: 2, N_WORDS: 17 },
    ],
  },
  ({ a, packed, scales, zeros, c, M, K, N, GROUP_SIZE, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M }) => {
    // Grouped order: neighboring programs share rows of A in L2.
    const pid = tl.programId(0);
    const [numPidM, numPidN] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const [pidM, pidN] = tl.swizzle2d(pid.floorDiv(numPidN), pid.mod(numPidN), numPidM, numPidN, GROUP_M);

    const rm = pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const wn = tl.inBounds(rn.mod(N));
    const lanes = tl.arange(0, BLOCK_K);
    const wordLanes = tl.arange(0, BLOCK_K.floorDiv(8));
    const zeroShifts = wn.mod(8).mul(4);
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const x = tl.load(a.at(am, tl.inBounds(k.add(lanes))));
      const words = tl.load(packed.at(tl.inBounds(k.floorDiv(8).add(wordLanes)), wn));
      const group = tl.inBounds(k.floorDiv(GROUP_SIZE));
      const scale = tl.load(scales.at(group, wn));
      const zeroWords = tl.load(zeros.at(group, tl.inBounds(wn.floorDiv(8))));
      const zeroBits = zeroWords.shr(zeroShifts).and(15).or(0x6400);
      const zero = zeroBits.to(tl.int16).to(tl.float16, { bitcast: true });
      // Rows 0 and 4 of each word's eight, then 2 and 6, 1 and 5, 3 and 7.
      const even = tl.join(twoWeights(words, zero, scale), twoWeights(words.shr(8), zero, scale));
      const odd = tl.join(twoWeights(words.shr(4), zero, scale), twoWeights(words.shr(12), zero, scale));
      const rows = tl.join(even, odd);
      const weights = tl.reshape(tl.permute(rows, [0, 2, 3, 4, 1]), [BLOCK_K, BLOCK_N]);
      acc.value = tl.dot(x, weights, acc.value);
    }
    tl.store(c.at(rm, rn), acc.value.to(tl.float16));
  },
);

main(import.meta, int4Gemm);
