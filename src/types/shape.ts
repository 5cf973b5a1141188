/** Dimensions, shapes and broadcasting. Axes are in `axis.ts`, permutations and reshapes in `dims.ts`. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { shapeMismatch } from "../diagnostics/catalog/rule-codes.js";
import type { IsAny, Same, RuleError } from "./rule-error.js";

export const otherShape = <Op extends Fact, A extends Fact, B extends Fact>(op: Op, a: A, b: B) =>
  shapeMismatch(`${op}: the tiles must have one shape, got ${a} and ${b}`);

/** A dimension: a number, or the canonical text of an expression over constexprs. Equal dimensions have equal texts. */
export type Dim = number | string;

/** True if the dimension depends on the index of an unrolled loop, whose text contains "@". */
export function isUnrolled(dim: Dim): boolean {
  return typeof dim === "string" && dim.includes("@");
}

/**
 * Intentionally weak, so that a tuple of type parameters, such as a helper's [N], satisfies it without a constraint.
 */
export type Shape = readonly unknown[];

/** Tells the checker that T is a shape. */
export type AsShape<T> = T extends Shape ? T : any;

export type Join<S> = S extends readonly [infer H]
  ? `${H & Dim}`
  : S extends readonly [infer H, ...infer R]
    ? `${H & Dim}, ${Join<R>}`
    : "";
/** A shape in messages: `[BLOCK_M, 1]`, or `a scalar`. */
export type Show<S> = S extends readonly [] ? "a scalar" : `[${Join<S>}]`;
export function showShape(shape: readonly Dim[]): string {
  return shape.length === 0 ? "a scalar" : `[${shape.join(", ")}]`;
}

// ---- broadcasting ---------------------------------------------------------------------------------------------------
// Fit returns the shape in a 1-tuple, or a string that describes the mismatch. The order of the tests matters: each
// must be decidable for `[]`, for tuples of type parameters ([N]), and for a bare type parameter (S).

/** Compares dimensions by their factors. A dimension whose value the checker does not know equals every other. */
type Loose<A, B, Num = number, Str = string, Any = Dim> =
  IsAny<A> extends true
    ? [B]
    : IsAny<B> extends true
      ? [A]
      : Same<A, Num> extends true
        ? [B]
        : Same<A, Str> extends true
          ? [B]
          : Same<A, Any> extends true
            ? [B]
            : Same<B, Any> extends true
              ? [A]
              : Same<B, Num> extends true
                ? [A]
                : Same<B, Str> extends true
                  ? [A]
                  : SameProduct<A, B> extends true
                    ? [A]
                    : `${A & Dim} is not ${B & Dim}`;
type FitDim<A, B, One = 1> =
  Same<A, B> extends true ? [A] : Same<B, One> extends true ? [A] : Same<A, One> extends true ? [B] : Loose<A, B>;
type FitLast<A, B, Done extends unknown[]> = A extends readonly [...infer AR, infer a]
  ? B extends readonly [...infer BR, infer b]
    ? FitDim<a, b> extends [infer d]
      ? FitLast<AR, BR, [d, ...Done]>
      : FitDim<a, b>
    : [[...A, ...Done]]
  : B extends readonly unknown[]
    ? [[...B, ...Done]]
    : never;
/** The broadcast shape in a 1-tuple, or a description of the mismatch. */
export type Fit<A extends Shape, B extends Shape, Empty = []> =
  Same<A, B> extends true
    ? [A]
    : Same<B, Empty> extends true
      ? [A]
      : number extends A["length"]
        ? [any]
        : A extends readonly []
          ? [B]
          : number extends B["length"]
            ? [any]
            : FitLast<A, B, []>;
function fit(a: readonly Dim[], b: readonly Dim[]): Dim[] | string {
  const shape: Dim[] = [];
  for (let fromEnd = 1; fromEnd <= Math.max(a.length, b.length); fromEnd++) {
    const [x, y] = [a.at(-fromEnd) ?? 1, b.at(-fromEnd) ?? 1];
    if (!sameDim(x, y) && x !== 1 && y !== 1) return `${x} is not ${y}`;
    shape.unshift(x === 1 ? y : x);
  }
  return shape;
}

/** The broadcast shape of two tiles: axes are aligned at the right, and axes of size 1 are broadcast. */
export type Broadcast<A extends Shape, B extends Shape> = ShapeOrAny<Fit<A, B>>;
type ShapeOrAny<F> = F extends readonly [any] ? F[0] : any;
/** Undefined if `whyBroadcast` returns a message. */
export function broadcast(a: readonly Dim[], b: readonly Dim[]): Dim[] | undefined {
  const shape = fit(a, b);
  return typeof shape === "string" ? undefined : shape;
}

const shapeClash = <Op extends Fact, A extends Fact, B extends Fact, Clash extends Fact, Remedy extends string>(
  op: Op,
  a: A,
  b: B,
  clash: Clash,
  remedy: Remedy,
) => shapeMismatch(`${op}: ${a} and ${b} do not broadcast, ${clash}`, remedy);

export type WhyBroadcast<Op extends string, A extends Shape, B extends Shape> =
  Fit<A, B> extends `${infer Clash}` ? SentenceOf<typeof shapeClash<Op, Show<A>, Show<B>, Clash, Hint<A, B>>> : "";
export function whyBroadcast(op: string, a: readonly Dim[], b: readonly Dim[]): RuleError | undefined {
  const shape = inferBroadcast(op, a, b);
  return shape instanceof Message ? shape : undefined;
}
/** The common shape, or a message. */
export function inferBroadcast(op: string, a: readonly Dim[], b: readonly Dim[]): readonly Dim[] | RuleError {
  const shape = fit(a, b);
  return typeof shape === "string" ? shapeClash(op, showShape(a), showShape(b), shape, hint(a, b)) : shape;
}
const MAKE_GRID = "make a grid of them with .col and .row";

const STAND_UP = "stand the first up with .col";

/** The remedy, if the shapes show what the author meant. */
type Hint<A, B> = [A, B] extends [readonly [any], readonly [any]]
  ? typeof MAKE_GRID
  : [A, B] extends [readonly [infer M, any], readonly [infer N]]
    ? Same<M, N> extends true
      ? "stand it up with .col"
      : ""
    : [A, B] extends [readonly [infer M], readonly [infer N, any]]
      ? Same<M, N> extends true
        ? typeof STAND_UP
        : ""
      : "";
function hint(a: readonly Dim[], b: readonly Dim[]): string {
  if (a.length === 1 && b.length === 1) return MAKE_GRID;
  if (a.length === 2 && b.length === 1 && a[0] === b[0]) return "stand it up with .col";
  return a.length === 1 && b.length === 2 && a[0] === b[0] ? STAND_UP : "";
}

// ---- equality -------------------------------------------------------------------------------------------------------

/** Equality of shapes. Unknown dimensions are equal to every other. The first test decides nearly every call. */
export type SameShape<A extends Shape, B extends Shape> =
  Same<A, B> extends true
    ? true
    : number extends A["length"]
      ? true
      : number extends B["length"]
        ? true
        : SameDims<A, B>;
type SameDims<A, B> = A extends readonly [infer a, ...infer AR]
  ? B extends readonly [infer b, ...infer BR]
    ? Same<a, b> extends true
      ? SameDims<AR, BR>
      : Loose<a, b> extends readonly unknown[]
        ? SameDims<AR, BR>
        : false
    : false
  : B extends readonly []
    ? true
    : false;
export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, axis) => sameDim(dim, b[axis]));
}

/** True if B can be broadcast to A, as a mask must: otherwise the tile would grow. */
export type FitsIn<A extends Shape, B extends Shape> =
  SameShape<A, B> extends true ? true : Fit<A, B> extends [infer R extends Shape] ? SameShape<R, A> : false;
export function fitsIn(a: readonly Dim[], b: readonly Dim[]): boolean {
  const common = broadcast(a, b);
  return common !== undefined && sameShape(common, a);
}

const unstretchable = <From extends Fact, To extends Fact>(from: From, to: To) =>
  shapeMismatch(`broadcastTo: ${from} does not stretch to ${to}`);
const otherRank = <From extends Fact, To extends Fact>(from: From, to: To) =>
  shapeMismatch(`broadcastTo: ${from} and ${to} differ in rank`, "add axes with expandDims");

export type WhyBroadcastTo<A extends Shape, B extends Shape> = number extends A["length"] | B["length"]
  ? ""
  : A extends readonly []
    ? ""
    : A["length"] extends B["length"]
      ? FitsIn<B, A> extends true
        ? ""
        : SentenceOf<typeof unstretchable<Show<A>, Show<B>>>
      : SentenceOf<typeof otherRank<Show<A>, Show<B>>>;
export function whyBroadcastTo(a: readonly Dim[], b: readonly Dim[]): RuleError | undefined {
  if (a.length === 0) return undefined;
  if (a.length !== b.length) {
    return otherRank(showShape(a), showShape(b));
  }
  return fitsIn(b, a) ? undefined : unstretchable(showShape(a), showShape(b));
}

// Products of dimensions. `A * B` and `B * A` are one dimension, though their texts differ.

/** The factors of a dimension. A text with parentheses or with another operator is one factor. */
export type SplitProduct<D> = D extends `${infer N extends number}`
  ? [N]
  : D extends `${string}(${string}`
    ? [D]
    : D extends `${infer A} * ${infer B}`
      ? [...SplitProduct<A>, ...SplitProduct<B>]
      : [D];
export function splitProduct(dim: number | string): (number | string)[] {
  if (typeof dim === "number" || dim.includes("(")) return [dim];
  return dim.split(" * ").map((text) => (/^\d+$/.test(text) ? Number(text) : text));
}

type Remove<L, X, Done extends unknown[] = []> = L extends [infer H, ...infer R]
  ? Same<H, X> extends true
    ? [...Done, ...R]
    : Remove<R, X, [...Done, H]>
  : "absent";
/** Both lists without their common entries, which are removed in pairs. */
export type Cancel<A, B, Left extends unknown[] = []> = A extends [infer H, ...infer R]
  ? Remove<B, H> extends infer B2 extends unknown[]
    ? Cancel<R, B2, Left>
    : Cancel<R, B, [...Left, H]>
  : [Left, B];
export function cancel(
  a: readonly (number | string)[],
  b: readonly (number | string)[],
): [(number | string)[], (number | string)[]] {
  const remainingB = [...b];
  const remainingA = a.filter((dim) => {
    const index = remainingB.indexOf(dim);
    if (index >= 0) remainingB.splice(index, 1);
    return index < 0;
  });
  return [remainingA, remainingB];
}

/** True for two products of the same factors in another order. */
type SameProduct<A, B> = A extends `${string} * ${string}`
  ? B extends `${string} * ${string}`
    ? Cancel<SplitProduct<A>, SplitProduct<B>> extends [[], []]
      ? true
      : false
    : false
  : false;
export function sameDim(a: number | string | undefined, b: number | string | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "string" || typeof b !== "string") return false;
  return cancel(splitProduct(a), splitProduct(b)).every(({ length }) => length === 0);
}
