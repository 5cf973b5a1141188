/**
 * Grouped matrix product: each group of rows of A times a separate matrix, in one launch. Groups differ in length, so a
 * fixed number of programs share the blocks of all groups, as if they were one long list.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const groupedGemm = kernel(
  "grouped_gemm",
  {
    doc: "c[i] = a[i] @ b[g] for the rows i of group g, which end before row ends[g].",
    params: {
      a: tensor(T, ["TOTAL", "K"]),
      b: tensor(T, ["GROUPS", "K", "N"]),
      ends: tensor(tl.int32, ["GROUPS"], { contiguous: true, partition: { ends: "TOTAL" } }),
      c: tensor.out(T, ["TOTAL", "N"]),
      // How many programs the GPU runs at once: an H200 has 132 multiprocessors.
      PROGRAMS: constexpr.int({ default: 132, range: [1, 2 ** 16] }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    // Each group may leave one block of rows partly filled.
    grid: ({ TOTAL, GROUPS, N, BLOCK_M, BLOCK_N, PROGRAMS }) => [
      tl.minimum(PROGRAMS, tl.cdiv(TOTAL, BLOCK_M).add(GROUPS).mul(tl.cdiv(N, BLOCK_N))),
    ],
    autotune: {
      key: ["TOTAL", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, numWarps: 4, numStages: 4 },
      ],
    },
    reference: ({ a, b, ends, TOTAL, N }, torch) => {
      // Multiplies every row with every matrix, then picks its own: that of the first group that ends after it.
      const group = torch.searchsorted(ends, torch.arange(TOTAL), { right: true });
      const products = torch.matmul(a, b).transpose(0, 1);
      return products.gather(1, group.view(TOTAL, 1, 1).expand(TOTAL, 1, N)).squeeze(1);
    },
    shapes: [
      { TOTAL: 40, GROUPS: 2, K: 32, N: 24 },
      { TOTAL: 8192, GROUPS: 16, K: 4096, N: 4096 },
    ],
  },
  ({ a, b, ends, c, N, K, GROUPS, PROGRAMS, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const tilesN = tl.cdiv(N, BLOCK_N);
    // The next block of this program, counted from the first of the group.
    const next = tl.mut(tl.programId(0));
    const start = tl.mut(0);
    for (const g of tl.range(GROUPS)) {
      const group = tl.inBounds(g);
      const end = tl.load(ends.at(group));
      const rows = end.sub(start.value);
      const tiles = tl.cdiv(rows, BLOCK_M).mul(tilesN);
      for (const tile of tl.range(next.value, tiles, PROGRAMS)) {
        const rm = tile.floorDiv(tilesN).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
        const rn = tile.mod(tilesN).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
        // Rows wrap within the group, and columns, instead of being masked inside the loop.
        const am = tl.inBounds(start.value.add(rm.mod(rows)));
        const bn = tl.inBounds(rn.mod(N));
        const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
        for (const k of tl.range(0, K, BLOCK_K)) {
          // K's tail is masked and holds 0.
          const rk = k.add(tl.arange(0, BLOCK_K));
          const x = tl.load(a.at(am, rk));
          const y = tl.load(b.at(group, rk, bn));
          acc.value = tl.dot(x, y, acc.value);
        }
        // A block may reach into the rows of the next group, which are not its own.
        const mask = rm.lt(rows).col.and(rn.lt(N).row);
        tl.store(c.at(tl.inBounds(start.value.add(rm)), tl.inBounds(rn)), acc.value.to(T), { mask });
      }
      const visited = tl.cdiv(tl.maximum(tiles.sub(next.value), 0), PROGRAMS);
      next.value = next.value.add(visited.mul(PROGRAMS)).sub(tiles);
      start.value = end;
    }
  },
);

main(import.meta, groupedGemm);
