/** Signature of `tl.dotScaled`: 8-bit and 4-bit floats with a scale for each group along K. */
import { accumulatorShape, NEEDS_RANK } from "./dot-rules.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { dotOperands, optionValue } from "../diagnostics/catalog/rule-codes.js";
import { dtypeDisplayName, sameElem, type Call, type Elem } from "../types/dtype.js";
import type { Agree, FirstError, RuleError } from "../types/rule-error.js";
import { double, type Double, atAxis } from "../types/dims.js";
import {
  sameShape,
  showShape,
  type AsShape,
  type Dim,
  type SameShape,
  type Shape,
  type Show,
  sameDim,
} from "../types/shape.js";
import type { ShapeOf } from "./math-rules.js";
import { type El, type Sh, type Tile, type TileLike, notATile, type NotATile } from "../types/tile.js";
import { tileType, type TileType, type Type } from "../types/types.js";

/** The storage format: two elements per byte for `e2m1`, 8-bit floats or their bytes for `e4m3` and `e5m2`. */
export type ScaledFormat = "e2m1" | "e4m3" | "e5m2" | "bf16" | "fp16";
interface StorageDTypes {
  e2m1: "uint8";
  e4m3: "float8e4nv" | "uint8";
  e5m2: "float8e5" | "uint8";
  bf16: "bfloat16" | "uint16";
  fp16: "float16" | "uint16";
}
const storageDTypes: Readonly<Record<ScaledFormat, readonly string[]>> = {
  e2m1: ["uint8"],
  e4m3: ["float8e4nv", "uint8"],
  e5m2: ["float8e5", "uint8"],
  bf16: ["bfloat16", "uint16"],
  fp16: ["float16", "uint16"],
};

const scaledRank = <Shape extends Fact>(shape: Shape) => dotOperands(`dotScaled: ${NEEDS_RANK} ${shape}`);
const formatDType = <DType extends Fact, Format extends Fact>(dtype: DType, format: Format) =>
  dotOperands(`dotScaled: ${dtype} does not hold ${format}`);

/** The rule of an operand: its dtype can store the format, and its rank is 2 or 3. */
export type WhyScaledSide<A, F> = A extends TileLike
  ? F extends ScaledFormat
    ? A[El] extends StorageDTypes[F]
      ? A[Sh] extends readonly [any, any] | readonly [any, any, any]
        ? ""
        : SentenceOf<typeof scaledRank<Show<A[Sh]>>>
      : SentenceOf<typeof formatDType<Call<A[El]>, F>>
    : ""
  : NotATile<"dotScaled", A>;
function whySide(side: Type, format: ScaledFormat): RuleError | undefined {
  if (side.kind !== "tile") return notATile("dotScaled", side);
  if (typeof side.dtype !== "string" || !storageDTypes[format].includes(side.dtype))
    return formatDType(dtypeDisplayName(side.dtype), format);
  const hasSupportedRank = side.shape.length === 2 || side.shape.length === 3;
  return hasSupportedRank ? undefined : scaledRank(showShape(side.shape));
}

/** K in elements: doubled if the format is packed along K. */
type Unpacked<D, F, Pack> = F extends "e2m1" ? (Pack extends false ? D : Double<D>) : D;
type Rows<S> = S extends readonly [...any, infer M, any] ? M : any;
type Columns<S> = S extends readonly [...any, any, infer N] ? N : any;
const rowsOf = (shape: readonly Dim[]): Dim => atAxis(shape, shape.length - 2);
const columnsOf = (shape: readonly Dim[]): Dim => atAxis(shape, shape.length - 1);
type Batch<S> = S extends readonly [infer B, any, any] ? [B] : [];

const scaledInner = <A extends Fact, B extends Fact>(a: A, b: B) =>
  dotOperands(`dotScaled: inner dimensions differ, ${a} x ${b}`);

/** The rule of the second operand, checked against the first. */
export type WhyScaledSecond<A, FA, PA, B, FB, PB> = FirstError<
  WhyScaledSide<B, FB>,
  SameShape<
    [...Batch<ShapeOf<A>>, Unpacked<Columns<ShapeOf<A>>, FA, PA>],
    [...Batch<ShapeOf<B>>, Unpacked<Rows<ShapeOf<B>>, FB, PB>]
  > extends true
    ? ""
    : SentenceOf<typeof scaledInner<Show<ShapeOf<A>>, Show<ShapeOf<B>>>>
>;
type Wide<D, F, Pack> = F extends "e2m1" ? (Pack extends false ? Double<D> : D) : D;
export type ScaledShape<A, FA, PA, B, FB, PB> = AsShape<
  [...Batch<ShapeOf<A>>, FirstRows<A, FA, PA>, SecondRows<B, FB, PB>]
>;

const missingScale = () => dotOperands("dotScaled: e2m1 needs a scale", "give one");

/** The rule of a scale: bytes (exponents of 2) or float8e4nv, with the rank of its operand; null without scales. */
export type WhyScale<S, A, F, Outer> = S extends null | undefined
  ? F extends "e2m1"
    ? SentenceOf<typeof missingScale>
    : ""
  : WhyScaleTile<S, A, Outer>;

const scaleRank = <Scale extends Fact, Tile extends Fact>(scale: Scale, tile: Tile) =>
  dotOperands(`dotScaled: the scale ${scale} and its tile ${tile} differ in rank`);
const scaleDType = <DType extends Fact>(dtype: DType) =>
  dotOperands(`dotScaled: a scale is uint8 or float8e4nv, this is ${dtype}`);

type WhyScaleTile<S, A, Outer> = S extends TileLike
  ? S[El] extends "uint8" | "float8e4nv"
    ? ShapeOf<A>["length"] extends S[Sh]["length"]
      ? WhyScaleRows<S[Sh], Outer>
      : SentenceOf<typeof scaleRank<Show<S[Sh]>, Show<ShapeOf<A>>>>
    : SentenceOf<typeof scaleDType<Call<S[El]>>>
  : NotATile<"dotScaled", S>;

const scaleRows = <Rows extends Fact, Shape extends Fact>(rows: Rows, shape: Shape) =>
  dotOperands(`dotScaled: a scale has a row for each of ${rows} rows, this is ${shape}`);

type WhyScaleRows<S extends Shape, Outer> =
  Rows<S> extends Outer ? "" : SentenceOf<typeof scaleRows<Outer & (string | number), Show<S>>>;
/** The number of rows of the scale of the first operand, and of the second. */
export type FirstRows<A, F, Pack> = Wide<Rows<ShapeOf<A>>, F, Pack>;
export type SecondRows<B, F, Pack> = Wide<Columns<ShapeOf<B>>, F, Pack>;
/**
 * The rule of a pack option: only e2m1 stores two elements per byte, so only e2m1 may pack along another axis than K.
 */
export type WhyPack<Pack, F> = Pack extends false ? (F extends "e2m1" ? "" : SentenceOf<typeof packedFormat>) : "";

const packedFormat = () => dotOperands("dotScaled: only e2m1 is packed along another axis than K");

function whyScale({ scale, format }: ScaledSide, side: TileType, outer: Dim): RuleError | undefined {
  if (!scale) return format === "e2m1" ? missingScale() : undefined;
  if (scale.kind !== "tile") return notATile("dotScaled", scale);
  if (scale.dtype !== "uint8" && scale.dtype !== "float8e4nv") return scaleDType(dtypeDisplayName(scale.dtype));
  if (scale.shape.length !== side.shape.length) return scaleRank(showShape(scale.shape), showShape(side.shape));
  return scale.shape.at(-2) === outer ? undefined : scaleRows(outer, showShape(scale.shape));
}

const scaledAccumulator = <DType extends Fact>(dtype: DType) =>
  dotOperands(`dotScaled: accumulates in float32, the accumulator is ${dtype}`);

export type WhyScaledAcc<S extends Shape, C, Wanted = "float32"> = C extends TileLike
  ? Agree<Wanted, C[El]> extends true
    ? SameShape<S, C[Sh]> extends true
      ? ""
      : SentenceOf<typeof accumulatorShape<"dotScaled", Show<S>, Show<C[Sh]>>>
    : SentenceOf<typeof scaledAccumulator<Call<C[El]>>>
  : C extends undefined
    ? ""
    : NotATile<"dotScaled", C>;
export type ScaledOut<S extends Shape> = Tile<"float32", S>;

export interface ScaledSide {
  readonly type: Type;
  readonly scale: Type | undefined;
  readonly format: ScaledFormat;
  /** True if the two elements of a byte are adjacent along K. */
  readonly kPack: boolean;
}
/** The number of elements that share a scale. Undefined unless the sizes are numbers. */
function groupSize({ scale }: ScaledSide, k: Dim): number | undefined {
  const scaleCount = scale?.kind === "tile" ? scale.shape.at(-1) : undefined;
  return typeof scaleCount === "number" && typeof k === "number" ? k / scaleCount : undefined;
}

export function inferDotScaled(a: ScaledSide, b: ScaledSide, acc: Type | undefined): Type | RuleError {
  for (const { format, kPack } of [a, b]) {
    if (!(format in storageDTypes))
      return optionValue(`dotScaled: a format is one of ${Object.keys(storageDTypes).join(", ")}`);
    if (!kPack && format !== "e2m1") return packedFormat();
  }
  const unpack = (dim: Dim, side: ScaledSide, isAlongK: boolean) =>
    side.format === "e2m1" && side.kPack === isAlongK ? double(dim) : dim;
  const lhsError = whySide(a.type, a.format);
  if (lhsError) return lhsError;
  if (a.type.kind !== "tile") return notATile("dotScaled", a.type);
  const lhsShape = a.type.shape;
  const m = unpack(rowsOf(lhsShape), a, false);
  const rhsError = whyScale(a, a.type, m) || whySide(b.type, b.format);
  if (rhsError) return rhsError;
  if (b.type.kind !== "tile") return notATile("dotScaled", b.type);
  const rhsShape = b.type.shape;
  const [lhsK, rhsK] = [unpack(columnsOf(lhsShape), a, true), unpack(rowsOf(rhsShape), b, true)];
  if (!sameDim(lhsK, rhsK) || !sameShape(lhsShape.slice(0, -2), rhsShape.slice(0, -2)))
    return scaledInner(showShape(lhsShape), showShape(rhsShape));
  const n = unpack(columnsOf(rhsShape), b, false);
  const scaleError = whyScale(b, b.type, n) || whyGroups([groupSize(a, lhsK), groupSize(b, lhsK)]);
  if (scaleError) return scaleError;
  return scaledProduct([...lhsShape.slice(0, -2), m, n], acc);
}

function whyGroups(groups: readonly [number | undefined, number | undefined]): RuleError | undefined {
  const [group = groups[1], otherGroup = group] = groups;
  if (group === otherGroup && (group === undefined || group === 16 || group === 32)) return undefined;
  return dotOperands(
    `dotScaled: a scale is of 16 or 32 elements along K, the same on both sides; these are of ${groups.join(" and ")}`,
  );
}

/** The type of the product, if it can be added to the accumulator. */
function scaledProduct(shape: readonly Dim[], acc: Type | undefined): Type | RuleError {
  const accumulatorDType: Elem = "float32";
  if (acc === undefined) return tileType(accumulatorDType, shape);
  if (acc.kind !== "tile") return notATile("dotScaled", acc);
  if (!sameElem(acc.dtype, accumulatorDType)) return scaledAccumulator(dtypeDisplayName(acc.dtype));
  return sameShape(shape, acc.shape) ? acc : accumulatorShape("dotScaled", showShape(shape), showShape(acc.shape));
}
