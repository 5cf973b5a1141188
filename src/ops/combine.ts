/** Reductions, scans and elementwise maps with your own function. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { helperArgument, helperCapture, helperFunction } from "../diagnostics/catalog/control-codes.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import { expandDims, type TileArray } from "../numerics/array.js";
import { foldLanes, lastAlongAxis, mapLanes } from "../numerics/array-reduce.js";
import { builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import type { Validate } from "../types/rule-error.js";
import type { FunctionRuntime } from "../values/runtime-values.js";
import {
  type Combine,
  type FirstOf,
  inferFold,
  inferMap,
  type MapOut,
  type MapFunction,
  type ReduceAll,
  type ScanAll,
  type WhyFoldAxis,
  type WhyTiles,
  whyTiles,
} from "../rules/reduce-rules.js";
import { tileType, type Type, type Typed } from "../types/types.js";
import { capturesOf } from "../ir/walk.js";
import type { WhyTile } from "../rules/math-rules.js";
import { defineOp, withRecord } from "./define.js";
import { traceHelper, definitionOfHelper, effectOf } from "./helper.js";
import { listOf, isTile } from "../values/operands.js";

const tilesOf = ({ x }: { readonly x: Typed }): readonly Type[] => x.items?.map(({ type }) => type) ?? [x.type];
const combinerOf =
  ({ combineFn }: { readonly combineFn: FunctionRuntime }) =>
  (lhs: readonly TileArray[], rhs: readonly TileArray[]) =>
    combineFn.call([...lhs, ...rhs]) as readonly TileArray[];
function unwrapSingle<T>(list: readonly T[]): T | readonly T[] {
  const [first, ...others] = list;
  return first !== undefined && others.length === 0 ? first : list;
}

const reduceOp = defineOp<(x: unknown, axis: number, combineFn: unknown, options: object) => unknown>()({
  name: "reduce",
  operands: { x: "tiles", axis: "constant", combineFn: "function" },
  options: { keepDims: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.reduce" },
  infer: (args) =>
    inferFold("reduce", tilesOf(args), Number(args.axis.literal), args.combineFn.signature, {
      keepDims: args.keepDims?.literal === true,
    }),
  evaluate(args) {
    const axis = Number(args.axis);
    const results = foldLanes(listOf(args.x), axis, combinerOf(args)).map((tile) => lastAlongAxis(tile, axis));
    return unwrapSingle(args.keepDims === true ? results.map((tile) => expandDims(tile, axis)) : results);
  },
  proof: { foldSemantics: { form: "reduction", combineClasses: undefined } },
});

/**
 * Reduces an axis with a combine function: `tl.reduce(x, 0, (a, b) => tl.maximum(a, b))`. Several tiles of one shape
 * can be reduced together: `tl.reduce([m, s], 0, ([m1, s1], [m2, s2]) => […])`. The function accepts and returns
 * scalars of the tiles' dtypes. It must be associative and commutative, because Triton chooses the order of calls.
 */
export const reduce = withRecord(reduceOp, ((x: unknown, axis: number, combine: unknown, options: object = {}) => {
  const location = captureLocation();
  return reduceOp(x, axisOf("reduce", x, axis, location), traceCombine("reduce", x, combine, location), options);
}) as unknown as <const X, const Ax, const Keep = false>(
  x: Validate<X, WhyTiles<"reduce", X>>,
  axis: Validate<Ax, WhyFoldAxis<"reduce", FirstOf<X>, Ax>>,
  combine: Combine<NoInfer<X>>,
  options?: { keepDims?: Keep },
) => ReduceAll<X, Ax, Keep>);

const scanOp = defineOp<(x: unknown, axis: number, combineFn: unknown, options: object) => unknown>()({
  name: "associativeScan",
  operands: { x: "tiles", axis: "constant", combineFn: "function" },
  options: { reverse: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.associative_scan" },
  infer: (args) =>
    inferFold("associativeScan", tilesOf(args), Number(args.axis.literal), args.combineFn.signature, { scan: true }),
  evaluate: (args) =>
    unwrapSingle(foldLanes(listOf(args.x), Number(args.axis), combinerOf(args), args.reverse === true)),
  proof: { foldSemantics: { form: "scan", combineClasses: undefined } },
});

/**
 * An inclusive scan along an axis: `tl.associativeScan(x, 0, (a, b) => a.add(b), { reverse: true })`. Several tiles of
 * one shape can be scanned together, as with `tl.reduce`.
 */
export const associativeScan = withRecord(scanOp, ((
  x: unknown,
  axis: number,
  combine: unknown,
  options: object = {},
) => {
  const location = captureLocation();
  return scanOp(
    x,
    axisOf("associativeScan", x, axis, location),
    traceCombine("associativeScan", x, combine, location),
    options,
  );
}) as unknown as <const X, const Ax>(
  x: Validate<X, WhyTiles<"associativeScan", X>>,
  axis: Validate<Ax, WhyFoldAxis<"associativeScan", FirstOf<X>, Ax>>,
  combine: Combine<NoInfer<X>>,
  options?: { reverse?: boolean },
) => ScanAll<X>);

const mapOp = defineOp<(scalarFn: unknown, args: readonly unknown[], options: object) => unknown>()({
  name: "mapElementwise",
  operands: { scalarFn: "function", args: "values" },
  effect: "pure",
  spelling: { form: "call", name: "tl.map_elementwise", spread: "args" },
  infer: ({ scalarFn, args }) =>
    inferMap(
      args.items.map(({ type }) => type),
      scalarFn.signature,
    ),
  evaluate({ scalarFn, args }, context) {
    const call = scalarFn.call as (lanes: readonly TileArray[]) => readonly TileArray[];
    return unwrapSingle(mapLanes(args.filter(isTile), context.result.shape, call));
  },
});

/**
 * Calls a function of scalars for every element: `tl.mapElementwise((x) => tl.when(x.gt(0), …).otherwise(…), x)`. Use
 * it if one arm of a branch costs much more than the other. Otherwise, use tiles and `tl.where`. Triton's option `pack`
 * is not available, because its result would depend on the tile's layout.
 */
export const mapElementwise = withRecord(mapOp, ((scalarFn: unknown, ...args: readonly unknown[]) => {
  const location = captureLocation();
  const types = args.map((arg) => (isHandle(arg) ? valueOf(arg).type : undefined));
  const invalid = types.find((type) => type?.kind !== "tile");
  if (args.length === 0 || types.includes(undefined) || invalid) fail(helperArgument.tiles(), location);
  const scalars = types.map((type) => (type?.kind === "tile" ? scalarOf(type) : undefined));
  return mapOp(traceElementFunction("mapElementwise", scalarFn, scalars, location), args, {});
}) as unknown as <const A extends readonly unknown[], R>(
  scalarFn: MapFunction<NoInfer<A>, R>,
  ...args: { readonly [K in keyof A]: Validate<A[K], WhyTile<"mapElementwise", A[K]>> }
) => MapOut<A, R>);

// ---- the function -----------------------------------------------------------------------------------------------------

/** A placeholder argument for tracing the function. Only its type matters. */
function scalarOf(type: Type & { kind: "tile" }): Handle {
  const recorder = builder("a combine function");
  return new Handle(recorder.value(tileType(type.dtype, []), undefined));
}

function traceCombine(opName: string, x: unknown, combine: unknown, location: Location | undefined): unknown {
  const tiles = (Array.isArray(x) ? x : [x]).map((tile) => (isHandle(tile) ? valueOf(tile).type : undefined));
  const why = tiles.includes(undefined)
    ? operandKind(`${opName}: needs a tile, or a list of tiles`)
    : whyTiles(opName, tiles as Type[]);
  if (why) fail(why, location);
  const makeOperand = () => {
    const scalars = tiles.map((type) => scalarOf(type as Type & { kind: "tile" }));
    return Array.isArray(x) ? scalars : scalars[0];
  };
  // Triton's combine functions have one parameter per tile and side.
  if (Array.isArray(x) && typeof combine === "function" && combine.length === 2 * x.length && x.length > 1)
    fail(helperFunction.sides(opName, x.length), location);
  return traceElementFunction(opName, combine, [makeOperand(), makeOperand()], location);
}

function traceElementFunction(
  opName: string,
  callback: unknown,
  args: readonly unknown[],
  location: Location | undefined,
): unknown {
  if (typeof callback !== "function") fail(helperFunction.scalars(opName), location);
  const body = callback as (...args: unknown[]) => unknown;
  const definition = definitionOfHelper(callback) ?? {
    body,
    name: body.name || (opName === "mapElementwise" ? "element" : "combine"),
    noinline: false,
    location: undefined,
    opName,
  };
  const { helper } = traceHelper(builder(`tl.${opName}`), definition, args, location);
  if (capturesOf(helper).length > 0) fail(helperCapture.elements(opName), location);
  if (effectOf(helper) !== "pure") fail(helperFunction.order(opName), location);
  return { kind: "function", function: helper };
}

/** The axis, counted from the front. Triton's interpreter does not accept negative axes here. */
function axisOf(opName: string, x: unknown, axis: unknown, location: Location | undefined): number {
  if (typeof axis !== "number") fail(argumentList.axis(opName), location);
  const first: unknown = Array.isArray(x) ? x[0] : x;
  const type = isHandle(first) ? valueOf(first).type : undefined;
  const rank = type?.kind === "tile" ? type.shape.length : 0;
  return axis < 0 && axis >= -rank ? axis + rank : axis;
}
