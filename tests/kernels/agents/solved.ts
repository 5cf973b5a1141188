/** A right kernel for each task of `bench/agents/tasks.ts`. */
export const solved: Readonly<Record<string, string>> = {
  bias_relu: `
const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
export const k = kernel(
  "bias_relu",
  {
    params: { x: tensor(T, ["M", "N"]), bias: tensor(T, ["N"]), y: tensor.out(T, ["M", "N"]), BLOCK: constexpr() },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
  },
  ({ x, bias, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.load(x.at(row, cols)).to(tl.float32).add(tl.load(bias.at(cols)).to(tl.float32));
    tl.store(y.at(row, cols), tl.maximum(sum, 0).to(T));
  },
);`,
  row_mean_var: `
export const k = kernel(
  "row_mean_var",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      mean: tensor.out(tl.float32, ["M"]),
      variance: tensor.out(tl.float32, ["M"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
  },
  ({ x, mean, variance, N, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK);
    const values = tl.load(x.at(row, cols));
    const average = tl.sum(values, 0).div(N);
    const apart = tl.where(cols.lt(N), values.sub(average), 0);
    tl.store(mean.at(row), average);
    tl.store(variance.at(row), tl.sum(apart.mul(apart), 0).div(N));
  },
);`,
  log_softmax: `
export const k = kernel(
  "log_softmax",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr() },
    grid: ({ M }) => [M],
    config: { BLOCK: 512 },
  },
  ({ x, y, N, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const best = tl.mut(tl.full([], -Infinity, tl.float32));
    const total = tl.mut(tl.full([], 0, tl.float32));
    for (const start of tl.range(0, N, BLOCK)) {
      const values = tl.load(x.at(row, start.add(tl.arange(0, BLOCK))), { other: -Infinity });
      const greater = tl.maximum(best.value, tl.max(values, 0));
      total.value = total.value.mul(tl.exp(best.value.sub(greater))).add(tl.sum(tl.exp(values.sub(greater)), 0));
      best.value = greater;
    }
    const shift = best.value.add(tl.log(total.value));
    for (const start of tl.range(0, N, BLOCK)) {
      const cols = start.add(tl.arange(0, BLOCK));
      tl.store(y.at(row, cols), tl.load(x.at(row, cols)).sub(shift));
    }
  },
);`,
  column_sums: `
export const k = kernel(
  "column_sums",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["N"]), BM: constexpr(), BN: constexpr() },
    grid: ({ N, BN }) => [tl.cdiv(N, BN)],
    config: { BM: 32, BN: 32 },
  },
  ({ x, y, M, BM, BN }) => {
    const cols = tl.programId(0).mul(BN).add(tl.arange(0, BN));
    const sums = tl.mut(tl.zeros([BN], tl.float32));
    for (const start of tl.range(0, M, BM))
      sums.value = sums.value.add(tl.sum(tl.load(x.at(start.add(tl.arange(0, BM)), cols)), 0));
    tl.store(y.at(cols), sums.value);
  },
);`,
  gather_rows: `
export const k = kernel(
  "gather_rows",
  {
    params: {
      ids: tensor(tl.int32, ["I"], { range: [0, "V"] }),
      table: tensor(tl.float32, ["V", "D"]),
      y: tensor.out(tl.float32, ["I", "D"]),
      BLOCK: constexpr(),
    },
    grid: ({ I, D, BLOCK }) => [I, tl.cdiv(D, BLOCK)],
    config: { BLOCK: 64 },
  },
  ({ ids, table, y, BLOCK }) => {
    const i = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i, cols), tl.load(table.at(tl.load(ids.at(i)), cols)));
  },
);`,
  batched_nt: `
export const k = kernel(
  "batched_nt",
  {
    params: {
      a: tensor(tl.float16, ["Z", "M", "K"]),
      b: tensor(tl.float16, ["Z", "N", "K"]),
      bias: tensor(tl.float16, ["N"]),
      c: tensor.out(tl.float16, ["Z", "M", "N"]),
      scale: scalar(tl.float32, { default: 1 }),
      BM: constexpr(),
      BN: constexpr(),
      BK: constexpr(),
    },
    grid: ({ Z, M, N, BM, BN }) => [tl.cdiv(M, BM), tl.cdiv(N, BN), Z],
    config: { BM: 32, BN: 32, BK: 32 },
  },
  ({ a, b, bias, c, scale, K, BM, BN, BK }) => {
    const z = tl.inBounds(tl.programId(2));
    const rm = tl.programId(0).mul(BM).add(tl.arange(0, BM));
    const rn = tl.programId(1).mul(BN).add(tl.arange(0, BN));
    const acc = tl.mut(tl.zeros([BM, BN], tl.float32));
    for (const k of tl.range(0, K, BK)) {
      const rk = k.add(tl.arange(0, BK));
      acc.value = tl.dot(tl.load(a.at(z, rm, rk)), tl.trans(tl.load(b.at(z, rn, rk))), acc.value);
    }
    const sum = acc.value.mul(scale).add(tl.load(bias.at(rn)).to(tl.float32).row);
    tl.store(c.at(z, rm, rn), sum.to(tl.float16));
  },
);`,
  l2_normalize: `
const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
export const k = kernel(
  "l2_normalize",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      y: tensor.out(T, ["M", "N"]),
      BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    requires: ({ N, BLOCK }) => [BLOCK.ge(N)],
  },
  ({ x, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK);
    const values = tl.load(x.at(row, cols)).to(tl.float32);
    const norm = tl.maximum(tl.sqrt(tl.sum(values.mul(values), 0)), 1e-6);
    tl.store(y.at(row, cols), values.div(norm).to(T));
  },
);`,
  running_mean: `
export const k = kernel(
  "running_mean",
  {
    params: {
      x: tensor(tl.float32, ["B", "S", "D"]),
      y: tensor.out(tl.float32, ["B", "S", "D"]),
      BS: constexpr(),
      BD: constexpr(),
    },
    grid: ({ B, D, BD }) => [B, tl.cdiv(D, BD)],
    config: { BS: 32, BD: 16 },
  },
  ({ x, y, S, BS, BD }) => {
    const b = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BD).add(tl.arange(0, BD));
    const before = tl.mut(tl.zeros([BD], tl.float32));
    for (const start of tl.range(0, S, BS)) {
      const t = start.add(tl.arange(0, BS));
      const values = tl.load(x.at(b, t, cols));
      const sums = tl.cumsum(values, 0).add(before.value.row);
      tl.store(y.at(b, t, cols), sums.div(t.add(1).to(tl.float32).col));
      before.value = before.value.add(tl.sum(values, 0));
    }
  },
);`,
  count_above: `
export const k = kernel(
  "count_above",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      threshold: scalar(tl.float32, { default: 0.5 }),
      count: tensor.out(tl.int32, [1], { zeroed: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 256 },
  },
  ({ x, threshold, count, N, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const above = tl.load(x.at(i)).gt(threshold).and(i.lt(N));
    tl.atomicAdd(count.at(0), tl.sum(above.to(tl.int32), 0));
  },
);`,
  causal_conv: `
export const k = kernel(
  "causal_conv",
  {
    params: {
      x: tensor(tl.float32, ["C", "L"]),
      w: tensor(tl.float32, ["C", 4]),
      y: tensor.out(tl.float32, ["C", "L"]),
      BLOCK: constexpr(),
    },
    grid: ({ C, L, BLOCK }) => [C, tl.cdiv(L, BLOCK)],
    config: { BLOCK: 128 },
  },
  ({ x, w, y, BLOCK }) => {
    const c = tl.inBounds(tl.programId(0));
    const t = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const j of tl.range(0, 4))
      sum.value = sum.value.add(tl.load(x.at(c, t.sub(3).add(j))).mul(tl.load(w.at(c, j))));
    tl.store(y.at(c, t), sum.value);
  },
);`,
};
