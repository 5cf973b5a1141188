/** Products of dimensions. `A * B` and `B * A` are one dimension, though their texts differ. */
import type { Same } from "./rule-error.js";

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
export type SameProduct<A, B> = A extends `${string} * ${string}`
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
