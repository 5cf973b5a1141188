/**
 * Grouped matrix product: each group of rows of A times a separate matrix, in one launch. Groups differ in length. Each
 * program finds its group and computes one tile of it. The GPU starts the next program where one has ended, so short
 * groups do not delay long ones.
 */
import { constexpr, descriptor, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const groupedGemm = kernel(
  "grouped_gemm",
  {
    doc: "c[i] = a[i] @ b[g] for the rows i of group g, which end before row ends[g].",
    params: {
      a: descriptor(T, ["TOTAL", "K"], ["BLOCK_M", "BLOCK_K"]),
      b: descriptor(T, ["GROUPS", "K", "N"], [1, "BLOCK_K", "BLOCK_N"]),
      ends: tensor(tl.int32, ["GROUPS"], { contiguous: true, partition: { ends: "TOTAL" } }),
      c: tensor.out(T, ["TOTAL", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    // Each group may have one partly filled tile of rows.
    grid: ({ TOTAL, GROUPS, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(TOTAL, BLOCK_M).add(GROUPS).mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["TOTAL", "N", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 4, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 256, BLOCK_K: 64, numWarps: 4, numStages: 4 },
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
  ({ a, b, ends, c, N, K, GROUPS, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const tilesN = tl.cdiv(N, BLOCK_N);
    // The tile of this program, counted from the first of the group. It is negative in later groups.
    const tile = tl.mut(tl.programId(0));
    const start = tl.mut(0);
    for (const g of tl.range(GROUPS)) {
      const group = tl.inBounds(g);
      const end = tl.load(ends.at(group));
      const rows = end.sub(start.value);
      const tilesM = tl.cdiv(rows, BLOCK_M);
      const tiles = tilesM.mul(tilesN);
      tl.when(tile.value.ge(0).and(tile.value.lt(tiles)), () => {
        // Programs that run at one time share columns of B in L2.
        const m = tile.value.mod(tilesM).mul(BLOCK_M);
        const n = tile.value.floorDiv(tilesM).mul(BLOCK_N);
        const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
        for (const k of tl.range(0, K, BLOCK_K)) {
          const x = a.load([start.value.add(m), k]);
          const y = tl.reshape(b.load([group, k, n]), [BLOCK_K, BLOCK_N]);
          acc.value = tl.dot(x, y, acc.value);
        }
        // A tile may reach into the rows of the next group.
        const rm = m.add(tl.arange(0, BLOCK_M));
        const rn = n.add(tl.arange(0, BLOCK_N));
        const mask = rm.lt(rows).col.and(rn.lt(N).row);
        tl.store(c.at(tl.inBounds(start.value.add(rm)), tl.inBounds(rn)), acc.value.to(T), { mask });
      });
      tile.value = tile.value.sub(tiles);
      start.value = end;
    }
  },
);

main(import.meta, groupedGemm);
