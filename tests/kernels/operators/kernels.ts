/** Small operators, right and wrong. */
import { constexpr, kernel, op, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float32]);

export const scaled = kernel(
  "scaled",
  {
    params: { x: tensor(T, ["M", "N"]), weight: tensor(T, ["N"]), y: tensor.out(T, ["M", "N"]), BLOCK: constexpr() },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ x, weight, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(tl.load(weight.at(cols))));
  },
);

/** x + by, with a number that the caller gives. */
export const shifted = kernel(
  "shifted",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      y: tensor.out(T, ["M", "N"]),
      by: scalar(tl.int32),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ x, y, by, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(row, cols), tl.load(x.at(row, cols)).add(by.to(T)));
  },
);

/** The first element of each row. */
export const rows = kernel(
  "rows",
  { params: { x: tensor(T, ["M", "N"]), y: tensor.out(T, ["M"]) }, grid: ({ M }) => [M], config: {} },
  ({ x, y }) => {
    const row = tl.inBounds(tl.programId(0));
    tl.store(y.at(row), tl.load(x.at(row, 0)));
  },
);

/** Adds to what is there. */
export const accumulate = kernel(
  "accumulate",
  {
    params: { x: tensor(tl.float32, ["N"]), total: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ x, total, BLOCK }) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(total.at(at), tl.load(total.at(at)).add(tl.load(x.at(at))));
  },
);

/** A gradient of kernels and of torch between them. */
export const scale = op(
  "scale",
  {
    params: { x: tensor(T, ["M", "N"]), weight: tensor(T, ["N"]), y: tensor.out(T, ["M", "N"]) },
    reference: ({ x, weight }) => x.mul(weight),
  },
  ({ x, weight }) => scaled.call({ x, weight }),
  ({ x, weight }, { y: dy }) => ({
    x: scaled.call({ x: dy, weight }).y,
    weight: dy.float().mul(x.float()).sum(0).to(T),
  }),
);

/** Gradients of which each needs something of its own, and two share something. */
export const affine = op(
  "affine",
  {
    params: {
      x: tensor(T, ["M", "N"]),
      weight: tensor(T, ["N"]),
      bias: tensor(T, ["N"]).optional(),
      y: tensor.out(T, ["M", "N"]),
    },
    reference: ({ x, weight, bias }, torch) => x.mul(weight).add(bias.otherwise(torch.zeros_like(weight))),
  },
  ({ x, weight, bias }, torch) => ({
    y: scaled.call({ x, weight }).y.add(bias.otherwise(torch.zeros_like(weight))),
  }),
  ({ x, weight }, { y: dy }) => {
    const { y: dx } = scaled.call({ x: dy, weight });
    const wide = dy.float();
    return { x: dx, weight: wide.mul(x.float()).sum(0).to(T), bias: wide.sum(0).to(T) };
  },
);

/** A temporary that a kernel updates after torch looked at it. */
export const doubled = op(
  "doubled",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      before: tensor.out(tl.float32, ["N"]),
      after: tensor.out(tl.float32, ["N"]),
    },
    reference: ({ x }) => [x.add(1), x.mul(2)],
  },
  ({ x }) => {
    const total = x.clone();
    const before = total.add(1);
    accumulate.call({ x, total });
    return { before, after: total };
  },
);

/** y = x where x is positive, of tensors without gaps. */
const positive = kernel(
  "positive",
  {
    params: {
      x: tensor(T, ["M", "N"], { contiguous: true }),
      by: tensor(T, ["M", "N"], { contiguous: true }).optional(),
      y: tensor.out(T, ["M", "N"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ x, by, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(row, cols));
    tl.when(by.given, () => {
      tl.store(y.at(row, cols), tl.where(values.gt(0), tl.load(by.at(row, cols)), 0));
    }).otherwise(() => {
      tl.store(y.at(row, cols), tl.maximum(values, 0));
    });
  },
);

/** x · weight, positive; its gradient wants rows of x, which it takes in any layout, and the weight has none. */
export const rectified = op(
  "rectified",
  {
    params: { x: tensor(T, ["M", "N"]), weight: tensor(T, ["N"]), y: tensor.out(T, ["M", "N"]) },
    reference: ({ x, weight }, torch) => torch.relu(x.mul(weight)),
  },
  ({ x, weight }, torch) => ({ y: torch.relu(scaled.call({ x, weight }).y) }),
  ({ x, weight }, { y: dy }) => {
    const passed = positive.call({ x: scaled.call({ x, weight }).y, by: dy }).y;
    const { y: kept } = positive.call({ x });
    return { x: scaled.call({ x: passed, weight }).y.add(kept.mul(0)) };
  },
);
