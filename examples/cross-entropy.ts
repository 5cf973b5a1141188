/**
 * Cross-entropy of long rows, such as a vocabulary of 128,256 words, with its gradient.
 *
 * A program takes one row. Each lane keeps a maximum and a sum of its own, so that no lane waits for another inside the
 * loop. `cross-entropy-with-gradient.ts` computes both in one pass.
 */
import { type Constexpr, constexpr, kernel, main, op, type Scalar, tensor, type TensorOf, tl } from "tilescript";

export const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** Powers and logarithms of 2 are cheaper than of e. */
export const LOG2_E = 1.4426950408889634;
export const LN_2 = 0.6931471805599453;

/** Elements that lie side by side in a lane: 16 bytes of 16-bit floats. */
export const WIDTH = 8;

/** A batch of such rows passes 2³¹ elements, so offsets of rows have 64 bits. */
export const logits = tensor(T, ["M", "N"], { offsets: tl.int64 });
export const labels = tensor(tl.int64, ["M"], { range: [0, "N"] });

const lanes = { LANES: constexpr(), ROUNDS: constexpr() };
const configs = [
  { LANES: 128, ROUNDS: 2, numWarps: 4 },
  { LANES: 128, ROUNDS: 4, numWarps: 4 },
  { LANES: 256, ROUNDS: 2, numWarps: 8 },
  { LANES: 256, ROUNDS: 4, numWarps: 8 },
  { LANES: 512, ROUNDS: 2, numWarps: 16 },
] as const;

interface Columns {
  readonly N: Scalar<"int32">;
  readonly LANES: Constexpr<"LANES">;
  readonly ROUNDS: Constexpr<"ROUNDS">;
}

const firstColumns = (LANES: Constexpr<"LANES">, ROUNDS: Constexpr<"ROUNDS">) =>
  tl.arange(0, ROUNDS.mul(LANES).mul(WIDTH));

/** Calls `visit` with the columns of each step over a row: `ROUNDS` times `WIDTH` for each lane. */
function visitColumns({ N, LANES, ROUNDS }: Columns, visit: (columns: ReturnType<typeof firstColumns>) => void): void {
  const columns = firstColumns(LANES, ROUNDS);
  const step = ROUNDS.mul(LANES).mul(WIDTH);
  const whole = N.floorDiv(step).mul(step);
  for (const start of tl.range(0, whole, step)) visit(tl.inBounds(start.add(columns)));
  tl.when(whole.lt(N), () => visit(whole.add(columns)));
}

/** To base 2, the greatest element of a row and how much the logarithm of the row's sum of exponentials is above it. */
interface LogSum {
  readonly shift: Scalar<"float32">;
  readonly log2Sum: Scalar<"float32">;
}

/** As PyTorch has it: NaN for a row of NaN, or of +∞. */
function logSumExp(x: TensorOf<typeof T, ["M", "N"]>, row: Scalar<"int32">, sizes: Columns): LogSum {
  const best = tl.mut(tl.full([sizes.LANES], -Infinity, tl.float32));
  const total = tl.mut(tl.zeros([sizes.LANES], tl.float32));
  visitColumns(sizes, (columns) => {
    const loaded = tl.load(x.at(row, columns), { other: -Infinity }).to(tl.float32);
    const values = tl.reshape(loaded, [sizes.ROUNDS, sizes.LANES, WIDTH]).mul(LOG2_E);
    const newBest = tl.maximum(best.value, tl.max(tl.max(values, 2), 0));
    // A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
    const shift = tl.where(newBest.eq(-Infinity), 0, newBest);
    const powers = tl.exp2(values.sub(tl.expandDims(shift, [0, 2])));
    total.value = total.value.mul(tl.exp2(best.value.sub(shift))).add(tl.sum(tl.sum(powers, 2), 0));
    best.value = newBest;
  });
  const top = tl.max(best.value, 0);
  const shift = tl.where(top.eq(-Infinity), 0, top);
  const sum = tl.sum(total.value.mul(tl.exp2(best.value.sub(shift))), 0);
  return { shift, log2Sum: tl.log2(sum) };
}

/**
 * `lse - logit` of an element of the row, from its distance to the greatest one: that of the greatest one is 0, however
 * the logits were rounded.
 */
export function lossOf({ shift, log2Sum }: LogSum, logit: Scalar<"float32">): Scalar<"float32"> {
  return log2Sum.add(shift.sub(tl.minimum(logit.mul(LOG2_E), shift))).mul(LN_2);
}

const crossEntropyForward = kernel(
  "cross_entropy_forward",
  {
    doc: "loss = lse - logits[row, label], with lse the logarithm of the row's sum of exponentials.",
    params: { logits, labels, loss: tensor.out(tl.float32, ["M"]), lse: tensor.out(tl.float32, ["M"]), ...lanes },
    grid: ({ M }) => [M],
    autotune: { key: ["N"], configs },
    shapes: [{ M: 4096, N: 128_256 }],
  },
  ({ logits, labels, loss, lse, N, LANES, ROUNDS }) => {
    const row = tl.inBounds(tl.programId(0));
    const logSum = logSumExp(logits, row, { N, LANES, ROUNDS });
    const label = tl.load(labels.at(row));
    tl.store(lse.at(row), logSum.shift.add(logSum.log2Sum).mul(LN_2));
    tl.store(loss.at(row), lossOf(logSum, tl.load(logits.at(row, label)).to(tl.float32)));
  },
);

const crossEntropyGradients = kernel(
  "cross_entropy_gradients",
  {
    doc: "dlogits = (softmax(logits) - onehot(label)) * dloss of the row.",
    params: {
      logits,
      labels,
      lse: tensor(tl.float32, ["M"]),
      dloss: tensor(tl.float32, ["M"]),
      dlogits: tensor.out(T, ["M", "N"], { offsets: tl.int64 }),
      BLOCK_N: constexpr(),
    },
    // Programs that start together take blocks of one row, side by side in memory.
    grid: ({ M, N, BLOCK_N }) => [M.mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK_N: 2048, numWarps: 4 },
        { BLOCK_N: 4096, numWarps: 8 },
      ],
    },
    shapes: [{ M: 4096, N: 128_256 }],
  },
  ({ logits, labels, lse, dloss, dlogits, N, BLOCK_N }) => {
    const blocks = tl.cdiv(N, BLOCK_N);
    const row = tl.inBounds(tl.programId(0).floorDiv(blocks));
    const cols = tl.programId(0).mod(blocks).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const values = tl.load(logits.at(row, cols)).to(tl.float32);
    const probabilities = tl.exp2(values.sub(tl.load(lse.at(row))).mul(LOG2_E));
    const hit = cols.eq(tl.load(labels.at(row)).to(tl.int32));
    const change = tl.where(hit, probabilities.sub(1), probabilities);
    tl.store(dlogits.at(row, cols), change.mul(tl.load(dloss.at(row))).to(T));
  },
);

export const crossEntropy = op(
  "cross_entropy",
  {
    doc: "The cross-entropy of each row with its label, with its gradient.",
    params: { logits, labels, loss: tensor.out(tl.float32, ["M"]) },
    reference: ({ logits, labels }, torch) =>
      torch.nn.functional.cross_entropy(logits.float(), labels, { reduction: "none" }),
    shapes: [
      { M: 64, N: 1000 },
      { M: 4096, N: 128_256 },
    ],
  },
  ({ logits, labels }) => crossEntropyForward.call({ logits, labels }),
  ({ logits, labels, lse }, { loss: dloss }) => {
    const { dlogits } = crossEntropyGradients.call({ logits, labels, lse, dloss });
    return { logits: dlogits };
  },
);

main(import.meta, crossEntropy);
