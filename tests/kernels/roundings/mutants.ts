/**
 * Kernels with one rounding below their inputs, outputs and reference, in a line with the comment `rounds`. Each also
 * exists with that rounding declared.
 */
import { constexpr, kernel, op, tensor, type Tile, tl } from "tilescript";

const rows = {
  x: tensor(tl.float32, ["M", "N"]),
  y: tensor.out(tl.float32, ["M", "N"]),
  BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
};
const halfRows = {
  x: tensor(tl.float16, ["M", "N"]),
  y: tensor.out(tl.float16, ["M", "N"]),
  BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
};
/** The declared sizes. */
const launch = { shapes: [{ M: 5, N: 100 }] };
const tolerance = { rtol: 0.05, rms: 0.05 };
/** A tolerance, if the author declares one. */
const given = (isDeclared: boolean) => isDeclared && { tolerance };

/** Each factory returns the mutant, or its twin with a declaration. */
export const mutants = {
  "RMS norm through bfloat16": (isDeclared: boolean) =>
    kernel(
      "rms_norm",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }, torch) => {
          const y = x.mul(torch.rsqrt(x.square().mean(-1, { keepdim: true }).add(1e-6)));
          return isDeclared ? y.to(tl.bfloat16) : y;
        },
        ...launch,
      },
      ({ x, y, N, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const v = tl.load(x.at(row, columns));
        const scale = tl.rsqrt(tl.sum(v.mul(v), 0).div(N.to(tl.float32)).add(1e-6));
        const normed = v.mul(scale).to(tl.bfloat16); // rounds
        tl.store(y.at(row, columns), normed.to(tl.float32));
      },
    ),
  "softmax, its sum in float16": (isDeclared: boolean) =>
    kernel(
      "softmax",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }) => x.softmax(-1),
        ...launch,
        ...given(isDeclared),
      },
      ({ x, y, N, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const v = tl.where(columns.lt(N), tl.load(x.at(row, columns)), -Infinity);
        const weights = tl.exp(v.sub(tl.max(v, 0)));
        const total = tl.sum(weights, 0, { dtype: tl.float16 }); // rounds
        tl.store(y.at(row, columns), weights.div(total));
      },
    ),
  "softmax of float16, its sum in float16": (isDeclared: boolean) =>
    kernel(
      "softmax",
      {
        params: halfRows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }) => x.softmax(-1),
        ...launch,
        ...given(isDeclared),
      },
      ({ x, y, N, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const v = tl.where(columns.lt(N), tl.load(x.at(row, columns)), -Infinity);
        const weights = tl.exp(v.sub(tl.max(v, 0)).to(tl.float32)).to(tl.float16);
        const total = tl.sum(weights, 0); // rounds
        tl.store(y.at(row, columns), weights.to(tl.float32).div(total.to(tl.float32)).to(tl.float16));
      },
    ),
  "exp rounded to bfloat16": (isDeclared: boolean) =>
    kernel(
      "softmax",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }, torch) => {
          if (!isDeclared) return x.softmax(-1);
          const weights = torch.exp(x.sub(x.amax(-1, true))).to(tl.bfloat16);
          return weights.div(weights.sum(-1, true));
        },
        ...launch,
      },
      ({ x, y, N, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const v = tl.where(columns.lt(N), tl.load(x.at(row, columns)), -Infinity);
        const weights = tl.exp(v.sub(tl.max(v, 0))).to(tl.bfloat16); // rounds
        const wide = weights.to(tl.float32);
        tl.store(y.at(row, columns), wide.div(tl.sum(wide, 0)));
      },
    ),
  "the mean of a layer norm in float16": (isDeclared: boolean) =>
    kernel(
      "layer_norm",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }, torch) => {
          const mean = x.mean(-1, { keepdim: true });
          const centered = x.sub(isDeclared ? mean.to(tl.float16) : mean);
          return centered.mul(torch.rsqrt(centered.square().mean(-1, { keepdim: true }).add(1e-5)));
        },
        ...launch,
      },
      ({ x, y, N, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const [v, count] = [tl.load(x.at(row, columns)), N.to(tl.float32)];
        const mean = tl.sum(v, 0).div(count).to(tl.float16); // rounds
        const centered = tl.where(columns.lt(N), v.sub(mean), 0);
        const variance = tl.sum(centered.mul(centered), 0).div(count);
        tl.store(y.at(row, columns), centered.mul(tl.rsqrt(variance.add(1e-5))));
      },
    ),
  "the variance of a layer norm in bfloat16": (isDeclared: boolean) =>
    kernel(
      "layer_norm",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }, torch) => {
          const centered = x.sub(x.mean(-1, { keepdim: true }));
          const variance = centered.square().mean(-1, { keepdim: true });
          return centered.mul(torch.rsqrt((isDeclared ? variance.to(tl.bfloat16) : variance).add(1e-5)));
        },
        ...launch,
      },
      ({ x, y, N, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const [v, count] = [tl.load(x.at(row, columns)), N.to(tl.float32)];
        const centered = tl.where(columns.lt(N), v.sub(tl.sum(v, 0).div(count)), 0);
        const variance = tl.sum(centered.mul(centered), 0).div(count).to(tl.bfloat16); // rounds
        tl.store(y.at(row, columns), centered.mul(tl.rsqrt(variance.to(tl.float32).add(1e-5))));
      },
    ),
  "a prefix sum in float16": (isDeclared: boolean) =>
    kernel(
      "prefix_sums",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }) => x.cumsum(-1),
        ...launch,
        ...given(isDeclared),
      },
      ({ x, y, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const sums = tl.cumsum(tl.load(x.at(row, columns)), 0, { dtype: tl.float16 }); // rounds
        tl.store(y.at(row, columns), sums.to(tl.float32));
      },
    ),
  "a running sum in bfloat16": (isDeclared: boolean) =>
    kernel(
      "column_sums",
      {
        params: { x: tensor(tl.bfloat16, ["M", "N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        reference: ({ x }) => x.sum(0),
        ...launch,
        ...given(isDeclared),
      },
      ({ x, y, M, BLOCK }) => {
        const columns = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const sum = tl.mut(tl.zeros([BLOCK], tl.bfloat16));
        for (const row of tl.range(0, M)) {
          sum.value = sum.value.add(tl.load(x.at(row, columns))); // rounds
        }
        tl.store(y.at(columns), sum.value.to(tl.float32));
      },
    ),
  "a combine function in float16": (isDeclared: boolean) =>
    kernel(
      "row_sums",
      {
        params: { ...halfRows, y: tensor.out(tl.float32, ["M"]) },
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }) => x.sum(-1),
        ...launch,
        ...given(isDeclared),
      },
      ({ x, y, BLOCK }) => {
        const row = tl.programId(0);
        const v = tl.load(x.at(row, tl.arange(0, BLOCK)));
        const sum = tl.reduce(v, 0, (a, b) => a.add(b)); // rounds
        tl.store(y.at(row), sum.to(tl.float32));
      },
    ),
  "a product summed in float16": (isDeclared: boolean) =>
    kernel(
      "gemm",
      {
        params: {
          a: tensor(tl.float16, ["M", "K"], { range: [-2, 2] }),
          b: tensor(tl.float16, ["K", "N"], { range: [-2, 2] }),
          c: tensor.out(tl.float32, ["M", "N"]),
          BLOCK: constexpr(),
        },
        grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
        reference: ({ a, b }, torch) => torch.matmul(a, b),
        shapes: [{ M: 20, N: 30, K: 50 }],
        ...given(isDeclared),
      },
      ({ a, b, c, K, BLOCK }) => {
        const rowsOfC = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
        const sum = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float16));
        for (const k of tl.range(0, K, BLOCK)) {
          const inner = k.add(tl.arange(0, BLOCK));
          const [left, right] = [tl.load(a.at(rowsOfC, inner)), tl.load(b.at(inner, columns))];
          sum.value = tl.dot(left, right, sum.value, { outDtype: tl.float16 }); // rounds
        }
        tl.store(c.at(rowsOfC, columns), sum.value.to(tl.float32));
      },
    ),
  "a product of float16 summed in float16": (isDeclared: boolean) =>
    kernel(
      "gemm",
      {
        params: {
          a: tensor(tl.float16, ["M", "K"], { range: [-2, 2] }),
          b: tensor(tl.float16, ["K", "N"], { range: [-2, 2] }),
          c: tensor.out(tl.float16, ["M", "N"]),
          BLOCK: constexpr(),
        },
        grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
        reference: ({ a, b }, torch) => torch.matmul(a, b),
        shapes: [{ M: 20, N: 30, K: 50 }],
        ...given(isDeclared),
      },
      ({ a, b, c, K, BLOCK }) => {
        const rowsOfC = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
        const sum = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float16));
        for (const k of tl.range(0, K, BLOCK)) {
          const inner = k.add(tl.arange(0, BLOCK));
          const product = tl.dot(tl.load(a.at(rowsOfC, inner)), tl.load(b.at(inner, columns)));
          sum.value = sum.value.to(tl.float32).add(product).to(tl.float16); // rounds
        }
        tl.store(c.at(rowsOfC, columns), sum.value);
      },
    ),
  "an operand of a product cast to float16": (isDeclared: boolean) =>
    kernel(
      "gemm",
      {
        params: {
          a: tensor(tl.float32, ["M", "K"]),
          b: tensor(tl.bfloat16, ["K", "N"]),
          c: tensor.out(tl.float32, ["M", "N"]),
          BLOCK: constexpr(),
        },
        grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
        reference: ({ a, b }, torch) => torch.matmul(isDeclared ? a.to(tl.float16) : a, b),
        shapes: [{ M: 20, N: 30, K: 50 }],
      },
      ({ a, b, c, K, BLOCK }) => {
        const rowsOfC = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
        const sum = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
        for (const k of tl.range(0, K, BLOCK)) {
          const inner = k.add(tl.arange(0, BLOCK));
          const left = tl.load(a.at(rowsOfC, inner)).to(tl.float16); // rounds
          const right = tl.load(b.at(inner, columns)).to(tl.float32);
          sum.value = tl.dot(left.to(tl.float32), right, sum.value, { inputPrecision: "ieee" });
        }
        tl.store(c.at(rowsOfC, columns), sum.value);
      },
    ),
  "a factor in bfloat16": (isDeclared: boolean) =>
    kernel(
      "scale",
      {
        params: rows,
        grid: ({ M }) => [M],
        requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
        reference: ({ x }) => x.mul(0.1),
        ...launch,
        ...given(isDeclared),
      },
      ({ x, y, BLOCK }) => {
        const [row, columns] = [tl.programId(0), tl.arange(0, BLOCK)];
        const factor = tl.full([BLOCK], 0.1, tl.bfloat16); // rounds
        tl.store(y.at(row, columns), tl.load(x.at(row, columns)).mul(factor));
      },
    ),
  "float64 through float32": (isDeclared: boolean) =>
    kernel(
      "scale",
      {
        params: { x: tensor(tl.float64, ["N"]), y: tensor.out(tl.float64, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        reference: ({ x }) => x.mul(3),
        shapes: [{ N: 100 }],
        ...given(isDeclared),
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const v = tl.load(x.at(i)).to(tl.float32); // rounds
        tl.store(y.at(i), v.to(tl.float64).mul(3));
      },
    ),
  "bfloat16 through an 8-bit float": (isDeclared: boolean) =>
    kernel(
      "scale",
      {
        params: { x: tensor(tl.bfloat16, ["N"]), y: tensor.out(tl.bfloat16, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        reference: ({ x }) => (isDeclared ? x.to(tl.float8e5) : x).to(tl.bfloat16),
        shapes: [{ N: 100 }],
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const v = tl.load(x.at(i)).to(tl.float8e5); // rounds
        tl.store(y.at(i), v.to(tl.bfloat16));
      },
    ),
  "a cast in a helper function": (isDeclared: boolean) =>
    kernel(
      "squares",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        reference: ({ x }) => (isDeclared ? x.to(tl.bfloat16) : x).square(),
        shapes: [{ N: 100 }],
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const v = rounded(tl.load(x.at(i)));
        tl.store(y.at(i), v.mul(v));
      },
    ),
  "a tensor between kernels in bfloat16": (isDeclared: boolean) =>
    op(
      "squares_and_one",
      {
        params: { x: tensor(tl.float32, ["N"]), z: tensor.out(tl.float32, ["N"]) },
        reference: ({ x }) => (isDeclared ? x.square().to(tl.bfloat16) : x.square()).add(1),
        shapes: [{ N: 50 }],
      },
      ({ x }) => {
        const { y } = squares.call({ x }); // rounds
        return addOne.call({ y });
      },
    ),
};

const rounded = tl.fn((value: Tile<"float32", ["BLOCK"]>) => {
  return value.to(tl.bfloat16).to(tl.float32); // rounds
});

const squares = kernel(
  "squares",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.bfloat16, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const v = tl.load(x.at(i));
    tl.store(y.at(i), v.mul(v).to(tl.bfloat16)); // rounds
  },
);

const addOne = kernel(
  "add_one",
  {
    params: { y: tensor(tl.bfloat16, ["N"]), z: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ y, z, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(z.at(i), tl.load(y.at(i)).to(tl.float32).add(1));
  },
);
