/**
 * The sum of a long vector in two passes: as many programs as fit on the GPU each add up a share, and one program adds
 * the shares. Both go in a fixed order, so the result is the same in every run.
 */
import { constexpr, kernel, main, op, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float32, tl.float16, tl.bfloat16]);

const partialSums = kernel(
  "partial_sums",
  {
    doc: "The sum of every GROUPS-th block of x, from the group's own on.",
    params: {
      x: tensor(T, ["N"], { contiguous: true }),
      sums: tensor.out(tl.float32, ["GROUPS"]),
      BLOCK: constexpr(),
    },
    grid: ({ GROUPS }) => [GROUPS],
    requires: ({ GROUPS }) => [GROUPS.ge(1), GROUPS.lt(2048)],
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK: 1024, numWarps: 4, numStages: 4 },
        { BLOCK: 2048, numWarps: 8, numStages: 4 },
        { BLOCK: 4096, numWarps: 8, numStages: 3 },
      ],
    },
    shapes: [{ N: 1 << 26, GROUPS: 1056 }],
  },
  ({ x, sums, N, GROUPS, BLOCK }) => {
    const group = tl.inBounds(tl.programId(0));
    // Each lane has a sum of its own: the lanes are added once, after the loop.
    const total = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const start of tl.range(group.mul(BLOCK), N, GROUPS.mul(BLOCK)))
      total.value = total.value.add(tl.load(x.at(start.add(tl.arange(0, BLOCK)))).to(tl.float32));
    tl.store(sums.at(group), tl.sum(total.value, 0));
  },
);

const sumOfSums = kernel(
  "sum_of_sums",
  {
    doc: "The sum of a short vector, in one program.",
    params: {
      sums: tensor(tl.float32, ["GROUPS"]),
      y: tensor.out(tl.float32, [1]),
      BLOCK: constexpr.launch(({ GROUPS }) => tl.nextPowerOf2(GROUPS)),
    },
    grid: () => [1],
    requires: ({ GROUPS, BLOCK }) => [BLOCK.ge(GROUPS)],
    reference: ({ sums }) => sums.sum(0, { keepdim: true }),
    shapes: [{ GROUPS: 1056 }],
  },
  ({ sums, y, BLOCK }) => {
    tl.store(y.at(0), tl.sum(tl.load(sums.at(tl.arange(0, BLOCK))), 0));
  },
);

export const vectorSum = op(
  "vector_sum",
  {
    doc: "The sum of all elements of a vector, in float32.",
    params: { x: tensor(T, ["N"], { contiguous: true }), y: tensor.out(tl.float32, [1]) },
    reference: ({ x }) => x.float().sum(0, { keepdim: true }),
    shapes: [{ N: 100_003 }, { N: 1 << 26 }],
  },
  // Eight programs for each of 132 multiprocessors.
  ({ x }) => {
    const { sums } = partialSums.call({ x, GROUPS: 1056 });
    return sumOfSums.call({ sums });
  },
);

main(import.meta, vectorSum);
