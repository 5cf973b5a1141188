/**
 * GELU(x Wᵀ + b), the first half of an MLP: the activation is applied while the block is still in registers.
 *
 * As many programs as the GPU has multiprocessors each compute block after block. The copy engine (TMA) moves the blocks
 * of x and W, and one loop over all blocks lets it fetch the next one while an epilogue runs.
 */
import { constexpr, descriptor, kernel, main, type Shape, tensor, type TileOf, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

/**
 * Φ, the integral of the normal distribution, off by less than 5e-7 of itself, also where it is small: GELU is s · Φ(s),
 * and sums that are all negative have nothing larger beside them. With t = 1 / (1 + 0.43 |s| / √2) the tail is exp(-s²/2)
 * times a polynomial of t, whose coefficients make the largest relative error least. `tl.erf` takes more instructions.
 */
export function phi<S extends Shape>(s: TileOf<typeof tl.float32, S>): TileOf<typeof tl.float32, S> {
  const scaled = tl.abs(s).mul(0.43 * Math.SQRT1_2);
  // Squared, a reciprocal root takes 2 instructions; a division takes 9, as it also serves divisors below 1.
  const root = tl.rsqrt(scaled.add(1));
  const t = root.mul(root);
  const polynomial = [0.189250165, -0.0405197663, 0.122209569, 0.102834351, 0.122131788, 0.121260838].reduce(
    (sum, coefficient) => sum.mul(t).add(coefficient),
    t.mul(0.0364728579).add(-0.153639839),
  );
  const tail = polynomial.mul(t).mul(tl.exp2(s.mul(s).mul(-Math.LOG2E / 2)));
  return tl.where(s.lt(0), tail, tl.sub(1, tail));
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
        { BLOCK_M: 128, BLOCK_N: 256, HALF_N: 128, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 1, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 256, HALF_N: 128, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 1, numWarps: 8, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 2, numWarps: 4, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, GROUP_M: 16, RESIDENT: 2, numWarps: 4, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, HALF_N: 64, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 2, numWarps: 8, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 256, HALF_N: 128, BLOCK_K: 64, GROUP_M: 8, RESIDENT: 2, numWarps: 4, numStages: 2 },
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
      // In two halves, each of which needs half the shared memory on its way out.
      const [left, right] = tl.split(tl.permute(tl.reshape(acc.value, [BLOCK_M, 2, HALF_N]), [0, 2, 1]));
      const halves = [
        { half: left, first: offN },
        { half: right, first: offN.add(HALF_N) },
      ];
      for (const { half, first } of halves) {
        const sums = half.add(tl.load(bias.at(first.add(tl.arange(0, HALF_N)))).to(tl.float32).row);
        y.store([offM, first], sums.mul(phi(sums)).to(T));
      }
    }
  },
);

main(import.meta, linearGelu);
