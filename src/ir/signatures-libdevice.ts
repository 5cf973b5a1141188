/** Signatures of libdevice: one of the overloads, exactly. Nothing promotes. */
import { call, type Call, type DTypeName, type Elem } from "./dtype.js";
import type { libdeviceTable } from "./libdevice-table.js";
import type { IsAny } from "./problem.js";
import {
  broadcast,
  whyBroadcast,
  type AsShape,
  type Broadcast,
  type Dim,
  type Shape,
  type WhyBroadcast,
} from "./shape.js";
import type { Both } from "./problem.js";
import { notATile, type NotATile } from "./signatures-arith.js";
import type { El, Sh, Tile, TileLike } from "./tile.js";
import { tileType, type Type } from "./types.js";

type Letters = { int1: "b"; int32: "i"; uint32: "u"; int64: "l"; uint64: "v"; float32: "f"; float64: "d" };
type Names = { [N in keyof Letters as Letters[N]]: N };
const letters: Partial<Record<DTypeName, string>> = {
  int1: "b",
  int32: "i",
  uint32: "u",
  int64: "l",
  uint64: "v",
  float32: "f",
  float64: "d",
};
/** The dtype that a letter of the table stands for. */
export const dtypeOfLetter = (letter: string): DTypeName =>
  (Object.keys(letters) as DTypeName[]).find((name) => letters[name] === letter)!;

/** The letter of a dtype; a question mark for those that libdevice has no functions of. */
export const letterOf = (elem: Elem): string => (typeof elem === "string" ? letters[elem] : undefined) ?? "?";

export type LibdeviceName = keyof typeof libdeviceTable;
type Table = typeof libdeviceTable;

/** What an argument is to an overload: a number is what the tile before it is, if that is float32 or int32. */
type LetterOf<E> = IsAny<E> extends true ? "any" : E extends keyof Letters ? Letters[E] : "?";
type FirstLetter<A> = A extends readonly [infer H, ...unknown[]] ? (H extends TileLike ? LetterOf<H[El]> : "?") : "?";
type ArgLetters<A, First> = A extends readonly [infer H, ...infer R]
  ? `${H extends TileLike ? LetterOf<H[El]> : H extends number ? (First extends "f" | "i" ? First : "?") : "?"}${ArgLetters<R, First>}`
  : "";
type Found<Rules extends string, L extends string> = Rules extends `${infer H} ${infer R}`
  ? H extends `${L}->${infer Out}`
    ? Out
    : Found<R, L>
  : Rules extends `${L}->${infer Out}`
    ? Out
    : "none";
type Result<Name extends LibdeviceName, A> =
  ArgLetters<A, FirstLetter<A>> extends `${string}any${string}`
    ? "any"
    : Found<Table[Name], ArgLetters<A, FirstLetter<A>>>;

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

/** Whether the arguments are those of an overload. */
export type WhyLibdevice<Name extends LibdeviceName, A> = A extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? Result<Name, A> extends "none"
      ? `libdevice.${Name}: takes ${Choices<Table[Name]>}, got (${Given<A>})`
      : WhyShapes<H[Sh], R>
    : NotATile<`libdevice.${Name}`, H>
  : "";
type WhyShapes<S extends Shape, R> = R extends readonly [infer H, ...infer Q]
  ? H extends TileLike
    ? Both<WhyBroadcast<"libdevice", S, H[Sh]>, WhyShapes<AsShape<Broadcast<S, H[Sh]>>, Q>>
    : WhyShapes<S, Q>
  : "";
type Together<S extends Shape, R> = R extends readonly [infer H, ...infer Q]
  ? Together<H extends TileLike ? AsShape<Broadcast<S, H[Sh]>> : S, Q>
  : S;
export type LibdeviceOut<Name extends LibdeviceName, A> =
  Result<Name, A> extends keyof Names ? Tile<Names[Result<Name, A>], Together<[], A>> : Tile<any, any>;

export function inferLibdevice(name: string, rules: string, args: readonly Type[]): Type | string {
  const [first] = args;
  if (first?.kind !== "tile") return first ? notATile(`libdevice.${name}`, first) : `libdevice.${name}: needs a tile`;
  const weak = /[fi]/.test(letterOf(first.dtype)) ? letterOf(first.dtype) : "?";
  const isNumber = (type: Type) => type.kind === "constexpr" && (type.of === "int" || type.of === "float");
  const given = args
    .map((type) => (type.kind === "tile" ? letterOf(type.dtype) : isNumber(type) ? weak : "?"))
    .join("");
  const overloads = rules.split(" ").map((rule) => rule.split("->") as [string, string]);
  const found = overloads.find(([takes]) => takes === given);
  if (!found) {
    const words = (takes: string) => `(${[...takes].map(dtypeOfLetter).join(", ")})`;
    const got = args.map((type) => (type.kind === "tile" ? call(type.dtype) : "a number")).join(", ");
    return `libdevice.${name}: takes ${overloads.map(([takes]) => words(takes)).join(", ")}, got (${got})`;
  }
  let shape: readonly Dim[] = [];
  for (const type of args) {
    if (type.kind !== "tile") continue;
    const why = whyBroadcast("libdevice", shape, type.shape);
    if (why) return why;
    shape = broadcast(shape, type.shape) ?? shape;
  }
  return tileType(dtypeOfLetter(found[1]), shape);
}
