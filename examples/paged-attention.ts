/** Attention of one new token per sequence over a paged key-value cache: the decode step of an inference server. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const pagedAttention = kernel(
  "paged_attention",
  {
    doc: "softmax(q @ k^T / sqrt(head dim)) @ v for one query token a sequence; G query heads share a head of the cache.",
    params: {
      q: tensor(T, ["B", "H", "G", "HEAD_DIM"]),
      kCache: tensor(T, ["PAGES", "PAGE_SIZE", "H", "HEAD_DIM"]),
      vCache: tensor(T, ["PAGES", "PAGE_SIZE", "H", "HEAD_DIM"]),
      // The cache pages of each sequence in order, and the number of tokens in use.
      blockTables: tensor(tl.int32, ["B", "MAX_PAGES"], { range: [0, "PAGES"] }),
      seqLens: tensor(tl.int32, ["B"], { range: ({ MAX_PAGES, PAGE_SIZE }) => [1, MAX_PAGES.mul(PAGE_SIZE).add(1)] }),
      o: tensor.out(T, ["B", "H", "G", "HEAD_DIM"]),
      HEAD_DIM: constexpr(),
      PAGE_SIZE: constexpr(),
      // tl.dot needs 16 rows: the query heads of one group, padded with rows of zeros.
      BLOCK_G: constexpr.launch(({ G }) => tl.maximum(tl.nextPowerOf2(G), 16)),
    },
    grid: ({ B, H }) => [B, H],
    requires: ({ MAX_PAGES, PAGE_SIZE }) => [MAX_PAGES.mul(PAGE_SIZE).le(2 ** 30)],
    autotune: {
      key: ["G", "HEAD_DIM", "PAGE_SIZE"],
      configs: [
        { numWarps: 4, numStages: 3 },
        { numWarps: 4, numStages: 2 },
        { numWarps: 8, numStages: 2 },
      ],
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
      { B: 64, H: 8, G: 4, PAGES: 8192, MAX_PAGES: 128, PAGE_SIZE: 16, HEAD_DIM: 128 },
    ],
  },
  ({ q, kCache, vCache, blockTables, seqLens, o, HEAD_DIM, PAGE_SIZE, BLOCK_G }) => {
    const seq = tl.inBounds(tl.programId(0));
    const head = tl.inBounds(tl.programId(1));
    const rg = tl.arange(0, BLOCK_G);
    const rd = tl.arange(0, HEAD_DIM);
    const queries = tl.load(q.at(seq, head, rg, rd));
    const seqLen = tl.load(seqLens.at(seq));
    // Powers of two are cheaper than of e: log2(e) goes into the scale.
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32)).mul(1.44269504);
    const best = tl.mut(tl.full([BLOCK_G], -Infinity, tl.float32));
    const total = tl.mut(tl.zeros([BLOCK_G], tl.float32));
    const acc = tl.mut(tl.zeros([BLOCK_G, HEAD_DIM], tl.float32));
    for (const page of tl.range(0, tl.cdiv(seqLen, PAGE_SIZE))) {
      const block = tl.inBounds(tl.load(blockTables.at(seq, tl.inBounds(page))));
      const slots = tl.arange(0, PAGE_SIZE);
      const keys = tl.load(kCache.at(block, slots, head, rd));
      const scores = tl.dot(queries, keys.T).mul(scale);
      const seen = tl.where(page.mul(PAGE_SIZE).add(slots).row.lt(seqLen), scores, -Infinity);
      const newBest = tl.maximum(best.value, tl.max(seen, 1));
      const weights = tl.exp2(seen.sub(newBest.col));
      const alpha = tl.exp2(best.value.sub(newBest));
      total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
      const values = tl.load(vCache.at(block, slots, head, rd));
      acc.value = tl.dot(weights.to(T), values, acc.value.mul(alpha.col));
      best.value = newBest;
    }
    tl.store(o.at(seq, head, rg, rd), acc.value.div(total.value.col).to(T));
  },
);

main(import.meta, pagedAttention);
