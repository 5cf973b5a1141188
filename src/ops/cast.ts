/** Casts, narrowing in branches, and properties of dtype variables. */
import { operandKind, dtypeUnsupported } from "../diagnostics/catalog/rule-codes.js";
import {
  ANY_VALUE,
  type NumberClasses,
  LOWEST,
  HIGHEST,
  NAN,
  NEGATIVE,
  NUMBERS,
  ONE,
  ZERO,
  asFloat,
} from "../symbolic/number-class.js";
import { asInteger, asTruth, type Term } from "../symbolic/term.js";
import type { MinimumDim } from "../types/limits.js";
import { type Typed, constexprType } from "../types/types.js";
import {
  type Dt,
  type DType,
  type DTypeName,
  type Elem,
  isInt,
  isSigned,
  members,
  dtypeDisplayName,
  onMembership,
  onReflection,
  reflect,
  type Reflection,
} from "../types/dtype.js";
import { notADType, noDType } from "../types/casts.js";
import { bitsOf, isFloat } from "../numerics/numeric-int.js";
import type { Rounding } from "../numerics/numeric-float.js";
import { type Validate, whyChoice } from "../types/rule-error.js";
import type { Context } from "../values/runtime-values.js";
import type { AsShape } from "../types/shape.js";
import { inferTo, type WhyTo, inferAs, type WhyAs } from "../rules/create-rules.js";
import { type El, type Sh, type Tile, type TileLike, notATile } from "../types/tile.js";
import { defineOp, type OpRecord } from "./define.js";
import { castIn } from "../values/operands.js";
import type { TermContext, TypedArguments, RuntimeArguments, Spelling } from "../ir/op.js";
import { Message } from "../diagnostics/message.js";
import type { ConstBool, Constexpr } from "../types/constexpr.js";
import { activeBuilder } from "../ir/builder.js";
import { hiddenCoercion } from "../diagnostics/catalog/source-codes.js";

type ToOut<D, S> = D extends DType<any> ? Tile<D[Dt], AsShape<S>> : Tile<any, AsShape<S>>;

/** Options of a cast. */
export interface CastOptions<Bitcast = false> {
  /** The rounding mode of casts to narrower floats: to nearest even (`rtne`), or toward zero (`rtz`). */
  fpDowncastRounding?: Rounding;
  /** Preserves the bits instead of the value. Both dtypes must have the same width. */
  bitcast?: Bitcast;
}

declare module "../types/tile.js" {
  interface TileOps {
    /** `x.to(tl.float16)`: the nearest value of the dtype, ties to even; floats to integers truncate. */
    to<T extends TileLike, const D, const B = false>(
      this: T,
      dtype: Validate<D, WhyTo<T[El], D, B>>,
      options?: CastOptions<B>,
    ): ToOut<D, T[Sh]>;
    /** The same as `to`: `x.cast(tl.float16)` is `tl.cast(x, tl.float16)`. */
    cast<T extends TileLike, const D, const B = false>(
      this: T,
      dtype: Validate<D, WhyTo<T[El], D, B>>,
      options?: CastOptions<B>,
    ): ToOut<D, T[Sh]>;
  }
}

type Cast = <T extends TileLike, const D, const B = false>(
  x: T,
  dtype: Validate<D, WhyTo<T[El], D, B>>,
  options?: CastOptions<B>,
) => ToOut<D, T[Sh]>;

const operands = { x: "value", dtype: "dtype" } as const;
const options = { fpDowncastRounding: "constant?", bitcast: "constant?" } as const;
type CastOperands = typeof operands & typeof options;

const hasRtz = (to: DTypeName) => to === "float16" || to === "bfloat16" || to === "float8e5";

function inferCast({ x, dtype, bitcast, fpDowncastRounding }: TypedArguments<CastOperands>) {
  const target = dtype.dtype;
  if (!target) return notADType("to", dtype.literal);
  if (x.type.kind !== "tile" && x.type.kind !== "constexpr") return notATile("to", x.type);
  const type = inferTo(x.type, target, bitcast?.literal === true);
  if (type instanceof Message || fpDowncastRounding === undefined || x.type.kind !== "tile") return type;
  const why = whyChoice("to: fpDowncastRounding", fpDowncastRounding.literal, ["rtne", "rtz"]);
  if (why) return why;
  const isNarrowing = members(x.type.dtype).every((from) =>
    members(target).every((to) => isFloat(from) && isFloat(to) && bitsOf(to) < bitsOf(from)),
  );
  if (!isNarrowing) return operandKind("to: fpDowncastRounding is for casts of floats to narrower floats");
  // Triton's front end accepts the other pairs, but LLVM cannot lower them.
  const canTruncate = members(x.type.dtype).every((from) => from === "float32") && members(target).every(hasRtz);
  return fpDowncastRounding.literal !== "rtz" || canTruncate
    ? type
    : dtypeUnsupported("to: only float32 rounds toward zero, and only to float16, bfloat16 and float8e5");
}

const evaluate = ({ x, bitcast, fpDowncastRounding }: RuntimeArguments<CastOperands>, context: Context) =>
  castIn(context, x, context.result.dtype, {
    bitcast: bitcast === true,
    rounding: fpDowncastRounding as Rounding | undefined,
  });

/** Triton casts from and to float8e4b15 in groups of four elements. */
function castMinimumDims({ x, dtype }: TypedArguments<CastOperands>): readonly MinimumDim[] {
  const { type } = x;
  if (type.kind !== "tile" || ![type.dtype, dtype.dtype].includes("float8e4b15")) return [];
  const dim = type.shape.map((size) => `(${size})`).join(" * ") || 1;
  return [{ subject: "the number of elements", dim, consumers: "casts from and to float8e4b15", minimum: 4 }];
}

/** The dtype of an argument that an op's type rule has checked. */
export function dtypeOf({ dtype }: Typed): Elem {
  if (dtype === undefined) throw new TypeError("the argument is not a dtype");
  return dtype;
}

/**
 * True if a cast to `to` keeps non-negative values non-negative. A signed integer that is too narrow does not. A
 * constexpr counts as an int32.
 */
export function isSignPreserved({ type }: Typed, to: Elem, bitcast = false): boolean {
  const from: readonly DTypeName[] = type.kind === "tile" ? members(type.dtype) : ["int32"];
  return members(to).every(
    (target) => !isSigned(target) || from.every((source) => canHoldNonNegative(source, target, bitcast)),
  );
}

/** The term of a cast: unchanged if the integer cast is lossless, `x != 0` for a cast to int1, else unknown. */
function castTerm(
  { x }: { readonly x: Term },
  { args, isTruth: truth }: TermContext<TypedArguments<CastOperands>>,
): Term | undefined {
  if (args.bitcast?.literal === true) return undefined;
  if (truth) return asTruth(x);
  const from: readonly DTypeName[] = args.x.type.kind === "tile" ? members(args.x.type.dtype) : ["int32"];
  const isLossless = members(dtypeOf(args.dtype)).every((to) => from.every((source) => isSubrange(source, to)));
  return isLossless ? asInteger(x) : undefined;
}

/** The transfer function of a cast. Integers have no infinities, and a cast to an integer truncates the fraction. */
function castClasses(
  { x }: { readonly x: NumberClasses },
  { args, isFloat }: { readonly args: TypedArguments<CastOperands>; readonly isFloat: boolean },
): NumberClasses {
  if (args.bitcast?.literal === true) return x === ZERO && !isFloat ? NUMBERS : ANY_VALUE;
  const dtypes = args.x.type.kind === "tile" ? members(args.x.type.dtype) : (["int32"] as const);
  const isWhole = dtypes.every(isInt);
  if (args.dtype.dtype === "int1") return truthClasses(x);
  if (isFloat) return isWhole ? asFloat(x) : x;
  if (x === ZERO || x === ONE) return x;
  if (!members(dtypeOf(args.dtype)).every(isSigned) && x === NEGATIVE) return NUMBERS;
  return isWhole || x === LOWEST || x === HIGHEST || x === NAN ? NUMBERS : x | ZERO;
}

function truthClasses(x: NumberClasses): NumberClasses {
  if (x === ZERO) return ZERO;
  return x === NAN ? ZERO | ONE : ONE;
}

function isSubrange(from: DTypeName, to: DTypeName): boolean {
  if (!isInt(from) || !isInt(to)) return false;
  if (isSigned(from)) return isSigned(to) && bitsOf(to) >= bitsOf(from);
  return bitsOf(to) > bitsOf(from) || (!isSigned(to) && bitsOf(to) === bitsOf(from));
}

function canHoldNonNegative(from: DTypeName, to: DTypeName, bitcast: boolean): boolean {
  // -0.0 counts as non-negative, but its bits are those of a negative integer.
  if (isFloat(from)) return !bitcast;
  return isSigned(from) ? bitsOf(to) >= bitsOf(from) : bitsOf(to) > bitsOf(from);
}

const record = {
  operands,
  options,
  method: true,
  effect: "pure",
  infer: inferCast,
  evaluate,
  facts: {
    lanewise: true,
    isIdentity: true,
    nonNegative: ([isNonNegative], { args: { x, dtype, bitcast } }) =>
      isNonNegative === true && isSignPreserved(x, dtypeOf(dtype), bitcast?.literal === true),
  },
  needs: { minimumDims: castMinimumDims },
  proof: { term: castTerm, anyWidth: true, classTransfer: castClasses },
} as const satisfies Omit<OpRecord<typeof operands, typeof options>, "name" | "spelling">;

/** Converts to a dtype: `x.to(tl.float16)`. A constexpr becomes a run-time scalar. */
export const to = defineOp<Cast>()({
  ...record,
  name: "to",
  calledAs: ".to",
  spelling: { form: "method", name: "to" },
});

/** `tl.cast(x, tl.float16)`, the same as `x.to(tl.float16)`. */
export const cast = defineOp<Cast>()({ ...record, name: "cast", spelling: { form: "call", name: "tl.cast" } });

// Narrowing of dtype variables in a branch: `x.as(dtype)` and `T.is(dtype)`.

declare module "../types/tile.js" {
  interface TileOps {
    /** The same tile, in a branch in which the dtype variable is known: `x.as(tl.int8)` if `T.is(tl.int8)`. */
    as<T extends TileLike, D extends DType<any>>(this: T, dtype: Validate<D, WhyAs<T, D>>): Tile<D[Dt], T[Sh]>;
  }
}

/**
 * Narrows the dtype variable of a tile to the dtype that a branch tests for: `tl.when(T.is(tl.int8), () => …
 * x.as(tl.int8) …)`. To narrow it to several dtypes, write `x.as(T.only(tl.float16, tl.bfloat16))`. The build checks
 * every dtype that reaches the call. `as` emits no Python.
 */
export const as = defineOp<
  <X, D extends DType<any>>(x: X, dtype: Validate<D, WhyAs<X, D>>) => Tile<D[Dt], X extends TileLike ? X[Sh] : any>
>()({
  name: "as",
  operands: { x: "value", dtype: "dtype" },
  method: true,
  effect: "pure",
  spelling: { form: "same" },
  infer: ({ x, dtype }) => inferAs(x.type, dtype.dtype),
  evaluate: ({ x }) => x,
  facts: { lanewise: true, rounds: false, nonNegative: ([x]) => x === true, keepsClaims: true, isIdentity: true },
});

/** `T.is(tl.int8)`, decided at compile time: `x_ptr.dtype.element_ty == tl.int8`. */
const is = defineOp<(dtype: DType<any>, member: DType<any>) => ConstBool<string>>()({
  name: "is",
  operands: { dtype: "dtype", other: "dtype" },
  effect: "pure",
  spelling: { form: "infix", operator: "==" },
  infer: ({ dtype, other }) =>
    dtype.dtype && other.dtype
      ? constexprType("bool", `${dtypeDisplayName(dtype.dtype)}.is.${dtypeDisplayName(other.dtype)}`)
      : noDType("is", "tl.int8"),
  fold: (dtype, member) => (dtype as DTypeName) === (member as DTypeName),
});

onMembership((dtype, member) => (activeBuilder() ? is(dtype, member) : undefined));

// Properties of a dtype variable whose members differ: `T.bits`, `T.isFloating` and so on, as constexprs.

type Member = Omit<Extract<Spelling, { form: "reflect" }>, "form">;

function reflectionOp<Result>(name: Reflection, member: Member) {
  return defineOp<(dtype: DType<any>) => Result>()({
    name,
    operands: { dtype: "dtype" },
    effect: "pure",
    spelling: { form: "reflect", ...member },
    infer: ({ dtype }) =>
      dtype?.dtype
        ? constexprType(name === "bits" ? "int" : "bool", `${dtypeDisplayName(dtype.dtype)}.${name}`)
        : operandKind(`${name}: needs a dtype, such as tl.float32`),
    fold: (dtype) => reflect(dtype as DTypeName, name),
    facts: { nonNegative: () => true },
  });
}

const reflectionOps = {
  bits: reflectionOp<Constexpr<string>>("bits", { member: "primitive_bitwidth" }),
  isFloating: reflectionOp<ConstBool<string>>("isFloating", { member: "is_floating", called: true }),
  isInteger: reflectionOp<ConstBool<string>>("isInteger", { member: "is_int", called: true }),
  // is_int_unsigned is false for floats, which count as signed.
  isSigned: reflectionOp<ConstBool<string>>("isSigned", { member: "is_int_unsigned", called: true, negated: true }),
};

onReflection((dtype, property) => {
  const builder = activeBuilder();
  builder?.rejectComparison((how) => hiddenCoercion.reflection(how, `${dtype.name}.${property}`));
  return builder ? reflectionOps[property](dtype) : undefined;
});
