/** Kernels whose launch has a limit that the caller's tensors may exceed. */
import { constexpr, descriptor, kernel, pointer, scalar, tensor, tl } from "tilescript";

const f32 = tl.float32;

/** A program for each row, on the second axis of the grid. */
export const copiedRows = kernel(
  "copied_rows",
  { params: { x: tensor(f32, ["H"]), y: tensor.out(f32, ["H"]) }, grid: ({ H }) => [1, H] },
  ({ x, y }) => {
    const row = tl.programId(1);
    tl.store(y.at(row), tl.load(x.at(row)));
  },
);

/** The same, with a tuned number of rows for each program. */
export const tunedRows = kernel(
  "tuned_rows",
  {
    params: { x: tensor(f32, ["H"]), y: tensor.out(f32, ["H"]), ROWS: constexpr() },
    grid: ({ H, ROWS }) => [1, tl.cdiv(H, ROWS)],
    autotune: { key: ["H"], configs: [{ ROWS: 2 }, { ROWS: 4 }] },
  },
  ({ x, y, ROWS }) => {
    const rows = tl.programId(1).mul(ROWS).add(tl.arange(0, ROWS));
    tl.store(y.at(rows), tl.load(x.at(rows)));
  },
);

/** Adds up the elements of each column in an order that no one knows. */
export const columnSums = kernel(
  "column_sums",
  {
    params: { x: tensor(f32, ["M", "N"]), y: tensor.out(f32, ["N"], { zeroed: true }), BLOCK: constexpr() },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK }) => {
    const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.atomicAdd(y.at(columns), tl.load(x.at(tl.programId(0), columns)));
  },
);

/** Counts positive elements, in an order that does not matter. */
export const positiveCounts = kernel(
  "positive_counts",
  {
    params: { x: tensor(f32, ["M", "N"]), y: tensor.out(tl.int32, ["N"], { zeroed: true }), BLOCK: constexpr() },
    grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK }) => {
    const columns = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const isPositive = tl.load(x.at(tl.programId(0), columns)).gt(0);
    tl.atomicAdd(y.at(columns), isPositive.to(tl.int32));
  },
);

/** Copies a matrix through descriptors that the launch makes. */
export const copiedBlocks = kernel(
  "copied_blocks",
  {
    params: {
      x: descriptor(tl.int8, ["M", "N"], ["BM", "BN"]),
      y: descriptor.out(tl.int8, ["M", "N"], ["BM", "BN"]),
      BM: constexpr(),
      BN: constexpr(),
    },
    grid: ({ M, N, BM, BN }) => [tl.cdiv(M, BM), tl.cdiv(N, BN)],
    config: { BM: 32, BN: 128 },
    requires: ({ N }) => [N.le(1024)],
  },
  ({ x, y, BM, BN }) => {
    const at = [tl.programId(0).mul(BM), tl.programId(1).mul(BN)] as const;
    y.store(at, x.load(at));
  },
);

/** Copies rows between raw pointers through descriptors that the kernel makes. */
export const copiedThroughPointers = kernel(
  "copied_through_pointers",
  {
    params: {
      from: pointer(tl.float32),
      into: pointer(tl.float32),
      M: scalar(tl.int32),
      N: scalar(tl.int32),
      stride: scalar(tl.int32),
      BLOCK: constexpr(),
    },
    grid: () => [1],
    config: { BLOCK: 16 },
  },
  ({ from, into, M, N, stride, BLOCK }) => {
    const x = tl.makeTensorDescriptor(from, [M, N], [stride, 1], [BLOCK, BLOCK]);
    const y = tl.makeTensorDescriptor(into, [M, N], [stride, 1], [BLOCK, BLOCK]);
    y.store([0, 0], x.load([0, 0]));
  },
);
