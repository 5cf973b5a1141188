/** Ops that take a function of elements: reductions, scans and maps with the author's function. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { helperArgument, helperCapture, helperFunction } from "../diagnostics/catalog/control-codes.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";
import { ruleViolation } from "../diagnostics/catalog/rule-codes.js";
import { expandDims, type TileArray } from "../numerics/array.js";
import { foldLanes, lastAlongAxis, mapLanes } from "../numerics/array-fold.js";
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
import { definitionOfHelper, effectOf } from "./fn.js";
import { traceHelper } from "./helper.js";
import { listOf, isTile } from "../values/operands.js";

const tilesOf = ({ x }: { readonly x: Typed }): readonly Type[] => x.items?.map(({ type }) => type) ?? [x.type];
const folding =
  ({ combineFn }: { readonly combineFn: FunctionRuntime }) =>
  (left: readonly TileArray[], right: readonly TileArray[]) =>
    combineFn.call([...left, ...right]) as readonly TileArray[];
const unlisted = <T>(list: readonly T[]): T | readonly T[] => (list.length === 1 ? list[0]! : list);

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
    const folded = foldLanes(listOf(args.x), axis, folding(args)).map((tile) => lastAlongAxis(tile, axis));
    return unlisted(args.keepDims === true ? folded.map((tile) => expandDims(tile, axis)) : folded);
  },
  proof: { foldSemantics: { form: "reduction", kinds: undefined } },
});

/**
 * Reduces an axis with the author's function: `tl.reduce(x, 0, (a, b) => tl.maximum(a, b))`. Several tiles of one shape
 * are reduced together: `tl.reduce([m, s], 0, ([m1, s1], [m2, s2]) => […])`. The function takes and returns scalars
 * of the tiles' dtypes. Triton chooses the order of calls, so it must be associative and commutative.
 */
export const reduce = withRecord(reduceOp, ((x: unknown, axis: number, combine: unknown, options: object = {}) => {
  const at = captureLocation();
  return reduceOp(x, axisOf("reduce", x, axis, at), combineOf("reduce", x, combine, at), options);
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
  evaluate: (args) => unlisted(foldLanes(listOf(args.x), Number(args.axis), folding(args), args.reverse === true)),
  proof: { foldSemantics: { form: "scan", kinds: undefined } },
});

/**
 * The inclusive prefix folds along an axis: `tl.associativeScan(x, 0, (a, b) => a.add(b), { reverse: true })`. Several
 * tiles of one shape are scanned together, as with `tl.reduce`.
 */
export const associativeScan = withRecord(scanOp, ((
  x: unknown,
  axis: number,
  combine: unknown,
  options: object = {},
) => {
  const at = captureLocation();
  return scanOp(x, axisOf("associativeScan", x, axis, at), combineOf("associativeScan", x, combine, at), options);
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
    return unlisted(mapLanes(args.filter(isTile), context.result.shape, call));
  },
});

/**
 * Calls a function of scalars for every element: `tl.mapElementwise((x) => tl.when(x.gt(0), …).otherwise(…), x)`. Use
 * it if the arms of a branch differ greatly in cost; else use tiles and `tl.where`. Triton's `pack` is not offered,
 * because the layout decides which elements share a call.
 */
export const mapElementwise = withRecord(mapOp, ((scalarFn: unknown, ...args: readonly unknown[]) => {
  const at = captureLocation();
  const types = args.map((arg) => (isHandle(arg) ? valueOf(arg).type : undefined));
  const wrong = types.find((type) => type?.kind !== "tile");
  if (args.length === 0 || types.includes(undefined) || wrong) fail(helperArgument.tiles(), at);
  const scalars = types.map((type) => (type?.kind === "tile" ? scalarOf(type) : undefined));
  return mapOp(helperFor("mapElementwise", scalarFn, scalars, at), args, {});
}) as unknown as <const A extends readonly unknown[], R>(
  scalarFn: MapFunction<NoInfer<A>, R>,
  ...args: { readonly [K in keyof A]: Validate<A[K], WhyTile<"mapElementwise", A[K]>> }
) => MapOut<A, R>);

// ---- the function -----------------------------------------------------------------------------------------------------

/** A scalar for tracing the function, of which only the type matters. */
function scalarOf(type: Type & { kind: "tile" }): Handle {
  const recorder = builder("a combine function");
  return new Handle(recorder.value(tileType(type.dtype, []), undefined));
}

function combineOf(what: string, x: unknown, combine: unknown, at: Location | undefined): unknown {
  const tiles = (Array.isArray(x) ? x : [x]).map((tile) => (isHandle(tile) ? valueOf(tile).type : undefined));
  const why = tiles.includes(undefined) ? `${what}: needs a tile, or a list of tiles` : whyTiles(what, tiles as Type[]);
  if (why !== "") fail(ruleViolation(why), at);
  const side = () => {
    const scalars = tiles.map((type) => scalarOf(type as Type & { kind: "tile" }));
    return Array.isArray(x) ? scalars : scalars[0];
  };
  // Triton's own way: each tile's element by itself.
  if (Array.isArray(x) && typeof combine === "function" && combine.length === 2 * x.length && x.length > 1)
    fail(helperFunction.sides(what, x.length), at);
  return helperFor(what, combine, [side(), side()], at);
}

function helperFor(what: string, given: unknown, args: readonly unknown[], at: Location | undefined): unknown {
  if (typeof given !== "function") fail(helperFunction.scalars(what), at);
  const body = given as (...args: unknown[]) => unknown;
  const definition = definitionOfHelper(given) ?? {
    body,
    name: body.name || (what === "mapElementwise" ? "element" : "combine"),
    noinline: false,
    at: undefined,
    what,
  };
  const { helper } = traceHelper(builder(`tl.${what}`), definition, args, at);
  if (capturesOf(helper).length > 0) fail(helperCapture.elements(what), at);
  if (effectOf(helper) !== "pure") fail(helperFunction.order(what), at);
  return { kind: "function", function: helper };
}

/** The axis counted from the front; Triton's interpreter needs this form. */
function axisOf(what: string, x: unknown, axis: unknown, at: Location | undefined): number {
  if (typeof axis !== "number") fail(argumentList.axis(what), at);
  const first: unknown = Array.isArray(x) ? x[0] : x;
  const type = isHandle(first) ? valueOf(first).type : undefined;
  const rank = type?.kind === "tile" ? type.shape.length : 0;
  return axis < 0 && axis >= -rank ? axis + rank : axis;
}
