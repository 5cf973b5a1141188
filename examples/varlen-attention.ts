/**
 * Attention over sequences of different lengths, packed without padding: sequence i has the tokens cuSeqlens[i] to
 * cuSeqlens[i + 1], and attends to no other. As in a grouped product, a fixed number of programs share the blocks of all
 * sequences, as if they were one long list. No program starts for a block that a short sequence does not have.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const varlenAttention = kernel(
  "varlen_attention",
  {
    doc: "softmax(q @ k^T / sqrt(head dim)) @ v of each head, for the tokens of each sequence.",
    params: {
      q: tensor(T, ["TOTAL", "H", "HEAD_DIM"]),
      k: tensor(T, ["TOTAL", "H", "HEAD_DIM"]),
      v: tensor(T, ["TOTAL", "H", "HEAD_DIM"]),
      cuSeqlens: tensor(tl.int32, ["OFFSETS"], { partition: "TOTAL" }),
      o: tensor.out(T, ["TOTAL", "H", "HEAD_DIM"]),
      HEAD_DIM: constexpr(),
      // How many programs share the blocks of a head.
      PROGRAMS: constexpr.int({ default: 64, range: [1, 2 ** 16] }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      CAUSAL: constexpr.bool({ default: false }),
    },
    grid: ({ H, PROGRAMS }) => [PROGRAMS, H],
    autotune: {
      key: ["TOTAL", "OFFSETS", "HEAD_DIM", "CAUSAL"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, numWarps: 4, numStages: 3 },
        // For heads of 256 elements, of which an H100 has no room for three stages.
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 2 },
      ],
    },
    reference: ({ q, k, v, cuSeqlens, TOTAL, CAUSAL }, torch) => {
      const tokens = torch.arange(TOTAL);
      const sequence = torch.searchsorted(cuSeqlens, tokens, { right: true });
      // Without CAUSAL, each token comes after index 0.
      const isBefore = tokens.unsqueeze(1).ge(tokens.mul(CAUSAL));
      const mask = sequence.unsqueeze(1).eq(sequence).logical_and(isBefore);
      const [queries, keys, values] = [q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)] as const;
      const attended = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, { attn_mask: mask });
      return attended.transpose(0, 1);
    },
    shapes: [
      { TOTAL: 4096, H: 8, OFFSETS: 9, HEAD_DIM: 64 },
      { TOTAL: 150, H: 2, OFFSETS: 4, HEAD_DIM: 32, PROGRAMS: 2 },
    ],
  },
  ({ q, k, v, cuSeqlens, o, OFFSETS, HEAD_DIM, PROGRAMS, BLOCK_M, BLOCK_N, CAUSAL }) => {
    const head = tl.inBounds(tl.programId(1));
    const rd = tl.arange(0, HEAD_DIM);
    // Powers of two are cheaper than of e: log2(e) goes into the scale.
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32)).mul(1.44269504);
    // The next block of this program, counted from the first of the sequence.
    const next = tl.mut(tl.programId(0));
    for (const i of tl.range(OFFSETS.sub(1))) {
      const start = tl.load(cuSeqlens.at(tl.inBounds(i)));
      const end = tl.load(cuSeqlens.at(tl.inBounds(i.add(1))));
      const blocks = tl.cdiv(end.sub(start), BLOCK_M);
      for (const block of tl.range(next.value, blocks, PROGRAMS)) {
        const first = start.add(block.mul(BLOCK_M));
        const rm = first.add(tl.arange(0, BLOCK_M));
        const rows = tl.inBounds(rm);
        const isRow = rm.lt(end).col;
        const queries = tl.load(q.at(rows, head, rd), { mask: isRow, other: 0 });
        const best = tl.mut(tl.full([BLOCK_M], -Infinity, tl.float32));
        const total = tl.mut(tl.zeros([BLOCK_M], tl.float32));
        const acc = tl.mut(tl.zeros([BLOCK_M, HEAD_DIM], tl.float32));
        // Under a causal mask, no query of the block attends to a key after its last row.
        const stop = tl.when(CAUSAL, () => tl.minimum(first.add(BLOCK_M), end)).otherwise(() => end);
        for (const n of tl.range(start, stop, BLOCK_N)) {
          const rn = n.add(tl.arange(0, BLOCK_N));
          const columns = tl.inBounds(rn);
          const isKey = rn.lt(end);
          // TMA has no masks for a sequence that ends inside its tensor, so there is no warp-specialized form.
          const keys = tl.load(k.at(columns, head, rd), { mask: isKey.col, other: 0 });
          const scores = tl.dot(queries, keys.T).mul(scale);
          const seen = tl.where(isKey.row, scores, -Infinity);
          const masked = tl.when(CAUSAL, () => tl.where(rm.col.ge(rn.row), seen, -Infinity)).otherwise(() => seen);
          const newBest = tl.maximum(best.value, tl.max(masked, 1));
          const weights = tl.exp2(masked.sub(newBest.col));
          const alpha = tl.exp2(best.value.sub(newBest));
          total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
          const values = tl.load(v.at(columns, head, rd), { mask: isKey.col, other: 0 });
          acc.value = tl.dot(weights.to(T), values, acc.value.mul(alpha.col));
          best.value = newBest;
        }
        tl.store(o.at(rows, head, rd), acc.value.div(total.value.col).to(T), { mask: isRow });
      }
      const visited = tl.cdiv(tl.maximum(blocks.sub(next.value), 0), PROGRAMS);
      next.value = next.value.add(visited.mul(PROGRAMS)).sub(blocks);
    }
  },
);

main(import.meta, varlenAttention);
