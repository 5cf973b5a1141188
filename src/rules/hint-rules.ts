/** Signatures of multipleOf, maxContiguous and maxConstancy. */
import { isInt, members, type Element, type IntName, type Members } from "../types/dtype.js";
import type { AddressLike, Pl } from "./tensor-types.js";
import { showShape, type Shape, type Show } from "../types/shape.js";
import { notATile, type NotATile } from "./arithmetic-rules.js";
import type { El, Sh, TileLike } from "../types/tile.js";
import type { Type } from "../types/types.js";

/** Integers and pointers. */
export type WhyHintOf<Op extends string, X> = X extends TileLike
  ? WhyHinted<Op, X[El]>
  : X extends AddressLike
    ? ""
    : NotATile<Op, X>;
type WhyHinted<Op extends string, E extends Element> = [Exclude<Members<E>, IntName>] extends [never]
  ? ""
  : `${Op}: hints are about integers and pointers`;

/** One value an axis; a multiple may be a scalar's, which takes one. */
export type WhyHint<Op extends string, X, V> = X extends TileLike
  ? WhyCount<Op, X[Sh], V>
  : X extends AddressLike
    ? WhyCount<Op, X[Pl], V>
    : "";
type WhyCount<Op extends string, S extends Shape, V> = number extends S["length"]
  ? ""
  : S extends readonly []
    ? Op extends "multipleOf"
      ? WhyValues<Op, S, 1, V>
      : `${Op}: a scalar has no elements in a row; give it a tile`
    : WhyValues<Op, S, S["length"], V>;
type WhyValues<Op extends string, S extends Shape, Count, V> = V extends readonly unknown[]
  ? number extends V["length"]
    ? ""
    : V["length"] extends Count
      ? ""
      : `${Op}: give one value for each axis of ${Show<S>}`
  : Count extends 1
    ? ""
    : `${Op}: give one value for each axis of ${Show<S>}`;

export function inferHint(op: string, x: Type, values: readonly number[]): Type | string {
  if (x.kind !== "tile" && x.kind !== "pointer") return notATile(op, x);
  if (x.kind === "tile" && !members(x.dtype).every(isInt)) return `${op}: hints are about integers and pointers`;
  if (x.shape.length === 0 && op !== "multipleOf") return `${op}: a scalar has no elements in a row; give it a tile`;
  return values.length === Math.max(x.shape.length, 1)
    ? x
    : `${op}: give one value for each axis of ${showShape(x.shape)}`;
}
