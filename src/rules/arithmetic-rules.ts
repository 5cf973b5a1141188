/**
 * Signatures of operators. `WhyX<Op, E, S, O>` is the rule of operand O for a tile of dtype E and shape S, and `XOut`
 * is the type of the result. `inferX` computes both at run time, also with a constexpr on either side.
 */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { numberType, truthValue } from "../diagnostics/catalog/rule-codes.js";
import { type ConstLike, notAnInteger } from "../types/constexpr.js";
import { compareText } from "../types/constexpr-text.js";
import { dtypeDisplayName, type Call, type Elem, type Element } from "../types/dtype.js";
import type { FirstError, Validate, RuleError } from "../types/rule-error.js";
import {
  divide,
  modulo,
  promote,
  whyCompare,
  whyDivide,
  whyFloorDivide,
  whyInt,
  whyNumber,
  whyPromote,
  whyTruth,
  whyWeak,
  whyWhole,
  type Divide,
  type Modulo,
  type Promote,
  type WhyCompare,
  type WhyDivide,
  type WhyFloorDivide,
  type WhyInt,
  type WhyNoResult,
  type WhyNumber,
  type WhyPromote,
  type WhyTruth,
  type WhyWeak,
  noResult,
} from "../types/promote.js";
import { broadcast, whyBroadcast, type Broadcast, type Dim, type Shape, type WhyBroadcast } from "../types/shape.js";
import {
  type El,
  type Sh,
  type Tile,
  type TileLike,
  notAnOperand,
  notATile,
  type NotAnOperand,
  type NotATile,
} from "../types/tile.js";
import {
  constexprType,
  exactLiteral,
  literalValue,
  tileType,
  type ConstexprType,
  type TileType,
  type Type,
} from "../types/types.js";

const isBooleanLiteral = (type: ConstexprType): boolean => type.text === "true" || type.text === "false";

// ---- one rule, two types --------------------------------------------------------------------------------------------

/** An operator's rules for two dtypes, for a dtype and a number, and for a dtype and a constexpr. */
interface BinaryRule {
  tiles(op: string, a: Elem, b: Elem): RuleError | undefined;
  number(op: string, elem: Elem, value: number | bigint): RuleError | undefined;
  weak(op: string, elem: Elem, kind: string): RuleError | undefined;
  /** The result's dtype. */
  out(a: Elem, b: Elem): Elem | undefined;
  /** The rule for two constexprs. */
  constants(op: string, x: ConstexprType, y: ConstexprType): RuleError | undefined;
}

const isNumber = ({ of }: ConstexprType): boolean => of === "int" || of === "float";
/** The rule that both operands are numbers. */
function whyNumbers(op: string, x: ConstexprType, y: ConstexprType): RuleError | undefined {
  const invalid = [x, y].find((type) => !isNumber(type));
  return invalid ? notAnOperand(op, invalid) : undefined;
}
/** The rule that both operands are integers. */
function whyIntegers(op: string, x: ConstexprType, y: ConstexprType): RuleError | undefined {
  const fraction = [x, y].find((type) => type.of === "float" && literalValue(type) !== undefined);
  if (fraction) return whyWhole(op, fraction.text);
  return x.of === "int" && y.of === "int" ? undefined : notAnInteger(op);
}
/** The rule that the operands are two booleans or two integers. */
function whyTruths(op: string, x: ConstexprType, y: ConstexprType): RuleError | undefined {
  return x.of === "bool" && y.of === "bool" ? undefined : whyIntegers(op, x, y);
}

/** Rejects a NaN literal. It is usually a mistake, because JavaScript computes NaN from undefined values. */
function whyNaN(op: string, isComparison: boolean): RuleError | undefined {
  return isComparison
    ? numberType(`${op}: a comparison with NaN holds nowhere or everywhere`, "x.ne(x) holds where x is NaN")
    : numberType(
        `${op}: a number is NaN, and so would each element be`,
        "if that is meant, write tl.full(x.shape, NaN, x.dtype)",
      );
}

function whyOperand(rule: BinaryRule, op: string, tile: TileType, operand: Type): RuleError | undefined {
  if (operand.kind === "tile") {
    return rule.tiles(op, tile.dtype, operand.dtype) || whyBroadcast(op, tile.shape, operand.shape);
  }
  if (operand.kind !== "constexpr") return notAnOperand(op, operand);
  const value = exactLiteral(operand);
  if (Number.isNaN(value)) return whyNaN(op, rule === comparison);
  if (value !== undefined) return rule.number(op, tile.dtype, value);
  return isBooleanLiteral(operand) ? notAnOperand(op, operand) : rule.weak(op, tile.dtype, operand.of);
}

/** The type of `x op y`, or a message. `text` computes the text of the result of two constexprs. */
function inferBinary(rule: BinaryRule, op: string, x: Type, y: Type, text: (a: string, b: string) => Type | RuleError) {
  if (x.kind === "constexpr" && y.kind === "constexpr") return rule.constants(op, x, y) || text(x.text, y.text);
  const [tile, operand] = x.kind === "tile" ? [x, y] : [y, x];
  if (tile.kind !== "tile") return notAnOperand(op, x.kind === "constexpr" ? y : x);
  const why = whyOperand(rule, op, tile, operand);
  if (why) return why;
  const rhs = operand.kind === "tile" ? operand : tileType(tile.dtype, []);
  const dtype = rule.out(tile.dtype, rhs.dtype);
  const shape = broadcast(tile.shape, rhs.shape);
  // Unreachable unless the rule above is incomplete.
  return dtype && shape
    ? tileType(dtype, shape)
    : noResult(op, dtypeDisplayName(tile.dtype), dtypeDisplayName(rhs.dtype));
}

/** The result of an op on two constexprs: an integer, unless one is a float. */
function constexprOf(x: Type, y: Type, text: string): ConstexprType {
  const isFloat = [x, y].some((type) => type.kind === "constexpr" && type.of === "float");
  return constexprType(isFloat ? "float" : "int", text);
}

// ---- + - * ----------------------------------------------------------------------------------------------------------

export type WhyArith<Op extends string, E, S extends Shape, O> = O extends number | bigint
  ? WhyNumber<Op, E, O>
  : O extends TileLike
    ? FirstError<WhyPromote<Op, E, O[El]>, WhyBroadcast<Op, S, O[Sh]>>
    : O extends ConstLike<any, infer K>
      ? WhyWeak<Op, E, K>
      : NotAnOperand<Op, O>;
export type ArithOut<E extends Element, S extends Shape, O> = O extends TileLike
  ? Tile<Promote<E, O[El]>, Broadcast<S, O[Sh]>>
  : Tile<E, S>;
const arithmetic: BinaryRule = {
  tiles: whyPromote,
  number: whyNumber,
  weak: whyWeak,
  out: promote,
  constants: whyNumbers,
};
/** `+ - *`, minimum and maximum. */
export function inferArith(op: string, x: Type, y: Type, text: (a: string, b: string) => string): Type | RuleError {
  return inferBinary(arithmetic, op, x, y, (a, b) => constexprOf(x, y, text(a, b)));
}

type ArithWhys<Op extends string, E extends Element, S extends Shape, O> = O extends readonly [infer H]
  ? [WhyArith<Op, E, S, H>]
  : O extends readonly [infer H, ...infer R]
    ? [WhyArith<Op, E, S, H>, ...ArithWhysNext<Op, ArithOut<E, S, H>, R>]
    : [];
type ArithWhysNext<Op extends string, T, R> = T extends TileLike ? ArithWhys<Op, T[El], T[Sh], R> : [];
/** Checks each operand against the result of the preceding ones. Each message is reported at its operand. */
export type ArithArgs<Op extends string, E extends Element, S extends Shape, O> = {
  readonly [K in keyof O]: Validate<O[K], ArithWhys<Op, E, S, O>[K & keyof ArithWhys<Op, E, S, O>]>;
};
export type ArithFold<E extends Element, S extends Shape, O> = O extends readonly [infer H]
  ? ArithOut<E, S, H>
  : O extends readonly [infer H, ...infer R]
    ? ArithFoldNext<ArithOut<E, S, H>, R>
    : Tile<E, S>;
type ArithFoldNext<T, R> = T extends TileLike ? ArithFold<T[El], T[Sh], R> : never;

// ---- comparisons ----------------------------------------------------------------------------------------------------

export type WhyCmp<Op extends string, E, S extends Shape, O> = O extends number | bigint
  ? E extends "int1"
    ? ""
    : WhyNumber<Op, E, O>
  : O extends TileLike
    ? FirstError<WhyCompare<Op, E, O[El]>, WhyBroadcast<Op, S, O[Sh]>>
    : O extends ConstLike<any, infer K>
      ? WhyWeak<Op, E, K>
      : NotAnOperand<Op, O>;
export type CmpOut<S extends Shape, O> = O extends TileLike ? Tile<"int1", Broadcast<S, O[Sh]>> : Tile<"int1", S>;
/** The rule of a comparison of a mask with a number: Triton converts the mask to int32. */
function whyMaskComparison(op: string, value: number | bigint): RuleError | undefined {
  const isInRange =
    typeof value === "bigint" ? value === BigInt.asIntN(32, value) : !Number.isInteger(value) || value === (value | 0);
  return isInRange
    ? undefined
    : numberType(`${op}: ${value} is out of range for int32, as which a mask is compared`, "compare it with 0 or 1");
}

const comparison: BinaryRule = {
  tiles: whyCompare,
  number: (op, elem, value) => (elem === "int1" ? whyMaskComparison(op, value) : whyNumber(op, elem, value)),
  weak: whyWeak,
  out: () => "int1",
  constants: (op, x, y) => (x.of === y.of && x.of !== "bool" ? undefined : whyNumbers(op, x, y)),
};
/** `sign` is Python's operator, for the text of two constexprs. */
export function inferCompare(op: string, x: Type, y: Type, sign: string): Type | RuleError {
  return inferBinary(comparison, op, x, y, (a, b) => constexprType("bool", compareText(a, sign, b)));
}

// ---- / // % ---------------------------------------------------------------------------------------------------------

export type WhyQuotient<Op extends string, E, S extends Shape, O> = O extends number | bigint
  ? WhyNumber<Op, E, O>
  : O extends TileLike
    ? FirstError<WhyDivide<Op, E, O[El]>, WhyBroadcast<Op, S, O[Sh]>>
    : O extends ConstLike<any, infer K>
      ? WhyWeak<Op, E, K>
      : NotAnOperand<Op, O>;
export type DivideOut<E extends Element, S extends Shape, O> = O extends TileLike
  ? Tile<Divide<E, O[El]>, Broadcast<S, O[Sh]>>
  : Tile<Divide<E, E>, S>;
const division: BinaryRule = { tiles: whyDivide, number: whyNumber, weak: whyWeak, out: divide, constants: whyNumbers };
/** `/`. The result of two constexprs is a float. */
export function inferDivide(op: string, x: Type, y: Type, text: (a: string, b: string) => string): Type | RuleError {
  return inferBinary(division, op, x, y, (a, b) => constexprType("float", text(a, b)));
}

export type ModuloOut<E extends Element, S extends Shape, O> = O extends TileLike
  ? Tile<Modulo<E, O[El]>, Broadcast<S, O[Sh]>>
  : Tile<Modulo<E, E>, S>;
/** The rule of `%`: that of `/`, and all members of a dtype variable must have the same result dtype. */
export type WhyRemainder<Op extends string, E, S extends Shape, O> = FirstError<
  WhyQuotient<Op, E, S, O>,
  WhyNoResult<Op, E, O extends TileLike ? O[El] : E>
>;
const remainder: BinaryRule = { ...division, out: modulo, constants: whyIntegers };
/** `%` */
export function inferModulo(op: string, x: Type, y: Type, text: (a: string, b: string) => string): Type | RuleError {
  return inferBinary(remainder, op, x, y, (a, b) => constexprOf(x, y, text(a, b)));
}

export type WhyFloor<Op extends string, E, S extends Shape, O> = O extends number | bigint
  ? FirstError<WhyInt<Op, E>, WhyNumber<Op, E, O>>
  : O extends TileLike
    ? FirstError<WhyFloorDivide<Op, E, O[El]>, WhyBroadcast<Op, S, O[Sh]>>
    : O extends ConstLike<any, infer K>
      ? FirstError<WhyInt<Op, E>, WhyWeak<Op, E, K>>
      : NotAnOperand<Op, O>;
const floorDivision: BinaryRule = {
  tiles: whyFloorDivide,
  number: (op, elem, value) => whyInt(op, elem) || whyNumber(op, elem, value),
  weak: (op, elem, kind) => whyInt(op, elem) || whyWeak(op, elem, kind),
  out: promote,
  constants: whyIntegers,
};
/** `//` and cdiv; the result is `ArithOut`. */
export function inferFloorDivide(
  op: string,
  x: Type,
  y: Type,
  text: (a: string, b: string) => string,
): Type | RuleError {
  return inferBinary(floorDivision, op, x, y, (a, b) => constexprOf(x, y, text(a, b)));
}

// ---- & | ^ << >> ----------------------------------------------------------------------------------------------------

const numberForMask = <Op extends Fact>(op: Op) => truthValue(`${op}: int1 combines with int1, not with a number`);

export type WhyBits<Op extends string, E, S extends Shape, O> = O extends boolean
  ? WhyTruth<Op, E>
  : O extends number | bigint
    ? FirstError<WhyInt<Op, E>, E extends "int1" ? SentenceOf<typeof numberForMask<Op>> : WhyNumber<Op, E, O>>
    : O extends TileLike
      ? FirstError<
          FirstError<WhyInt<Op, E>, WhyInt<Op, O[El]>>,
          FirstError<WhyCompare<Op, E, O[El]>, WhyBroadcast<Op, S, O[Sh]>>
        >
      : O extends ConstLike<any, infer K>
        ? FirstError<WhyInt<Op, E>, K extends "bool" ? (E extends "int1" ? "" : WhyWeak<Op, E, K>) : WhyWeak<Op, E, K>>
        : NotAnOperand<Op, O>;
const bits: BinaryRule = {
  tiles: (op, a, b) => whyInt(op, a) || whyInt(op, b) || whyCompare(op, a, b),
  number: (op, elem, value) => whyInt(op, elem) || (elem === "int1" ? numberForMask(op) : whyNumber(op, elem, value)),
  weak: (op, elem, kind) =>
    whyInt(op, elem) || (kind === "bool" && elem === "int1" ? undefined : whyWeak(op, elem, kind)),
  out: promote,
  constants: whyTruths,
};
/** `& | ^ << >>`; the result is `ArithOut`. Masks combine with masks, with true and false, and with flags. */
export function inferBits(op: string, x: Type, y: Type, text: (a: string, b: string) => string): Type | RuleError {
  const [tile, operand] = x.kind === "tile" ? [x, y] : [y, x];
  if (tile.kind === "tile" && operand.kind === "constexpr" && isBooleanLiteral(operand)) {
    return whyTruth(op, tile.dtype) || tile;
  }
  const areBooleans = [x, y].every((type) => type.kind === "constexpr" && type.of === "bool");
  return inferBinary(bits, op, x, y, (a, b) =>
    areBooleans ? constexprType("bool", text(a, b)) : constexprOf(x, y, text(a, b)),
  );
}

type BitsWhys<Op extends string, E extends Element, S extends Shape, O> = O extends readonly [infer H]
  ? [WhyBits<Op, E, S, H>]
  : O extends readonly [infer H, ...infer R]
    ? [WhyBits<Op, E, S, H>, ...BitsWhysNext<Op, ArithOut<E, S, H>, R>]
    : [];
type BitsWhysNext<Op extends string, T, R> = T extends TileLike ? BitsWhys<Op, T[El], T[Sh], R> : [];
export type BitsArgs<Op extends string, E extends Element, S extends Shape, O> = {
  readonly [K in keyof O]: Validate<O[K], BitsWhys<Op, E, S, O>[K & keyof BitsWhys<Op, E, S, O>]>;
};

/** `~x` and `not`. */
export type WhyNot<T> = T extends TileLike ? WhyInt<"not", T[El]> : NotATile<"not", T>;
export function inferNot(op: string, x: Type): Type | RuleError {
  if (x.kind === "constexpr" && x.of === "bool") return constexprType("bool", `not ${x.text}`);
  return x.kind === "tile" ? whyInt(op, x.dtype) || x : notATile(op, x);
}
/** `-x`. */
export type WhyNeg<T> = T extends TileLike ? WhyPromote<"neg", T[El], T[El]> : NotATile<"neg", T>;
export function inferNeg(op: string, x: Type): Type | RuleError {
  if (x.kind === "constexpr" && (x.of === "int" || x.of === "float")) return constexprType(x.of, `-${x.text}`);
  return x.kind === "tile" ? whyPromote(op, x.dtype, x.dtype) || x : notATile(op, x);
}

const otherNotMask = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  truthValue(`${op}: both sides must be int1, the other is ${dtype}`, "compare it first, .ne(0)");
const thisNotMask = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  truthValue(`${op}: both sides must be int1, this one is ${dtype}`, "compare it first, .ne(0)");

/** logicalAnd, logicalOr: both sides int1. */
export type WhyLogic<Op extends string, E, S extends Shape, O> = E extends "int1"
  ? O extends TileLike
    ? O[El] extends "int1"
      ? WhyBroadcast<Op, S, O[Sh]>
      : SentenceOf<typeof otherNotMask<Op, Call<O[El]>>>
    : O extends boolean | ConstLike<any, "bool">
      ? ""
      : NotAnOperand<Op, O>
  : SentenceOf<typeof thisNotMask<Op, Call<E>>>;
export function whyLogic(op: string, elem: Elem, shape: readonly Dim[], operand: Type): RuleError | undefined {
  if (elem !== "int1") return thisNotMask(op, dtypeDisplayName(elem));
  if (operand.kind === "constexpr" && operand.of === "bool") return undefined;
  if (operand.kind !== "tile") return notAnOperand(op, operand);
  return operand.dtype === "int1"
    ? whyBroadcast(op, shape, operand.shape)
    : otherNotMask(op, dtypeDisplayName(operand.dtype));
}
