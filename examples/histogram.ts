/**
 * A histogram: a program counts its share in registers and adds its counts to those of the others, once per bin.
 * Additions of integers give the same result in any order.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const histogram = kernel(
  "histogram",
  {
    doc: "The number of elements of x that are b, for each bin b.",
    params: {
      x: tensor(tl.int32, ["N"], { range: [0, "BINS"] }),
      counts: tensor.out(tl.int32, ["BINS"], { zeroed: true }),
      BLOCK: constexpr(),
      BLOCK_BINS: constexpr.launch(({ BINS }) => tl.nextPowerOf2(BINS)),
    },
    grid: ({ N, BLOCK, device }) => [tl.minimum(tl.cdiv(N, BLOCK), device.multiProcessorCount.mul(8))],
    requires: ({ BINS, BLOCK_BINS }) => [BLOCK_BINS.ge(BINS)],
    autotune: {
      key: ["N", "BINS"],
      configs: [
        { BLOCK: 1024, numWarps: 4 },
        { BLOCK: 2048, numWarps: 8 },
      ],
    },
    reference: ({ x, BINS }, torch) => torch.bincount(x, { minlength: BINS }),
    shapes: [
      { N: 100_003, BINS: 100 },
      { N: 1 << 26, BINS: 256 },
    ],
  },
  ({ x, counts, N, BLOCK, BLOCK_BINS }) => {
    const bins = tl.arange(0, BLOCK_BINS);
    const found = tl.mut(tl.zeros([BLOCK_BINS], tl.int32));
    for (const start of tl.range(tl.programId(0).mul(BLOCK), N, tl.numPrograms(0).mul(BLOCK))) {
      const places = start.add(tl.arange(0, BLOCK));
      found.value = found.value.add(tl.histogram(tl.load(x.at(places)), BLOCK_BINS, { mask: places.lt(N) }));
    }
    tl.atomicAdd(counts.at(bins), found.value, { sem: "relaxed" });
  },
);

main(import.meta, histogram);
