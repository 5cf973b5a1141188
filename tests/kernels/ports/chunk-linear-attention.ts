/**
 * Causal linear attention in chunks, of sequences of one length or, with `cuSeqlens`, of any lengths. What a sequence
 * is, how large its chunks are, and whether there is a second state all depend on what Triton knows when it compiles.
 */
import { constexpr, kernel, type MutOf, type Scalar, scalar, tensor, type TileOf, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
/** Steps of a chunk. */
type Chunk = "choose(cuSeqlens.given, CHUNK // 2, CHUNK)";

/** The scores of a chunk with itself, below the diagonal. */
function scores(
  q: TileOf<typeof T, [Chunk, "D"]>,
  k: TileOf<typeof T, [Chunk, "D"]>,
  steps: TileOf<typeof tl.int32, [Chunk]>,
) {
  return tl.where(steps.col.ge(steps.row), tl.dot(q, k.T), 0);
}

/** Adds a chunk to the sums of its keys: `sums[d] = Σ k[t, d]`. */
function count(sums: MutOf<typeof tl.float32, ["D"]>, k: TileOf<typeof T, [Chunk, "D"]>): void {
  sums.value = sums.value.add(tl.sum(k.to(tl.float32), 0));
}

export const chunkLinearAttention = kernel(
  "chunk_linear_attention",
  {
    doc: "o[t] = Σ (q[t] · k[s]) v[s] over s ≤ t of t's sequence, divided by Σ q[t] · k[s] if NORMALIZE.",
    params: {
      q: tensor(T, ["TOTAL", "H", "D"]),
      k: tensor(T, ["TOTAL", "H", "D"]),
      v: tensor(T, ["TOTAL", "H", "V"]),
      // Where each sequence begins, and where the last one ends.
      cuSeqlens: tensor(tl.int64, ["EDGES"], { range: [0, 2 ** 31] }).optional(),
      o: tensor.out(T, ["TOTAL", "H", "V"]),
      SEQS: scalar(tl.int32),
      // The length of every sequence without cuSeqlens.
      LENGTH: scalar(tl.int32),
      NORMALIZE: constexpr.bool(),
      D: constexpr(),
      V: constexpr(),
      CHUNK: constexpr(),
    },
    dims: { EDGES: ({ SEQS }) => SEQS.add(1) },
    grid: ({ SEQS, H }) => [SEQS.mul(H)],
    config: { CHUNK: 32 },
    requires: ({ SEQS, LENGTH, TOTAL }) => [SEQS.mul(LENGTH).ge(TOTAL), LENGTH.ge(1), SEQS.ge(1)],
    inputs: ({ TOTAL, H, D, SEQS }, torch) => ({
      q: torch.rand([TOTAL, H, D]),
      k: torch.rand([TOTAL, H, D]),
      cuSeqlens: torch.cat([
        torch.zeros([1]),
        torch.randint(0, TOTAL.add(1), [SEQS.sub(1)]).sort()[0],
        torch.full([1], TOTAL),
      ]),
    }),
    reference: ({ q, k, v, cuSeqlens, TOTAL, LENGTH, NORMALIZE }, torch) => {
      const at = torch.arange(TOTAL);
      const edges = cuSeqlens.otherwise(torch.arange(TOTAL).mul(LENGTH));
      const sequence = torch.searchsorted(edges, at, { right: true });
      const weights = torch.einsum("thd,shd->hts", q.to(tl.float32), k.to(tl.float32));
      const seen = sequence
        .unsqueeze(1)
        .eq(sequence.unsqueeze(0))
        .logical_and(at.unsqueeze(1).ge(at.unsqueeze(0)));
      const kept = weights.masked_fill(seen.logical_not(), 0);
      const sums = torch.einsum("hts,shv->thv", kept, v.to(tl.float32));
      return NORMALIZE.choose(sums.div(kept.sum(2).T.unsqueeze(2)), sums);
    },
    shapes: [
      { TOTAL: 75, H: 2, D: 16, V: 32, SEQS: 3, LENGTH: 27, NORMALIZE: false },
      { TOTAL: 75, H: 2, D: 16, V: 32, SEQS: 3, LENGTH: 27, NORMALIZE: true },
    ],
  },
  ({ q, k, v, cuSeqlens, o, TOTAL, H, LENGTH, NORMALIZE, D, V, CHUNK }) => {
    const sequence = tl.programId(0).floorDiv(H);
    const head = tl.inBounds(tl.programId(0).mod(H));
    const IS_VARLEN = cuSeqlens.given;
    // Sequences of many lengths leave more of their last chunk empty, so their chunks are smaller.
    const SPAN = IS_VARLEN.choose(CHUNK.floorDiv(2), CHUNK);
    const [start, length]: [Scalar<"int32">, Scalar<"int32">] = tl
      .when(IS_VARLEN, () => {
        const first = tl.load(cuSeqlens.at(tl.inBounds(sequence)));
        const end = tl.load(cuSeqlens.at(tl.inBounds(sequence.add(1))));
        return [first.to(tl.int32), end.sub(first).to(tl.int32)];
      })
      .otherwise(() => {
        const first = tl.minimum(sequence.mul(LENGTH), TOTAL);
        return [first, tl.minimum(TOTAL.sub(first), LENGTH)];
      });

    const memory = tl.mut(tl.zeros([D, V], tl.float32));
    const sums = tl.when(NORMALIZE, () => tl.mut(tl.zeros([D], tl.float32))).value;
    const steps = tl.arange(0, SPAN);
    for (const i of tl.range(0, length, SPAN)) {
      const isInside = i.add(steps).lt(length);
      const rows = start.add(i).add(steps);
      const options = { mask: isInside.col, other: 0 } as const;
      const queries = tl.load(q.at(rows, head, tl.arange(0, D)), options);
      const keys = tl.load(k.at(rows, head, tl.arange(0, D)), options);
      const values = tl.load(v.at(rows, head, tl.arange(0, V)), options);
      const own = scores(queries, keys, steps);
      const result = tl.dot(own.to(T), values, tl.dot(queries, memory.value.to(T)));
      const normalized = tl
        .when(NORMALIZE, () => {
          const before = tl.sum(queries.to(tl.float32).mul(sums.value.row), 1);
          count(sums, keys);
          return result.div(tl.where(isInside, before.add(tl.sum(own, 1)), 1).col);
        })
        .otherwise(() => result);
      memory.value = tl.dot(keys.T, values, memory.value);
      tl.store(o.at(rows, head, tl.arange(0, V)), normalized.to(T), { mask: isInside.col });
    }
  },
);
