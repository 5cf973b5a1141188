/**
 * Mistakes that are seeded into right kernels: in the kernel named, the first `from` becomes `to`. `by` is the finding that
 * tells of it, or `values` where only the comparison with the reference can. The line to blame is the one that was
 * changed, unless `at` holds words of another: the access that the mistake makes wrong.
 */
import type { EvaluateOptions } from "../../../src/compiled/compiled-kernel.js";

export interface Mutation {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly at?: readonly string[];
  readonly options?: EvaluateOptions;
  /** It is in the padding: proofs say of some lanes that they change a result. */
  readonly padding?: boolean;
}

export interface Subject {
  /** Beside this file. */
  readonly file: string;
  readonly kernel: string;
  /** Mistakes lie anywhere in the file: the kernels of an operator are values of their own. */
  readonly anywhere?: boolean;
  readonly draw: {
    readonly maxSize: number;
    readonly maxWork?: number;
    readonly sizes?: Readonly<Record<string, number>>;
  };
  readonly scalars?: Readonly<Record<string, number>>;
  readonly mutations: readonly Mutation[];
}

/** `what`, `from`, `to`, then what finds it and, where that is another line, words of the line to blame. */
const finding = (what: string, from: string, to: string, by: string, ...at: string[]): Mutation => ({
  what,
  from,
  to,
  by,
  ...(at.length > 0 && { at }),
});
const values = (what: string, from: string, to: string, options?: EvaluateOptions): Mutation => ({
  what,
  from,
  to,
  by: "values",
  ...(options && { options }),
});

const padding = (what: string, from: string, to: string): Mutation => ({ ...values(what, from, to), padding: true });

export const subjects: readonly Subject[] = [
  {
    file: "../../../examples/vector-add.ts",
    kernel: "vectorAdd",
    draw: { maxSize: 3000 },
    mutations: [
      finding(
        "the grid is one short",
        "[tl.cdiv(N, BLOCK)]",
        "[tl.cdiv(N, BLOCK).sub(1)]",
        "never-written",
        "tl.store(",
        "grid:",
      ),
      finding("blocks overlap", ".mul(BLOCK).add", ".mul(BLOCK).sub(tl.programId(0)).add", "race", "tl.store("),
      finding("blocks start one late", ".mul(BLOCK).add", ".mul(BLOCK).add(1).add", "never-written", "tl.store("),
      finding("the id of another axis", "tl.programId(0)", "tl.programId(1)", "race", "tl.store("),
      finding("lanes two apart", "tl.arange(0, BLOCK)", "tl.arange(0, BLOCK).mul(2)", "race", "tl.store("),
      finding("a load called in bounds", "x.at(offsets)", "x.at(tl.inBounds(offsets))", "false-in-bounds"),
      finding("a store called in bounds", "z.at(offsets)", "z.at(tl.inBounds(offsets))", "false-in-bounds"),
      finding(
        "a load by pointer without a mask",
        "tl.load(x.at(offsets))",
        "tl.load(x.ptr.add(offsets))",
        "out-of-bounds",
      ),
      finding(
        "a masked load without other",
        "tl.load(x.at(offsets))",
        "tl.load(x.ptr.add(offsets), { mask: offsets.lt(1000) })",
        "uninitialized",
      ),
      values("the wrong operator", ".add(tl.load(y", ".sub(tl.load(y"),
      values("one operand twice", "tl.load(y.at", "tl.load(x.at"),
    ],
  },
  {
    file: "../../../examples/softmax.ts",
    kernel: "softmax",
    draw: { maxSize: 100 },
    mutations: [
      finding("the grid is one short", "=> [M]", "=> [M.sub(1)]", "never-written", "tl.store(", "grid:"),
      finding("the grid is one long", "=> [M]", "=> [M.add(1)]", "false-in-bounds", "tl.load("),
      finding("the id of another axis", "tl.programId(0)", "tl.programId(1)", "race", "tl.store("),
      padding("padding of 0", ", { other: -Infinity }", ""),
      padding("padding of the wrong sign", "other: -Infinity", "other: Infinity"),
      values("the largest is not taken off", "values.sub(tl.max(values, 0))", "values", { special: ["largest"] }),
      values("the largest for the sum", "tl.sum(numerator, 0)", "tl.max(numerator, 0)"),
      values("operands swapped", "numerator.div(denominator)", "denominator.div(numerator)"),
      values("another base", "tl.exp(", "tl.exp2("),
      finding("columns from 1", "tl.arange(0, BLOCK_N)", "tl.arange(0, BLOCK_N).add(1)", "never-written", "tl.store("),
      finding(
        "a block smaller than the row",
        `tl.nextPowerOf2(N)),
    },
    grid: ({ M }) => [M],
    // One tile must contain a whole row.
    requires: ({ N, BLOCK_N }) => [BLOCK_N.ge(N)],`,
        `tl.minimum(tl.nextPowerOf2(N), 32)),
    },
    grid: ({ M }) => [M],`,
        "never-written",
        "tl.store(",
      ),
    ],
  },
  {
    file: "../../../examples/gemm-persistent.ts",
    kernel: "gemmPersistent",
    draw: { maxSize: 150, maxWork: 2 ** 17 },
    mutations: [
      finding(
        "tiles are visited again",
        "numPidM.mul(numPidN), PROGRAMS",
        "numPidM.mul(numPidN), 1",
        "race",
        "tl.store(",
      ),
    ],
  },
  {
    file: "../../../examples/jagged-softmax.ts",
    kernel: "jaggedSoftmax",
    draw: { maxSize: 70 },
    mutations: [
      finding(
        "rows end where the tensor does",
        `const rows = tl.inBounds(first.add(lanes));
      const isRow = rows.lt(end).col;
      const x = tl.load(values.at(rows, cols), { mask: isRow, other: -Infinity }).to(tl.float32);
      const y = tl.exp(x.sub(best.value.row)).div(total.value.row);
      tl.store(out.at(rows, cols), y.to(T), { mask: isRow });`,
        `const rows = first.add(lanes);
      const isRow = rows.lt(end).col;
      const x = tl.load(values.at(rows, cols), { mask: isRow, other: -Infinity }).to(tl.float32);
      const y = tl.exp(x.sub(best.value.row)).div(total.value.row);
      tl.store(out.at(rows, cols), y.to(T));`,
        "race",
        "tl.store(",
      ),
    ],
  },
  {
    file: "../../../examples/gemm.ts",
    kernel: "gemm",
    draw: { maxSize: 130, maxWork: 2 ** 16 },
    mutations: [
      finding("rows do not wrap", "tl.inBounds(rm.mod(M))", "tl.inBounds(rm)", "false-in-bounds", "tl.load(a.at"),
      values("columns wrap by the rows", "rn.mod(N)", "rn.mod(M)"),
      finding("the tail of K is not masked", "a.at(am, rk)", "a.at(am, tl.inBounds(rk))", "false-in-bounds"),
      finding(
        "the last group is taken for a full one",
        ".mod(groupSizeM)",
        ".mod(GROUP_M)",
        "never-written",
        "tl.store(",
      ),
      finding("columns of a full group", "floorDiv(groupSizeM)", "floorDiv(GROUP_M)", "race", "tl.store("),
      finding("rows of the wrong block", "pidM.mul(BLOCK_M)", "pidM.mul(BLOCK_N)", "never-written", "tl.store("),
      finding("a store that wraps", "c.at(rm, rn)", "c.at(am, bn)", "race"),
      finding(
        "the grid is one short",
        ".mul(tl.cdiv(N, BLOCK_N))]",
        ".mul(tl.cdiv(N, BLOCK_N)).sub(1)]",
        "never-written",
        "tl.store(",
        "grid:",
      ),
      values("the loop ends early", "tl.range(0, K, BLOCK_K)", "tl.range(0, K.sub(1), BLOCK_K)"),
      values("the loop starts late", "tl.range(0, K, BLOCK_K)", "tl.range(1, K, BLOCK_K)"),
      values("the sum starts over", "tl.dot(x, y, acc.value)", "tl.dot(x, y)"),
      values("the sum is doubled", "tl.dot(x, y, acc.value)", "tl.dot(x, y, acc.value).add(acc.value)"),
      values("a stale tile of K", "k.add(tl.arange(0, BLOCK_K))", "tl.arange(0, BLOCK_K)"),
    ],
  },
  {
    file: "../../../examples/flash-attention.ts",
    kernel: "attention",
    draw: { maxSize: 150, maxWork: 2 ** 13, sizes: { HEAD_DIM: 16 } },
    mutations: [
      finding("heads by the wrong axis", "tl.programId(1)", "tl.programId(0)", "race", "tl.store(", "tl.load(q"),
      finding(
        "the grid is transposed",
        "[tl.cdiv(S, BLOCK_M), H]",
        "[H, tl.cdiv(S, BLOCK_M)]",
        "never-written",
        "tl.store(",
        "tl.load(q",
      ),
      values("the scale without its logarithm", ".mul(1.44269504)", ".mul(1)"),
      values("the product is not rescaled", "acc.value.mul(alpha.col)", "acc.value"),
      values("the sum is not rescaled", "total.value.mul(alpha).add", "total.value.add"),
      values("one key too many", "rn.row.lt(S)", "rn.row.le(S)"),
      padding("padding keys score 0", "scores, -Infinity)", "scores, 0)"),
      values("no key for the first query", "rm.col.ge(rn.row)", "rm.col.gt(rn.row)"),
      values("causal the other way", "rm.col.ge(rn.row)", "rm.col.le(rn.row)"),
      values("the largest is not kept", "      best.value = newBest;\n", ""),
      values("the first keys are left out", "tl.range(0, S, BLOCK_N)", "tl.range(1, S, BLOCK_N)"),
      values("not divided by the sum", "acc.value.div(total.value.col)", "acc.value"),
    ],
  },
  {
    file: "sources/norms.ts",
    kernel: "layerNorm",
    draw: { maxSize: 70 },
    mutations: [
      finding("every program takes one row", "tl.programId(0)", "tl.programId(1)", "race", "tl.store("),
      finding("the grid is one short", "=> [M]", "=> [M.sub(1)]", "never-written", "tl.store(", "grid:"),
      finding("weights without a mask", "weight.at(columns)", "weight.ptr.add(columns)", "out-of-bounds"),
      padding("padding lanes in the variance", "values.sub(mean), 0)", "values.sub(mean), values.sub(mean))"),
      values("the mean of the block", "tl.sum(values, 0).div(N.", "tl.sum(values, 0).div(BLOCK."),
      values("the variance of the block", "centered), 0).div(N.", "centered), 0).div(BLOCK."),
      values("another epsilon", "variance.add(1e-5)", "variance.add(1e-1)"),
      values("the root for its inverse", "tl.rsqrt(variance", "tl.sqrt(variance"),
      values("the deviation is not squared", "centered.mul(centered)", "centered"),
      values("the bias for the weight", "weight.at(columns)", "bias.at(columns)"),
    ],
  },
  {
    file: "sources/norms.ts",
    kernel: "logSumExp",
    draw: { maxSize: 70 },
    mutations: [
      finding("a masked load without other", "        other: -Infinity,\n", "", "uninitialized", "tl.store("),
      finding("one column too many", "mask: columns.lt(N)", "mask: columns.le(N)", "out-of-bounds", "const values"),
      finding(
        "strides swapped",
        "row.mul(x.stride(0)), columns.mul(x.stride(1))",
        "row.mul(x.stride(1)), columns.mul(x.stride(0))",
        "out-of-bounds",
        "const values",
      ),
      padding("padding of 0", "other: -Infinity", "other: 0"),
      values("the sum is not rescaled", "total.value.mul(tl.exp(best.value.sub(newBest)))", "total.value"),
      values("the largest of this block only", "tl.maximum(best.value, tl.max(values, 0))", "tl.max(values, 0)", {
        special: ["largest"],
      }),
      values("the loop ends early", "tl.range(0, N, BLOCK)", "tl.range(0, N.sub(1), BLOCK)"),
      values("no logarithm", "tl.log(total.value)", "total.value"),
    ],
  },
  {
    file: "sources/norms.ts",
    kernel: "columnSums",
    draw: { maxSize: 70 },
    mutations: [
      finding("the mask is always true", "{ mask: inside,", "{ mask: inside.or(inside.not()),", "out-of-bounds"),
      finding("other is dropped", ", other: 0", "", "uninitialized", "tl.store("),
      finding(
        "masks swapped",
        "rows.col.lt(M).and(columns.row.lt(N))",
        "rows.col.lt(N).and(columns.row.lt(M))",
        "out-of-bounds",
        "const values",
      ),
      finding("one row too many", "rows.col.lt(M)", "rows.col.le(M)", "out-of-bounds", "const values"),
      finding("the store is not masked", ", { mask: columns.lt(N) }", "", "out-of-bounds"),
      finding("the store writes one too many", "mask: columns.lt(N)", "mask: columns.le(N)", "out-of-bounds"),
      finding(
        "the grid covers the rows",
        "({ N, BLOCK_N }) => [tl.cdiv(N,",
        "({ M, BLOCK_N }) => [tl.cdiv(M,",
        "never-written",
        "tl.store(",
        "grid:",
      ),
      values("strides are taken for 1", "columns.row.mul(x.stride(1))", "columns.row"),
      finding("the strides of y are left out", "columns.mul(y.stride(0))", "columns", "out-of-bounds"),
      values("the sum starts over", "total.value.add(tl.sum(values, 0))", "tl.sum(values, 0)"),
      values("the same rows again", "start.add(tl.arange(0, BLOCK_M))", "tl.arange(0, BLOCK_M)"),
      values("the wrong step", "tl.range(0, M, BLOCK_M)", "tl.range(0, M, BLOCK_N)"),
    ],
  },
  {
    file: "sources/norms.ts",
    kernel: "rowMax",
    draw: { maxSize: 40 },
    mutations: [
      finding(
        "blocks start one late",
        ".mul(BLOCK_M).add",
        ".mul(BLOCK_M).add(1).add",
        "never-written",
        "tl.store(best",
      ),
      padding("the identity of a sum", ", { other: -Infinity }", ""),
      values("the smallest", "tl.max(values, 1)", "tl.min(values, 1)"),
      values("a block smaller than the row", "tl.nextPowerOf2(N)", "tl.nextPowerOf2(N).add(1).floorDiv(2)"),
      values("places from 1", "tl.argmax(values, 1)", "tl.argmax(values, 1).add(1)"),
    ],
  },
  {
    file: "sources/moves.ts",
    kernel: "transpose",
    draw: { maxSize: 50 },
    mutations: [
      finding(
        "strides swapped where it reads",
        "rows.col.mul(x.stride(0)), columns.row.mul(x.stride(1))",
        "rows.col.mul(x.stride(1)), columns.row.mul(x.stride(0))",
        "out-of-bounds",
        "const tile",
      ),
      finding(
        "strides swapped where it writes",
        "rows.col.mul(y.stride(1)), columns.row.mul(y.stride(0))",
        "rows.col.mul(y.stride(0)), columns.row.mul(y.stride(1))",
        "race",
        "tl.store(",
      ),
      finding("the load is not masked", "tl.load(from, { mask: inside })", "tl.load(from)", "out-of-bounds"),
      finding("the store is not masked", "tl.store(to, tile, { mask: inside })", "tl.store(to, tile)", "uninitialized"),
      finding("one row too many", "rows.col.lt(M)", "rows.col.le(M)", "out-of-bounds", "const tile", "tl.store("),
      finding(
        "masks swapped",
        "rows.col.lt(M).and(columns.row.lt(N))",
        "rows.col.lt(N).and(columns.row.lt(M))",
        "out-of-bounds",
        "const tile",
        "tl.store(",
      ),
      finding("rows and columns by one axis", "tl.programId(0)", "tl.programId(1)", "race", "tl.store("),
      finding(
        "the grid is transposed",
        "[tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)]",
        "[tl.cdiv(N, BLOCK), tl.cdiv(M, BLOCK)]",
        "never-written",
        "tl.store(",
      ),
    ],
  },
  {
    file: "sources/moves.ts",
    kernel: "roll",
    draw: { maxSize: 70 },
    mutations: [
      finding(
        "a negative remainder",
        "places.add(N).sub(shift.mod(N)).mod(N)",
        "places.sub(shift.mod(N)).mod(N)",
        "negative-division",
      ),
      finding(
        "no remainder",
        "places.add(N).sub(shift.mod(N)).mod(N)",
        "places.sub(shift)",
        "out-of-bounds",
        "const values",
      ),
      values("the other way", ".sub(shift.mod(N))", ".add(shift.mod(N))"),
      finding("the strides of y are left out", "places.mul(y.stride(0))", "places", "out-of-bounds"),
    ],
  },
  {
    file: "sources/moves.ts",
    kernel: "embedding",
    draw: { maxSize: 40 },
    mutations: [
      values("the row is not scaled", "row.mul(table.stride(0))", "row"),
      finding("rows of the output overlap", "place.mul(y.stride(0))", "place", "race", "tl.store("),
      finding(
        "columns by the wrong axis",
        "tl.programId(1).mul(BLOCK)",
        "tl.programId(0).mul(BLOCK)",
        "race",
        "tl.store(",
      ),
      finding("the next row", "row.mul(table", "row.add(1).mul(table", "out-of-bounds", "const values"),
      finding("the load is not masked", "tl.load(from, { mask: columns.lt(D) })", "tl.load(from)", "out-of-bounds"),
      finding("one block of columns", "[N, tl.cdiv(D, BLOCK)]", "[N, 1]", "never-written", "tl.store("),
    ],
  },
  {
    file: "sources/moves.ts",
    kernel: "convolution",
    draw: { maxSize: 70 },
    mutations: [
      finding("no lower bound", "sources.ge(0).and(sources.lt(N))", "sources.lt(N)", "out-of-bounds", "const values"),
      finding("no upper bound", "sources.ge(0).and(sources.lt(N))", "sources.ge(0)", "out-of-bounds", "const values"),
      finding("a tap too many", "tl.range(0, 3)", "tl.range(0, 4)", "out-of-bounds", "total.value ="),
      values("a tap too few", "tl.range(0, 3)", "tl.range(0, 2)"),
      values("the wrong offset", ".sub(1);", ";"),
      values("padding of 1", "other: 0", "other: 1"),
    ],
  },
  {
    file: "sources/moves.ts",
    kernel: "shard",
    draw: { maxSize: 70 },
    scalars: { rank: 3, limit: 3_000_000_020 },
    mutations: [
      finding("32 bits are too few", "rank.to(tl.int64).mul", "rank.mul", "overflow"),
      values("one position too many", "positions.lt(limit)", "positions.le(limit)"),
    ],
  },
  {
    file: "sources/updates.ts",
    kernel: "histogram",
    draw: { maxSize: 70 },
    mutations: [
      finding(
        "the atomic is dropped",
        "tl.atomicAdd(counts.ptr.add(bins.mul(counts.stride(0))), tl.full([BLOCK], 1, tl.int32), { mask: inside })",
        "const had = tl.load(counts.ptr.add(bins.mul(counts.stride(0))), { mask: inside, other: 0 }); tl.debugBarrier(); tl.store(counts.ptr.add(bins.mul(counts.stride(0))), had.add(1), { mask: inside })",
        "race",
      ),
      finding(
        "places instead of counts",
        "tl.atomicAdd(counts.ptr.add(bins.mul(counts.stride(0))), tl.full([BLOCK], 1, tl.int32), { mask: inside })",
        "tl.store(counts.ptr.add(bins.mul(counts.stride(0))), places, { mask: inside })",
        "lane-conflict",
      ),
      finding("counts do not start at 0", ", { zeroed: true }", "", "uninitialized", "tl.atomicAdd("),
      finding("bins from 1", "bins.mul(counts", "bins.add(1).mul(counts", "out-of-bounds"),
      finding("the strides of counts are left out", "bins.mul(counts.stride(0))", "bins", "out-of-bounds"),
      values("padding is counted", "tl.int32), { mask: inside })", "tl.int32))"),
    ],
  },
  {
    file: "sources/updates.ts",
    kernel: "splitDot",
    draw: { maxSize: 70 },
    mutations: [
      finding("the atomic is dropped", "tl.atomicAdd(", "tl.store(", "race"),
      values("parts overlap", "BLOCK.mul(SPLIT)", "BLOCK"),
      values("parts start together", "part.mul(BLOCK)", "part.mul(1)"),
      values("a part is missing", "[M, SPLIT]", "[M, 1]"),
      finding("the strides of y are left out", "row.mul(y.stride(0))", "row", "out-of-bounds"),
    ],
  },
  {
    file: "sources/updates.ts",
    kernel: "rotate",
    draw: { maxSize: 50 },
    mutations: [
      finding("two programs a row, in place", "=> [M]", "=> [M, 2]", "race", "const own"),
      finding("the pair is one off", "N.sub(1).sub(columns)", "N.sub(columns)", "out-of-bounds", "const opposite"),
      values("turned the other way", ".sub(opposite", ".add(opposite"),
    ],
  },
  {
    file: "sources/updates.ts",
    kernel: "prefixSums",
    draw: { maxSize: 70 },
    mutations: [
      values("no carry", ".add(carry.value)", ""),
      values("the carry starts over", "carry.value.add(tl.sum(values, 0))", "tl.sum(values, 0)"),
      values("the carry before the block", "tl.cumsum(values, 0).add", "values.add"),
      finding("a block too few", "tl.range(0, N, BLOCK)", "tl.range(0, N.sub(1), BLOCK)", "never-written", "tl.store("),
    ],
  },
];
