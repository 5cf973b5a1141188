/** Signatures of state, loops and branches. */
import type { ConstLike } from "../types/constexpr.js";
import { dtypeDisplayName, type Call, type Elem, isFloatElem, sameElem, dtypeSourceText } from "../types/dtype.js";
import type { Ac, AddressLike, MutPointer, Pl, AddressElement } from "./tensor-types.js";
import type { FirstError, Validate } from "../types/rule-error.js";
import {
  promote,
  whyIndexInt,
  whyLiteral,
  whyTruth,
  whyWeak,
  whyWhole,
  type Promote,
  type WhyIndexInt,
  type WhyWhole,
} from "../types/promote.js";
import { type DefaultDType, defaultDType, type UntypedNumber, whyDefaultDType } from "../types/default-dtype.js";
import { sameShape, showShape, type Show } from "../types/shape.js";
import type { El, Mut, MutOfNumber, Sh, StateLike, TileLike } from "../types/tile.js";
import { literalValue, type TileType, tileType, type Type } from "../types/types.js";
// ---- state ----------------------------------------------------------------------------------------------------------

/** The rule of `tl.mut(initial)`: a tile, a pointer, or a number, which becomes a scalar of its default dtype. */
export type WhyMut<X> = X extends TileLike | AddressLike | UntypedNumber
  ? ""
  : X extends StateLike
    ? "mut: this is state already; start from its .value"
    : "mut: takes a tile, a pointer or a number";
export type MutOut<X> = X extends TileLike
  ? Mut<X[El], X[Sh]>
  : X extends AddressLike
    ? MutPointer<X[AddressElement], X[Pl], X[Ac]>
    : MutOfNumber<DefaultDType<X>>;
/** The variable's type, or a message. */
export function inferMut(initial: Type): Type | string {
  if (initial.kind === "tile" || initial.kind === "pointer") return initial;
  const dtype = defaultDType(initial);
  if (dtype === undefined || initial.kind !== "constexpr") return "mut: takes a tile, a pointer or a number";
  return whyDefaultDType("mut", initial) || tileType(dtype, []);
}

/**
 * The rule of an assignment to state whose initial value may be a number, `tl.mut(0)`. Its shape and dtype were not
 * explicit, so the message suggests another initial value.
 */
export function whyStateOperand(stateType: Type, next: Type): string {
  const why = whyAssign(stateType, next);
  if (!why || stateType.kind !== "tile" || next.kind !== "tile") return why;
  const remedy = `begin it so, tl.mut(${zerosOf(next)})`;
  if (stateType.shape.length === 0 && next.shape.length > 0)
    return `value: the variable holds a scalar ${dtypeDisplayName(stateType.dtype)}, the new value is ${showShape(next.shape)} of ${dtypeDisplayName(next.dtype)}; ${remedy}`;
  const isRounded = !isFloatElem(stateType.dtype) && isFloatElem(next.dtype) && sameShape(stateType.shape, next.shape);
  if (!isRounded) return why;
  return `value: the variable holds ${dtypeDisplayName(stateType.dtype)}, the new value is ${dtypeDisplayName(next.dtype)}; ${remedy}, or cast with .to(${dtypeSourceText(stateType.dtype)})`;
}

const zerosOf = ({ dtype, shape }: TileType): string =>
  shape.length === 0
    ? `tl.full([], 0, ${dtypeSourceText(dtype)})`
    : `tl.zeros(${showShape(shape)}, ${dtypeSourceText(dtype)})`;

/** The rule of `state.value = next`. At type level, the accessor's type is the rule, without a message. */
export function whyAssign(stateType: Type, next: Type): string {
  if (stateType.kind === "pointer") {
    if (next.kind !== "pointer") return "value: the variable holds pointers; assign a pointer";
    if (!sameElem(stateType.to, next.to)) {
      return `value: the variable points to ${dtypeDisplayName(stateType.to)}, the new one to ${dtypeDisplayName(next.to)}; cast with .to(${dtypeSourceText(stateType.to)})`;
    }
    return sameShape(stateType.shape, next.shape)
      ? ""
      : `value: the variable holds pointers ${showShape(stateType.shape)}, the new ones are ${showShape(next.shape)}`;
  }
  if (stateType.kind !== "tile") return "value: this cannot be held";
  if (next.kind === "constexpr") {
    if (next.of === "bool") return whyTruth("value", stateType.dtype);
    const value = literalValue(next);
    return value === undefined
      ? whyWeak("value", stateType.dtype, next.of)
      : whyLiteral("value", stateType.dtype, value);
  }
  if (next.kind !== "tile") return "value: the variable holds a tile; assign a tile or a number";
  if (!sameElem(stateType.dtype, next.dtype)) {
    return `value: the variable holds ${dtypeDisplayName(stateType.dtype)}, the new value is ${dtypeDisplayName(next.dtype)}; cast with .to(${dtypeSourceText(stateType.dtype)})`;
  }
  return sameShape(stateType.shape, next.shape)
    ? ""
    : `value: the variable holds ${showShape(stateType.shape)}, the new value is ${showShape(next.shape)}; reduce or broadcast it`;
}

// ---- loops ----------------------------------------------------------------------------------------------------------

/** The rule of bounds and steps of `tl.range`: scalars, constexprs or numbers. */
export type WhyRangeBound<X, Op extends string = "range"> = X extends number
  ? WhyWhole<Op, X>
  : X extends ConstLike<any, "int">
    ? ""
    : X extends TileLike
      ? FirstError<
          WhyIndexInt<Op, X[El]>,
          X[Sh] extends readonly [] ? "" : `${Op}: bounds are scalars, this is ${Show<X[Sh]>}`
        >
      : X extends StateLike
        ? `${Op}: this is state; read it with .value`
        : `${Op}: bounds are integers`;
export function whyRangeBound(bound: Type, op = "range"): string {
  if (bound.kind === "constexpr" && bound.of === "int") return "";
  if (bound.kind === "constexpr" && literalValue(bound) !== undefined) return whyWhole(op, bound.text);
  if (bound.kind !== "tile") return `${op}: bounds are integers`;
  return (
    whyIndexInt(op, bound.dtype) ||
    (bound.shape.length === 0 ? "" : `${op}: bounds are scalars, this is ${showShape(bound.shape)}`)
  );
}

/** The rule of the step of a loop. A step that is known at compile time may be negative. */
export type WhyStep<X, Op extends string = "range"> =
  WhyRangeBound<X, Op> extends "" ? (X extends 0 ? `${Op}: a step of 0 never ends` : "") : WhyRangeBound<X, Op>;
export function whyStep(step: Type, op = "range"): string {
  const why = whyRangeBound(step, op);
  if (why !== "") return why;
  return step.kind === "constexpr" && literalValue(step) === 0 ? `${op}: a step of 0 never ends` : "";
}

type IntIn<X> = X extends TileLike ? X[El] : "int32";
/** The dtype of a loop's index: its bounds promote; literals and constexprs are int32. */
export type RangeElement<Lo, Hi, Step> = Promote<Promote<IntIn<Lo>, IntIn<Hi>>, IntIn<Step>>;
export function rangeElement(...bounds: readonly Type[]): Elem {
  const elements = bounds.map((bound): Elem => (bound.kind === "tile" ? bound.dtype : "int32"));
  return elements.reduce((a, b) => promote(a, b) ?? a);
}

type IntOption = number | ConstLike<any, "int"> | undefined;
type FlagOption = boolean | ConstLike<any, "bool"> | undefined;
/** The options of `tl.range`. */
export interface RangeOptions {
  /** The number of pipeline stages. */
  numStages?: IntOption;
  loopUnrollFactor?: IntOption;
  /** Do not double-buffer the accumulator of a dot in the loop. */
  disallowAccMultiBuffer?: FlagOption;
  /** Merge this loop with the enclosing loop. */
  flatten?: FlagOption;
  warpSpecialize?: FlagOption;
  /** Do not move loop-invariant code out of the loop. */
  disableLicm?: FlagOption;
}

type NoOptions = TileLike | StateLike | ConstLike<any, any> | readonly unknown[] | ((...args: never) => unknown);
/** True if an argument is the options. They come last, also if bounds are omitted. */
type IsOptions<X> = X extends NoOptions ? false : X extends object ? true : false;
/** The second argument of `tl.range`: the end, or the options. */
export type EndOrOptions<X> =
  IsOptions<X> extends true ? RangeOptions : Validate<X, X extends undefined ? "" : WhyRangeBound<X>>;
/** The third argument: the step, or the options. There must be none after the options. */
export type StepOrOptions<X, End> =
  IsOptions<End> extends true
    ? "range: options come last"
    : IsOptions<X> extends true
      ? RangeOptions
      : Validate<X, WhyStep<X>>;

// ---- branches -------------------------------------------------------------------------------------------------------

/** The rule of the condition of `tl.when` and `tl.whileLoop`. */
export type WhyWhen<C, Op extends string = "when"> = C extends TileLike
  ? C[Sh] extends readonly []
    ? C[El] extends "int1"
      ? ""
      : `${Op}: the condition must be int1, this is ${Call<C[El]>}; compare it, .ne(0)`
    : `${Op}: one program has one condition, this is a tile ${Show<C[Sh]>}; choose lane by lane with tl.where`
  : C extends ConstLike<any, "bool">
    ? ""
    : C extends boolean
      ? `${Op}: this is a JavaScript boolean; use a JavaScript if`
      : C extends StateLike
        ? `${Op}: this is state; read it with .value`
        : `${Op}: the condition is a scalar of int1 or a constexpr`;
export function whyCondition(condition: Type, op = "when"): string {
  if (condition.kind === "constexpr" && condition.of === "bool") {
    const isLiteral = condition.text === "true" || condition.text === "false";
    return isLiteral ? `${op}: this is a JavaScript boolean; use a JavaScript if` : "";
  }
  if (condition.kind !== "tile") return `${op}: the condition is a scalar of int1 or a constexpr`;
  if (condition.shape.length > 0) {
    return `${op}: one program has one condition, this is a tile ${showShape(condition.shape)}; choose lane by lane with tl.where`;
  }
  return condition.dtype === "int1"
    ? ""
    : `${op}: the condition must be int1, this is ${dtypeDisplayName(condition.dtype)}; compare it, .ne(0)`;
}

/** The rule of the condition of `tl.whileLoop`: a scalar that the body changes. */
export type WhyWhile<C> = C extends boolean | ConstLike<any, "bool">
  ? "whileLoop: this condition never changes; use tl.when, or a condition on state"
  : WhyWhen<C, "whileLoop">;
export function whyWhile(condition: Type): string {
  return condition.kind === "constexpr" && condition.of === "bool"
    ? "whileLoop: this condition never changes; use tl.when, or a condition on state"
    : whyCondition(condition, "whileLoop");
}
