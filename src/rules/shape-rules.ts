/** Signatures of ops that change a tile's shape: expandDims, permute, reshape, ravel, broadcastTo, squeeze, item. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { wrongAxis, operandKind } from "../diagnostics/catalog/rule-codes.js";
import { dimsOf, notAShape, whyDims, type DimsOf } from "../types/constexpr.js";
import { mulText, type MulText } from "../types/constexpr-text.js";
import type { FirstError, IsAny, RuleError } from "../types/rule-error.js";
import {
  permuteShape,
  transShape,
  whyPermute,
  whyReshape,
  whyTrans,
  type Permute,
  type Trans,
  type WhyPermute,
  type WhyReshape,
  type WhyTrans,
  axisOf,
  expandShape,
  whyAxis,
  whyExpand,
  type DimAt,
  type DropAt,
  type Axis,
  type Expand,
  type WhyAxis,
  type WhyExpand,
} from "../types/dims.js";
import {
  showShape,
  whyBroadcast,
  whyBroadcastTo,
  broadcast,
  type AsShape,
  type Broadcast,
  type Dim,
  type Shape,
  type Show,
  type WhyBroadcast,
  type WhyBroadcastTo,
} from "../types/shape.js";
import type { ElementIn, ShapeOf } from "./math-rules.js";
import { type El, type Sh, type Tile, type TileLike, notATile, type NotATile } from "../types/tile.js";
import { tileType, type TileType, type Type, type Typed } from "../types/types.js";

/** A tile with the same dtype and another shape. */
export type Reshaped<X, S> = Tile<ElementIn<X>, AsShape<S>>;
function inferReshaped(
  op: string,
  x: Type,
  why: (tile: TileType) => RuleError | undefined,
  shape: (dims: readonly Dim[]) => readonly Dim[],
): Type | RuleError {
  if (x.kind !== "tile") return notATile(op, x);
  return why(x) || tileType(x.dtype, shape(x.shape));
}

// ---- expandDims, squeeze, unsqueeze ---------------------------------------------------------------------------------

/** One axis of the result, or several from the first to the last. */
export type Axes = number | readonly number[];
export type ExpandAll<S extends Shape, Ax> = Ax extends readonly [infer H, ...infer R]
  ? ExpandAll<AsShape<Expand<S, H>>, R>
  : Ax extends readonly []
    ? S
    : Ax extends readonly unknown[]
      ? any
      : Expand<S, Ax>;

const severalAxes = <Axis extends Fact>(axis: Axis) =>
  wrongAxis(`expandDims: several axes are counted from the front, this is ${axis}`);

export type WhyExpandAll<S extends Shape, Ax> = Ax extends readonly [infer H, ...infer R]
  ? `${H & number}` extends `-${string}`
    ? SentenceOf<typeof severalAxes<H & number>>
    : FirstError<WhyExpand<S, H>, R extends readonly [] ? "" : WhyExpandAll<AsShape<Expand<S, H>>, R>>
  : Ax extends readonly unknown[]
    ? ""
    : WhyExpand<S, Ax>;
export function inferExpand(x: Type, axes: readonly number[], isList: boolean): Type | RuleError {
  if (x.kind !== "tile" && x.kind !== "pointer") return notATile("expandDims", x);
  let shape: readonly Dim[] = x.shape;
  let previous = -1;
  for (const axis of axes) {
    if (isList && axis < 0) return severalAxes(axis);
    if (isList && axis <= previous) return operandKind(`expandDims: [${axes.join(", ")}] must count up`);
    const why = whyExpand(shape, axis);
    if (why) return why;
    shape = expandShape(shape, axis);
    previous = axis;
  }
  return { ...x, shape };
}

export type WhySqueeze<S extends Shape, Ax> = number extends S["length"]
  ? ""
  : FirstError<WhyAxis<"squeeze", S, Ax>, WhyOne<S, Ax, DimAt<S, Axis<S["length"], Ax>>>>;

const squeezedAxis = <Axis extends Fact, Shape extends Fact>(axis: Axis, shape: Shape) =>
  wrongAxis(`squeeze: axis ${axis} of ${shape} is not 1`);

type WhyOne<S extends Shape, Ax, D> = D extends 1 ? "" : SentenceOf<typeof squeezedAxis<Ax & number, Show<S>>>;
export type Squeeze<S extends Shape, Ax> = DropAt<S, Axis<S["length"], Ax>>;
export function inferSqueeze(x: Type, axis: number): Type | RuleError {
  return inferReshaped(
    "squeeze",
    x,
    ({ shape }) => {
      const why = whyAxis("squeeze", shape, axis);
      return why || (shape.at(axis) === 1 ? undefined : squeezedAxis(axis, showShape(shape)));
    },
    (shape) => shape.toSpliced(axisOf(shape.length, axis) ?? 0, 1),
  );
}

const itemShape = <Shape extends Fact>(shape: Shape) =>
  operandKind(`item: needs a tile of one element, this is ${shape}`, "reduce it first, tl.sum(x)");

/** The rule of item: a tile of one element. */
export type WhyItem<X> = X extends TileLike
  ? X[Sh] extends readonly 1[]
    ? ""
    : number extends X[Sh]["length"]
      ? ""
      : SentenceOf<typeof itemShape<Show<X[Sh]>>>
  : NotATile<"item", X>;
export function inferItem(x: Type): Type | RuleError {
  const why = ({ shape }: TileType) => (shape.every((dim) => dim === 1) ? undefined : itemShape(showShape(shape)));
  return inferReshaped("item", x, why, () => []);
}

// ---- permute, trans -------------------------------------------------------------------------------------------------

export type WhyPermuted<X, P> = X extends TileLike
  ? P extends readonly number[]
    ? WhyPermute<X[Sh], P>
    : "permute: needs a list of axes, such as [1, 0]"
  : NotATile<"permute", X>;
export function inferPermute(x: Type, order: readonly number[]): Type | RuleError {
  return inferReshaped(
    "permute",
    x,
    ({ shape }) => whyPermute(shape, order),
    (shape) => permuteShape(shape, order),
  );
}
/** The rule of trans: a permutation if there is an order, else a swap of the last two axes. */
export type WhyTransposed<X, P> = X extends TileLike
  ? [P] extends [undefined]
    ? WhyTrans<X[Sh]>
    : WhyPermuted<X, P>
  : NotATile<"trans", X>;
export type TransOut<X, P> = X extends TileLike
  ? Tile<X[El], AsShape<[P] extends [undefined] ? Trans<X[Sh]> : Permute<X[Sh], P>>>
  : Tile<any, any>;
export function inferTrans(x: Type, order: readonly number[] | undefined): Type | RuleError {
  if (x.kind !== "tile" && (order || x.kind !== "view")) return notATile("trans", x);
  if (order) return inferPermute(x, order);
  return whyTrans(x.shape) || { ...x, shape: transShape(x.shape) };
}

// ---- reshape, ravel -------------------------------------------------------------------------------------------------

const unspreadScalar = <Op extends Fact>(op: Op) =>
  wrongAxis(`${op}: a scalar has no axis`, "spread it with tl.broadcastTo(x, [1])");

/** The message for a scalar operand, which Triton's reshape and ravel do not accept. */
type NoAxis<Op extends string> = SentenceOf<typeof unspreadScalar<Op>>;

export type WhyReshaped<Op extends string, X, D> =
  IsAny<X> extends true
    ? ""
    : X extends TileLike
      ? X[Sh] extends readonly []
        ? NoAxis<Op>
        : WhyReshape<Op, X[Sh], AsShape<DimsOf<D>>>
      : NotATile<Op, X>;
export function inferReshape(op: string, x: Type, shape: Typed): Type | RuleError {
  if (x.kind === "tile" && x.shape.length === 0) return unspreadScalar(op);
  if (!shape.items) return notAShape(op);
  const types = shape.items.map((item) => item.type);
  const why = whyDims(op, types);
  return (
    why ||
    inferReshaped(
      op,
      x,
      (tile) => whyReshape(op, tile.shape, dimsOf(types)),
      () => dimsOf(types),
    )
  );
}

type Product<S> = S extends readonly [infer A]
  ? A
  : S extends readonly [1, ...infer R]
    ? Product<R>
    : S extends readonly [infer A, 1, ...infer R]
      ? Product<[A, ...R]>
      : S extends readonly [infer A extends Dim, infer B extends Dim, ...infer R]
        ? Product<[A extends number ? (B extends number ? number : Times<A, B>) : Times<A, B>, ...R]>
        : 1;
type Times<A extends Dim, B extends Dim> = number extends A | B ? any : MulText<`${A}`, `${B}`>;
export type RavelOut<X> = Tile<ElementIn<X>, number extends ShapeOf<X>["length"] ? [any] : [Product<ShapeOf<X>>]>;
export type WhyRavel<X> = X extends TileLike
  ? X[Sh] extends readonly []
    ? NoAxis<"ravel">
    : ""
  : NotATile<"ravel", X>;
export function inferRavel(x: Type): Type | RuleError {
  if (x.kind === "tile" && x.shape.length === 0) return unspreadScalar("ravel");
  return inferReshaped(
    "ravel",
    x,
    () => undefined,
    (shape) => [shape.filter((dim) => dim !== 1).reduce(times, 1)],
  );
}
function times(a: Dim, b: Dim): Dim {
  if (a === 1) return b;
  return typeof a === "number" && typeof b === "number" ? a * b : mulText(`${a}`, `${b}`);
}

// ---- broadcasting ---------------------------------------------------------------------------------------------------

export type WhyBroadcastArg<X, D> =
  IsAny<X> extends true
    ? ""
    : X extends TileLike
      ? X[Sh] extends readonly []
        ? ""
        : WhyBroadcastTo<X[Sh], AsShape<DimsOf<D>>>
      : NotATile<"broadcastTo", X>;
export function inferBroadcastTo(x: Type, shape: Typed): Type | RuleError {
  if (!shape.items) return notAShape("broadcastTo");
  const types = shape.items.map((item) => item.type);
  const why = whyDims("broadcastTo", types);
  if (why) return why;
  const to = dimsOf(types);
  return inferReshaped(
    "broadcastTo",
    x,
    (tile) => (tile.shape.length === 0 ? undefined : whyBroadcastTo(tile.shape, to)),
    () => to,
  );
}

export type WhyTogether<X, Y> = X extends TileLike
  ? Y extends TileLike
    ? WhyBroadcast<"broadcast", X[Sh], Y[Sh]>
    : NotATile<"broadcast", Y>
  : "";
export type Together<X, Y> = [
  Reshaped<X, Broadcast<ShapeOf<X>, ShapeOf<Y>>>,
  Reshaped<Y, Broadcast<ShapeOf<X>, ShapeOf<Y>>>,
];
export function inferTogether(x: Type, y: Type): readonly Type[] | RuleError {
  if (x.kind !== "tile") return notATile("broadcast", x);
  if (y.kind !== "tile") return notATile("broadcast", y);
  const why = whyBroadcast("broadcast", x.shape, y.shape);
  const shape = broadcast(x.shape, y.shape) ?? [];
  return why || [tileType(x.dtype, shape), tileType(y.dtype, shape)];
}
