/** The types of IR values, on which the functions of all rules operate. */
import { dtypeDisplayName, type Elem } from "./dtype.js";
import { showShape, type Dim } from "./shape.js";

export type { Elem } from "./dtype.js";

/** The access of a kernel to a tensor. */
export type Access = "in" | "out" | "inout";
export type ConstKind = "int" | "float" | "bool" | "string" | "dtype";

/** Values with one dtype and shape. Rank 0 is a scalar. */
export interface TileType {
  readonly kind: "tile";
  readonly dtype: Elem;
  readonly shape: readonly Dim[];
}
/** Raw pointers, with explicit address arithmetic. */
export interface PointerType {
  readonly kind: "pointer";
  readonly to: Elem;
  readonly shape: readonly Dim[];
  readonly access: Access;
}
/** A masked rectangle or a gather of a tensor. */
export interface ViewType {
  readonly kind: "view";
  readonly to: Elem;
  readonly shape: readonly Dim[];
  readonly access: Access;
}
/** A whole tensor argument. Dims are names of sizes and constexprs, or numbers. */
export interface TensorType {
  readonly kind: "tensor";
  readonly to: Elem;
  readonly dims: readonly Dim[];
  readonly access: Access;
}
/** A TMA descriptor: a tensor and the block that one access transfers. */
export interface DescriptorType {
  readonly kind: "descriptor";
  readonly to: Elem;
  /** The block's shape. */
  readonly shape: readonly Dim[];
  readonly access: Access;
}
/** A value known when Triton compiles the kernel, including JavaScript literals. */
export interface ConstexprType {
  readonly kind: "constexpr";
  readonly of: ConstKind;
  /** Canonical text; a literal's is `String(value)`. */
  readonly text: string;
}
export interface NoneType {
  readonly kind: "none";
}
export type Type = TileType | PointerType | ViewType | TensorType | DescriptorType | ConstexprType | NoneType;

/** An argument of a type rule. A number is a constexpr with a known value. */
export interface Typed {
  readonly type: Type;
  readonly literal?: number | bigint | boolean | string;
  readonly dtype?: Elem;
  readonly items?: readonly Typed[];
  /** The signature of a helper function. */
  readonly signature?: { readonly params: readonly Type[]; readonly results: readonly Type[] };
}
/** A list among the arguments. */
export interface TypedList extends Typed {
  readonly items: readonly Typed[];
}
/** A helper function among the arguments. */
export interface TypedFunction extends Typed {
  readonly signature: NonNullable<Typed["signature"]>;
}

export const none: NoneType = { kind: "none" };
export function tileType(dtype: Elem, shape: readonly Dim[]): TileType {
  return { kind: "tile", dtype, shape };
}
/** The type of a JavaScript literal. */
export function literalType(value: number | bigint | boolean | string): ConstexprType {
  return { kind: "constexpr", of: literalKind(value), text: String(value) };
}
function literalKind(value: number | bigint | boolean | string): ConstKind {
  if (typeof value === "bigint" || Number.isInteger(value)) return "int";
  if (typeof value === "number") return "float";
  return typeof value === "boolean" ? "bool" : "string";
}
export function constexprType(valueKind: ConstKind, text: string): ConstexprType {
  return { kind: "constexpr", of: valueKind, text };
}

/** The number in a constexpr's text. Undefined for an expression over names. */
export function literalValue(type: ConstexprType): number | undefined {
  if (type.of !== "int" && type.of !== "float") return undefined;
  const value = Number(type.text);
  return Number.isNaN(value) && type.text !== "NaN" ? undefined : value;
}

/** The same, exact: an integer that JavaScript's numbers would round is a bigint. */
export function exactLiteral(type: ConstexprType): number | bigint | undefined {
  const value = literalValue(type);
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(type.text);
  return isRounded ? BigInt(type.text) : value;
}

/** The canonical text of a type: `float16[BLOCK_M, BLOCK_K]`, `*float32`, `view<float16[BLOCK]>`. */
export function showType(type: Type): string {
  switch (type.kind) {
    case "tile":
      return `${dtypeDisplayName(type.dtype)}${suffix(type.shape)}`;
    case "pointer":
      return `*${dtypeDisplayName(type.to)}${suffix(type.shape)}`;
    case "view":
      return `view<${dtypeDisplayName(type.to)}${suffix(type.shape)}>`;
    case "descriptor":
      return `descriptor<${dtypeDisplayName(type.to)}${suffix(type.shape)}>`;
    case "tensor":
      return `tensor<${dtypeDisplayName(type.to)}${suffix(type.dims)}>`;
    case "constexpr":
      return `constexpr ${type.of} ${type.text}`;
    case "none":
      return "none";
    default:
      return type satisfies never;
  }
}
const suffix = (shape: readonly Dim[]): string => (shape.length === 0 ? "" : showShape(shape));

/** Structural equality of two lists of types. */
export function sameTypes(a: readonly Type[], b: readonly Type[]): boolean {
  const isSame = (type: Type, other: Type | undefined) => other !== undefined && sameType(type, other);
  return a.length === b.length && a.every((type, i) => isSame(type, b[i]));
}

/** Structural equality of two types. */
export function sameType(a: Type, b: Type): boolean {
  if (a.kind === "tile" && b.kind === "tile")
    return showFull(a.dtype) === showFull(b.dtype) && sameDims(a.shape, b.shape);
  if ((a.kind === "pointer" || a.kind === "view" || a.kind === "descriptor") && a.kind === b.kind) {
    return showFull(a.to) === showFull(b.to) && sameDims(a.shape, b.shape) && a.access === b.access;
  }
  if (a.kind === "tensor" && b.kind === "tensor")
    return showFull(a.to) === showFull(b.to) && sameDims(a.dims, b.dims) && a.access === b.access;
  if (a.kind === "constexpr" && b.kind === "constexpr") return a.of === b.of && a.text === b.text;
  return a.kind === "none" && b.kind === "none";
}
const showFull = (elem: Elem): string => (typeof elem === "string" ? elem : `${elem.name}:${elem.members.join()}`);
const sameDims = (a: readonly Dim[], b: readonly Dim[]): boolean =>
  a.length === b.length && a.every((d, i) => d === b[i]);
