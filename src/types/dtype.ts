/**
 * Dtypes: names, kinds, dtype variables, and the values that authors hold (`tl.float16`). Everything derives from one
 * table. Promotion and casts are in `promote.ts`.
 */
import { formatList } from "../diagnostics/format-list.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { fail } from "../diagnostics/diagnostic.js";
import { dtypeMembers, dtypeName } from "../diagnostics/catalog/param-codes.js";
import type { ConstBool, Constexpr } from "./constexpr.js";
import type { IsAny, IsUnion } from "./rule-error.js";

interface DTypeInfo {
  readonly bits: number;
  readonly kind: "int" | "float";
  /** As Triton counts: int1 is unsigned. */
  readonly signed: boolean;
  /** Attribute of `torch`. */
  readonly torch: string;
  /** Attribute of `triton.language`. */
  readonly triton: string;
}

/** Every dtype. Types and functions derive from this table; the order is that of Triton's own tables. */
export const dtypeTable = {
  int1: { bits: 1, kind: "int", signed: false, torch: "bool", triton: "int1" },
  int8: { bits: 8, kind: "int", signed: true, torch: "int8", triton: "int8" },
  uint8: { bits: 8, kind: "int", signed: false, torch: "uint8", triton: "uint8" },
  int16: { bits: 16, kind: "int", signed: true, torch: "int16", triton: "int16" },
  uint16: { bits: 16, kind: "int", signed: false, torch: "uint16", triton: "uint16" },
  int32: { bits: 32, kind: "int", signed: true, torch: "int32", triton: "int32" },
  uint32: { bits: 32, kind: "int", signed: false, torch: "uint32", triton: "uint32" },
  int64: { bits: 64, kind: "int", signed: true, torch: "int64", triton: "int64" },
  uint64: { bits: 64, kind: "int", signed: false, torch: "uint64", triton: "uint64" },
  float8e5: { bits: 8, kind: "float", signed: true, torch: "float8_e5m2", triton: "float8e5" },
  float8e4nv: { bits: 8, kind: "float", signed: true, torch: "float8_e4m3fn", triton: "float8e4nv" },
  // No torch dtype holds e4m3b15; its bits travel as uint8.
  float8e4b15: { bits: 8, kind: "float", signed: true, torch: "uint8", triton: "float8e4b15" },
  float8e4b8: { bits: 8, kind: "float", signed: true, torch: "float8_e4m3fnuz", triton: "float8e4b8" },
  float8e5b16: { bits: 8, kind: "float", signed: true, torch: "float8_e5m2fnuz", triton: "float8e5b16" },
  float16: { bits: 16, kind: "float", signed: true, torch: "float16", triton: "float16" },
  bfloat16: { bits: 16, kind: "float", signed: true, torch: "bfloat16", triton: "bfloat16" },
  float32: { bits: 32, kind: "float", signed: true, torch: "float32", triton: "float32" },
  float64: { bits: 64, kind: "float", signed: true, torch: "float64", triton: "float64" },
} as const satisfies Record<string, DTypeInfo>;

type Table = typeof dtypeTable;
type NamesWhere<Property> = { [N in keyof Table]: Table[N] extends Property ? N : never }[keyof Table];

/** A concrete dtype, named as in `triton.language`. */
export type DTypeName = keyof Table;
export type IntName = NamesWhere<{ kind: "int" }>;
export type SignedName = NamesWhere<{ kind: "int"; signed: true }>;
/** Unsigned integers, without truth values. */
export type UnsignedName = Exclude<NamesWhere<{ kind: "int"; signed: false }>, "int1">;
export type Fp8Name = NamesWhere<{ kind: "float"; bits: 8 }>;

export const dtypeNames = Object.keys(dtypeTable) as readonly DTypeName[];
export const isInt = (name: DTypeName): name is IntName => dtypeTable[name].kind === "int";
export const isFp8 = (name: DTypeName): name is Fp8Name => !isInt(name) && dtypeTable[name].bits === 8;
export const isUnsigned = (name: DTypeName): name is UnsignedName =>
  isInt(name) && !dtypeTable[name].signed && name !== "int1";
export const isSigned = (name: DTypeName): name is SignedName => isInt(name) && dtypeTable[name].signed;

// ---- dtype variables ------------------------------------------------------------------------------------------------

/** A dtype that is one of several: one kernel, checked for each member. Two variables are the same if name and members are. */
export interface OneOf<Name extends string, Members extends readonly DTypeName[]> {
  readonly name: Name;
  readonly members: Members;
}
/** A dtype variable at run time. */
export type DTypeVariable = OneOf<string, readonly DTypeName[]>;
/** A tile's element type, the type parameter of `Tile`: a dtype's name, or a dtype variable. */
export type Element = DTypeName | OneOf<any, any>;
/** The element type at run time. */
export type Elem = DTypeName | DTypeVariable;

/** The concrete dtypes of an element type: itself, or the members of a variable. */
export type Members<E> =
  IsAny<E> extends true ? never : E extends OneOf<any, infer M> ? M[number] : E extends DTypeName ? E : never;
export function members(elem: Elem): readonly DTypeName[] {
  return typeof elem === "string" ? [elem] : elem.members;
}

/** Whether it is a float, or may be one. */
export const isFloatElem = (elem: Elem): boolean => members(elem).some((name) => dtypeTable[name].kind === "float");

/** Whether two element types are the same. */
export function sameElem(a: Elem, b: Elem): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  return a.name === b.name && a.members.join() === b.members.join();
}

/** A dtype's name in messages. */
export type Call<E> = E extends string ? E : E extends OneOf<infer Name, any> ? Name : "this dtype";
export function dtypeDisplayName(elem: Elem): string {
  return typeof elem === "string" ? elem : elem.name;
}

/** A dtype as an author writes it. */
export type Token<E> = E extends string ? `tl.${E}` : Call<E>;
export function dtypeSourceText(elem: Elem): string {
  return typeof elem === "string" ? `tl.${elem}` : elem.name;
}

/** The members in words: `float16, bfloat16 or float32`. */
export type Choices<M> = M extends readonly [infer Only extends string]
  ? Only
  : M extends readonly [infer H extends string, infer L extends string]
    ? `${H} or ${L}`
    : M extends readonly [infer H extends string, ...infer R]
      ? `${H}, ${Choices<R>}`
      : "";
export function choices(names: readonly DTypeName[]): string {
  return formatList(names, "or");
}

// ---- dtypes as values -----------------------------------------------------------------------------------------------

declare const $element: unique symbol;
/** Key of the phantom that holds a dtype's element type: `D[Dt]`. */
export type Dt = typeof $element;

/** A property that all members share, else a constexpr: Triton knows it when it compiles for one member. */
type Shared<E extends Element, P extends "bits" | "kind" | "signed", Otherwise> =
  IsAny<E> extends true ? any : IsUnion<Table[Members<E>][P]> extends true ? Otherwise : Table[Members<E>][P];
type IsKind<K, Wanted> = IsAny<K> extends true ? any : K extends string ? (K extends Wanted ? true : false) : K;
type Flag<E, Property extends string> = ConstBool<`${Call<E>}.${Property}`>;

/** A dtype as a value: `tl.float16`, or what `tl.dtype("T", […])` returns. It is known when the kernel is built. */
export interface DType<in out E extends Element> {
  readonly [$element]: E;
  /** The dtype's name, or the variable's. */
  readonly name: string;
  /** The dtypes that a variable stands for; a concrete dtype has none. */
  readonly members?: readonly DTypeName[] | undefined;
  /** A number, or a constexpr for a variable whose members differ: use it inside the kernel. */
  readonly bits: Shared<E, "bits", Constexpr<`${Call<E>}.bits`>>;
  readonly isFloating: IsKind<Shared<E, "kind", Flag<E, "isFloating">>, "float">;
  readonly isInteger: IsKind<Shared<E, "kind", Flag<E, "isInteger">>, "int">;
  /** As Triton counts: floats are signed, int1 is not. */
  readonly isSigned: Shared<E, "signed", Flag<E, "isSigned">>;
  /** Whether it is this dtype: for a variable a constexpr, for use in `tl.when`. */
  is<N extends DTypeName>(dtype: DType<N>): Is<E, N>;
  /** The variable where a branch knows that it is one of these, for `x.as(T.only(tl.float16, tl.bfloat16))`. */
  only<const M extends readonly DType<any>[]>(...members: M): DType<OneOf<Call<E>, NamesOf<M>>>;
}
/** A truth value, unless only the launch decides. */
type Is<E extends Element, N extends DTypeName> =
  IsAny<E> extends true
    ? any
    : N extends Members<E>
      ? IsUnion<Members<E>> extends true
        ? ConstBool<`${Call<E>}.is.${N}`>
        : true
      : false;

/** The properties of a dtype that authors can read. */
export const reflections = ["bits", "isFloating", "isInteger", "isSigned"] as const;
export type Reflection = (typeof reflections)[number];

/** A property's value for one dtype. */
export function reflect(name: DTypeName, property: Reflection): number | boolean {
  const { bits, kind, signed } = dtypeTable[name];
  if (property === "bits") return bits;
  return property === "isSigned" ? signed : kind === (property === "isFloating" ? "float" : "int");
}

/** Set by the op that reads the property while Triton compiles: it lies above this module. */
let askLater: ((dtype: DType<any>, property: Reflection) => unknown) | undefined;
export function onReflection(ask: NonNullable<typeof askLater>): void {
  askLater = ask;
}

/** As {@link onReflection}, for `T.is(tl.int8)`. */
let askMembership: ((dtype: DType<any>, other: DType<any>) => unknown) | undefined;
export function onMembership(ask: NonNullable<typeof askMembership>): void {
  askMembership = ask;
}

class DTypeValue {
  readonly name: string;
  readonly members?: readonly DTypeName[] | undefined;
  readonly #all: readonly DTypeName[];

  constructor(name: string, all: readonly DTypeName[], isVariable: boolean) {
    this.name = name;
    this.#all = all;
    if (isVariable) this.members = all;
  }

  #ask(property: Reflection): unknown {
    const values = new Set(this.#all.map((name) => reflect(name, property)));
    const [value] = values;
    if (values.size === 1) return value;
    const later = askLater?.(this as unknown as DType<any>, property);
    const why = `its members differ in ${property}; ask inside the kernel, or ask one of them, such as tl.float16`;
    return later ?? fail(dtypeMembers.differ(this.name, why));
  }

  is(other: DType<any>): unknown {
    if (!isDType(other) || other.members) return fail(dtypeMembers.notOne(this.name));
    if (!this.#all.includes(other.name as DTypeName)) return false;
    if (this.#all.length === 1) return true;
    const later = askMembership?.(this as unknown as DType<any>, other);
    const why = "the launch decides which of its members it is; ask inside the kernel";
    return later ?? fail(dtypeMembers.differ(this.name, why));
  }
  only(...members: readonly DType<any>[]): unknown {
    const strange = members.find((member) => !this.#all.includes(member.name as DTypeName));
    if (strange || members.length === 0) fail(dtypeMembers.notAmong(this.name, strange?.name, this.#all));
    return dtype(this.name, members);
  }
  get bits(): unknown {
    return this.#ask("bits");
  }
  get isFloating(): unknown {
    return this.#ask("isFloating");
  }
  get isInteger(): unknown {
    return this.#ask("isInteger");
  }
  get isSigned(): unknown {
    return this.#ask("isSigned");
  }
  toString(): string {
    return this.members ? this.name : `tl.${this.name}`;
  }
}

/** The value of one concrete dtype. */
function concrete<N extends DTypeName>(name: N): DType<N> {
  return new DTypeValue(name, [name], false) as unknown as DType<N>;
}

/** The concrete dtypes as values, by name: the author's `tl.float16` and its kin. */
export const dtypes = Object.freeze(Object.fromEntries(dtypeNames.map((name) => [name, concrete(name)]))) as {
  readonly [N in DTypeName]: DType<N>;
};

type NamesOf<M> = {
  -readonly [K in keyof M]: M[K] extends DType<infer E> ? (E extends DTypeName ? E : never) : never;
};

/** A dtype variable: one kernel for several dtypes, checked for each. */
export function dtype<const Name extends string, const M extends readonly DType<any>[]>(
  name: Name,
  members: M,
): DType<OneOf<Name, NamesOf<M>>> {
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) fail(dtypeName.notAName(name), captureLocation());
  if (name in Object.prototype) fail(dtypeName.inherited(name), captureLocation());
  if (!Array.isArray(members) || members.some((member) => !isDType(member)))
    fail(dtypeMembers.notDTypes(), captureLocation());
  const names = members.map((member) => member.name as DTypeName);
  if (names.length === 0) fail(dtypeMembers.none(name));
  if (new Set(names).size < names.length) fail(dtypeMembers.twice(name));
  for (const member of members) {
    if (member.members) fail(dtypeMembers.variable(member.name));
  }
  return new DTypeValue(name, names, true) as unknown as DType<OneOf<Name, NamesOf<M>>>;
}

/** The element type of a dtype value. */
export function elemOf(value: DType<any>): Elem {
  return value.members ? { name: value.name, members: value.members } : (value.name as DTypeName);
}

/** Whether something is a dtype value. */
export function isDType(value: unknown): value is DType<Element> {
  return value instanceof DTypeValue;
}
