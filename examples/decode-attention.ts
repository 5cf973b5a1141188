/**
 * Attention of one new token per sequence over a paged key-value cache, with the keys of each sequence split among
 * programs: a few long sequences then fill the GPU, too. A second kernel combines the splits. `paged-attention.ts` has one
 * program for each sequence and head.
 *
 * Which keys a split has depends on the sequence's own length alone, so an output has the same bits in any batch.
 */
import { constexpr, kernel, main, op, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

const cache = tensor(T, ["PAGES", "PAGE_SIZE", "H", "HEAD_DIM"], { offsets: tl.int64 });

const inputs = {
  q: tensor(T, ["B", "H", "G", "HEAD_DIM"]),
  kCache: cache,
  vCache: cache,
  // The cache pages of each sequence in order, and the number of tokens in use.
  blockTables: tensor(tl.int32, ["B", "MAX_PAGES"], { range: [0, "PAGES"] }),
  seqLens: tensor(tl.int32, ["B"], { range: ({ MAX_PAGES, PAGE_SIZE }) => [1, MAX_PAGES.mul(PAGE_SIZE).add(1)] }),
};

const attentionSplits = kernel(
  "attention_splits",
  {
    doc: "Attention of each query to the keys of each split, and the base-2 logarithm of its sum of exponentials.",
    params: {
      ...inputs,
      partial: tensor.out(tl.float32, ["B", "H", "SPLITS", "G", "HEAD_DIM"]),
      lse: tensor.out(tl.float32, ["B", "H", "SPLITS", "G"]),
      HEAD_DIM: constexpr(),
      PAGE_SIZE: constexpr(),
      SPLITS: constexpr.int({ default: 16 }),
      // tl.dot needs 16 rows: the query heads of one group, padded with rows of zeros.
      BLOCK_G: constexpr.launch(({ G }) => tl.maximum(tl.nextPowerOf2(G), 16)),
      BLOCK_N: constexpr(),
    },
    grid: ({ B, H, SPLITS }) => [SPLITS, H, B],
    requires: ({ MAX_PAGES, PAGE_SIZE, SPLITS }) => [MAX_PAGES.mul(PAGE_SIZE).le(2 ** 30), SPLITS.le(128)],
    autotune: {
      key: ["G", "HEAD_DIM", "PAGE_SIZE", "SPLITS"],
      configs: [
        { BLOCK_N: 64, numWarps: 4, numStages: 3 },
        { BLOCK_N: 128, numWarps: 4, numStages: 2 },
        { BLOCK_N: 32, numWarps: 4, numStages: 4 },
        { BLOCK_N: 64, numWarps: 2, numStages: 3 },
      ],
    },
    shapes: [{ B: 3, H: 2, G: 4, PAGES: 16, MAX_PAGES: 5, PAGE_SIZE: 16, HEAD_DIM: 64, SPLITS: 3 }],
  },
  ({ q, kCache, vCache, blockTables, seqLens, partial, lse, HEAD_DIM, PAGE_SIZE, SPLITS, BLOCK_G, BLOCK_N }) => {
    const split = tl.inBounds(tl.programId(0));
    const head = tl.inBounds(tl.programId(1));
    const seq = tl.inBounds(tl.programId(2));
    const rg = tl.arange(0, BLOCK_G);
    const rd = tl.arange(0, HEAD_DIM);
    const query = tl.load(q.at(seq, head, rg, rd));
    const seqLen = tl.load(seqLens.at(seq));
    // Splits are whole blocks, so the last ones of a short sequence may be empty.
    const length = tl.cdiv(tl.cdiv(seqLen, SPLITS), BLOCK_N).mul(BLOCK_N);
    const first = split.mul(length);
    const end = tl.minimum(first.add(length), seqLen);
    // Powers of two are cheaper than of e: log2(e) goes into the scale.
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32)).mul(1.44269504);
    const best = tl.mut(tl.full([BLOCK_G], -Infinity, tl.float32));
    const total = tl.mut(tl.zeros([BLOCK_G], tl.float32));
    const acc = tl.mut(tl.zeros([BLOCK_G, HEAD_DIM], tl.float32));
    for (const start of tl.range(first, end, BLOCK_N)) {
      const tokens = start.add(tl.arange(0, BLOCK_N));
      const pages = tl.inBounds(tl.load(blockTables.at(seq, tokens.floorDiv(PAGE_SIZE))));
      const slots = tl.inBounds(tokens.mod(PAGE_SIZE));
      const keys = tl.load(kCache.gather(pages.col, slots.col, head, rd.row));
      const scores = tl.dot(query, keys.T).mul(scale);
      const seen = tl.where(tokens.row.lt(end), scores, -Infinity);
      const newBest = tl.maximum(best.value, tl.max(seen, 1));
      const weights = tl.exp2(seen.sub(newBest.col));
      const alpha = tl.exp2(best.value.sub(newBest));
      total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
      const values = tl.load(vCache.gather(pages.col, slots.col, head, rd.row));
      acc.value = tl.dot(weights.to(T), values, acc.value.mul(alpha.col));
      best.value = newBest;
    }
    const isEmpty = total.value.eq(0);
    const sums = tl.where(isEmpty, 1, total.value);
    tl.store(partial.at(seq, head, split, rg, rd), acc.value.div(sums.col));
    tl.store(lse.at(seq, head, split, rg), best.value.add(tl.log2(sums)));
  },
);

const attentionCombine = kernel(
  "attention_combine",
  {
    doc: "The sum of the splits' outputs, weighted by their sums of exponentials.",
    params: {
      partial: tensor(tl.float32, ["B", "H", "SPLITS", "G", "HEAD_DIM"]),
      lse: tensor(tl.float32, ["B", "H", "SPLITS", "G"]),
      o: tensor.out(T, ["B", "H", "G", "HEAD_DIM"]),
      OUT: constexpr.dtype(T),
      HEAD_DIM: constexpr(),
      BLOCK_S: constexpr.launch(({ SPLITS }) => tl.nextPowerOf2(SPLITS)),
    },
    grid: ({ B, H, G }) => [G, H, B],
    config: { numWarps: 4 },
    shapes: [{ B: 3, H: 2, SPLITS: 8, G: 4, HEAD_DIM: 64 }],
  },
  ({ partial, lse, o, OUT, HEAD_DIM, BLOCK_S }) => {
    const row = tl.inBounds(tl.programId(0));
    const head = tl.inBounds(tl.programId(1));
    const seq = tl.inBounds(tl.programId(2));
    const splits = tl.arange(0, BLOCK_S);
    const rd = tl.arange(0, HEAD_DIM);
    const logs = tl.load(lse.at(seq, head, splits, row), { other: -Infinity });
    const weights = tl.exp2(logs.sub(tl.max(logs, 0)));
    const parts = tl.load(partial.at(seq, head, splits, row, rd));
    const sum = tl.sum(parts.mul(weights.col), 0);
    tl.store(o.at(seq, head, row, rd), sum.div(tl.sum(weights, 0)).to(OUT));
  },
);

export const decodeAttention = op(
  "decode_attention",
  {
    doc: "softmax(q @ k^T / sqrt(head dim)) @ v for one query token a sequence; G query heads share a head of the cache.",
    params: {
      ...inputs,
      o: tensor.out(T, ["B", "H", "G", "HEAD_DIM"]),
      SPLITS: constexpr.int({ default: 16 }),
    },
    reference: ({ q, kCache, vCache, blockTables, seqLens, B, H, HEAD_DIM, MAX_PAGES, PAGE_SIZE }, torch) => {
      const maxLen = MAX_PAGES.mul(PAGE_SIZE);
      const pages = blockTables.flatten();
      const k = kCache.index_select(0, pages).view(B, maxLen, H, HEAD_DIM).transpose(1, 2);
      const v = vCache.index_select(0, pages).view(B, maxLen, H, HEAD_DIM).transpose(1, 2);
      const scores = torch.matmul(q, k.mT).div(HEAD_DIM.pow(0.5));
      const unused = torch.arange(maxLen).ge(seqLens.view(B, 1, 1, 1));
      return torch.matmul(torch.softmax(scores.masked_fill(unused, -Infinity), -1), v);
    },
    shapes: [
      { B: 3, H: 2, G: 4, PAGES: 16, MAX_PAGES: 5, PAGE_SIZE: 16, HEAD_DIM: 64 },
      { B: 32, H: 8, G: 4, PAGES: 16384, MAX_PAGES: 512, PAGE_SIZE: 16, HEAD_DIM: 128 },
    ],
  },
  ({ q, kCache, vCache, blockTables, seqLens, SPLITS }) => {
    const { partial, lse } = attentionSplits.call({ q, kCache, vCache, blockTables, seqLens, SPLITS });
    return attentionCombine.call({ partial, lse, OUT: T });
  },
);

main(import.meta, decodeAttention);
