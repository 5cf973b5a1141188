/**
 * Attention with a bias that depends on the distance of query and key alone, as in T5: 2 S - 1 numbers for each head
 * take the place of a matrix of S × S, which PyTorch would make and read.
 */
import { constexpr, kernel, main, type Scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

/** Powers of two are cheaper than of e. */
const LOG2_E = 1.4426950408889634;

const heads = tensor(T, ["H", "S", "HEAD_DIM"], { contiguous: true });

export const relativeAttention = kernel(
  "relative_attention",
  {
    doc: "softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.",
    params: {
      q: heads,
      k: heads,
      v: heads,
      bias: tensor(T, ["H", "DISTANCES"], { contiguous: true }),
      o: tensor.out(T, ["H", "S", "HEAD_DIM"], { contiguous: true }),
      HEAD_DIM: constexpr(),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
    },
    dims: { DISTANCES: ({ S }) => S.mul(2).sub(1) },
    grid: ({ H, S, BLOCK_M }) => [tl.cdiv(S, BLOCK_M), H],
    autotune: {
      key: ["S", "HEAD_DIM"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 4, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 32, numWarps: 4, numStages: 3, maxnreg: 168 },
        { BLOCK_M: 64, BLOCK_N: 64, numWarps: 4, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 32, numWarps: 4, numStages: 3 },
        // For heads of 256 elements, whose sum takes the registers of eight warps.
        { BLOCK_M: 64, BLOCK_N: 32, numWarps: 8, numStages: 2 },
      ],
    },
    reference: ({ q, k, v, bias, H, S }, torch) => {
      const i = torch.arange(S);
      const distances = i.unsqueeze(1).sub(i).add(S).sub(1);
      const mask = bias.index_select(1, distances.flatten()).reshape(H, S, S);
      return torch.nn.functional.scaled_dot_product_attention(q, k, v, { attn_mask: mask });
    },
    shapes: [
      { H: 8, S: 1024, HEAD_DIM: 64 },
      { H: 2, S: 200, HEAD_DIM: 64 },
    ],
  },
  ({ q, k, v, bias, o, S, HEAD_DIM, BLOCK_M, BLOCK_N }) => {
    const head = tl.inBounds(tl.programId(1));
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rd = tl.arange(0, HEAD_DIM);
    // Rows past the end, which are not stored, take the biases of the last one.
    const lastDistance = tl.minimum(rm, S.sub(1)).add(S).sub(1);
    const queries = tl.load(q.at(head, rm, rd));
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32));
    const best = tl.mut(tl.full([BLOCK_M], -Infinity, tl.float32));
    const total = tl.mut(tl.zeros([BLOCK_M], tl.float32));
    const acc = tl.mut(tl.zeros([BLOCK_M, HEAD_DIM], tl.float32));

    const offsets = tl.arange(0, BLOCK_N);
    /** The keys from `start` on, of which only a `partial` block passes the end. */
    const visit = (start: Scalar<"int32">, partial: boolean): void => {
      const columns = start.add(offsets);
      const rn = partial ? columns : tl.inBounds(columns);
      const products = tl.dot(queries, tl.load(k.at(head, rn, rd).T));
      // From each row to the first key, less how far a key lies behind it.
      const distance = lastDistance.sub(start).col.sub(offsets.row);
      const distances = tl.load(bias.gather(head, partial ? distance : tl.inBounds(distance)));
      const biased = products.mul(scale).add(distances.to(tl.float32));
      const scores = partial ? tl.where(rn.row.lt(S), biased, -Infinity) : biased;
      const newBest = tl.maximum(best.value, tl.max(scores, 1).mul(LOG2_E));
      const weights = tl.exp2(scores.mul(LOG2_E).sub(newBest.col));
      const alpha = tl.exp2(best.value.sub(newBest));
      total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
      acc.value = tl.dot(weights.to(T), tl.load(v.at(head, rn, rd)), acc.value.mul(alpha.col));
      best.value = newBest;
    };
    const whole = S.floorDiv(BLOCK_N).mul(BLOCK_N);
    for (const start of tl.range(0, whole, BLOCK_N)) visit(start, false);
    for (const start of tl.range(whole, S, BLOCK_N)) visit(start, true);
    tl.store(o.at(head, rm, rd), acc.value.div(total.value.col).to(T));
  },
);

main(import.meta, relativeAttention);
