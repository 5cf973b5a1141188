/** Where values come from: program ids, ranges, constants. */
import { arange as arangeArray, full as fullArray, tileArray } from "../ir/array.js";
import { cast } from "../ir/array-cast.js";
import { subText } from "../ir/constexpr-text.js";
import {
  type DimsOf,
  dimOf,
  dimsOf,
  type ShapeArg,
  type Span,
  whyBound,
  type WhyBound,
  whyDim,
  whyDims,
  type WhySpan,
} from "../ir/constexpr.js";
import type { DType, Element } from "../ir/dtype.js";
import type { ConstLike } from "../ir/constexpr.js";
import { isLiteral } from "../ir/nodes.js";
import { isBig } from "../ir/numeric.js";
import type { Typed } from "../ir/op.js";
import type { Checked } from "../ir/problem.js";
import { whyLiteral, type WhyLiteral } from "../ir/promote.js";
import { showShape, type Show } from "../ir/shape.js";
import type { Sh, Tile, TileLike, Scalar } from "../ir/tile.js";
import { type ConstexprType, literalValue, tileType } from "../ir/types.js";
import { defineOp } from "./define.js";
import { tileOf } from "./evaluate.js";

const scalarInt = tileType("int32", []);
const never = () => true;

/** The id of this program on an axis of the grid: `tl.program_id(0)`. */
export const programId = defineOp<(axis: 0 | 1 | 2) => Scalar<"int32">>({
  name: "programId",
  operands: { axis: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.program_id" },
  infer: ({ axis }) => whyGridAxis("programId", axis!) || scalarInt,
  evaluate: ({ axis }, { program }) => fullArray([], program[axis as 0 | 1 | 2], "int32"),
  nonNegative: never,
});

/** How many programs there are on an axis of the grid: `tl.num_programs(0)`. */
export const numPrograms = defineOp<(axis: 0 | 1 | 2) => Scalar<"int32">>({
  name: "numPrograms",
  operands: { axis: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.num_programs" },
  infer: ({ axis }) => whyGridAxis("numPrograms", axis!) || scalarInt,
  evaluate: ({ axis }, { grid }) => fullArray([], grid[axis as 0 | 1 | 2], "int32"),
  nonNegative: never,
});

function whyGridAxis(op: string, axis: Typed): string {
  const value = axis.literal;
  return value === 0 || value === 1 || value === 2 ? "" : `${op}: a grid has axes 0, 1 and 2; write one of these`;
}

/** `start, start + 1, …, end - 1` as int32; `end - start` is a power of two: `tl.arange(0, BLOCK)`. */
export const arange = defineOp<
  <const Lo, const Hi>(
    start: Checked<Lo, WhyBound<"arange", Lo>>,
    end: Checked<Hi, WhySpan<Lo, Hi>>,
  ) => Tile<"int32", [Span<Lo, Hi>]>
>({
  name: "arange",
  operands: { start: "constant", end: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.arange" },
  infer: ({ start, end }) => {
    const why = whyBound("arange", start!.type) || whyBound("arange", end!.type);
    if (why) return why;
    const [lo, hi] = [start!.type as ConstexprType, end!.type as ConstexprType];
    const [from, to] = [literalValue(lo), literalValue(hi)];
    const span: ConstexprType =
      from !== undefined && to !== undefined
        ? { kind: "constexpr", of: "int", text: String(to - from) }
        : { kind: "constexpr", of: "int", text: subText(hi.text, lo.text) };
    return whyDim("arange", span) || tileType("int32", [dimOf(span)]);
  },
  evaluate: ({ start, end }) => arangeArray(Number(start), Number(end)),
  nonNegative: ([start]) => start === true,
  countsFromZero: ([start]) => isLiteral(start) && start.value === 0,
});

/** A tile of zeros: `tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)`. */
export const zeros = defineOp<
  <const X extends readonly unknown[], E extends Element>(
    shape: ShapeArg<"zeros", X>,
    dtype: DType<E>,
  ) => Tile<E, DimsOf<X>>
>({
  name: "zeros",
  operands: { shape: "shape", dtype: "dtype" },
  effect: "pure",
  spelling: { form: "call", name: "tl.zeros", keywords: ["dtype"] },
  infer: ({ shape, dtype }) => filled("zeros", shape!, dtype!),
  evaluate: (_, { results: [result] }) => fullArray(result!.shape, isBig(result!.dtype) ? 0n : 0, result!.dtype),
  nonNegative: never,
});

type WhyFill<V, E> =
  V extends number ? WhyLiteral<"full", E, V>
  : V extends ConstLike<any, "int" | "float"> ? ""
  : V extends TileLike ?
    V[Sh] extends readonly [] ? ""
    : `full: the value is a scalar, this is ${Show<V[Sh]>}`
  : "full: the value is a scalar";

/** A tile of one value: `tl.full([BLOCK], float("-inf"), dtype=tl.float32)`. */
export const full = defineOp<
  <const X extends readonly unknown[], const V, E extends Element>(
    shape: ShapeArg<"full", X>,
    value: Checked<V, WhyFill<V, E>>,
    dtype: DType<E>,
  ) => Tile<E, DimsOf<X>>
>({
  name: "full",
  operands: { shape: "shape", value: "value", dtype: "dtype" },
  effect: "pure",
  spelling: { form: "call", name: "tl.full", keywords: ["dtype"] },
  infer: ({ shape, value, dtype }) => whyFill(value!, dtype!) || filled("full", shape!, dtype!),
  evaluate: ({ value }, { results: [result] }) => {
    const scalar = cast(tileOf(value, result!.dtype), result!.dtype);
    const tile = fullArray(result!.shape, scalar.data[0]!, result!.dtype);
    return scalar.poison?.[0] ? tileArray(tile.dtype, tile.shape, tile.data, new Uint8Array(tile.data.length).fill(1)) : tile;
  },
  nonNegative: ([, value]) => value === true,
});

function whyFill(value: Typed, dtype: Typed): string {
  if (typeof value.literal === "number") return whyLiteral("full", dtype.dtype!, value.literal);
  if (value.type.kind === "constexpr" && (value.type.of === "int" || value.type.of === "float")) return "";
  if (value.type.kind !== "tile") return "full: the value is a scalar";
  return value.type.shape.length === 0 ? "" : `full: the value is a scalar, this is ${showShape(value.type.shape)}`;
}

function filled(op: string, shape: Typed, dtype: Typed) {
  const dims = (shape.items ?? []).map((item) => item.type);
  if (!dtype.dtype) return `${op}: needs a dtype, such as tl.float32`;
  return whyDims(op, dims) || tileType(dtype.dtype, dimsOf(dims));
}
