/**
 * The loss of a language model's last layer, cross_entropy(x Wᵀ, labels), without its logits in memory: 4096 tokens over
 * a vocabulary of 128,256 words have a gigabyte of them, and their gradient as much again.
 *
 * The forward pass keeps a maximum and a sum for each token and tile of the vocabulary. The gradient computes the logits
 * once more, a sixteenth of the vocabulary at a time, so it multiplies four matrices where PyTorch multiplies three.
 */
import { type Constexpr, constexpr, kernel, main, op, type Scalar, scalar, tensor, tl } from "tilescript";
import { LN_2, LOG2_E } from "./cross-entropy.js";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

/** Parts of the vocabulary whose logits have a gradient in memory at one time. */
const PARTS = 16;
/** Words in a tile of the forward pass. */
const TILE_V = 256;

const x = tensor(T, ["M", "K"]);
const weight = tensor(T, ["V", "K"], { offsets: tl.int64 });
const labels = tensor(tl.int64, ["M"], { range: [0, "V"] });
const tileSums = ["TILES", "M"] as const;

const blocks = { BLOCK_M: constexpr(), BLOCK_N: constexpr(), BLOCK_K: constexpr() };
const GROUP_M = 8;

/** The block of rows and of columns that a program computes. Programs that run at one time share rows in L2. */
function blockOf(
  rows: Scalar<"int32">,
  columns: Scalar<"int32">,
  BLOCK_M: Constexpr<"BLOCK_M">,
  BLOCK_N: Constexpr<"BLOCK_N">,
) {
  const pid = tl.programId(0);
  const numPidM = tl.cdiv(rows, BLOCK_M);
  const numPidN = tl.cdiv(columns, BLOCK_N);
  const [pidM, pidN] = tl.swizzle2d(pid.floorDiv(numPidN), pid.mod(numPidN), numPidM, numPidN, GROUP_M);
  return {
    rm: pidM.mul(BLOCK_M).add(tl.arange(0, BLOCK_M)),
    rn: pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N)),
  };
}

const logSumExps = kernel(
  "log_sum_exps",
  {
    doc: "The greatest logit of each row in each tile of the vocabulary, and the tile's sum of exponentials, to base 2.",
    params: {
      x,
      weight,
      best: tensor.out(tl.float32, tileSums),
      total: tensor.out(tl.float32, tileSums),
      BLOCK_M: constexpr(),
      BLOCK_K: constexpr(),
    },
    dims: { TILES: ({ V }) => tl.cdiv(V, TILE_V) },
    grid: ({ M, V, BLOCK_M }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(V, TILE_V)],
    autotune: {
      key: ["M", "V", "K"],
      configs: [
        { BLOCK_M: 128, BLOCK_K: 64, numWarps: 8, numStages: 3 },
        { BLOCK_M: 128, BLOCK_K: 64, numWarps: 8, numStages: 4 },
        { BLOCK_M: 64, BLOCK_K: 64, numWarps: 4, numStages: 4 },
        { BLOCK_M: 32, BLOCK_K: 32, numWarps: 4, numStages: 4 },
      ],
    },
    shapes: [{ M: 4096, V: 128_256, K: 4096 }],
  },
  ({ x, weight, best, total, M, V, K, BLOCK_M, BLOCK_K }) => {
    // Programs that run at one time share a tile of the vocabulary.
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const tile = tl.inBounds(tl.programId(1));
    const rv = tile.mul(TILE_V).add(tl.arange(0, TILE_V));
    // Rows and words wrap instead of being masked inside the loop.
    const xm = tl.inBounds(rm.mod(M));
    const wv = tl.inBounds(rv.mod(V));
    const acc = tl.mut(tl.zeros([BLOCK_M, TILE_V], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(x.at(xm, rk)), tl.load(weight.at(wv, rk)).T, acc.value);
    }
    const logits = tl.where(rv.row.lt(V), acc.value.mul(LOG2_E), -Infinity);
    const top = tl.max(logits, 1);
    tl.store(best.at(tile, rm), top);
    tl.store(total.at(tile, rm), tl.sum(tl.exp2(logits.sub(top.col)), 1));
  },
);

const lossOfTiles = kernel(
  "loss_of_tiles",
  {
    doc: "loss = lse - logit of the label, and lse to base 2, from the tiles' maxima and sums.",
    params: {
      x,
      weight,
      labels,
      best: tensor(tl.float32, tileSums),
      total: tensor(tl.float32, tileSums),
      loss: tensor.out(tl.float32, ["M"]),
      lse: tensor.out(tl.float32, ["M"]),
      BLOCK_T: constexpr.launch(({ TILES }) => tl.nextPowerOf2(TILES)),
      BLOCK_K: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK_K: 1024, numWarps: 4 },
    shapes: [{ M: 4096, V: 128_256, K: 4096, TILES: 501 }],
  },
  ({ x, weight, labels, best, total, loss, lse, K, BLOCK_T, BLOCK_K }) => {
    const row = tl.inBounds(tl.programId(0));
    const tiles = tl.arange(0, BLOCK_T);
    const tops = tl.load(best.at(tiles, row), { other: -Infinity });
    const top = tl.max(tops, 0);
    const sum = tl.sum(tl.load(total.at(tiles, row)).mul(tl.exp2(tops.sub(top))), 0);
    const log2Sum = top.add(tl.log2(sum));
    const label = tl.load(labels.at(row));
    const products = tl.mut(tl.zeros([BLOCK_K], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      const word = tl.load(weight.at(tl.inBounds(label), rk)).to(tl.float32);
      products.value = products.value.add(tl.load(x.at(row, rk)).to(tl.float32).mul(word));
    }
    tl.store(lse.at(row), log2Sum);
    tl.store(loss.at(row), log2Sum.mul(LN_2).sub(tl.sum(products.value, 0)));
  },
);

const partOfLogits = tensor(T, ["M", "PART"]);
const dims = { PART: ({ V }: { readonly V: Scalar<"int32"> }) => tl.cdiv(V, PARTS) };
/** Of a short vocabulary, the last parts begin behind its end. */
const part = scalar(tl.int32, { range: [0, PARTS] });

const configs = [
  { BLOCK_M: 128, BLOCK_N: 256, BLOCK_K: 64, numWarps: 8, numStages: 3 },
  { BLOCK_M: 128, BLOCK_N: 128, BLOCK_K: 64, numWarps: 8, numStages: 3 },
  { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, numWarps: 4, numStages: 4 },
  { BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 32, numWarps: 4, numStages: 4 },
] as const;

const logitGradients = kernel(
  "logit_gradients",
  {
    doc: "(softmax(logits) - onehot(label)) * dloss of the row, for the words of a part of the vocabulary.",
    params: {
      x,
      weight,
      labels,
      lse: tensor(tl.float32, ["M"]),
      dloss: tensor(tl.float32, ["M"]),
      dlogits: tensor.inout(T, ["M", "PART"]),
      part,
      ...blocks,
    },
    grid: ({ M, PART, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(PART, BLOCK_N))],
    dims,
    autotune: { key: ["M", "PART", "K"], configs, restoreValue: ["dlogits"] },
    shapes: [{ M: 4096, V: 128_256, K: 4096 }],
  },
  ({ x, weight, labels, lse, dloss, dlogits, part, M, V, K, PART, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const { rm, rn } = blockOf(M, PART, BLOCK_M, BLOCK_N);
    const words = rn.add(part.mul(PART));
    const xm = tl.inBounds(rm.mod(M));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(x.at(xm, rk)), tl.load(weight.at(words, rk)).T, acc.value);
    }
    const probabilities = tl.exp2(acc.value.mul(LOG2_E).sub(tl.load(lse.at(rm)).col));
    const isLabel = words.row.eq(tl.load(labels.at(rm)).to(tl.int32).col);
    const change = tl.where(isLabel, probabilities.sub(1), probabilities).mul(tl.load(dloss.at(rm)).col);
    // The last part may be longer than what is left of the vocabulary.
    tl.store(dlogits.at(rm, rn), tl.where(words.row.lt(V), change, 0).to(T));
  },
);

const addInputGradients = kernel(
  "add_input_gradients",
  {
    doc: "dx += dlogits @ W, for the words of a part of the vocabulary.",
    params: { dlogits: partOfLogits, weight, dx: tensor.inout(tl.float32, ["M", "K"]), part, ...blocks },
    grid: ({ M, K, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(K, BLOCK_N))],
    dims,
    autotune: { key: ["M", "PART", "K"], configs, restoreValue: ["dx"] },
    shapes: [{ M: 4096, V: 128_256, K: 4096 }],
  },
  ({ dlogits, weight, dx, part, M, K, PART, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const { rm, rn } = blockOf(M, K, BLOCK_M, BLOCK_N);
    const dm = tl.inBounds(rm.mod(M));
    const wn = tl.inBounds(rn.mod(K));
    const acc = tl.mut(tl.load(dx.at(rm, rn)));
    for (const v of tl.range(0, PART, BLOCK_K)) {
      const rv = v.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(dlogits.at(dm, rv)), tl.load(weight.at(rv.add(part.mul(PART)), wn)), acc.value);
    }
    tl.store(dx.at(rm, rn), acc.value);
  },
);

const weightGradients = kernel(
  "weight_gradients",
  {
    doc: "dW = dlogits^T @ x, for the words of a part of the vocabulary.",
    params: { dlogits: partOfLogits, x, dw: tensor.inout(T, ["V", "K"], { offsets: tl.int64 }), part, ...blocks },
    grid: ({ K, PART, BLOCK_M, BLOCK_N }) => [tl.cdiv(PART, BLOCK_M).mul(tl.cdiv(K, BLOCK_N))],
    dims,
    autotune: { key: ["M", "PART", "K"], configs, restoreValue: ["dw"] },
    shapes: [{ M: 4096, V: 128_256, K: 4096 }],
  },
  ({ dlogits, x, dw, part, M, K, PART, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const { rm: rv, rn } = blockOf(PART, K, BLOCK_M, BLOCK_N);
    const dv = tl.inBounds(rv.mod(PART));
    const xn = tl.inBounds(rn.mod(K));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const m of tl.range(0, M, BLOCK_K)) {
      const rm = m.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(dlogits.at(rm, dv)).T, tl.load(x.at(rm, xn)), acc.value);
    }
    tl.store(dw.at(rv.add(part.mul(PART)), rn), acc.value.to(T), { mask: rv.lt(PART).col });
  },
);

export const linearCrossEntropy = op(
  "linear_cross_entropy",
  {
    doc: "The cross-entropy of each row of x @ weight.T with its label, with gradients.",
    params: { x, weight, labels, loss: tensor.out(tl.float32, ["M"]) },
    reference: ({ x, weight, labels }, torch) => {
      const logits = torch.nn.functional.linear(x, weight);
      return torch.nn.functional.cross_entropy(logits.float(), labels, { reduction: "none" });
    },
    shapes: [
      { M: 64, V: 1000, K: 128 },
      { M: 4096, V: 128_256, K: 4096 },
    ],
  },
  ({ x, weight, labels }) => {
    const { best, total } = logSumExps.call({ x, weight });
    return lossOfTiles.call({ x, weight, labels, best, total });
  },
  ({ x, weight, labels, lse, M, V, K }, { loss: dloss }, torch) => {
    const dx = torch.zeros([M, K], { dtype: tl.float32 });
    const dw = torch.empty([V, K], { dtype: T });
    const PART = V.add(PARTS - 1).floorDiv(PARTS);
    const dlogits = torch.empty([M, PART], { dtype: T });
    for (let part = 0; part < PARTS; part++) {
      logitGradients.call({ x, weight, labels, lse, dloss, dlogits, part });
      addInputGradients.call({ dlogits, weight, dx, part });
      weightGradients.call({ dlogits, x, dw, part });
    }
    return { x: dx.to(T), weight: dw };
  },
);

main(import.meta, linearCrossEntropy);
