/** Ops that create values: program ids, ranges, constants. */
import { wrongAxis, operandKind } from "../diagnostics/catalog/rule-codes.js";
import { asInteger, asTruth, FALSE, number, sum } from "../symbolic/term.js";
import { arange as arangeArray, broadcastTo, full as fullArray } from "../numerics/array.js";
import { type DimsOf, dimsOf, notAShape, type ShapeArg, whyDims } from "../types/constexpr.js";
import { notADType } from "../types/casts.js";
import { ZERO } from "../symbolic/number-class.js";
import { isLiteral } from "../ir/nodes.js";
import { isBig } from "../numerics/numeric-int.js";
import { LIMITS } from "../types/limits.js";
import type { Validate, RuleError } from "../types/rule-error.js";
import {
  type ArangeCall,
  type FillElement,
  inferArange,
  type WhyDType,
  whyFill,
  type WhyFill,
} from "../rules/create-rules.js";
import { type Plain, whyTile, type WhyTile } from "../rules/math-rules.js";
import type { Scalar, Tile } from "../types/tile.js";
import { tileType, type Typed } from "../types/types.js";
import { dtypeOf, isSignPreserved } from "./cast.js";
import { defineOp } from "./define.js";
import { castIn } from "../values/operands.js";

const scalarInt = tileType("int32", []);
const isNeverNegative = () => true;

/** The id of this program on an axis of the grid: `tl.program_id(0)`. */
export const programId = defineOp<(axis: 0 | 1 | 2) => Scalar<"int32">>()({
  name: "programId",
  operands: { axis: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.program_id" },
  infer: ({ axis }) => whyGridAxis("programId", axis) || scalarInt,
  evaluate: ({ axis }, { program }) => fullArray([], program[axis as 0 | 1 | 2], "int32"),
  facts: { queries: "program", nonNegative: isNeverNegative },
  proof: { term: (_, { args, program }) => program[Number(args.axis.literal)] },
});

/** The number of programs on an axis of the grid: `tl.num_programs(0)`. */
export const numPrograms = defineOp<(axis: 0 | 1 | 2) => Scalar<"int32">>()({
  name: "numPrograms",
  operands: { axis: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.num_programs" },
  infer: ({ axis }) => whyGridAxis("numPrograms", axis) || scalarInt,
  evaluate: ({ axis }, { grid }) => fullArray([], grid[axis as 0 | 1 | 2], "int32"),
  facts: { queries: "grid", nonNegative: isNeverNegative },
  proof: { term: (_, { args, grid }) => grid[Number(args.axis.literal)] },
});

function whyGridAxis(op: string, axis: Typed): RuleError | undefined {
  const value = axis.literal;
  return value === 0 || value === 1 || value === 2
    ? undefined
    : wrongAxis(`${op}: a grid has axes 0, 1 and 2`, "write one of these");
}

/** `start, start + 1, …, end - 1` as int32; `end - start` must be a power of two: `tl.arange(0, BLOCK)`. */
export const arange = defineOp<ArangeCall>()({
  name: "arange",
  operands: { start: "constant", end: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.arange" },
  infer: ({ start, end }) =>
    [start, end].some((bound) => Math.abs(Number(bound.literal ?? 0)) >= LIMITS.int32End)
      ? operandKind("arange: bounds are int32", "add an int64 scalar to what it gives")
      : inferArange(start.type, end.type),
  evaluate: ({ start, end }) => arangeArray(Number(start), Number(end)),
  facts: {
    nonNegative: ([start]) => start === true,
    exclusiveUpperBound: ([start, end]) => (isLiteral(start) && start.value === 0 ? end : undefined),
  },
  proof: { term: ({ start }, { lane }) => sum(start, ...lane) },
});

/** A tile of zeros: `tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)`. */
export const zeros = defineOp<
  <const X extends readonly unknown[], D>(
    shape: ShapeArg<"zeros", X>,
    dtype: Validate<D, WhyDType<"zeros", "[BLOCK], tl.float32", D>>,
  ) => Tile<FillElement<D>, DimsOf<X>>
>()({
  name: "zeros",
  operands: { shape: "shape", dtype: "dtype" },
  effect: "pure",
  spelling: { form: "call", name: "tl.zeros", keywords: ["dtype"] },
  infer: ({ shape, dtype }) => inferFilled("zeros", shape, dtype),
  evaluate: (_, { result }) => fullArray(result.shape, isBig(result.dtype) ? 0n : 0, result.dtype),
  facts: { nonNegative: isNeverNegative },
  proof: { term: (_, { isTruth: truth }) => (truth ? FALSE : number(0)), anyWidth: true, classTransfer: () => ZERO },
});

/** A tile of one value: `tl.full([BLOCK], float("-inf"), dtype=tl.float32)`. */
export const full = defineOp<
  <const X extends readonly unknown[], const V, D>(
    shape: ShapeArg<"full", X>,
    value: Validate<V, WhyFill<V, FillElement<D>>>,
    dtype: Validate<D, WhyDType<"full", "[BLOCK], 0, tl.float32", D>>,
  ) => Tile<FillElement<D>, DimsOf<X>>
>()({
  name: "full",
  operands: { shape: "shape", value: "value", dtype: "dtype" },
  effect: "pure",
  spelling: { form: "call", name: "tl.full", keywords: ["dtype"] },
  infer: ({ shape, value, dtype }) =>
    (dtype.dtype && whyFill(value.type, dtype.dtype)) || inferFilled("full", shape, dtype),
  evaluate: ({ value }, context) => broadcastTo(castIn(context, value, context.result.dtype), context.result.shape),
  facts: {
    nonNegative: ([, isNonNegative], { args: { value, dtype } }) =>
      isNonNegative === true && (value.literal !== undefined || isSignPreserved(value, dtypeOf(dtype))),
  },
  proof: {
    term: ({ value }, { isTruth: truth }) => (truth ? asTruth(value) : asInteger(value)),
    classTransfer: ({ value }) => value,
  },
});

/** Zeros with the dtype and shape of a tile: `tl.zeros_like(x)`. */
export const zerosLike = defineOp<<X>(x: Validate<X, WhyTile<"zerosLike", X>>) => Plain<X>>()({
  name: "zerosLike",
  operands: { x: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.zeros_like" },
  infer: ({ x }) => whyTile("zerosLike", x.type) || x.type,
  evaluate: (_, { result }) => fullArray(result.shape, isBig(result.dtype) ? 0n : 0, result.dtype),
  facts: { nonNegative: isNeverNegative },
  proof: { term: (_, { isTruth: truth }) => (truth ? FALSE : number(0)), anyWidth: true, classTransfer: () => ZERO },
});

function inferFilled(op: string, shape: Typed, dtype: Typed) {
  if (!shape.items) return notAShape(op);
  const dims = shape.items.map((item) => item.type);
  if (!dtype.dtype) return notADType(op, dtype.literal);
  return whyDims(op, dims) || tileType(dtype.dtype, dimsOf(dims));
}
