/**
 * Signatures of operators that are called as functions, `tl.sub(x, y)`. Each operand may be a tile, a number or a
 * constexpr. Methods of tiles are in `arithmetic-rules.ts`.
 */
import type { ConstBool, ConstFloat, ConstLike, ConstPair, TextOf, WhyConst, WhyConstInt } from "../types/constexpr.js";
import type {
  AddText,
  CallText,
  CompareText,
  DivText,
  FloorDivText,
  ModText,
  MulText,
  SubText,
} from "../types/constexpr-text.js";
import type { IsAny } from "../types/rule-error.js";
import type { Shape } from "../types/shape.js";
import type { El, Sh, TileLike, NotAnOperand } from "../types/tile.js";
import type { TorchScalar } from "../torch/values.js";
import type {
  ArithOut,
  CmpOut,
  DivideOut,
  ModuloOut,
  WhyArith,
  WhyBits,
  WhyCmp,
  WhyFloor,
  WhyQuotient,
  WhyRemainder,
} from "./arithmetic-rules.js";

/** Python's comparison operators. */
interface Signs {
  lt: "<";
  le: "<=";
  gt: ">";
  ge: ">=";
  eq: "==";
  ne: "!=";
}
/** Python's operators for two booleans. */
interface Truths {
  and: "and";
  or: "or";
  xor: "!=";
}
type Whole = "floorDiv" | "mod" | "shl" | "shr";

/** The rule for a tile and another operand. */
type WhyWithTile<Op extends string, E, S extends Shape, O> = Op extends keyof Signs
  ? WhyCmp<Op, E, S, O>
  : Op extends "div"
    ? WhyQuotient<Op, E, S, O>
    : Op extends "mod"
      ? WhyRemainder<Op, E, S, O>
      : Op extends "floorDiv"
        ? WhyFloor<Op, E, S, O>
        : Op extends keyof Truths | "shl" | "shr"
          ? WhyBits<Op, E, S, O>
          : WhyArith<Op, E, S, O>;
/** The rule of an operand if neither is a tile. */
type WhyConstant<Op extends string, X> = X extends TorchScalar
  ? Op extends keyof TorchScalar
    ? ""
    : NotAnOperand<Op, X>
  : Op extends Whole
    ? WhyConstInt<Op, X>
    : Op extends keyof Truths
      ? X extends boolean | ConstLike<any, "bool">
        ? ""
        : WhyConstInt<Op, X>
      : WhyConst<Op, X, "int">;

/**
 * The rule of the first operand: its kind. Everything else is reported at the second. In a reference, the operands may
 * be its numbers, `tl.sub(1, BETA)`.
 */
export type WhyOperatorFirst<Op extends string, X> = X extends TileLike | number | boolean | ConstLike | TorchScalar
  ? ""
  : NotAnOperand<Op, X>;
/** The rule of the second operand, checked against the first. */
export type WhyOperatorSecond<Op extends string, X, Y> = X extends TileLike
  ? WhyWithTile<Op, X[El], X[Sh], Y>
  : Y extends TileLike
    ? WhyWithTile<Op, Y[El], Y[Sh], X>
    : WhyConstant<Op, X> extends ""
      ? WhyConstant<Op, Y>
      : WhyConstant<Op, X>;

type OutOfTile<Op extends string, T extends TileLike, O> = Op extends keyof Signs
  ? CmpOut<T[Sh], O>
  : Op extends "div"
    ? DivideOut<T[El], T[Sh], O>
    : Op extends "mod"
      ? ModuloOut<T[El], T[Sh], O>
      : ArithOut<T[El], T[Sh], O>;
type Texts<A extends string, B extends string> = {
  add: AddText<A, B>;
  sub: SubText<A, B>;
  mul: MulText<A, B>;
  floorDiv: FloorDivText<A, B>;
  mod: ModText<A, B>;
};
type OutOfConstants<Op extends string, X, Y, A extends string, B extends string> = Op extends keyof Signs
  ? ConstBool<CompareText<A, Signs[Op], B>>
  : Op extends "div"
    ? ConstFloat<DivText<A, B>>
    : Op extends keyof Truths
      ? X extends boolean | ConstLike<any, "bool">
        ? ConstBool<CallText<Truths[Op], A, B>>
        : ConstPair<X, Y, CallText<Truths[Op], A, B>>
      : ConstPair<X, Y, Op extends keyof Texts<A, B> ? Texts<A, B>[Op] : CallText<Op, A, B>>;
/** The type of the result. */
export type OperatorOut<Op extends string, X, Y> =
  IsAny<X> extends true
    ? any
    : X extends TileLike
      ? OutOfTile<Op, X, Y>
      : Y extends TileLike
        ? OutOfTile<Op, Y, X>
        : X extends TorchScalar
          ? X
          : Y extends TorchScalar
            ? Y
            : OutOfConstants<Op, X, Y, TextOf<X>, TextOf<Y>>;
