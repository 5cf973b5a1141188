/**
 * Dtypes: names, kinds, dtype variables, and the values that authors use (`tl.float16`). Everything is derived from one
 * table. Promotion is in `promote.ts`, casts are in `casts.ts`.
 */
import { formatList } from "../diagnostics/message.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { fail } from "../diagnostics/diagnostic.js";
import { dtypeMembers, dtypeName } from "../diagnostics/catalog/param-codes.js";
import type { ConstBool, Constexpr } from "./constexpr.js";
import type { IsAny, IsUnion } from "./rule-error.js";

interface DTypeInfo {
  readonly bits: number;
  readonly kind: "int" | "float";
  /** As in Triton, int1 is unsigned. */
  readonly signed: boolean;
  /** Attribute of `torch`. */
  readonly torch: string;
  /** Attribute of `triton.language`. */
  readonly triton: string;
}

/** All dtypes, in the order of Triton's tables. */
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
  // PyTorch has no e4m3b15, so its bits are passed as uint8.
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
/** Unsigned integers, without int1. */
export type UnsignedName = Exclude<NamesWhere<{ kind: "int"; signed: false }>, "int1">;
export type Fp8Name = NamesWhere<{ kind: "float"; bits: 8 }>;

export const dtypeNames = Object.keys(dtypeTable) as readonly DTypeName[];
export const isInt = (name: DTypeName): name is IntName => dtypeTable[name].kind === "int";
export const isFp8 = (name: DTypeName): name is Fp8Name => !isInt(name) && dtypeTable[name].bits === 8;
export const isUnsigned = (name: DTypeName): name is UnsignedName =>
  isInt(name) && !dtypeTable[name].signed && name !== "int1";
export const isSigned = (name: DTypeName): name is SignedName => isInt(name) && dtypeTable[name].signed;

// ---- dtype variables ------------------------------------------------------------------------------------------------

/**
 * A dtype variable: one of several dtypes. The kernel is checked for each member. Two variables are equal if their
 * names and members are.
 */
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

/** True if any member is a float. */
export const isFloatElem = (elem: Elem): boolean => members(elem).some((name) => dtypeTable[name].kind === "float");

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

/** The members in messages: `float16, bfloat16 or float32`. */
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
/** The key of the phantom property with a dtype's element type: `D[Dt]`. */
export type Dt = typeof $element;

/**
 * A property that is equal for all members, else `Otherwise`, a constexpr: Triton compiles for one member at a time.
 */
type Shared<E extends Element, P extends "bits" | "kind" | "signed", Otherwise> =
  IsAny<E> extends true ? any : IsUnion<Table[Members<E>][P]> extends true ? Otherwise : Table[Members<E>][P];
type IsKind<K, Wanted> = IsAny<K> extends true ? any : K extends string ? (K extends Wanted ? true : false) : K;
type Flag<E, Property extends string> = ConstBool<`${Call<E>}.${Property}`>;

/** A dtype as a value: `tl.float16`, or what `tl.dtype("T", […])` returns. It is known when the kernel is built. */
export interface DType<in out E extends Element> {
  readonly [$element]: E;
  /** The dtype's name, or the variable's. */
  readonly name: string;
  /** The members of a dtype variable. Undefined for a concrete dtype. */
  readonly members?: readonly DTypeName[] | undefined;
  /** A number. For a variable whose members differ, a constexpr, which is available only inside the kernel. */
  readonly bits: Shared<E, "bits", Constexpr<`${Call<E>}.bits`>>;
  readonly isFloating: IsKind<Shared<E, "kind", Flag<E, "isFloating">>, "float">;
  readonly isInteger: IsKind<Shared<E, "kind", Flag<E, "isInteger">>, "int">;
  /** As in Triton, floats are signed and int1 is not. */
  readonly isSigned: Shared<E, "signed", Flag<E, "isSigned">>;
  /** True if it is this dtype. For a variable, the result is a constexpr, for use in `tl.when`. */
  is<N extends DTypeName>(dtype: DType<N>): Is<E, N>;
  /** The variable, narrowed to these members in a branch: `x.as(T.only(tl.float16, tl.bfloat16))`. */
  only<const M extends readonly DType<any>[]>(...members: M): DType<OneOf<Call<E>, NamesOf<M>>>;
}
/** A boolean, or a constexpr if the launch decides. */
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

/** Creates the op that reads the property at compile time. Set by `ops/cast.ts`, which imports this module. */
let deferredReflection: ((dtype: DType<any>, property: Reflection) => unknown) | undefined;
export function onReflection(handler: NonNullable<typeof deferredReflection>): void {
  deferredReflection = handler;
}

/** The same for `T.is(tl.int8)`. Set by `ops/cast.ts`. */
let deferredMembership: ((dtype: DType<any>, member: DType<any>) => unknown) | undefined;
export function onMembership(handler: NonNullable<typeof deferredMembership>): void {
  deferredMembership = handler;
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

  #reflect(property: Reflection): unknown {
    const values = new Set(this.#all.map((name) => reflect(name, property)));
    const [value] = values;
    if (values.size === 1) return value;
    const deferred = deferredReflection?.(this as unknown as DType<any>, property);
    const reason = `its members differ in ${property}; ask inside the kernel, or ask one of them, such as tl.float16`;
    return deferred ?? fail(dtypeMembers.differing(this.name, reason));
  }

  is(member: DType<any>): unknown {
    if (!isDType(member) || member.members) return fail(dtypeMembers.notOne(this.name));
    if (!this.#all.includes(member.name as DTypeName)) return false;
    if (this.#all.length === 1) return true;
    const deferred = deferredMembership?.(this as unknown as DType<any>, member);
    const reason = "the launch decides which of its members it is; ask inside the kernel";
    return deferred ?? fail(dtypeMembers.differing(this.name, reason));
  }
  only(...members: readonly DType<any>[]): unknown {
    const nonMember = members.find((member) => !this.#all.includes(member.name as DTypeName));
    if (nonMember || members.length === 0) fail(dtypeMembers.notAmong(this.name, nonMember?.name, this.#all));
    return dtype(this.name, members);
  }
  get bits(): unknown {
    return this.#reflect("bits");
  }
  get isFloating(): unknown {
    return this.#reflect("isFloating");
  }
  get isInteger(): unknown {
    return this.#reflect("isInteger");
  }
  get isSigned(): unknown {
    return this.#reflect("isSigned");
  }
  toString(): string {
    return this.members ? this.name : `tl.${this.name}`;
  }
}

/** The value of one concrete dtype. */
function concreteDType<N extends DTypeName>(name: N): DType<N> {
  return new DTypeValue(name, [name], false) as unknown as DType<N>;
}

/** The concrete dtypes as values, by name: `tl.float16` and so on. */
export const dtypes = Object.freeze(Object.fromEntries(dtypeNames.map((name) => [name, concreteDType(name)]))) as {
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
  if (new Set(names).size < names.length) fail(dtypeMembers.duplicate(name));
  for (const member of members) {
    if (member.members) fail(dtypeMembers.variable(member.name));
  }
  return new DTypeValue(name, names, true) as unknown as DType<OneOf<Name, NamesOf<M>>>;
}

/** The element type of a dtype value. */
export function elemOf(value: DType<any>): Elem {
  return value.members ? { name: value.name, members: value.members } : (value.name as DTypeName);
}

export function isDType(value: unknown): value is DType<Element> {
  return value instanceof DTypeValue;
}

// Features that only some of Triton's backends support. Tests compare them with Triton.

/** NVIDIA's and AMD's backends, as `GPUTarget` names them. */
export type Backend = "cuda" | "hip";

/** The backends that support a feature, each with the first supported Triton version that has it. */
export type Targets = Readonly<Partial<Record<Backend, "3.6" | "3.9">>>;

/** Dtypes that only one backend supports. All others are supported by both. */
export const dtypeTargets: Readonly<Partial<Record<DTypeName, Targets>>> = {
  float8e4b15: { cuda: "3.6" },
  float8e4b8: { hip: "3.6" },
  float8e5b16: { hip: "3.6" },
};

/** Formats targets for messages and docs, such as `CUDA; HIP from Triton 3.9`. */
export function formatTargets(targets: Targets): string {
  const names = { cuda: "CUDA", hip: "HIP" };
  const descriptions = Object.entries(targets).map(
    ([backend, since]) => names[backend as Backend] + (since === "3.9" ? " from Triton 3.9" : ""),
  );
  return descriptions.length === 1 ? `${descriptions[0]} only` : descriptions.join("; ");
}
