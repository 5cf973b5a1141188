/**
 * GELU(x Wᵀ + b), the first half of an MLP: the activation is applied while the block is still in registers.
 *
 * As many programs as the GPU has multiprocessors each compute block after block. The copy engine (TMA) moves the blocks
 * of x and W, and one loop over all blocks lets it fetch the next one while an epilogue runs.
 */
import { constexpr, descriptor, kernel, main, type Shape, tensor, type TileOf, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

/** Of log2 Φ(-a), from the highest power of `a` to the constant. */
const LOG2_TAIL = [
  4.950400191e-8, -2.822321758e-6, 6.882853191e-5, -9.550759271e-4, 8.553429006e-3, -0.0540285926, -0.4583713151,
  -1.151315173, -0.9999831767,
] as const;

/**
 * GELU(s) = s · Φ(s) = max(s, 0) - |s| · Φ(-|s|), with Φ the integral of the normal distribution. The logarithm of
 * Φ(-a) is smooth, so that all of it is one power of a polynomial of a. The result is off by less than 3e-7, and by less
 * than 1e-4 of itself where s > -4.3: sums that are all negative have nothing larger beside them. Below, where a result
 * is less than 4e-5, it is off by less than 1.3e-3 of itself, half of what rounding to bfloat16 costs.
 */
export function gelu<S extends Shape>(s: TileOf<typeof tl.float32, S>): TileOf<typeof tl.float32, S> {
  const size = tl.abs(s);
  // Beyond, Φ(-a) is less than any float16 or bfloat16 with all its digits.
  const a = tl.minimum(size, 13.3);
  const [leading, next, ...rest] = LOG2_TAIL;
  const exponent = rest.reduce((sum, coefficient) => sum.mul(a).add(coefficient), a.mul(leading).add(next));
  // Not a maximum, which would make 0 of NaN and of -∞.
  return s
    .add(size)
    .mul(0.5)
    .sub(a.mul(tl.exp2(exponent)));
}

export const linearGelu = kernel(
  "linear_gelu",
  {
    doc: "y = gelu(x @ weight.T + bias), accumulated in float32.",
    params: {
      x: descriptor(T, ["M", "K"], ["BLOCK_M", "BLOCK_K"]),
      weight: descriptor(T, ["N", "K"], ["BLOCK_N", "BLOCK_K"]),
      bias: tensor(T, ["N"]),
      y: descriptor.out(T, ["M", "N"], ["BLOCK_M", "HALF_N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      HALF_N: constexpr(),
      GROUP_M: constexpr(),
      // Programs that share a multiprocessor: one multiplies while the other applies the activation.
      RESIDENT: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N, RESIDENT, device }) => [
      tl.minimum(device.multiProcessorCount.mul(RESIDENT), tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))),
    ],
    autotune: {
      key: ["M", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 256, HALF_N: 128, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 1, numWarps: 8, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 2, numWarps: 4, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 2, numWarps: 8, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, HALF_N: 32, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 2, numWarps: 4, numStages: 4 },
      ],
    },
    reference: ({ x, weight, bias }, torch) => torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias)),
    shapes: [
      { M: 512, N: 512, K: 512 },
      { M: 4096, N: 4096, K: 4096 },
      { M: 1000, N: 776, K: 328 },
    ],
  },
  ({ x, weight, bias, y, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, HALF_N, GROUP_M }) => {
    const numPidM = tl.cdiv(M, BLOCK_M);
    const numPidN = tl.cdiv(N, BLOCK_N);
    const numPidInGroup = numPidN.mul(GROUP_M);
    for (const tile of tl.range(tl.programId(0), numPidM.mul(numPidN), tl.numPrograms(0), { flatten: true })) {
      // Grouped order: programs that run at one time share rows of x in L2.
      const firstPidM = tile.floorDiv(numPidInGroup).mul(GROUP_M);
      const groupSizeM = tl.minimum(numPidM.sub(firstPidM), GROUP_M);
      const offM = firstPidM.add(tile.mod(numPidInGroup).mod(groupSizeM)).mul(BLOCK_M);
      const offN = tile.mod(numPidInGroup).floorDiv(groupSizeM).mul(BLOCK_N);

      const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
      for (const step of tl.range(tl.cdiv(K, BLOCK_K))) {
        const k = step.mul(BLOCK_K);
        acc.value = tl.dot(x.load([offM, k]), weight.load([offN, k]).T, acc.value);
      }
      // Asked for here, both biases arrive while the last products run.
      const first = offN.add(HALF_N);
      const leftBias = tl.load(bias.at(offN.add(tl.arange(0, HALF_N))));
      const rightBias = tl.load(bias.at(first.add(tl.arange(0, HALF_N))));
      // In two halves, each of which needs half the shared memory on its way out.
      const [left, right] = tl.split(tl.permute(tl.reshape(acc.value, [BLOCK_M, 2, HALF_N]), [0, 2, 1]));
      const halves = [
        { half: left, added: leftBias, column: offN },
        { half: right, added: rightBias, column: first },
      ];
      for (const { half, added, column } of halves) {
        const sums = half.add(added.to(tl.float32).row);
        y.store([offM, column], gelu(sums).to(T));
      }
    }
  },
);

main(import.meta, linearGelu);
