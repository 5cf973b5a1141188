/** Casts. */
import {
  ANY_VALUE,
  type NumberClasses,
  LOWEST,
  HIGHEST,
  NAN,
  NEGATIVE,
  NUMBERS,
  ONE,
  POSITIVE,
  ZERO,
} from "../symbolic/number-class.js";
import { asInteger, asTruth, type Term } from "../symbolic/term.js";
import type { MinimumDim } from "../types/limits.js";
import type { Typed } from "../types/types.js";
import { type Dt, type DType, type DTypeName, type Elem, isInt, isSigned, members } from "../types/dtype.js";
import { notADType } from "../types/dtype-text.js";
import { bitsOf, isFloat } from "../numerics/numeric.js";
import type { Rounding } from "../numerics/numeric-float.js";
import { type Validate, whyChoice } from "../types/rule-error.js";
import type { Context } from "../values/runtime-values.js";
import type { AsShape } from "../types/shape.js";
import { notATile } from "../types/operand.js";
import { inferTo, type WhyTo } from "../rules/create-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { defineOp, type OpRecord } from "./define.js";
import { castIn } from "../values/undefined-lanes.js";
import type { TermContext, TypedArguments, RuntimeArguments } from "../ir/op.js";

type ToOut<D, S> = D extends DType<any> ? Tile<D[Dt], AsShape<S>> : Tile<any, AsShape<S>>;

/** Options of a cast. */
export interface CastOptions<Bitcast = false> {
  /** Rounding to narrower floats: to nearest even, or toward zero. */
  fpDowncastRounding?: Rounding;
  /** Keeps the bits instead of the value; both dtypes must have the same width. */
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
type CastKinds = typeof operands & typeof options;

const hasRtz = (to: DTypeName) => to === "float16" || to === "bfloat16" || to === "float8e5";

function inferCast({ x, dtype, bitcast, fpDowncastRounding }: TypedArguments<CastKinds>) {
  if (!dtype.dtype) return notADType("to", dtype.literal);
  if (x.type.kind !== "tile" && x.type.kind !== "constexpr") return notATile("to", x.type);
  const type = inferTo(x.type, dtype.dtype, bitcast?.literal === true);
  if (typeof type === "string" || fpDowncastRounding === undefined || x.type.kind !== "tile") return type;
  const why = whyChoice("to: fpDowncastRounding", fpDowncastRounding.literal, ["rtne", "rtz"]);
  if (why) return why;
  const narrows = members(x.type.dtype).every((from) =>
    members(dtype.dtype!).every((to) => isFloat(from) && isFloat(to) && bitsOf(to) < bitsOf(from)),
  );
  if (!narrows) return "to: fpDowncastRounding is for casts of floats to narrower floats";
  // Triton's front end accepts the other pairs, but LLVM has no instruction for them.
  const truncates = members(x.type.dtype).every((from) => from === "float32") && members(dtype.dtype).every(hasRtz);
  return fpDowncastRounding.literal !== "rtz" || truncates
    ? type
    : "to: only float32 rounds toward zero, and only to float16, bfloat16 and float8e5";
}

const evaluate = ({ x, bitcast, fpDowncastRounding }: RuntimeArguments<CastKinds>, context: Context) =>
  castIn(context, x, context.result.dtype, {
    bitcast: bitcast === true,
    rounding: fpDowncastRounding as Rounding | undefined,
  });

/** Triton casts from and to float8e4b15 four elements at a time. */
function leastCast({ x, dtype }: TypedArguments<CastKinds>): readonly MinimumDim[] {
  const { type } = x;
  if (type.kind !== "tile" || ![type.dtype, dtype.dtype].includes("float8e4b15")) return [];
  const dim = type.shape.map((each) => `(${each})`).join(" * ") || 1;
  return [{ what: "the number of elements", dim, who: "casts from and to float8e4b15", least: 4 }];
}

/**
 * Whether non-negative numbers stay non-negative in another dtype: not if a signed integer is too narrow for them. A
 * constexpr counts as an int32.
 */
export function keepsSignAs({ type }: Typed, to: Elem, bitcast = false): boolean {
  const from: readonly DTypeName[] = type.kind === "tile" ? members(type.dtype) : ["int32"];
  return members(to).every((target) => !isSigned(target) || from.every((source) => hasRoom(source, target, bitcast)));
}

/** The value, where every integer of the one dtype is one of the other; whether it is not 0, as a truth value. */
function castTerm(
  { x }: { readonly x: Term },
  { args, truth }: TermContext<TypedArguments<CastKinds>>,
): Term | undefined {
  if (args.bitcast?.literal === true) return undefined;
  if (truth) return asTruth(x);
  const from: readonly DTypeName[] = args.x.type.kind === "tile" ? members(args.x.type.dtype) : ["int32"];
  const fits = members(args.dtype.dtype!).every((to) => from.every((source) => holdsAll(source, to)));
  return fits ? asInteger(x) : undefined;
}

/** What a cast holds. Integers have no infinities, and a float that is cast to one loses its fraction. */
function castKinds(
  { x }: { readonly x: NumberClasses },
  { args, float }: { readonly args: TypedArguments<CastKinds>; readonly float: boolean },
): NumberClasses {
  if (args.bitcast?.literal === true) return x === ZERO && !float ? NUMBERS : ANY_VALUE;
  const dtypes = args.x.type.kind === "tile" ? members(args.x.type.dtype) : (["int32"] as const);
  const isWhole = dtypes.every(isInt);
  const isTruth = args.dtype.dtype === "int1";
  if (isTruth) return x === ZERO ? ZERO : x === NAN ? ZERO | ONE : ONE;
  if (float) return !isWhole ? x : x === LOWEST ? NEGATIVE : x === HIGHEST ? POSITIVE : x;
  if (x === ZERO || x === ONE) return x;
  if (!members(args.dtype.dtype!).every(isSigned) && x === NEGATIVE) return NUMBERS;
  return isWhole || x === LOWEST || x === HIGHEST || x === NAN ? NUMBERS : x | ZERO;
}

function holdsAll(from: DTypeName, to: DTypeName): boolean {
  if (!isInt(from) || !isInt(to)) return false;
  if (isSigned(from)) return isSigned(to) && bitsOf(to) >= bitsOf(from);
  return bitsOf(to) > bitsOf(from) || (!isSigned(to) && bitsOf(to) === bitsOf(from));
}

function hasRoom(from: DTypeName, to: DTypeName, bitcast: boolean): boolean {
  // -0.0 counts as non-negative, but its bits are negative.
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
      isNonNegative === true && keepsSignAs(x, dtype.dtype!, bitcast?.literal === true),
  },
  needs: { least: leastCast },
  proof: { term: castTerm, anyWidth: true, classTransfer: castKinds },
} as const satisfies Omit<OpRecord<typeof operands, typeof options>, "name" | "spelling">;

/** `x.to(tl.float16)`; a constexpr becomes a run-time scalar. */
export const to = defineOp<Cast>()({ ...record, name: "to", called: ".to", spelling: { form: "method", name: "to" } });

/** `tl.cast(x, tl.float16)`, the same as `x.to(tl.float16)`. */
export const cast = defineOp<Cast>()({ ...record, name: "cast", spelling: { form: "call", name: "tl.cast" } });
