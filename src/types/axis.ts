/** Axes of a shape: counting from either end, and removing, replacing or inserting one dimension. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { wrongAxis } from "../diagnostics/catalog/rule-codes.js";
import { showShape, type Dim, type Shape, type Show } from "./shape.js";
import type { RuleError } from "./rule-error.js";

/** Axes of each rank, by number and by negative number. A table is cheaper than counting tuples. */
interface AxisTable {
  1: { 0: 0; "-1": 0 };
  2: { 0: 0; 1: 1; "-1": 1; "-2": 0 };
  3: { 0: 0; 1: 1; 2: 2; "-1": 2; "-2": 1; "-3": 0 };
  4: { 0: 0; 1: 1; 2: 2; 3: 3; "-1": 3; "-2": 2; "-3": 1; "-4": 0 };
  5: { 0: 0; 1: 1; 2: 2; 3: 3; 4: 4; "-1": 4; "-2": 3; "-3": 2; "-4": 1; "-5": 0 };
  6: { 0: 0; 1: 1; 2: 2; 3: 3; 4: 4; 5: 5; "-1": 5; "-2": 4; "-3": 3; "-4": 2; "-5": 1; "-6": 0 };
}
interface NextRank {
  0: 1;
  1: 2;
  2: 3;
  3: 4;
  4: 5;
  5: 6;
}

/** An axis counted from the front, "?" for a number that is not a literal, or "none". */
export type Axis<Rank, Ax> = number extends Ax
  ? "?"
  : Rank extends keyof AxisTable
    ? Ax extends keyof AxisTable[Rank]
      ? AxisTable[Rank][Ax]
      : `${Ax & number}` extends keyof AxisTable[Rank]
        ? AxisTable[Rank][`${Ax & number}` & keyof AxisTable[Rank]]
        : "none"
    : "none";
/** The axis counted from the front. Undefined if it is out of range. */
export function axisOf(rank: number, axis: number): number | undefined {
  return Number.isInteger(axis) && axis >= -rank && axis < rank ? (axis + rank) % rank : undefined;
}

/** The axis counted from the front, of an axis that a type rule has checked. */
export function checkedAxis(rank: number, axis: number): number {
  const front = axisOf(rank, axis);
  if (front === undefined) throw new RangeError(`no axis ${axis} in a shape of rank ${rank}`);
  return front;
}

/** The item for an axis in a list with one item per axis. */
export function atAxis<Item>(items: readonly Item[], axis: number): Item {
  const item = items[axis];
  if (item === undefined) throw new RangeError(`no axis ${axis} in a list of ${items.length}`);
  return item;
}

/** A list with one item per axis, in another order of the axes. */
export const permuteAxes = <Item>(items: readonly Item[], order: readonly number[]): Item[] =>
  order.map((axis) => atAxis(items, axis));

/** The list that {@link permuteAxes} turns into `items`. */
export const unpermuteAxes = <Item>(items: readonly Item[], order: readonly number[]): Item[] =>
  order.map((_, axis) => atAxis(items, order.indexOf(axis)));

/** A hint for an author who passes the second of two operands as the axis of a reduction. */
type OfTwo<Op extends string> = Op extends "max" | "min" ? `of two values, tl.${Op}imum(x, y)` : "";
const ofTwo = (op: string): string => (op === "max" || op === "min" ? `of two values, tl.${op}imum(x, y)` : "");

export const scalarWithoutAxis = <Op extends Fact, Remedy extends string>(op: Op, remedy: Remedy) =>
  wrongAxis(`${op}: a scalar has no axis`, remedy);

export const whyNoAxis = (op: string): RuleError => scalarWithoutAxis(op, ofTwo(op));

const axisOutOfRange = <Op extends Fact, Axis extends Fact, Shape extends Fact>(op: Op, axis: Axis, shape: Shape) =>
  wrongAxis(`${op}: axis ${axis} is out of range, the tile is ${shape}`);
const axisByPosition = <Op extends Fact, Remedy extends string>(op: Op, remedy: Remedy) =>
  wrongAxis(`${op}: the axis is a number by position, tl.${op}(x, 0)`, remedy);

export type WhyAxis<Op extends string, S extends Shape, Ax> = [Ax] extends [number]
  ? number extends S["length"]
    ? ""
    : Axis<S["length"], Ax> extends "none"
      ? S extends readonly []
        ? SentenceOf<typeof scalarWithoutAxis<Op, OfTwo<Op>>>
        : SentenceOf<typeof axisOutOfRange<Op, Ax & number, Show<S>>>
      : ""
  : SentenceOf<typeof axisByPosition<Op, OfTwo<Op>>>;
/** The rule of ops whose axis is optional: the operand must not be a scalar. */
export type WhyScalar<Op extends string, S extends Shape> = S extends readonly []
  ? SentenceOf<typeof scalarWithoutAxis<Op, OfTwo<Op>>>
  : "";
export function whyAxis(op: string, shape: readonly Dim[], axis: number): RuleError | undefined {
  if (axisOf(shape.length, axis) !== undefined) return undefined;
  if (Number.isNaN(axis)) return axisByPosition(op, ofTwo(op));
  return shape.length === 0 ? whyNoAxis(op) : axisOutOfRange(op, axis, showShape(shape));
}

/** S split before dimension I: [dimensions before I, remaining dimensions]. */
type SplitAt<S extends Shape, I> = number extends S["length"]
  ? any
  : I extends 0
    ? [[], S]
    : I extends 1
      ? S extends readonly [infer a, ...infer R]
        ? [[a], R]
        : any
      : I extends 2
        ? S extends readonly [infer a, infer b, ...infer R]
          ? [[a, b], R]
          : any
        : I extends 3
          ? S extends readonly [infer a, infer b, infer c, ...infer R]
            ? [[a, b, c], R]
            : any
          : I extends 4
            ? S extends readonly [infer a, infer b, infer c, infer d, ...infer R]
              ? [[a, b, c, d], R]
              : any
            : I extends 5
              ? S extends readonly [infer a, infer b, infer c, infer d, infer e, ...infer R]
                ? [[a, b, c, d, e], R]
                : any
              : any;

/** S without dimension I. */
export type DropAt<S extends Shape, I> =
  SplitAt<S, I> extends [infer H extends Shape, readonly [any, ...infer R]] ? [...H, ...R] : any;
/** S with dimension I replaced. */
export type SetAt<S extends Shape, I, D> =
  SplitAt<S, I> extends [infer H extends Shape, readonly [any, ...infer R]] ? [...H, D, ...R] : any;
/** S with a new dimension I. */
export type InsertAt<S extends Shape, I, D> =
  SplitAt<S, I> extends [infer H extends Shape, infer R extends Shape] ? [...H, D, ...R] : any;
/** Dimension I of S. */
export type DimAt<S extends Shape, I> = SplitAt<S, I> extends [Shape, readonly [infer D, ...Shape]] ? D : any;

/** The shape after a reduction over `Ax`. `Ax` undefined means all axes. */
export type Reduce<S extends Shape, Ax, Keep> = [Ax] extends [undefined]
  ? Keep extends true
    ? Ones<S>
    : []
  : Keep extends true
    ? SetAt<S, Axis<S["length"], Ax>, 1>
    : DropAt<S, Axis<S["length"], Ax>>;
type Ones<S extends Shape> = number extends S["length"] ? any : { -readonly [K in keyof S]: 1 };
export function reduceShape(shape: readonly Dim[], axis: number | undefined, keepDims: boolean): Dim[] {
  if (axis === undefined) return keepDims ? shape.map(() => 1) : [];
  const index = axisOf(shape.length, axis) ?? shape.length;
  return keepDims ? shape.with(index, 1) : shape.toSpliced(index, 1);
}

/** A new dimension of 1. The axis counts in the result. */
export type Expand<S extends Shape, Ax> = InsertAt<S, Axis<NextRank[S["length"] & keyof NextRank], Ax>, 1>;
export function expandShape(shape: readonly Dim[], axis: number): Dim[] {
  return shape.toSpliced(axisOf(shape.length + 1, axis) ?? shape.length, 0, 1);
}
export type WhyExpand<S extends Shape, Ax> = number extends S["length"]
  ? ""
  : Axis<NextRank[S["length"] & keyof NextRank], Ax> extends "none"
    ? SentenceOf<typeof axisOutOfRange<"expandDims", Ax & number, Show<S>>>
    : "";
export function whyExpand(shape: readonly Dim[], axis: number): RuleError | undefined {
  const isInRange = axisOf(shape.length + 1, axis) !== undefined;
  return isInRange ? undefined : axisOutOfRange("expandDims", axis, showShape(shape));
}
