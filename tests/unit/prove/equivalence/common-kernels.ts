/** Kernels of the operations that neural networks are made of, each as one would write it, with its reference. */
import { constexpr, kernel, scalar, tensor, type Tile, tl } from "../../../../src/index.js";

type Vector = Tile<"float32", ["BLOCK"]>;

/** A function of each element. */
const elementwise = (name: string, body: (x: Vector) => Vector, reference: (x: any, torch: any) => any) =>
  kernel(
    name,
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 1024 },
      reference: ({ x }, torch) => reference(x, torch),
    },
    ({ x, y, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), body(tl.load(x.at(i))));
    },
  );

const leakyRelu = elementwise(
  "leaky_relu",
  (x) => tl.where(x.gt(0), x, x.mul(0.01)),
  (x, torch) => torch.nn.functional.leaky_relu(x),
);
const relu = elementwise(
  "relu",
  (x) => tl.maximum(x, 0),
  (x, torch) => torch.relu(x),
);
const sigmoid = elementwise(
  "sigmoid",
  (x) => tl.sigmoid(x),
  (x, torch) => torch.sigmoid(x),
);
const tanh = elementwise(
  "tanh",
  (x) => tl.sigmoid(x.mul(2)).mul(2).sub(1),
  (x, torch) => torch.tanh(x),
);
const swish = elementwise(
  "swish",
  (x) => x.mul(tl.sigmoid(x)),
  (x, torch) => torch.nn.functional.silu(x),
);
const gelu = elementwise(
  "gelu",
  (x) => {
    const u = x.add(x.mul(x).mul(x).mul(0.044715)).mul(0.7978845608028654);
    return tl.sigmoid(u.mul(2)).mul(x);
  },
  (x, torch) => torch.nn.functional.gelu(x, { approximate: "tanh" }),
);
const hardTanh = elementwise(
  "hard_tanh",
  (x) => tl.clamp(x, -1, 1),
  (x, torch) => torch.clamp(x, -1, 1),
);
const softsign = elementwise(
  "softsign",
  (x) => x.div(tl.abs(x).add(1)),
  (x) => x.div(x.abs().add(1)),
);

const scaled = kernel(
  "scaled",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      factor: scalar(tl.float32),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    reference: ({ x, factor }) => x.mul(factor),
  },
  ({ x, factor, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i), tl.load(x.at(i)).mul(factor));
  },
);

const BLOCKS = { BLOCK_M: constexpr(), BLOCK_N: constexpr(), BLOCK_K: constexpr() };
const CONFIG = { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32 };

/** A product of matrices, either of which may be stored transposed. */
const product = (name: string, isATransposed: boolean, isBTransposed: boolean) =>
  kernel(
    name,
    {
      params: {
        a: tensor(tl.float16, isATransposed ? ["K", "M"] : ["M", "K"]),
        b: tensor(tl.float16, isBTransposed ? ["N", "K"] : ["K", "N"]),
        c: tensor.out(tl.float32, ["M", "N"]),
        ...BLOCKS,
      },
      grid: ({ M, N, BLOCK_M, BLOCK_N }: any) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
      config: CONFIG,
      reference: ({ a, b }: any, torch: any) => torch.matmul(isATransposed ? a.t() : a, isBTransposed ? b.t() : b),
    },
    ({ a, b, c, K, BLOCK_M, BLOCK_N, BLOCK_K }: any) => {
      const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
      const rn = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
      const acc: any = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
      for (const k of tl.range(0, K, BLOCK_K)) {
        const rk = k.add(tl.arange(0, BLOCK_K));
        const x = isATransposed ? tl.load(a.at(rk, rm).T) : tl.load(a.at(rm, rk));
        const y = isBTransposed ? tl.load(b.at(rn, rk).T) : tl.load(b.at(rk, rn));
        acc.value = tl.dot(x, y, acc.value);
      }
      tl.store(c.at(rm, rn), acc.value);
    },
  );

const batchedProduct = kernel(
  "batched_product",
  {
    params: {
      a: tensor(tl.float16, ["B", "M", "K"]),
      b: tensor(tl.float16, ["B", "K", "N"]),
      c: tensor.out(tl.float32, ["B", "M", "N"]),
      ...BLOCKS,
    },
    grid: ({ B, M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), B],
    config: CONFIG,
    reference: ({ a, b }, torch) => torch.bmm(a, b),
  },
  ({ a, b, c, K, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const batch = tl.inBounds(tl.programId(2));
    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const rn = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      acc.value = tl.dot(tl.load(a.at(batch, rm, rk)), tl.load(b.at(batch, rk, rn)), acc.value);
    }
    tl.store(c.at(batch, rm, rn), acc.value);
  },
);

const matrixVector = kernel(
  "matrix_vector",
  {
    params: {
      a: tensor(tl.float32, ["M", "K"]),
      x: tensor(tl.float32, ["K"]),
      y: tensor.out(tl.float32, ["M"]),
      BLOCK: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK: 256 },
    reference: ({ a, x }) => a.mul(x).sum(-1),
  },
  ({ a, x, y, K, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const acc = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const k of tl.range(0, K, BLOCK)) {
      const rk = k.add(tl.arange(0, BLOCK));
      acc.value = acc.value.add(tl.load(a.at(row, rk)).mul(tl.load(x.at(rk))));
    }
    tl.store(y.at(row), tl.sum(acc.value, 0));
  },
);

const diagonalProduct = kernel(
  "diagonal_product",
  {
    params: {
      d: tensor(tl.float32, ["M"]),
      b: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 256 },
    reference: ({ d, b }) => d.unsqueeze(1).mul(b),
  },
  ({ d, b, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(row, cols), tl.load(d.at(row)).mul(tl.load(b.at(row, cols))));
  },
);

/** A function of each row, which one tile contains. */
const rows = (
  name: string,
  other: number,
  body: (values: Vector, N: any, isInside: any) => any,
  reference: (x: any, torch: any) => any,
) =>
  kernel(
    name,
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
      },
      grid: ({ M }) => [M],
      requires: ({ N, BLOCK }) => [N.ge(1), BLOCK.ge(N)],
      reference: ({ x }, torch) => reference(x, torch),
    },
    ({ x, y, N, BLOCK }) => {
      const row = tl.inBounds(tl.programId(0));
      const cols = tl.arange(0, BLOCK);
      tl.store(y.at(row, cols), body(tl.load(x.at(row, cols), { other }), N, cols.lt(N)));
    },
  );

const softmax = rows(
  "softmax",
  -Infinity,
  (values) => {
    const powers = tl.exp(values.sub(tl.max(values, 0)));
    return powers.div(tl.sum(powers, 0));
  },
  (x, torch) => torch.softmax(x, -1),
);
const logSoftmax = rows(
  "log_softmax",
  -Infinity,
  (values) => {
    const shifted = values.sub(tl.max(values, 0));
    return shifted.sub(tl.log(tl.sum(tl.exp(shifted), 0)));
  },
  (x, torch) => torch.nn.functional.log_softmax(x, -1),
);
const rmsNorm = rows(
  "rms_norm",
  0,
  (values, N) => values.mul(tl.rsqrt(tl.sum(values.mul(values), 0).div(N.to(tl.float32)).add(1e-5))),
  (x, torch) => x.mul(torch.rsqrt(x.mul(x).mean(-1, { keepdim: true }).add(1e-5))),
);
const layerNorm = rows(
  "layer_norm",
  0,
  (values, N, isInside) => {
    const centered = tl.where(isInside, values.sub(tl.sum(values, 0).div(N.to(tl.float32))), 0);
    return centered.mul(tl.rsqrt(tl.sum(centered.mul(centered), 0).div(N.to(tl.float32)).add(1e-5)));
  },
  (x, torch) => {
    const centered = x.sub(x.mean(-1, { keepdim: true }));
    return centered.mul(torch.rsqrt(centered.mul(centered).mean(-1, { keepdim: true }).add(1e-5)));
  },
);
const l2Norm = rows(
  "l2_norm",
  0,
  (values) => values.div(tl.sqrt(tl.sum(values.mul(values), 0).add(1e-12))),
  (x, torch) => x.div(torch.sqrt(x.mul(x).sum(-1, { keepdim: true }).add(1e-12))),
);
const cumulativeSum = rows(
  "cumulative_sum",
  0,
  (values) => tl.cumsum(values, 0),
  (x, torch) => torch.cumsum(x, -1),
);

/** One result for each row, in blocks of columns. */
const sumOfColumns = kernel(
  "sum_of_columns",
  {
    params: {
      x: tensor(tl.float32, ["B", "M", "N"]),
      y: tensor.out(tl.float32, ["B", "N"]),
      ROWS: constexpr(),
      BLOCK: constexpr(),
    },
    grid: ({ B, N, BLOCK }) => [tl.cdiv(N, BLOCK), B],
    config: { ROWS: 16, BLOCK: 64 },
    reference: ({ x }) => x.sum(1),
  },
  ({ x, y, M, ROWS, BLOCK }) => {
    const batch = tl.inBounds(tl.programId(1));
    const cols = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const acc = tl.mut(tl.zeros([ROWS, BLOCK], tl.float32));
    for (const start of tl.range(0, M, ROWS))
      acc.value = acc.value.add(tl.load(x.at(batch, start.add(tl.arange(0, ROWS)), cols)));
    tl.store(y.at(batch, cols), tl.sum(acc.value, 0));
  },
);

const maximumOfRows = kernel(
  "maximum_of_rows",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
    grid: ({ M }) => [M],
    requires: ({ N }) => [N.ge(1)],
    config: { BLOCK: 256 },
    reference: ({ x }, torch) => torch.amax(x, -1),
  },
  ({ x, y, N, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const best = tl.mut(tl.full([BLOCK], -Infinity, tl.float32));
    for (const start of tl.range(0, N, BLOCK))
      best.value = tl.maximum(best.value, tl.load(x.at(row, start.add(tl.arange(0, BLOCK))), { other: -Infinity }));
    tl.store(y.at(row), tl.max(best.value, 0));
  },
);

const argmaxOfRows = kernel(
  "argmax_of_rows",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.int32, ["M"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK }) => [N.ge(1), BLOCK.ge(N)],
    reference: ({ x }, torch) => torch.argmax(x, -1),
  },
  ({ x, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    tl.store(y.at(row), tl.argmax(tl.load(x.at(row, tl.arange(0, BLOCK)), { other: -Infinity }), 0));
  },
);

const meanSquaredError = kernel(
  "mean_squared_error",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      target: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, [1]),
      BLOCK: constexpr(),
    },
    grid: () => [1],
    requires: ({ N }) => [N.ge(1)],
    config: { BLOCK: 1024 },
    reference: ({ x, target }) => x.sub(target).mul(x.sub(target)).mean(0, { keepdim: true }),
  },
  ({ x, target, y, N, BLOCK }) => {
    const acc = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const start of tl.range(0, N, BLOCK)) {
      const i = start.add(tl.arange(0, BLOCK));
      const difference = tl.load(x.at(i)).sub(tl.load(target.at(i)));
      acc.value = acc.value.add(difference.mul(difference));
    }
    tl.store(y.at(0), tl.sum(acc.value, 0).div(N.to(tl.float32)));
  },
);

export const commonKernels = [
  product("product", false, false),
  product("product_of_transposed_a", true, false),
  product("product_of_transposed_b", false, true),
  batchedProduct,
  matrixVector,
  scaled,
  diagonalProduct,
  relu,
  leakyRelu,
  sigmoid,
  tanh,
  swish,
  gelu,
  hardTanh,
  softsign,
  softmax,
  logSoftmax,
  rmsNorm,
  layerNorm,
  l2Norm,
  cumulativeSum,
  sumOfColumns,
  maximumOfRows,
  argmaxOfRows,
  meanSquaredError,
];
