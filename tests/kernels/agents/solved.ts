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
  swiglu: `
const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const swiglu = kernel(
  "swiglu",
  {
    params: {
      gate: tensor(T, ["M", "N"]),
      up: tensor(T, ["M", "N"]),
      y: tensor.out(T, ["M", "N"]),
      BLOCK_N: constexpr(),
    },
    grid: ({ M, N, BLOCK_N }) => [M, tl.cdiv(N, BLOCK_N)],
    config: { BLOCK_N: 1024, numWarps: 4 },
  },
  ({ gate, up, y, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const g = tl.load(gate.at(row, cols)).to(tl.float32);
    const u = tl.load(up.at(row, cols)).to(tl.float32);
    // The exponent is never positive, so exp cannot overflow:
    // sigmoid(g) = 1 / (1 + e) for g >= 0 and e / (1 + e) for g < 0, where e = exp(-|g|).
    const e = tl.exp(tl.abs(g).neg());
    const sigmoid = tl.where(g.lt(0), e, 1).div(e.add(1));
    tl.store(y.at(row, cols), g.mul(sigmoid).mul(u).to(T));
  },
);`,
  transposed: `
export const transposed = kernel(
  "transposed",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["N", "M"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
    config: { BLOCK_M: 64, BLOCK_N: 64, numWarps: 4 },
  },
  ({ x, y, BLOCK_M, BLOCK_N }) => {
    const rows = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const cols = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    tl.store(y.at(cols, rows), tl.trans(tl.load(x.at(rows, cols))));
  },
);`,
  masked_mean: `
export const maskedMean = kernel(
  "masked_mean",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      lengths: tensor(tl.int32, ["M"]),
      y: tensor.out(tl.float32, ["M"]),
      BLOCK_N: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK_N: 1024, numWarps: 4 },
    requires: ({ N }) => [N.ge(1)],
  },
  ({ x, lengths, y, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const length = tl.load(lengths.at(row));
    const acc = tl.mut(tl.zeros([BLOCK_N], tl.float32));
    for (const start of tl.range(0, length, BLOCK_N)) {
      const cols = start.add(tl.arange(0, BLOCK_N));
      const values = tl.load(x.at(row, cols));
      acc.value = acc.value.add(tl.where(cols.lt(length), values, 0));
    }
    tl.store(y.at(row), tl.sum(acc.value, 0).div(length.to(tl.float32)));
  },
);`,
  best_of_rows: `
export const bestOfRows = kernel(
  "best_of_rows",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      value: tensor.out(tl.float32, ["M"]),
      column: tensor.out(tl.int32, ["M"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    config: { numWarps: 4 },
    // One tile must contain a whole row.
    requires: ({ N, BLOCK_N }) => [N.ge(1), N.le(8192), BLOCK_N.ge(N)],
  },
  ({ x, value, column, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    // Columns past the end are -inf, and lose ties to the real columns on their left.
    const values = tl.load(x.at(row, cols), { other: -Infinity });
    tl.store(value.at(row), tl.max(values, 0));
    tl.store(column.at(row), tl.argmax(values, 0, { tieBreakLeft: true }).to(tl.int32));
  },
);`,
  exclusive_sums: `
export const exclusiveSums = kernel(
  "exclusive_sums",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK_N: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    config: { numWarps: 4 },
    // One tile must contain a whole row.
    requires: ({ N, BLOCK_N }) => [N.le(4096), BLOCK_N.ge(N)],
  },
  ({ x, y, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK_N);
    // The element on the left of each column, and 0 on the left of column 0.
    const left = tl.load(x.at(row, cols.sub(1)), { mask: cols.gt(0), other: 0 });
    tl.store(y.at(row, cols), tl.cumsum(left, 0));
  },
);`,
  row_losses: `
export const rowLosses = kernel(
  "row_losses",
  {
    params: {
      logits: tensor(tl.float16, ["M", "V"]),
      labels: tensor(tl.int64, ["M"], { range: [0, "V"] }),
      loss: tensor.out(tl.float32, ["M"]),
      BLOCK_V: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK_V: 2048, numWarps: 8 },
    requires: ({ V }) => [V.ge(1)],
  },
  ({ logits, labels, loss, V, BLOCK_V }) => {
    const row = tl.inBounds(tl.programId(0));
    // A running maximum, and the sum of exp(logit - maximum). The maximum starts finite, so that
    // a first block of -inf does not compute -inf - -inf.
    const max = tl.mut(tl.full([], -1e30, tl.float32));
    const sum = tl.mut(tl.full([], 0, tl.float32));
    for (const start of tl.range(0, V, BLOCK_V)) {
      const cols = start.add(tl.arange(0, BLOCK_V));
      const values = tl.load(logits.at(row, cols), { other: -Infinity }).to(tl.float32);
      const newMax = tl.maximum(max.value, tl.max(values, 0));
      const rescale = tl.exp(max.value.sub(newMax));
      sum.value = sum.value.mul(rescale).add(tl.sum(tl.exp(values.sub(newMax)), 0));
      max.value = newMax;
    }
    const label = tl.load(labels.at(row));
    const picked = tl.load(logits.at(row, label)).to(tl.float32);
    tl.store(loss.at(row), max.value.sub(picked).add(tl.log(sum.value)));
  },
);`,
  dequantized: `
export const dequantized = kernel(
  "dequantized",
  {
    params: {
      q: tensor(tl.int8, ["M", "N"]),
      scale: tensor(tl.float32, ["S"]),
      y: tensor.out(tl.float16, ["M", "N"]),
      BLOCK_N: constexpr(),
    },
    grid: ({ M, N, BLOCK_N }) => [M, tl.cdiv(N, BLOCK_N)],
    config: { BLOCK_N: 1024, numWarps: 4 },
    // Every column has a scale.
    requires: ({ N, S }) => [N.le(S.mul(32))],
  },
  ({ q, scale, y, BLOCK_N }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const values = tl.load(q.at(row, cols)).to(tl.float32);
    const scales = tl.load(scale.at(cols.floorDiv(32)));
    tl.store(y.at(row, cols), values.mul(scales).to(tl.float16));
  },
);`,
  bag_sums: `
export const bagSums = kernel(
  "bag_sums",
  {
    params: {
      ids: tensor(tl.int32, ["B", "L"], { range: [0, "V"] }),
      table: tensor(tl.float32, ["V", "D"]),
      y: tensor.out(tl.float32, ["B", "D"]),
      BLOCK_D: constexpr(),
    },
    grid: ({ B, D, BLOCK_D }) => [B, tl.cdiv(D, BLOCK_D)],
    config: { BLOCK_D: 256, numWarps: 4 },
  },
  ({ ids, table, y, L, BLOCK_D }) => {
    const bag = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK_D).add(tl.arange(0, BLOCK_D));
    const acc = tl.mut(tl.zeros([BLOCK_D], tl.float32));
    for (const l of tl.range(0, L)) {
      const id = tl.load(ids.at(bag, l));
      acc.value = acc.value.add(tl.load(table.at(id, cols)));
    }
    tl.store(y.at(bag, cols), acc.value);
  },
);`,
  one_query_attention: `
export const oneQueryAttention = kernel(
  "one_query_attention",
  {
    params: {
      q: tensor(tl.float16, ["H", 64]),
      k: tensor(tl.float16, ["H", "S", 64]),
      v: tensor(tl.float16, ["H", "S", 64]),
      o: tensor.out(tl.float32, ["H", 64]),
      BLOCK_S: constexpr(),
    },
    grid: ({ H }) => [H],
    config: { BLOCK_S: 64, numWarps: 4 },
    requires: ({ S }) => [S.ge(1)],
  },
  ({ q, k, v, o, S, BLOCK_S }) => {
    const head = tl.inBounds(tl.programId(0));
    const dims = tl.arange(0, 64);
    const query = tl.load(q.at(head, dims)).to(tl.float32);
    const max = tl.mut(tl.full([], -Infinity, tl.float32));
    const sum = tl.mut(tl.full([], 0, tl.float32));
    const acc = tl.mut(tl.zeros([64], tl.float32));
    for (const start of tl.range(0, S, BLOCK_S)) {
      const rows = start.add(tl.arange(0, BLOCK_S));
      const keys = tl.load(k.at(head, rows, dims)).to(tl.float32);
      const products = tl.sum(keys.mul(query.row), 1).mul(0.125);
      // Rows past the end have no weight. Each block has at least one real row, so newMax is finite.
      const scores = tl.where(rows.lt(S), products, -Infinity);
      const newMax = tl.maximum(max.value, tl.max(scores, 0));
      const rescale = tl.exp(max.value.sub(newMax));
      const weights = tl.exp(scores.sub(newMax));
      const values = tl.load(v.at(head, rows, dims)).to(tl.float32);
      sum.value = sum.value.mul(rescale).add(tl.sum(weights, 0));
      acc.value = acc.value.mul(rescale).add(tl.sum(values.mul(weights.col), 0));
      max.value = newMax;
    }
    tl.store(o.at(head, dims), acc.value.div(sum.value));
  },
);`,
  added_rows: `
export const addedRows = kernel(
  "added_rows",
  {
    params: {
      y: tensor.inout(tl.float32, ["I", "D"]),
      ids: tensor(tl.int32, ["I"], { range: [0, "V"] }),
      x: tensor(tl.float32, ["V", "D"]),
      BLOCK_D: constexpr(),
    },
    grid: ({ I, D, BLOCK_D }) => [I, tl.cdiv(D, BLOCK_D)],
    config: { BLOCK_D: 256, numWarps: 4 },
  },
  ({ y, ids, x, BLOCK_D }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK_D).add(tl.arange(0, BLOCK_D));
    const id = tl.load(ids.at(row));
    const sum = tl.load(y.at(row, cols)).add(tl.load(x.at(id, cols)));
    tl.store(y.at(row, cols), sum);
  },
);`,
};
