/** Bit shifts, and logical ops on masks. */
import { NUMBERS, ONE, ZERO } from "../symbolic/number-class.js";
import {
  andTerm,
  asInteger,
  asTruth,
  isNumber,
  number,
  product,
  quotient,
  orTerm,
  type Term,
} from "../symbolic/term.js";
import { shiftAmount } from "../diagnostics/catalog/finding-codes.js";
import { callText } from "../types/constexpr-text.js";
import {
  isShiftTooFar,
  shiftLeft,
  shiftLeftBig,
  shiftRight,
  shiftRightBig,
  pythonArithmetic,
  bitsOf,
  isBig,
  type SmallIntDType,
} from "../numerics/numeric-int.js";
import type { Validate } from "../types/rule-error.js";
import type { Context } from "../values/runtime-values.js";
import { type ArithOut, inferBits, type WhyBits, whyLogic, type WhyLogic } from "../rules/arithmetic-rules.js";
import type { OperatorOut, WhyOperatorFirst, WhyOperatorSecond } from "../rules/operator-functions.js";
import { broadcastShapes, broadcastTo } from "../numerics/array.js";
import { type Broadcast, broadcast, type Shape } from "../types/shape.js";
import { type El, type Sh, type Tile, type TileLike, notATile } from "../types/tile.js";
import { tileType } from "../types/types.js";
import { defineOp } from "./define.js";
import { binary, promoteOperands, bitwiseBinary } from "../values/operands.js";
import type { RuntimeArguments } from "../ir/op.js";

type Shift<Name extends string> = <const X, const Y>(
  x: Validate<X, WhyOperatorFirst<Name, X>>,
  y: Validate<Y, WhyOperatorSecond<Name, X, Y>>,
) => OperatorOut<Name, X, Y>;
type LogicOut<S extends Shape, O> = O extends TileLike ? Tile<"int1", Broadcast<S, O[Sh]>> : Tile<"int1", S>;
type Logic<Name extends string> = <T extends TileLike, const O>(
  x: T,
  y: Validate<O, WhyLogic<Name, T[El], T[Sh], O>>,
) => LogicOut<T[Sh], O>;

declare module "../types/tile.js" {
  interface TileOps {
    /** `x << y` */
    shl<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyBits<"shl", T[El], T[Sh], O>>,
    ): ArithOut<T[El], T[Sh], O>;
    /** `x >> y`: arithmetic for signed integers, logical for unsigned ones. */
    shr<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyBits<"shr", T[El], T[Sh], O>>,
    ): ArithOut<T[El], T[Sh], O>;
    /** True if both masks are: `x.logical_and(y)`. */
    logicalAnd<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyLogic<"logicalAnd", T[El], T[Sh], O>>,
    ): LogicOut<T[Sh], O>;
    /** True if either mask is: `x.logical_or(y)`. */
    logicalOr<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyLogic<"logicalOr", T[El], T[Sh], O>>,
    ): LogicOut<T[Sh], O>;
  }
}

const operands = { x: "value", y: "value" } as const;

/** The term of a shift by a constant: a product, or a floor division. */
function shiftTerm(name: "shl" | "shr", x: Term, y: Term): Term | undefined {
  if (!isNumber(y) || y.value < 0n || y.value >= 63n) return undefined;
  const factor = number(1n << y.value);
  return name === "shl" ? product(asInteger(x), factor) : quotient(asInteger(x), factor, true);
}

type Fold = ReturnType<typeof pythonArithmetic>;

function shift<Name extends "shl" | "shr">(name: Name, operator: "<<" | ">>", fold: Fold) {
  return defineOp<Shift<Name>>()({
    name,
    operands,
    method: true,
    effect: "pure",
    spelling: { form: "infix", operator, host: { form: "infix", operator } },
    infer: ({ x, y }) => inferBits(name, x.type, y.type, (a, b) => callText(name, a, b)),
    fold,
    evaluate: (args, context) => {
      const dtype = context.result.dtype;
      reportOversizedShifts(args, context);
      const big = name === "shl" ? shiftLeftBig : shiftRightBig;
      if (isBig(dtype)) return binary({ big })(args, context);
      const int = name === "shl" ? shiftLeft(dtype as SmallIntDType) : shiftRight(dtype as SmallIntDType);
      return binary({ int })(args, context);
    },
    facts: { nonNegative: ([x]) => x === true && name === "shr" },
    proof: {
      term: ({ x, y }, { isTruth: truth }) => (truth ? undefined : shiftTerm(name, x, y)),
      wraps: name === "shl",
      classTransfer: ({ x }) => (x === ZERO ? ZERO : NUMBERS),
    },
  });
}

/** Reports shift amounts that are at least the bit width. Their result is undefined in compiled code. */
function reportOversizedShifts({ x, y }: RuntimeArguments<typeof operands>, context: Context): void {
  const [value, count, dtype] = promoteOperands(x, y);
  const bits = bitsOf(dtype);
  const first = count.data.find((amount, i) => isShiftTooFar(bits, amount) && !count.poison?.[i]);
  if (first === undefined) return;
  const shape = broadcastShapes(value.shape, count.shape);
  const amounts = broadcastTo(count, shape);
  const lanes = Uint8Array.from(amounts.data as ArrayLike<number | bigint>, (amount, i) =>
    isShiftTooFar(bits, amount) && !amounts.poison?.[i] ? 1 : 0,
  );
  context.report(shiftAmount(dtype, first, bits), shape, lanes);
}

/** `x << y` */
export const shl = shift(
  "shl",
  "<<",
  pythonArithmetic(
    (x, y) => x * 2 ** y,
    (x, y) => x << y,
  ),
);
/** `x >> y`: arithmetic for signed integers, logical for unsigned ones. */
export const shr = shift(
  "shr",
  ">>",
  pythonArithmetic(
    (x, y) => Math.floor(x / 2 ** y),
    (x, y) => x >> y,
  ),
);

function logic<Name extends "logicalAnd" | "logicalOr">(
  name: Name,
  python: string,
  int: (x: number, y: number) => number,
  term: (...terms: readonly Term[]) => Term,
  absorbingElement: 0 | -1,
) {
  return defineOp<Logic<Name>>()({
    name,
    operands,
    method: true,
    effect: "pure",
    spelling: { form: "method", name: python },
    infer: ({ x, y }) => {
      if (x.type.kind !== "tile") return notATile(name, x.type);
      const why = whyLogic(name, x.type.dtype, x.type.shape, y.type);
      const otherShape = y.type.kind === "tile" ? y.type.shape : [];
      return why || tileType("int1", broadcast(x.type.shape, otherShape) ?? x.type.shape);
    },
    evaluate: bitwiseBinary({ int }, absorbingElement),
    facts: { needsTensor: ["x"] },
    proof: { term: ({ x, y }) => term(asTruth(x), asTruth(y)), classTransfer: () => ZERO | ONE },
  });
}

/** Logical and of int1 tiles: `x.logical_and(y)`. The same as `and`. */
export const logicalAnd = logic("logicalAnd", "logical_and", (x, y) => x & y, andTerm, 0);
/** Logical or of int1 tiles: `x.logical_or(y)`. The same as `or`. */
export const logicalOr = logic("logicalOr", "logical_or", (x, y) => x | y, orTerm, -1);
