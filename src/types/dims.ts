/** Permutations, reshapes, and the shapes of join, split, cat and interleave. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { wrongAxis, shapeMismatch } from "../diagnostics/catalog/rule-codes.js";
import { MAX_NUMEL } from "./limits.js";
import { mulText, type TwiceText } from "./constexpr-text.js";
import type { Same, RuleError } from "./rule-error.js";
import {
  showShape,
  type Dim,
  type Join,
  type Shape,
  type Show,
  type Cancel,
  cancel,
  type SplitProduct,
  splitProduct,
} from "./shape.js";

// ---- permutations ---------------------------------------------------------------------------------------------------

/** The last two axes swapped. */
export type Trans<S extends Shape> = number extends S["length"]
  ? any
  : S extends readonly [...infer R, infer a, infer b]
    ? [...R, b, a]
    : any;
export function transShape(shape: readonly Dim[]): Dim[] {
  return [...shape.slice(0, -2), ...shape.slice(-2).reverse()];
}

const tooFewAxes = <Shape extends Fact>(shape: Shape) =>
  wrongAxis(`trans: needs at least two axes, the tile is ${shape}`);

export type WhyTrans<S extends Shape> = number extends S["length"]
  ? ""
  : S extends readonly [...any, any, any]
    ? ""
    : SentenceOf<typeof tooFewAxes<Show<S>>>;
export function whyTrans(shape: readonly Dim[]): RuleError | undefined {
  return shape.length >= 2 ? undefined : tooFewAxes(showShape(shape));
}

export type Permute<S extends Shape, P> = number extends S["length"]
  ? any
  : P extends readonly number[]
    ? { -readonly [K in keyof P]: S[P[K] & number] }
    : any;
export function permuteShape(shape: readonly Dim[], order: readonly number[]): Dim[] {
  return order.map((axis) => shape[axis] ?? 1);
}
type Axes<S extends Shape> = { [K in keyof S]: K extends `${infer N extends number}` ? N : never }[number];

const notAPermutation = <Order extends Fact, Shape extends Fact>(order: Order, shape: Shape) =>
  wrongAxis(`permute: [${order}] is not a permutation of the axes of ${shape}`);
const permutationLength = <Order extends Fact, Shape extends Fact>(order: Order, shape: Shape) =>
  wrongAxis(`permute: [${order}] has not one entry for each axis of ${shape}`);

export type WhyPermute<S extends Shape, P extends readonly number[]> = number extends S["length"] | P["length"]
  ? ""
  : P["length"] extends S["length"]
    ? [Axes<S>] extends [P[number]]
      ? ""
      : SentenceOf<typeof notAPermutation<Join<P>, Show<S>>>
    : SentenceOf<typeof permutationLength<Join<P>, Show<S>>>;
export function whyPermute(shape: readonly Dim[], order: readonly number[]): RuleError | undefined {
  if (order.length !== shape.length) {
    return permutationLength(order.join(", "), showShape(shape));
  }
  return shape.every((_, axis) => order.includes(axis))
    ? undefined
    : notAPermutation(order.join(", "), showShape(shape));
}

// ---- reshape --------------------------------------------------------------------------------------------------------
// Common factors of both shapes cancel. Only a certain difference is an error. The build checks the other cases (a
// number and a name, a quotient), because it has the values of each config.

type Factors<S, Out extends unknown[] = []> = S extends readonly [infer H, ...infer R]
  ? H extends 1
    ? Factors<R, Out>
    : Factors<R, [...Out, ...SplitProduct<H>]>
  : Out;
function factors(shape: readonly Dim[]): Dim[] {
  return shape.filter((dim) => dim !== 1).flatMap(splitProduct);
}
interface Log2 {
  2: [0];
  4: [0, 0];
  8: [0, 0, 0];
  16: [0, 0, 0, 0];
  32: [0, 0, 0, 0, 0];
  64: [0, 0, 0, 0, 0, 0];
  128: [0, 0, 0, 0, 0, 0, 0];
  256: [0, 0, 0, 0, 0, 0, 0, 0];
  512: [0, 0, 0, 0, 0, 0, 0, 0, 0];
  1024: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  2048: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  4096: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
}
/** [names, log2 of the product of the numbers], or "open" if this depends on the values of constexprs. */
type Sort<L, Names extends unknown[] = [], Log extends 0[] = []> = L extends [infer H, ...infer R]
  ? H extends number
    ? H extends keyof Log2
      ? Sort<R, Names, [...Log, ...Log2[H]]>
      : "open"
    : string extends H
      ? "open"
      : H extends `${string} ${string}`
        ? "open"
        : Sort<R, [...Names, H], Log>
  : [Names, Log];
function sort(list: readonly Dim[]): { names: number; log2: number } | "open" {
  const numbers = list.filter((dim) => typeof dim === "number");
  const names = list.filter((dim) => typeof dim === "string");
  if (names.some((name) => name.includes(" "))) return "open";
  const logs = numbers.map(Math.log2);
  return logs.every((log) => Number.isInteger(log) && log >= 1 && log <= 12)
    ? { names: names.length, log2: logs.reduce((sum, log) => sum + log, 0) }
    : "open";
}

type AtMost<A extends 0[], B extends 0[]> = B extends [...A, ...0[]] ? true : false;
type Differ<A, B> = A extends [infer NA, infer LA extends 0[]]
  ? B extends [infer NB, infer LB extends 0[]]
    ? NA extends []
      ? NB extends []
        ? Same<LA, LB> extends true
          ? false
          : true
        : LA extends LB
          ? false
          : AtMost<LA, LB>
      : NB extends []
        ? LB extends LA
          ? false
          : AtMost<LB, LA>
        : [LA, LB] extends [[], []]
          ? true
          : false
    : false
  : false;
/**
 * True if the products certainly differ: different numbers, a name that would have to be below 1, or different names
 * without numbers.
 */
function differ(a: ReturnType<typeof sort>, b: ReturnType<typeof sort>): boolean {
  if (a === "open" || b === "open") return false;
  if (a.names === 0 && b.names === 0) return a.log2 !== b.log2;
  if (a.names === 0) return a.log2 < b.log2;
  if (b.names === 0) return b.log2 < a.log2;
  return a.log2 === 0 && b.log2 === 0;
}

type HasDifferentNumel<C> = C extends [infer A, infer B] ? Differ<Sort<A>, Sort<B>> : false;

const otherCount = <Op extends Fact, From extends Fact, To extends Fact>(op: Op, from: From, to: To) =>
  shapeMismatch(`${op}: ${from} and ${to} do not hold the same number of elements`);

export type WhyReshape<Op extends string, A extends Shape, B extends Shape> = number extends A["length"] | B["length"]
  ? ""
  : HasDifferentNumel<Cancel<Factors<A>, Factors<B>>> extends true
    ? SentenceOf<typeof otherCount<Op, Show<A>, Show<B>>>
    : "";
export function whyReshape(op: string, a: readonly Dim[], b: readonly Dim[]): RuleError | undefined {
  const [remainingA, remainingB] = cancel(factors(a), factors(b));
  return differ(sort(remainingA), sort(remainingB)) ? otherCount(op, showShape(a), showShape(b)) : undefined;
}

// ---- doubling -------------------------------------------------------------------------------------------------------

// prettier-ignore
interface Twice {
  1: 2; 2: 4; 4: 8; 8: 16; 16: 32; 32: 64; 64: 128; 128: 256; 256: 512; 512: 1024; 1024: 2048; 2048: 4096; 4096: 8192;
  8192: 16384; 16384: 32768; 32768: 65536; 65536: 131072; 131072: 262144; 262144: 524288; 524288: 1048576;
}
/** The valid sizes of a tile's dimension. */
export type PowerOfTwo = keyof Twice | typeof MAX_NUMEL;
/** True for a power of two that is at least 1. */
export const isPower = (value: number): boolean => value >= 1 && Number.isInteger(Math.log2(value));
export const isPowerOfTwo = (value: number): boolean => Number.isInteger(value) && value <= MAX_NUMEL && isPower(value);

export type Double<D> = D extends keyof Twice
  ? Twice[D]
  : D extends number
    ? number
    : D extends string
      ? TwiceText<D>
      : any;
export function double(dim: Dim): Dim {
  return typeof dim === "number" ? dim * 2 : mulText(dim, "2");
}
/** The shape of cat: one dimension is doubled. */
export type DoubleAt<S extends Shape, I> = SetAt<S, I, Double<DimAt<S, I>>>;
export function doubleAt(shape: readonly Dim[], axis: number): Dim[] {
  const doubledAxis = axisOf(shape.length, axis) ?? 0;
  return shape.map((dim, index) => (index === doubledAxis ? double(dim) : dim));
}
/** The shape of interleave: the last dimension is doubled. */
export type DoubleLast<S extends Shape> = number extends S["length"]
  ? any
  : S extends readonly [...infer R, infer a]
    ? [...R, Double<a>]
    : [2];
/** The shape of split: the last dimension is removed. */
export type DropLast<S extends Shape> = number extends S["length"]
  ? any
  : S extends readonly [...infer R, any]
    ? R
    : any;

// Axes of a shape: counting from either end, and removing, replacing or inserting one dimension.

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
type InsertAt<S extends Shape, I, D> =
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
