/** Signatures of libdevice. A call must match an overload exactly, without promotion. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { dtypeUnsupported } from "../diagnostics/catalog/rule-codes.js";
import {
  dtypeDisplayName,
  type Call,
  type DTypeName,
  type Elem,
  members,
  type OneOf,
  sameElem,
} from "../types/dtype.js";
import type { ConstLike } from "../types/constexpr.js";
import type { libdeviceTable } from "./libdevice-table.js";
import {
  type AsShape,
  type Broadcast,
  type Dim,
  type Shape,
  type WhyBroadcast,
  inferBroadcast,
} from "../types/shape.js";
import type { FirstError, IsAny, IsUnion, Same, RuleError } from "../types/rule-error.js";
import { type El, type Sh, type Tile, type TileLike, noTile, notATile, type NotATile } from "../types/tile.js";
import { tileType, type Type } from "../types/types.js";

type Letters = { int1: "b"; int32: "i"; uint32: "u"; int64: "l"; uint64: "v"; float32: "f"; float64: "d" };
type Names = { [N in keyof Letters as Letters[N]]: N };
const dtypesByLetter = new Map<string, DTypeName>([
  ["b", "int1"],
  ["i", "int32"],
  ["u", "uint32"],
  ["l", "int64"],
  ["v", "uint64"],
  ["f", "float32"],
  ["d", "float64"],
]);
const letters = new Map(Array.from(dtypesByLetter, ([letter, dtype]) => [dtype, letter]));
/** The dtype of a letter of the table. */
export function dtypeOfLetter(letter: string): DTypeName {
  const dtype = dtypesByLetter.get(letter);
  if (dtype === undefined) throw new Error(`internal: the table of libdevice has the letter ${letter}`);
  return dtype;
}

/** The letter of a dtype, or "?" if libdevice has no functions for it. */
export const letterOf = (elem: Elem): string => (typeof elem === "string" ? letters.get(elem) : undefined) ?? "?";

export type LibdeviceName = keyof typeof libdeviceTable;
type Table = typeof libdeviceTable;

/** A dtype variable among the arguments. */
type VariableIn<A> = A extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? H[El] extends OneOf<any, any>
      ? H[El]
      : VariableIn<R>
    : VariableIn<R>
  : never;
/**
 * An argument's letter, with member M for a dtype variable V. A number adopts the dtype of the first argument if that
 * is float32 or int32.
 */
type LetterOf<E, V, M> =
  IsAny<E> extends true
    ? "any"
    : E extends keyof Letters
      ? Letters[E]
      : E extends OneOf<any, any>
        ? [V] extends [E]
          ? M extends keyof Letters
            ? Letters[M]
            : "?"
          : "?"
        : "?";
type FirstLetter<A, V, M> = A extends readonly [infer H, ...unknown[]]
  ? H extends TileLike
    ? LetterOf<H[El], V, M>
    : "?"
  : "?";
type ArgLetters<A, First, V, M> = A extends readonly [infer H, ...infer R]
  ? `${H extends TileLike ? LetterOf<H[El], V, M> : H extends number | ConstLike<any, "int" | "float"> ? (First extends "f" | "i" ? First : "?") : "?"}${ArgLetters<R, First, V, M>}`
  : "";
type MatchOverload<Rules extends string, L extends string> = Rules extends `${infer H} ${infer R}`
  ? H extends `${L}->${infer Out}`
    ? Out
    : MatchOverload<R, L>
  : Rules extends `${L}->${infer Out}`
    ? Out
    : "none";
type ResultWith<Name extends LibdeviceName, A, V, M> =
  ArgLetters<A, FirstLetter<A, V, M>, V, M> extends `${string}any${string}`
    ? "any"
    : MatchOverload<Table[Name], ArgLetters<A, FirstLetter<A, V, M>, V, M>>;
/** The result: one letter, the dtype variable if each member maps to itself, or "none". */
type Result<Name extends LibdeviceName, A> = [VariableIn<A>] extends [never]
  ? ResultWith<Name, A, never, never>
  : VariableIn<A> extends OneOf<any, infer M extends readonly DTypeName[]>
    ? Merged<VariableIn<A>, M, { [K in keyof M]: ResultWith<Name, A, VariableIn<A>, M[K]> }>
    : never;
type Merged<V, M extends readonly DTypeName[], R extends readonly unknown[]> = "none" extends R[number]
  ? "none"
  : IsUnion<R[number]> extends true
    ? Same<R, { [K in keyof M]: M[K] extends keyof Letters ? Letters[M[K]] : "?" }> extends true
      ? V
      : "none"
    : R[number];

type Words<L extends string> = L extends `${infer H}${infer R}`
  ? `${H extends keyof Names ? Names[H] : H}${R extends "" ? "" : `, ${Words<R>}`}`
  : "";
type Choices<Rules extends string> = Rules extends `${infer H}->${string} ${infer R}`
  ? `(${Words<H>}), ${Choices<R>}`
  : Rules extends `${infer H}->${string}`
    ? `(${Words<H>})`
    : "";
type Given<A> = A extends readonly [infer H, ...infer R]
  ? `${H extends TileLike ? Call<H[El]> : "a number"}${R extends readonly [] ? "" : `, ${Given<R>}`}`
  : "";

const overload = <Name extends Fact, Supported extends Fact, Given extends Fact>(
  name: Name,
  supported: Supported,
  given: Given,
) => dtypeUnsupported(`libdevice.${name}: takes ${supported}, got (${given})`);

/** The rule that the arguments match an overload. */
export type WhyLibdevice<Name extends LibdeviceName, A> = A extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? Result<Name, A> extends "none"
      ? SentenceOf<typeof overload<Name, Choices<Table[Name]>, Given<A>>>
      : WhyShapes<H[Sh], R>
    : NotATile<`libdevice.${Name}`, H>
  : "";
type WhyShapes<S extends Shape, R> = R extends readonly [infer H, ...infer Q]
  ? H extends TileLike
    ? FirstError<WhyBroadcast<"libdevice", S, H[Sh]>, WhyShapes<AsShape<Broadcast<S, H[Sh]>>, Q>>
    : WhyShapes<S, Q>
  : "";
type Together<S extends Shape, R> = R extends readonly [infer H, ...infer Q]
  ? Together<H extends TileLike ? AsShape<Broadcast<S, H[Sh]>> : S, Q>
  : S;
export type LibdeviceOut<Name extends LibdeviceName, A> =
  Result<Name, A> extends keyof Names
    ? Tile<Names[Result<Name, A>], Together<[], A>>
    : Result<Name, A> extends OneOf<any, any>
      ? Tile<Result<Name, A>, Together<[], A>>
      : Tile<any, any>;

export function inferLibdevice(name: string, rules: string, args: readonly Type[]): Type | RuleError {
  const [first] = args;
  if (first?.kind !== "tile") return first ? notATile(`libdevice.${name}`, first) : noTile(`libdevice.${name}`);
  const elems = args.flatMap((type) => (type.kind === "tile" ? [type.dtype] : []));
  const variable = elems.find((elem) => typeof elem !== "string");
  const overloads = rules.split(" ").map((rule) => rule.split("->") as [string, string]);
  const resultLetters = members(variable ?? first.dtype).map((member) => {
    const letter = (elem: Elem) => letterOf(variable && sameElem(elem, variable) ? member : elem);
    const weak = /[fi]/.test(letter(first.dtype)) ? letter(first.dtype) : "?";
    const argumentLetter = (type: Type): string => {
      if (type.kind === "tile") return letter(type.dtype);
      return type.kind === "constexpr" && (type.of === "int" || type.of === "float") ? weak : "?";
    };
    const argLetters = args.map(argumentLetter).join("");
    return overloads.find(([takes]) => takes === argLetters)?.[1];
  });
  const dtype = resultDType(resultLetters, variable);
  if (dtype === undefined) {
    const formatDTypes = (takes: string) => `(${[...takes].map(dtypeOfLetter).join(", ")})`;
    const got = args.map((type) => (type.kind === "tile" ? dtypeDisplayName(type.dtype) : "a number")).join(", ");
    return overload(name, overloads.map(([takes]) => formatDTypes(takes)).join(", "), got);
  }
  let shape: readonly Dim[] = [];
  for (const type of args) {
    if (type.kind !== "tile") continue;
    const common = inferBroadcast("libdevice", shape, type.shape);
    if (common instanceof Message) return common;
    shape = common;
  }
  return tileType(dtype, shape);
}

/** The dtype of the result from its letter for each member; undefined if a member matches no overload. */
function resultDType(resultLetters: readonly (string | undefined)[], variable: Elem | undefined): Elem | undefined {
  const [letter, ...otherLetters] = new Set(resultLetters);
  if (letter !== undefined && otherLetters.length === 0) return dtypeOfLetter(letter);
  const isVariable =
    variable !== undefined &&
    members(variable).every((member, i) => letters.has(member) && letters.get(member) === resultLetters[i]);
  return isVariable ? variable : undefined;
}
