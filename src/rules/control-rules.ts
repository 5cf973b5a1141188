/** Signatures of state, loops and branches. */
import { conditionDType } from "./math-rules.js";
import {
  stateAsValue,
  wrongBranchValues,
  wrongStateType,
  wrongLoopBounds,
  wrongCondition,
} from "../diagnostics/catalog/rule-codes.js";
import type { SentenceOf, Fact } from "../diagnostics/message.js";
import type { ConstLike } from "../types/constexpr.js";
import { dtypeDisplayName, type Call, type Elem, isFloatElem, sameElem, dtypeSourceText } from "../types/dtype.js";
import type { Ac, AddressLike, MutPointer, Pl, AddressElement } from "./tensor-types.js";
import type { FirstError, IsAny, Validate, RuleError } from "../types/rule-error.js";
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
import { type DefaultDType, defaultDType, type UntypedNumber, whyDefaultDType } from "../types/casts.js";
import { sameShape, showShape, type Show } from "../types/shape.js";
import {
  type El,
  type Mut,
  type MutOfNumber,
  type Scalar,
  type Sh,
  type StateLike,
  type TileLike,
  stateOperand,
} from "../types/tile.js";
import { type ConstexprType, literalValue, type TileType, tileType, type Type } from "../types/types.js";
// ---- state ----------------------------------------------------------------------------------------------------------

export const stateOfState = () => stateAsValue("mut: this is state already", "start from its .value");

export const STATE_KINDS = "takes a tile, a pointer or a number";

const stateKind = () => wrongStateType(`mut: ${STATE_KINDS}`);

/** The rule of `tl.mut(initial)`: a tile, a pointer, or a number, which becomes a scalar of its default dtype. */
export type WhyMut<X> = X extends TileLike | AddressLike | UntypedNumber
  ? ""
  : X extends StateLike
    ? SentenceOf<typeof stateOfState>
    : SentenceOf<typeof stateKind>;
export type MutOut<X> =
  IsAny<X> extends true
    ? any
    : X extends TileLike
      ? Mut<X[El], X[Sh]>
      : X extends AddressLike
        ? MutPointer<X[AddressElement], X[Pl], X[Ac]>
        : MutOfNumber<DefaultDType<X>>;
/** The variable's type, or a message. */
export function inferMut(initial: Type): Type | RuleError {
  if (initial.kind === "tile" || initial.kind === "pointer") return initial;
  const dtype = defaultDType(initial);
  if (dtype === undefined || initial.kind !== "constexpr") return stateKind();
  return whyDefaultDType("mut", initial) || tileType(dtype, []);
}

/**
 * The rule of an assignment to state whose initial value may be a number, `tl.mut(0)`. Its shape and dtype were not
 * explicit, so the message suggests another initial value.
 */
export function whyStateOperand(stateType: Type, next: Type): RuleError | undefined {
  const why = whyAssign(stateType, next);
  if (!why || stateType.kind !== "tile" || next.kind !== "tile") return why;
  const remedy = `begin it so, tl.mut(${zerosOf(next)})`;
  const holds = `${assignment.op}: ${assignment.old}`;
  if (stateType.shape.length === 0 && next.shape.length > 0)
    return wrongStateType(
      `${holds} a scalar ${dtypeDisplayName(stateType.dtype)}, ${assignment.next} ${showShape(next.shape)} of ${dtypeDisplayName(next.dtype)}`,
      remedy,
    );
  const isRounded = !isFloatElem(stateType.dtype) && isFloatElem(next.dtype) && sameShape(stateType.shape, next.shape);
  if (!isRounded) return why;
  return wrongStateType(
    `${holds} ${dtypeDisplayName(stateType.dtype)}, ${assignment.next} ${dtypeDisplayName(next.dtype)}`,
    `${remedy}, or cast with .to(${dtypeSourceText(stateType.dtype)})`,
  );
}

const zerosOf = ({ dtype, shape }: TileType): string =>
  shape.length === 0
    ? `tl.full([], 0, ${dtypeSourceText(dtype)})`
    : `tl.zeros(${showShape(shape)}, ${dtypeSourceText(dtype)})`;

/** How messages speak of the value that is there and of the one that joins it. */
interface AssignmentWords {
  readonly op: string;
  readonly old: string;
  readonly next: string;
  readonly mistake: typeof wrongStateType | typeof wrongBranchValues;
}
const assignment: AssignmentWords = {
  op: "value",
  old: "the variable holds",
  next: "the new value is",
  mistake: wrongStateType,
};
/** The results of two arms of a branch. */
export const armResults: AssignmentWords = {
  op: "when",
  old: "one arm returns",
  next: "another",
  mistake: wrongBranchValues,
};

/** The rule of `state.value = next`. At type level, the accessor's type is the rule, without a message. */
export function whyAssign(stateType: Type, next: Type, words = assignment): RuleError | undefined {
  const [old, other] = [`${words.op}: ${words.old}`, words.next];
  if (stateType.kind === "pointer") {
    if (next.kind !== "pointer") return words.mistake(`${old} pointers`, "assign a pointer");
    if (!sameElem(stateType.to, next.to)) {
      return words.mistake(
        `value: the variable points to ${dtypeDisplayName(stateType.to)}, the new one to ${dtypeDisplayName(next.to)}`,
        `cast with .to(${dtypeSourceText(stateType.to)})`,
      );
    }
    return sameShape(stateType.shape, next.shape)
      ? undefined
      : words.mistake(`${old} pointers ${showShape(stateType.shape)}, the new ones are ${showShape(next.shape)}`);
  }
  if (stateType.kind !== "tile") return words.mistake("value: this cannot be held");
  if (next.kind === "constexpr") return whyAssignedNumber(stateType.dtype, next);
  if (next.kind !== "tile") return words.mistake(`${old} a tile`, "assign a tile or a number");
  if (!sameElem(stateType.dtype, next.dtype)) {
    return words.mistake(
      `${old} ${dtypeDisplayName(stateType.dtype)}, ${other} ${dtypeDisplayName(next.dtype)}`,
      `cast with .to(${dtypeSourceText(stateType.dtype)})`,
    );
  }
  return sameShape(stateType.shape, next.shape)
    ? undefined
    : words.mistake(
        `${old} ${showShape(stateType.shape)}, ${other} ${showShape(next.shape)}`,
        "reduce or broadcast it",
      );
}

function whyAssignedNumber(elem: Elem, next: ConstexprType): RuleError | undefined {
  if (next.of === "bool") return whyTruth("value", elem);
  const value = literalValue(next);
  return value === undefined ? whyWeak("value", elem, next.of) : whyLiteral("value", elem, value);
}

// ---- loops ----------------------------------------------------------------------------------------------------------

const boundShape = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  wrongLoopBounds(`${op}: bounds are scalars, this is ${shape}`);
const boundDType = <Op extends Fact>(op: Op) => wrongLoopBounds(`${op}: bounds are integers`);

/** The rule of bounds and steps of `tl.range`: scalars, constexprs or numbers. */
export type WhyRangeBound<X, Op extends string = "range"> = X extends number
  ? WhyWhole<Op, X>
  : X extends ConstLike<any, "int">
    ? ""
    : X extends TileLike
      ? FirstError<
          WhyIndexInt<Op, X[El]>,
          X[Sh] extends readonly [] ? "" : SentenceOf<typeof boundShape<Op, Show<X[Sh]>>>
        >
      : X extends StateLike
        ? SentenceOf<typeof stateOperand<Op>>
        : SentenceOf<typeof boundDType<Op>>;
export function whyRangeBound(bound: Type, op = "range"): RuleError | undefined {
  if (bound.kind === "constexpr" && bound.of === "int") return undefined;
  if (bound.kind === "constexpr" && literalValue(bound) !== undefined) return whyWhole(op, bound.text);
  if (bound.kind !== "tile") return boundDType(op);
  return (
    whyIndexInt(op, bound.dtype) || (bound.shape.length === 0 ? undefined : boundShape(op, showShape(bound.shape)))
  );
}

const zeroStep = <Op extends Fact>(op: Op) => wrongLoopBounds(`${op}: a step of 0 never ends`);

/** The rule of the step of a loop. A step that is known at compile time may be negative. */
export type WhyStep<X, Op extends string = "range"> =
  WhyRangeBound<X, Op> extends "" ? (X extends 0 ? SentenceOf<typeof zeroStep<Op>> : "") : WhyRangeBound<X, Op>;
export function whyStep(step: Type, op = "range"): RuleError | undefined {
  const why = whyRangeBound(step, op);
  if (why) return why;
  return step.kind === "constexpr" && literalValue(step) === 0 ? zeroStep(op) : undefined;
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

/** What the author knows of a loop and Triton does not ask for. */
interface TripOptions {
  /**
   * The loop has at most this many iterations, where they follow from data: a number, a constexpr or a size. `run` and
   * `tune` estimate its cost by it, and the evaluator reports a launch in which there are more.
   */
  most?: IntOption | Scalar<any>;
}

/** The options of `tl.whileLoop`. */
export interface WhileOptions extends TripOptions {
  /** Do not move loop-invariant code out of the loop. */
  disableLicm?: FlagOption;
}

/** The options of `tl.range`. */
export interface RangeOptions extends TripOptions {
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

const conditionShape = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  wrongCondition(`${op}: one program has one condition, this is a tile ${shape}`, "choose lane by lane with tl.where");
const booleanCondition = <Op extends Fact>(op: Op) =>
  wrongCondition(`${op}: this is a JavaScript boolean`, "use a JavaScript if");

export const CONDITION = "the condition is a scalar of int1 or a constexpr";

const conditionKind = <Op extends Fact>(op: Op) => wrongCondition(`${op}: ${CONDITION}`);

/** The rule of the condition of `tl.when` and `tl.whileLoop`. */
export type WhyWhen<C, Op extends string = "when"> = C extends TileLike
  ? C[Sh] extends readonly []
    ? C[El] extends "int1"
      ? ""
      : SentenceOf<typeof conditionDType<Op, Call<C[El]>>>
    : SentenceOf<typeof conditionShape<Op, Show<C[Sh]>>>
  : C extends ConstLike<any, "bool">
    ? ""
    : C extends boolean
      ? SentenceOf<typeof booleanCondition<Op>>
      : C extends StateLike
        ? SentenceOf<typeof stateOperand<Op>>
        : SentenceOf<typeof conditionKind<Op>>;
export function whyCondition(condition: Type, op = "when"): RuleError | undefined {
  if (condition.kind === "constexpr" && condition.of === "bool") {
    const isLiteral = condition.text === "true" || condition.text === "false";
    return isLiteral ? booleanCondition(op) : undefined;
  }
  if (condition.kind !== "tile") return conditionKind(op);
  if (condition.shape.length > 0) {
    return conditionShape(op, showShape(condition.shape));
  }
  return condition.dtype === "int1" ? undefined : conditionDType(op, dtypeDisplayName(condition.dtype));
}

const constantCondition = () =>
  wrongCondition("whileLoop: this condition never changes", "use tl.when, or a condition on state");

/** The rule of the condition of `tl.whileLoop`: a scalar that the body changes. */
export type WhyWhile<C> = C extends boolean | ConstLike<any, "bool">
  ? SentenceOf<typeof constantCondition>
  : WhyWhen<C, "whileLoop">;
export function whyWhile(condition: Type): RuleError | undefined {
  return condition.kind === "constexpr" && condition.of === "bool"
    ? constantCondition()
    : whyCondition(condition, "whileLoop");
}
