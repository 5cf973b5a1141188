/** Signatures of flip, sort, topk and swizzle2d. */
import { type SentenceOf, type Fact, Message } from "../diagnostics/message.js";
import { operandKind, wrongAxis, dtypeUnsupported } from "../diagnostics/catalog/rule-codes.js";
import { axisOf, whyAxis, type SetAt, type Axis, type WhyAxis, scalarWithoutAxis } from "../types/axis.js";
import { maxElement, mixedResults, type MaxElement, type WhyReduceElement } from "../types/casts.js";
import { dimensionKind, dimOf, whyDim, type DimOf, type WhyDim } from "../types/constexpr.js";
import { dtypeDisplayName } from "../types/dtype.js";
import type { FirstError, IsAny, Same, RuleError } from "../types/rule-error.js";
import { whyNoArithmetic, type WhyNoArithmetic } from "../types/promote.js";
import { type AsShape, type Dim, type Shape, type Show, showShape } from "../types/shape.js";
import { notATile, type NotATile } from "../types/operand.js";
import { inferArith, inferFloorDivide, type WhyFloor } from "./arithmetic-rules.js";
import type { PairOf, WhySecond } from "./elementwise-rules.js";
import { whyInts, type Plain, type ShapeOf, type WhyInts } from "./math-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { literalValue, tileType, type Type } from "../types/types.js";

// ---- flip, sort -----------------------------------------------------------------------------------------------------

const flippedElement = () => operandKind("flip: Triton does not take a tile of one element", "leave it as it is");

export type WhyFlip<X, Ax, One = [1]> = X extends TileLike
  ? Same<X[Sh], One> extends true
    ? SentenceOf<typeof flippedElement>
    : WhyAxis<"flip", X[Sh], Ax>
  : "";
export function inferFlip(x: Type, dim: number): Type | RuleError {
  if (x.kind !== "tile") return notATile("flip", x);
  return x.shape.length === 1 && x.shape[0] === 1 ? flippedElement() : whyAxis("flip", x.shape, dim) || x;
}

const sortedElement = <Op extends Fact>(op: Op) => wrongAxis(`${op}: the last axis has one element, which is in order`);

/** The rule of the operand of sort, topk and bitonicMerge, which work along the last axis. */
export type WhySort<Op extends string, X> = X extends TileLike
  ? X[Sh] extends readonly []
    ? SentenceOf<typeof scalarWithoutAxis<Op, "">>
    : FirstError<
        WhyNoArithmetic<Op, X[El]>,
        X[Sh] extends readonly [...any, 1] ? SentenceOf<typeof sortedElement<Op>> : ""
      >
  : NotATile<Op, X>;

const axisFromFront = <Op extends Fact>(op: Op) => wrongAxis(`${op}: count the axis from the front`);
const lastAxis = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  wrongAxis(`${op}: sorts along the last axis only, the tile is ${shape}`, "leave the axis out");

/** The rule of the axis. Triton accepts only axes counted from the front. */
export type WhySortDim<Op extends string, X, Ax> = X extends TileLike
  ? number extends X[Sh]["length"]
    ? ""
    : Axis<X[Sh]["length"], Ax> extends Axis<X[Sh]["length"], -1>
      ? `${Ax & number}` extends `-${string}`
        ? SentenceOf<typeof axisFromFront<Op>>
        : ""
      : SentenceOf<typeof lastAxis<Op, Show<X[Sh]>>>
  : "";
export function inferSort(op: string, x: Type, dim: number | undefined): Type | RuleError {
  if (x.kind !== "tile") return notATile(op, x);
  if (x.shape.length === 0) return scalarWithoutAxis(op, "");
  const why = whyNoArithmetic(op, x.dtype);
  if (why) return why;
  if (x.shape.at(-1) === 1) return sortedElement(op);
  if (dim === undefined) return x;
  if (axisOf(x.shape.length, dim) !== x.shape.length - 1) return lastAxis(op, showShape(x.shape));
  return dim < 0 ? axisFromFront(op) : x;
}

// ---- topk -----------------------------------------------------------------------------------------------------------

/** True if k is the size of the axis. The result then keeps its dtype. */
type TakesAll<S extends Shape, K> = S extends readonly [...any, infer D] ? Same<D, DimOf<K>> : false;
type TopElement<X, K> = X extends TileLike ? (TakesAll<X[Sh], K> extends true ? X[El] : MaxElement<X[El]>) : any;
export type TopOut<X, K> = Tile<TopElement<X, K>, AsShape<SetAt<ShapeOf<X>, Axis<ShapeOf<X>["length"], -1>, DimOf<K>>>>;
export type WhyTop<X, K> = X extends TileLike
  ? FirstError<
      WhyDim<"topk", K>,
      TakesAll<X[Sh], K> extends true ? "" : WhyReduceElement<"topk", X[El], MaxElement<X[El]>>
    >
  : "";
export function inferTop(x: Type, k: Type, dim: number | undefined): Type | RuleError {
  const sorted = inferSort("topk", x, dim);
  if (sorted instanceof Message || sorted.kind !== "tile") return sorted;
  const why = whyDim("topk", k);
  if (why) return why;
  if (k.kind !== "constexpr") return dimensionKind("topk");
  const [size, axisSize] = [dimOf(k), sorted.shape.at(-1)];
  if (typeof size === "number" && typeof axisSize === "number" && size > axisSize)
    return wrongAxis(`topk: the last axis has ${axisSize} elements, not ${size}`);
  const shape: readonly Dim[] = [...sorted.shape.slice(0, -1), size];
  const isWholeAxis = size === axisSize && literalValue(k) !== 1;
  const elem = isWholeAxis ? sorted.dtype : maxElement(sorted.dtype);
  return elem === undefined ? mixedResults("topk", dtypeDisplayName(sorted.dtype)) : tileType(elem, shape);
}

// ---- swizzle2d ------------------------------------------------------------------------------------------------------

type Cell<I, J, SJ> = PairOf<PairOf<I, SJ>, J>;
/** The complete rule, reported at the last operand. The first operand is a tile or a scalar. */
export type WhySwizzle<I, J, SI, SJ, SG> = I extends TileLike
  ? FirstError<
      FirstError<WhyInts<"swizzle2d", I>, WhyInts<"swizzle2d", J>>,
      FirstError<
        FirstError<WhyInts<"swizzle2d", SI>, WhyInts<"swizzle2d", SJ>>,
        FirstError<
          FirstError<
            WhyInts<"swizzle2d", SG>,
            WhyMixes<DtypeOf<I> | DtypeOf<J> | DtypeOf<SI> | DtypeOf<SJ> | DtypeOf<SG>>
          >,
          FirstError<
            WhyOf<I, SJ>,
            FirstError<WhyOf<PairOf<I, SJ>, J>, FirstError<WhyOf<Cell<I, J, SJ>, SG>, WhyOf<Cell<I, J, SJ>, SI>>>
          >
        >
      >
    >
  : NotATile<"swizzle2d", I>;
/** The rule of the dtypes. Triton adds int32 values internally, so only int32 and int64 keep their dtype. */
type WhyMixes<X> = [Exclude<X, "int32" | "int64">] extends [never] ? "" : SentenceOf<typeof swizzleDType>;
type DtypeOf<X> = X extends TileLike ? (IsAny<X[El]> extends true ? never : X[El]) : never;

const swizzleDType = () => dtypeUnsupported("swizzle2d: works on int32 and int64", "cast with .to(tl.int32)");

type WhyOf<X, Y> = X extends TileLike
  ? FirstError<WhySecond<"swizzle2d", X, Y>, WhyFloor<"swizzle2d", X[El], X[Sh], Y>>
  : "";
type Position<I, J, SI, SJ, SG> = Plain<PairOf<PairOf<Cell<I, J, SJ>, SG>, SI>>;
export type Swizzled<I, J, SI, SJ, SG> = [Position<I, J, SI, SJ, SG>, Position<I, J, SI, SJ, SG>];
export function inferSwizzle(i: Type, j: Type, sizeI: Type, sizeJ: Type, sizeG: Type): readonly Type[] | RuleError {
  if (i.kind !== "tile") return notATile("swizzle2d", i);
  const why = [i, j, sizeI, sizeJ, sizeG]
    .map((type) => whyInts("swizzle2d", type))
    .find((error) => error !== undefined);
  if (why) return why;
  const isSupported = (type: Type) => type.kind !== "tile" || type.dtype === "int32" || type.dtype === "int64";
  if (![i, j, sizeI, sizeJ, sizeG].every(isSupported)) return swizzleDType();
  const combine = (x: Type | RuleError, y: Type) => {
    if (x instanceof Message) return x;
    const floor = inferFloorDivide("swizzle2d", x, y, () => "");
    return floor instanceof Message ? floor : inferArith("swizzle2d", x, y, () => "");
  };
  const position = combine(combine(combine(combine(i, sizeJ), j), sizeG), sizeI);
  return position instanceof Message ? position : [position, position];
}
