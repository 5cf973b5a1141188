/** Attention, one head per program: softmax(Q Kᵀ / √d) V with an online softmax, which never stores a row of scores. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const attention = kernel(
  "attention",
  {
    doc: "softmax(q @ k^T / sqrt(head dim)) @ v for each head.",
    params: {
      q: tensor(T, ["H", "S", "HEAD_DIM"]),
      k: tensor(T, ["H", "S", "HEAD_DIM"]),
      v: tensor(T, ["H", "S", "HEAD_DIM"]),
      o: tensor.out(T, ["H", "S", "HEAD_DIM"]),
      HEAD_DIM: constexpr(),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      CAUSAL: constexpr.bool({ default: false }),
    },
    grid: ({ H, S, BLOCK_M }) => [tl.cdiv(S, BLOCK_M), H],
    autotune: {
      key: ["S", "HEAD_DIM", "CAUSAL"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, numWarps: 4, numStages: 3 },
        // For heads of 256 elements, of which an H100 has no room for three stages.
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 2 },
      ],
    },
    reference: ({ q, k, v, CAUSAL }, torch) =>
      torch.nn.functional.scaled_dot_product_attention(q, k, v, { is_causal: CAUSAL }),
    shapes: [
      { H: 8, S: 1024, HEAD_DIM: 64 },
      { H: 2, S: 200, HEAD_DIM: 64 },
    ],
  },
  ({ q, k, v, o, S, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL }) => {
    const head = tl.inBounds(tl.programId(1));
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rd = tl.arange(0, HEAD_DIM);
    const queries = tl.load(q.at(head, rm, rd));
    // Powers of two are cheaper than of e: log2(e) goes into the scale.
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32)).mul(1.44269504);
    const best = tl.mut(tl.full([BLOCK_M], -Infinity, tl.float32));
    const total = tl.mut(tl.zeros([BLOCK_M], tl.float32));
    const acc = tl.mut(tl.zeros([BLOCK_M, HEAD_DIM], tl.float32));
    for (const start of tl.range(0, S, BLOCK_N)) {
      const rn = start.add(tl.arange(0, BLOCK_N));
      const keys = tl.load(k.at(head, rn, rd));
      const scores = tl.dot(queries, keys.T).mul(scale);
      const seen = tl.where(rn.row.lt(S), scores, -Infinity);
      const masked = tl.when(CAUSAL, () => tl.where(rm.col.ge(rn.row), seen, -Infinity)).otherwise(() => seen);
      const newBest = tl.maximum(best.value, tl.max(masked, 1));
      const weights = tl.exp2(masked.sub(newBest.col));
      const alpha = tl.exp2(best.value.sub(newBest));
      total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
      acc.value = tl.dot(weights.to(T), tl.load(v.at(head, rn, rd)), acc.value.mul(alpha.col));
      best.value = newBest;
    }
    tl.store(o.at(head, rm, rd), acc.value.div(total.value.col).to(T));
  },
);

main(import.meta, attention);
