/**
 * Matrix product for a small M and N and a long K, such as the gradient of a weight, whose blocks alone cannot fill the
 * GPU: several programs share the K of a block. Each writes its part of the sum, and a second kernel adds the parts in a
 * fixed order, so that the result is the same in every run; atomic additions would take any order.
 */
import { constexpr, kernel, main, op, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

const partialProducts = kernel(
  "partial_products",
  {
    doc: "A @ B in SPLITS parts: part s adds up every SPLITS-th block of K, from block s on.",
    params: {
      a: tensor(T, ["M", "K"]),
      b: tensor(T, ["K", "N"]),
      parts: tensor.out(tl.float32, ["SPLITS", "M", "N"], { offsets: tl.int64 }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    grid: ({ M, N, SPLITS, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N)), SPLITS],
    requires: ({ SPLITS }) => [SPLITS.ge(1)],
    autotune: {
      key: ["M", "N", "K", "SPLITS"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 4, numStages: 5 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 128, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 64, numWarps: 8, numStages: 4 },
        { BLOCK_M: 128, BLOCK_N: 64, BLOCK_K: 128, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 128, BLOCK_K: 64, numWarps: 4, numStages: 4 },
        { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, numWarps: 4, numStages: 4 },
        { BLOCK_M: 16, BLOCK_N: 128, BLOCK_K: 128, numWarps: 4, numStages: 4 },
      ],
    },
    shapes: [{ M: 256, N: 256, K: 65_536, SPLITS: 32 }],
  },
  ({ a, b, parts, M, N, K, SPLITS, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const pid = tl.programId(0);
    const numPidN = tl.cdiv(N, BLOCK_N);
    const split = tl.inBounds(tl.programId(1));
    const rm = pid.floorDiv(numPidN).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = pid.mod(numPidN).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // Rows and columns wrap instead of being masked inside the loop; the store masks what is left over.
    const am = tl.inBounds(rm.mod(M));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(split.mul(BLOCK_K), K, SPLITS.mul(BLOCK_K))) {
      // K's tail is masked and holds 0.
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(a.at(am, rk)), tl.load(b.at(rk, bn)), acc.value);
    }
    tl.store(parts.at(split, rm, rn), acc.value);
  },
);

const sumOfParts = kernel(
  "sum_of_parts",
  {
    doc: "The sum of the parts of each element, in the same order in every run.",
    params: {
      parts: tensor(tl.float32, ["SPLITS", "M", "N"], { offsets: tl.int64 }),
      c: tensor.out(T, ["M", "N"]),
      OUT: constexpr.dtype(T),
      BLOCK_N: constexpr(),
    },
    grid: ({ M, N, BLOCK_N }) => [M.mul(tl.cdiv(N, BLOCK_N))],
    config: { BLOCK_N: 64 },
    reference: ({ parts, OUT }) => parts.sum(0).to(OUT),
    shapes: [{ SPLITS: 32, M: 256, N: 256 }],
  },
  ({ parts, c, OUT, SPLITS, N, BLOCK_N }) => {
    const blocks = tl.cdiv(N, BLOCK_N);
    const row = tl.inBounds(tl.programId(0).floorDiv(blocks));
    const cols = tl.programId(0).mod(blocks).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    // 32 parts at once, so that no load waits for another.
    const total = tl.mut(tl.zeros([32, BLOCK_N], tl.float32));
    for (const s of tl.range(0, SPLITS, 32))
      total.value = total.value.add(tl.load(parts.at(s.add(tl.arange(0, 32)), row, cols)));
    tl.store(c.at(row, cols), tl.sum(total.value, 0).to(OUT));
  },
);

export const gemmSplitK = op(
  "gemm_split_k",
  {
    doc: "C = A @ B for a long K, accumulated in float32 in a fixed order.",
    params: { a: tensor(T, ["M", "K"]), b: tensor(T, ["K", "N"]), c: tensor.out(T, ["M", "N"]) },
    reference: ({ a, b }, torch) => torch.matmul(a, b),
    shapes: [
      { M: 64, N: 64, K: 4000 },
      { M: 256, N: 256, K: 65_536 },
    ],
  },
  // 32 parts of four blocks of 128 × 128 are about as many programs as a large GPU has multiprocessors.
  ({ a, b }) => {
    const { parts } = partialProducts.call({ a, b, SPLITS: 32 });
    return sumOfParts.call({ parts, OUT: T });
  },
);

main(import.meta, gemmSplitK);
