/** Signatures of elementwise functions: exp and similar functions, minimum, maximum, where, cdiv. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { wrongCondition, addressAsValue, truthValue, dtypeMismatch } from "../diagnostics/catalog/rule-codes.js";
import type { ConstCall, ConstLike, Constexpr, WhyConst } from "../types/constexpr.js";
import { callText } from "../types/constexpr-text.js";
import { dtypeDisplayName, type Call, type Elem, sameElem } from "../types/dtype.js";
import type { Ac, AddressLike, Pl, Pointer, AddressElement, View } from "./tensor-types.js";
import type { FirstError, IsAny, RuleError } from "../types/rule-error.js";
import {
  promote,
  whyFloat32,
  whyInt,
  whyMask,
  whyNumber,
  whySelect,
  whyTruth,
  whyWeak,
  whyWhole,
  type Promote,
  type WhyFloat32,
  type WhyInt,
  type WhyMask,
  type WhyNumber,
  type WhySelect,
  type WhyTruth,
  type WhyWeak,
  type WhyWhole,
} from "../types/promote.js";
import { broadcast, whyBroadcast, type Broadcast, type Shape, type WhyBroadcast } from "../types/shape.js";
import { defaultDType, type DefaultDType, type UntypedNumber, whyDefaultDType } from "../types/casts.js";
import { inferArith, inferFloorDivide, type ArithOut, type WhyArith, type WhyFloor } from "./arithmetic-rules.js";
import {
  type El,
  type Scalar,
  type Sh,
  type Tile,
  type TileLike,
  notATile,
  type NotAnOperand,
  type NotATile,
} from "../types/tile.js";
import { exactLiteral, literalValue, tileType, type Type } from "../types/types.js";

// ---- one operand ----------------------------------------------------------------------------------------------------

/** The rule of an operand that must be a tile. */
export type WhyTile<Op extends string, X> = X extends TileLike ? "" : NotATile<Op, X>;
export function whyTile(op: string, x: Type): RuleError | undefined {
  return x.kind === "tile" ? undefined : notATile(op, x);
}
/** The plain tile type, without additional properties of a subtype. */
export type Plain<X> = X extends TileLike ? Tile<X[El], X[Sh]> : Tile<any, any>;
export type ShapeOf<X> = X extends TileLike ? X[Sh] : [];
export type ElementIn<X> = X extends TileLike ? X[El] : any;

/** The rule of exp, log, sqrt, …: float32 or float64. A number is a float32. */
export type WhyMath<Op extends string, X> = X extends TileLike
  ? WhyFloat32<Op, X[El]>
  : X extends number | ConstLike<any, "int" | "float">
    ? ""
    : NotATile<Op, X>;
export type MathOut<X> = X extends TileLike
  ? Tile<X[El], X[Sh]>
  : X extends number | ConstLike
    ? Scalar<"float32">
    : Tile<any, any>;
export function inferMath(op: string, x: Type): Type | RuleError {
  if (x.kind === "tile") return whyFloat32(op, x.dtype) || x;
  return x.kind === "constexpr" && (x.of === "int" || x.of === "float") ? tileType("float32", []) : notATile(op, x);
}

/** The rule of abs: a tile, or a number, which has its default dtype. */
export type WhyAbs<X> = X extends TileLike | number | ConstLike<any, "int" | "float"> ? "" : NotATile<"abs", X>;
export type AbsOut<X> = X extends TileLike ? Tile<X[El], X[Sh]> : Scalar<DefaultDType<X>>;
export function inferAbs(x: Type): Type | RuleError {
  const dtype = x.kind === "constexpr" && x.of !== "bool" ? defaultDType(x) : undefined;
  if (x.kind !== "constexpr" || dtype === undefined) return x.kind === "tile" ? x : notATile("abs", x);
  return whyDefaultDType("abs", x) || tileType(dtype, []);
}

/** The rule of an integer tile, constexpr or number. */
export type WhyInts<Op extends string, X> = X extends TileLike
  ? WhyInt<Op, X[El]>
  : X extends number
    ? WhyWhole<Op, X>
    : X extends ConstLike<any, "int">
      ? ""
      : NotATile<Op, X>;
export function whyInts(op: string, x: Type): RuleError | undefined {
  if (x.kind === "tile") return whyInt(op, x.dtype);
  if (x.kind !== "constexpr") return notATile(op, x);
  if (literalValue(x) !== undefined) return whyWhole(op, x.text);
  return x.of === "int" ? undefined : notATile(op, x);
}

// ---- two operands ---------------------------------------------------------------------------------------------------

/** The rule of x in f(x, y): a tile, a number or a constexpr. */
export type WhyPairFirst<Op extends string, X> = X extends TileLike | number | bigint | ConstLike
  ? ""
  : NotAnOperand<Op, X>;
/** The rule of f(x, y), reported at y. Either operand may be a number. */
export type WhyPairSecond<Op extends string, X, Y> = X extends TileLike
  ? WhyArith<Op, X[El], X[Sh], Y>
  : Y extends TileLike
    ? WhyArith<Op, Y[El], Y[Sh], X>
    : WhyConst<Op, Y, "int">;
/** The result of f(x, y). For two constexprs, it is a constexpr with the text `Name(x, y)`. */
export type PairOut<Name extends string, X, Y> =
  IsAny<X> extends true
    ? any
    : X extends TileLike
      ? ArithOut<X[El], X[Sh], Y>
      : IsAny<Y> extends true
        ? any
        : Y extends TileLike
          ? Tile<Y[El], Y[Sh]>
          : ConstCall<Name, X, Y>;
/** The result of minimum, maximum and similar functions. `name` is Python's, for the text of two constexprs. */
export function inferPair(op: string, x: Type, y: Type, name: string): Type | RuleError {
  return inferArith(op, x, y, (a, b) => callText(name, a, b));
}

/** The rule of cdiv: integers. */
export type WhyCdiv<X, Y> = FirstError<
  FirstError<WhyInts<"cdiv", Y>, Y extends TileLike ? WhyMask<"cdiv", Y[El]> : "">,
  X extends TileLike ? WhyFloor<"cdiv", X[El], X[Sh], Y> : Y extends TileLike ? WhyFloor<"cdiv", Y[El], Y[Sh], X> : ""
>;
export type CdivOut<X, Y> = PairOut<"cdiv", X, Y>;
export function inferCdiv(x: Type, y: Type): Type | RuleError {
  const mask = y.kind === "tile" ? whyMask("cdiv", y.dtype) : undefined;
  return (
    whyInts("cdiv", x) || whyInts("cdiv", y) || mask || inferFloorDivide("cdiv", x, y, (a, b) => callText("cdiv", a, b))
  );
}
/** The results of nextPowerOf2 and bitLength, which are available only on the host. */
export type NextPowerOut<X> = Constexpr<X extends ConstLike<infer N extends string> ? `next_power_of_2(${N})` : string>;
export type BitLengthOut<X> = Constexpr<X extends ConstLike<infer N extends string> ? `bit_length(${N})` : string>;

// ---- where ----------------------------------------------------------------------------------------------------------

export const conditionDType = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  wrongCondition(`${op}: the condition must be int1, this is ${dtype}`, "compare it, .ne(0)");
const maskCondition = <Op extends Fact>(op: Op) =>
  wrongCondition(`${op}: the condition is a tile of int1`, "compare, as in x.gt(0)");

export type WhyCond<Op extends string, C> = C extends TileLike
  ? C[El] extends "int1"
    ? ""
    : SentenceOf<typeof conditionDType<Op, Call<C[El]>>>
  : C extends ConstLike<any, "bool"> | boolean
    ? ""
    : SentenceOf<typeof maskCondition<Op>>;
export function whyCond(op: string, condition: Type): RuleError | undefined {
  if (condition.kind === "constexpr" && condition.of === "bool") return undefined;
  if (condition.kind !== "tile") return maskCondition(op);
  return condition.dtype === "int1" ? undefined : conditionDType(op, dtypeDisplayName(condition.dtype));
}

/** The rule of x, reported at x: its kind, and its shape compared with that of the condition. */
export type WhyWhereFirst<C, X> = X extends TileLike
  ? WhyBroadcast<"where", ShapeOf<C>, X[Sh]>
  : X extends View<any, any, any>
    ? NotATile<"where", X>
    : X extends UntypedNumber | bigint | AddressLike
      ? ""
      : NotATile<"where", X>;

const addressBesideValue = () => addressAsValue("where: one side is an address, the other is not", "load it first");

/** The rule of y, with all other checks. */
export type WhyWhereSecond<C, X, Y> = X extends AddressLike
  ? Y extends View<any, any, any>
    ? NotATile<"where", Y>
    : Y extends AddressLike
      ? WhyBroadcast<"where", X[Pl], Y[Pl]>
      : SentenceOf<typeof addressBesideValue>
  : X extends TileLike
    ? FirstError<WhyChosen<X[El], X[Sh], Y>, Y extends TileLike ? WhyBroadcast<"where", ShapeOf<C>, Y[Sh]> : "">
    : Y extends TileLike
      ? FirstError<WhyChosen<Y[El], Y[Sh], X>, WhyBroadcast<"where", ShapeOf<C>, Y[Sh]>>
      : Y extends UntypedNumber | bigint
        ? ""
        : NotATile<"where", Y>;
/** The rule of the other operand. `where` accepts int1 and 8-bit floats, although they have no arithmetic. */
type WhyChosen<E, S extends Shape, O> = O extends number | bigint
  ? WhyNumberBeside<E, O>
  : O extends TileLike
    ? FirstError<WhySelect<"where", E, O[El]>, WhyBroadcast<"where", S, O[Sh]>>
    : O extends boolean | ConstLike<any, "bool">
      ? WhyTruth<"where", E>
      : O extends ConstLike<any, infer K>
        ? WhyWeak<"where", E, K>
        : NotATile<"where", O>;

const numberBesideTruths = <Value extends Fact, Truth extends Fact>(value: Value, truth: Truth) =>
  truthValue(`where: ${value} beside truth values would make them numbers`, `write ${truth}`);

/**
 * The rule of a number operand. Triton casts 0 to any dtype, including 8-bit floats. With int1 the result would be
 * int32.
 */
type WhyNumberBeside<E, L extends number | bigint> =
  IsAny<E> extends true
    ? ""
    : [E, L] extends ["int1", 0 | 1]
      ? SentenceOf<typeof numberBesideTruths<L, L extends 0 ? "false" : "true">>
      : L extends 0
        ? WhyMask<"where", E>
        : WhyNumber<"where", E, L>;
function whyNumberBeside(elem: Elem, value: number | bigint): RuleError | undefined {
  if (elem === "int1" && (value === 0 || value === 1)) return numberBesideTruths(value, value === 0 ? "false" : "true");
  return value === 0 ? whyMask("where", elem) : whyNumber("where", elem, value);
}
export type WhereOut<C, X, Y> =
  IsAny<X> extends true
    ? any
    : X extends AddressLike
      ? Pointer<X[AddressElement], Broadcast<X[Pl], ShapeOf<C>>, X[Ac]>
      : X extends TileLike
        ? Tile<
            Y extends TileLike ? Promote<X[El], Y[El]> : X[El],
            Broadcast<ShapeOf<C>, Y extends TileLike ? Broadcast<X[Sh], Y[Sh]> : X[Sh]>
          >
        : IsAny<Y> extends true
          ? any
          : Y extends TileLike
            ? Tile<Y[El], Broadcast<ShapeOf<C>, Y[Sh]>>
            : Tile<Promote<DefaultDType<X>, DefaultDType<Y>>, ShapeOf<C>>;
export function inferWhere(condition: Type, x: Type, y: Type): Type | RuleError {
  const why = whyCond("where", condition);
  if (why) return why;
  const lanes = condition.kind === "tile" ? condition.shape : [];
  if (x.kind === "pointer") return inferWherePointers(lanes, x, y);
  if (x.kind === "tile") {
    const shapeError = whyBroadcast("where", lanes, x.shape);
    if (shapeError) return shapeError;
  }
  const [tile, operand] = x.kind === "tile" ? [x, y] : [y, x];
  if (tile.kind !== "tile") return inferWhereNumbers(lanes, x, y);
  const error = whyChosen(tile, operand) || (y.kind === "tile" ? whyBroadcast("where", lanes, y.shape) : undefined);
  if (error) return error;
  const rhs = operand.kind === "tile" ? operand : tileType(tile.dtype, []);
  const shape = broadcast(lanes, broadcast(tile.shape, rhs.shape) ?? []);
  return tileType(promote(tile.dtype, rhs.dtype) ?? tile.dtype, shape ?? tile.shape);
}
/** The type of `where` with two numbers: the promotion of their default dtypes. */
function inferWhereNumbers(lanes: readonly (string | number)[], x: Type, y: Type): Type | RuleError {
  const sideOf = (type: Type) => {
    const dtype = defaultDType(type);
    return dtype === undefined || type.kind !== "constexpr" ? notATile("where", type) : { type, dtype };
  };
  const [first, second] = [sideOf(x), sideOf(y)];
  if (first instanceof Message) return first;
  if (second instanceof Message) return second;
  const why = whyDefaultDType("where", first.type) || whyDefaultDType("where", second.type);
  return why || tileType(promote(first.dtype, second.dtype) ?? first.dtype, lanes);
}
function inferWherePointers(
  lanes: readonly (string | number)[],
  x: Type & { kind: "pointer" },
  y: Type,
): Type | RuleError {
  if (y.kind === "view") return notATile("where", y);
  if (y.kind !== "pointer") return addressBesideValue();
  const why = whyBroadcast("where", x.shape, y.shape) || whyBroadcast("where", lanes, x.shape);
  if (why) return why;
  if (!sameElem(x.to, y.to))
    return dtypeMismatch(
      `where: the pointers must be to one dtype, got ${dtypeDisplayName(x.to)} and ${dtypeDisplayName(y.to)}`,
    );
  return { ...x, shape: broadcast(lanes, broadcast(x.shape, y.shape) ?? []) ?? x.shape };
}
function whyChosen(tile: Type & { kind: "tile" }, operand: Type): RuleError | undefined {
  if (operand.kind === "tile") {
    return whySelect("where", tile.dtype, operand.dtype) || whyBroadcast("where", tile.shape, operand.shape);
  }
  if (operand.kind !== "constexpr") return notATile("where", operand);
  const value = exactLiteral(operand);
  if (value !== undefined) return whyNumberBeside(tile.dtype, value);
  return operand.of === "bool" ? whyTruth("where", tile.dtype) : whyWeak("where", tile.dtype, operand.of);
}
