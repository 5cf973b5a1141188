/**
 * Flash attention with its gradients: a PyTorch operator of four kernels, none of which ever stores a row of scores.
 *
 * The forward pass leaves one number for each row, the logarithm of the sum of its exponentials. From it the gradient
 * computes any block of weights again: P = exp(S - lse). With dP = dO Vᵀ, the scores' gradient is dS = P (dP - delta)
 * where delta is the sum of dO ∘ O over a row; then dV = Pᵀ dO, dK = dSᵀ Q and dQ = dS K. Under a causal mask, blocks
 * above the diagonal are skipped, and only those on it are masked.
 *
 * A kernel for dK and dV passes over the queries, and one for dQ over the keys: both compute S and dP, seven products in
 * all. One kernel would need five, but all its blocks of keys would add to dQ, in an order that changes from run to run.
 */
import { constexpr, descriptor, kernel, main, op, type Scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

/** Powers of two are cheaper than of e. */
const LOG2_E = 1.4426950408889634;

/** Heads of all batches, rows and the elements of a head, which lie side by side. */
const heads = tensor(T, ["H", "S", "HEAD_DIM"], { contiguous: true });
const newHeads = tensor.out(T, ["H", "S", "HEAD_DIM"], { contiguous: true });
const rows = tensor(tl.float32, ["H", "S"], { contiguous: true });
const newRows = tensor.out(tl.float32, ["H", "S"], { contiguous: true });

/** A block of queries for each program, which passes over the keys once. */
const attentionForward = kernel(
  "attention_forward",
  {
    doc: "o = softmax(q @ k^T / sqrt(head dim)) @ v, and the base-2 logarithm of each row's sum of exponentials.",
    params: {
      q: heads,
      k: heads,
      v: heads,
      o: newHeads,
      lse: newRows,
      HEAD_DIM: constexpr(),
      CAUSAL: constexpr.bool({ default: false }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
    },
    grid: ({ H, S, BLOCK_M }) => [tl.cdiv(S, BLOCK_M), H],
    autotune: {
      key: ["S", "HEAD_DIM", "CAUSAL"],
      configs: [
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, numWarps: 4, numStages: 3 },
        { BLOCK_M: 64, BLOCK_N: 64, numWarps: 4, numStages: 3, maxnreg: 128 },
        { BLOCK_M: 128, BLOCK_N: 128, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 4, numStages: 3 },
        { BLOCK_M: 128, BLOCK_N: 32, numWarps: 4, numStages: 4 },
        // For heads of 256 elements, of which an H100 has no room for three stages.
        { BLOCK_M: 128, BLOCK_N: 64, numWarps: 8, numStages: 2 },
      ],
    },
    shapes: [{ H: 32, S: 1024, HEAD_DIM: 64 }],
  },
  ({ q, k, v, o, lse, S, HEAD_DIM, CAUSAL, BLOCK_M, BLOCK_N }) => {
    const head = tl.inBounds(tl.programId(1));
    const first = tl.programId(0).mul(BLOCK_M);
    const rm = first.add(tl.arange(0, BLOCK_M));
    const rd = tl.arange(0, HEAD_DIM);
    const queries = tl.load(q.at(head, rm, rd));
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32)).mul(LOG2_E);
    const best = tl.mut(tl.full([BLOCK_M], -Infinity, tl.float32));
    const total = tl.mut(tl.zeros([BLOCK_M], tl.float32));
    const acc = tl.mut(tl.zeros([BLOCK_M, HEAD_DIM], tl.float32));

    /** The keys from `start` on. All rows see all of a block that is not `partial`. */
    const visit = (start: Scalar<"int32">, partial: boolean): void => {
      const columns = start.add(tl.arange(0, BLOCK_N));
      const rn = partial ? columns : tl.inBounds(columns);
      const products = tl.dot(queries, tl.load(k.at(head, rn, rd).T));
      const scores = !partial
        ? products
        : tl
            .when(CAUSAL, () => tl.where(rm.col.ge(rn.row), products, -Infinity))
            .otherwise(() => tl.where(rn.row.lt(S), products, -Infinity));
      const newBest = tl.maximum(best.value, tl.max(scores, 1).mul(scale));
      const weights = tl.exp2(scores.mul(scale).sub(newBest.col));
      const alpha = tl.exp2(best.value.sub(newBest));
      total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
      acc.value = tl.dot(weights.to(T), tl.load(v.at(head, rn, rd)), acc.value.mul(alpha.col));
      best.value = newBest;
    };
    const [edge, end] = tl
      .when(CAUSAL, () => [first, tl.minimum(first.add(BLOCK_M), S)] as const)
      .otherwise(() => [S, S] as const);
    const whole = edge.floorDiv(BLOCK_N).mul(BLOCK_N);
    for (const start of tl.range(0, whole, BLOCK_N)) visit(start, false);
    for (const start of tl.range(whole, end, BLOCK_N)) visit(start, true);

    tl.store(o.at(head, rm, rd), acc.value.div(total.value.col).to(T));
    tl.store(lse.at(head, rm), best.value.add(tl.log2(total.value)));
  },
);

/** The sum of dO ∘ O over each row. */
const attentionDelta = kernel(
  "attention_delta",
  {
    doc: "delta = (o * do).sum(-1), in float32.",
    params: { o: heads, dOut: heads, delta: newRows, HEAD_DIM: constexpr(), BLOCK_M: constexpr() },
    grid: ({ H, S, BLOCK_M }) => [tl.cdiv(S, BLOCK_M), H],
    config: { BLOCK_M: 32 },
    reference: ({ o, dOut }) => o.float().mul(dOut.float()).sum(-1),
    shapes: [{ H: 32, S: 1024, HEAD_DIM: 64 }],
  },
  ({ o, dOut, delta, HEAD_DIM, BLOCK_M }) => {
    const head = tl.inBounds(tl.programId(1));
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rd = tl.arange(0, HEAD_DIM);
    const out = tl.load(o.at(head, rm, rd)).to(tl.float32);
    const gradient = tl.load(dOut.at(head, rm, rd)).to(tl.float32);
    tl.store(delta.at(head, rm), tl.sum(out.mul(gradient), 1));
  },
);

/**
 * Blocks of STEP rows of one head, moved by the copy engine (TMA); what lies past the end reads as 0. The engine wants
 * tensors that start at multiples of 16 bytes, as those do that PyTorch allocates.
 */
const steps = descriptor(T, ["H", "S", "HEAD_DIM"], [1, "STEP", "HEAD_DIM"]);

/** A program takes a block of keys and passes over the queries that see them. */
const attentionKeyGradients = kernel(
  "attention_key_gradients",
  {
    doc: "The gradients of k and v.",
    params: {
      q: steps,
      k: heads,
      v: heads,
      dOut: steps,
      lse: rows,
      delta: rows,
      dk: newHeads,
      dv: newHeads,
      HEAD_DIM: constexpr(),
      CAUSAL: constexpr.bool({ default: false }),
      BLOCK: constexpr(),
      STEP: constexpr(),
    },
    grid: ({ H, S, BLOCK }) => [tl.cdiv(S, BLOCK), H],
    autotune: {
      key: ["S", "HEAD_DIM", "CAUSAL"],
      configs: [
        { BLOCK: 64, STEP: 64, numWarps: 4, numStages: 2 },
        { BLOCK: 64, STEP: 64, numWarps: 4, numStages: 2, maxnreg: 168 },
        { BLOCK: 64, STEP: 32, numWarps: 4, numStages: 3 },
        { BLOCK: 128, STEP: 32, numWarps: 4, numStages: 4 },
        { BLOCK: 128, STEP: 64, numWarps: 8, numStages: 2 },
        // For heads of 256 elements, whose two sums take the registers of eight warps.
        { BLOCK: 64, STEP: 64, numWarps: 8, numStages: 2 },
      ],
    },
    shapes: [{ H: 32, S: 1024, HEAD_DIM: 64 }],
  },
  ({ q, k, v, dOut, lse, delta, dk, dv, S, HEAD_DIM, CAUSAL, BLOCK, STEP }) => {
    const head = tl.inBounds(tl.programId(1));
    const first = tl.programId(0).mul(BLOCK);
    const block = first.add(tl.arange(0, BLOCK));
    const rd = tl.arange(0, HEAD_DIM);
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32));
    const toBase2 = scale.mul(LOG2_E);

    const keys = tl.load(k.at(head, block, rd));
    const values = tl.load(v.at(head, block, rd));
    const dkSum = tl.mut(tl.zeros([BLOCK, HEAD_DIM], tl.float32));
    const dvSum = tl.mut(tl.zeros([BLOCK, HEAD_DIM], tl.float32));
    /** The queries from `start` on, some of which do not see all keys of the block if it is `diagonal`. */
    const visit = (start: Scalar<"int32">, diagonal: boolean): void => {
      const rm = start.add(tl.arange(0, STEP));
      // Rows of q and dO past the end are 0, and what is multiplied by them adds nothing.
      const queries = tl.reshape(q.load([head, start, 0]), [STEP, HEAD_DIM]);
      const gradient = tl.reshape(dOut.load([head, start, 0]), [STEP, HEAD_DIM]);
      const logSum = tl.load(lse.at(head, rm));
      const unmasked = tl.exp2(tl.dot(keys, queries.T).mul(toBase2).sub(logSum.row));
      const weights = diagonal ? tl.where(rm.row.ge(block.col), unmasked, 0) : unmasked;
      dvSum.value = tl.dot(weights.to(T), gradient, dvSum.value);
      const someDelta = tl.load(delta.at(head, rm));
      const change = tl.dot(values, gradient.T).sub(someDelta.row);
      dkSum.value = tl.dot(weights.mul(change).to(T), queries, dkSum.value);
    };
    const [top, below] = tl
      .when(CAUSAL, () => [first, first.add(BLOCK)] as const)
      .otherwise(() => [tl.full([], 0, tl.int32), tl.full([], 0, tl.int32)] as const);
    for (const start of tl.range(top, below, STEP)) visit(start, true);
    for (const start of tl.range(below, S, STEP)) visit(start, false);
    tl.store(dk.at(head, block, rd), dkSum.value.mul(scale).to(T));
    tl.store(dv.at(head, block, rd), dvSum.value.to(T));
  },
);

/** A program takes a block of queries and passes over the keys that they see, as in the forward kernel. */
const attentionQueryGradients = kernel(
  "attention_query_gradients",
  {
    doc: "The gradient of q.",
    params: {
      q: heads,
      k: steps,
      v: steps,
      dOut: heads,
      lse: rows,
      delta: rows,
      dq: newHeads,
      HEAD_DIM: constexpr(),
      CAUSAL: constexpr.bool({ default: false }),
      BLOCK: constexpr(),
      STEP: constexpr(),
    },
    grid: ({ H, S, BLOCK }) => [tl.cdiv(S, BLOCK), H],
    autotune: {
      key: ["S", "HEAD_DIM", "CAUSAL"],
      configs: [
        { BLOCK: 128, STEP: 64, numWarps: 8, numStages: 3 },
        { BLOCK: 64, STEP: 64, numWarps: 4, numStages: 3 },
        { BLOCK: 64, STEP: 32, numWarps: 4, numStages: 3 },
        { BLOCK: 128, STEP: 32, numWarps: 8, numStages: 2 },
        // For heads of 256 elements, of which more keys do not fit.
        { BLOCK: 128, STEP: 32, numWarps: 8, numStages: 3 },
      ],
    },
    shapes: [{ H: 32, S: 1024, HEAD_DIM: 64 }],
  },
  ({ q, k, v, dOut, lse, delta, dq, S, HEAD_DIM, CAUSAL, BLOCK, STEP }) => {
    const head = tl.inBounds(tl.programId(1));
    // Under a causal mask the last rows see most keys: their programs begin.
    const first = tl.numPrograms(0).sub(1).sub(tl.programId(0)).mul(BLOCK);
    const block = first.add(tl.arange(0, BLOCK));
    const rd = tl.arange(0, HEAD_DIM);
    const scale = tl.rsqrt(HEAD_DIM.to(tl.float32));
    const toBase2 = scale.mul(LOG2_E);

    const queries = tl.load(q.at(head, block, rd));
    const gradient = tl.load(dOut.at(head, block, rd));
    const logSum = tl.load(lse.at(head, block), { other: Infinity });
    const rowDelta = tl.load(delta.at(head, block));
    const dqSum = tl.mut(tl.zeros([BLOCK, HEAD_DIM], tl.float32));
    /** The keys from `start` on. All rows see all of a block that is not `partial`. */
    const visit = (start: Scalar<"int32">, partial: boolean): void => {
      const keys = tl.reshape(k.load([head, start, 0]), [STEP, HEAD_DIM]);
      const values = tl.reshape(v.load([head, start, 0]), [STEP, HEAD_DIM]);
      const unmasked = tl.exp2(tl.dot(queries, keys.T).mul(toBase2).sub(logSum.col));
      const masked = () => {
        const rn = start.add(tl.arange(0, STEP));
        return tl
          .when(CAUSAL, () => tl.where(block.col.ge(rn.row), unmasked, 0))
          .otherwise(() => tl.where(rn.row.lt(S), unmasked, 0));
      };
      const weights = partial ? masked() : unmasked;
      const change = tl.dot(gradient, values.T).sub(rowDelta.col);
      dqSum.value = tl.dot(weights.mul(change).to(T), keys, dqSum.value);
    };
    const [edge, end] = tl
      .when(CAUSAL, () => [first, tl.minimum(first.add(BLOCK), S)] as const)
      .otherwise(() => [S, S] as const);
    const whole = edge.floorDiv(STEP).mul(STEP);
    for (const start of tl.range(0, whole, STEP)) visit(start, false);
    for (const start of tl.range(whole, end, STEP)) visit(start, true);
    tl.store(dq.at(head, block, rd), dqSum.value.mul(scale).to(T));
  },
);

export const attentionWithGradients = op(
  "attention_with_gradients",
  {
    doc: "softmax(q @ k^T / sqrt(head dim)) @ v for each head, with its gradients.",
    params: {
      q: heads,
      k: heads,
      v: heads,
      o: newHeads,
      CAUSAL: constexpr.bool({ default: false }),
    },
    reference: ({ q, k, v, CAUSAL }, torch) =>
      torch.nn.functional.scaled_dot_product_attention(q, k, v, { is_causal: CAUSAL }),
    shapes: [
      { H: 32, S: 1024, HEAD_DIM: 64 },
      { H: 32, S: 1024, HEAD_DIM: 128, CAUSAL: true },
      { H: 2, S: 200, HEAD_DIM: 64, CAUSAL: true },
    ],
  },
  ({ q, k, v, CAUSAL }) => attentionForward.call({ q, k, v, CAUSAL }),
  ({ q, k, v, o, lse, CAUSAL }, { o: dO }) => {
    const dOut = dO.contiguous();
    const { delta } = attentionDelta.call({ o, dOut });
    const { dk, dv } = attentionKeyGradients.call({ q, k, v, dOut, lse, delta, CAUSAL });
    const { dq } = attentionQueryGradients.call({ q, k, v, dOut, lse, delta, CAUSAL });
    return { q: dq, k: dk, v: dv };
  },
);

main(import.meta, attentionWithGradients);
