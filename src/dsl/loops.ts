/** Loops of the kernel, and the variables that loops and branches can change. */
import { typeOfArgument } from "../ir/walk.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import {
  type STATIC_BOUNDS,
  earlyExit,
  loopBounds,
  loopFunctions,
  loopOption,
} from "../diagnostics/catalog/control-codes.js";
import { type Builder, builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Constexpr, ConstLike } from "../types/constexpr.js";
import type { Elem } from "../types/dtype.js";
import {
  traceBodyTwice,
  type BodyResult,
  runBody,
  repeatParams,
  repeatLet,
  repeatRead,
  repeatWrite,
} from "../ir/retrace.js";
import { Handle, isHandle, isState, STATE } from "../ir/handle.js";
import type { Argument, ForStatement, OpStatement, Variable } from "../ir/nodes.js";
import type { Validate, RuleError } from "../types/rule-error.js";
import {
  type EndOrOptions,
  type RangeElement,
  rangeElement,
  type RangeOptions,
  type StepOrOptions,
  whyRangeBound,
  type WhyRangeBound,
  whyStep,
  type WhileOptions,
  whyWhile,
  type WhyWhile,
  inferMut,
  STATE_KINDS,
  stateOfState,
  type MutOut,
  whyStateOperand,
  type WhyMut,
} from "../rules/control-rules.js";
import type { Scalar } from "../types/tile.js";
import type { Type, TileType } from "../types/types.js";
import { failOnUnknownOption, opOf, toArgument, failOnState } from "../ops/define.js";
import { Message } from "../diagnostics/message.js";
import { full } from "../ops/create.js";
import { statePrototype } from "./unknown-names.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";

// Variables that loops and branches can change.

// Converts the operands of control flow to IR arguments.

/** Fails with the message of a rule that is violated. */
export function failIf(error: RuleError | undefined, location: Location | undefined): void {
  if (error) fail(error, location);
}

/** Fails if a call has extra arguments. JavaScript would silently drop an arm or an option. */
export function checkArity(name: string, maxCount: number, extraArgs: readonly unknown[], usage: string): void {
  if (extraArgs.length > 0)
    fail(argumentList.count(name, maxCount, maxCount + extraArgs.length, usage), captureLocation());
}

/** The IR argument of an operand. `problem` is what is said of one that is not a value. */
export function argumentOf(
  recorder: Builder,
  value: unknown,
  op: string,
  problem: string,
  location: Location | undefined,
): Argument {
  if (isState(value)) failOnState(recorder, op, location);
  const argument = toArgument(value, location);
  if (argument === undefined) fail(argumentList.notAValue(`${op}: ${problem}`), location);
  recorder.checkUse(argument, location);
  return argument;
}

function literal(value: number): Argument {
  return { kind: "literal", value };
}

/** The result of `tl.mut`, not a tile: `.value` reads and writes. */
export class MutHandle {
  readonly [STATE] = true;
  readonly #original: Variable;

  constructor(variable: Variable) {
    this.#original = variable;
  }

  get #variable(): Variable {
    return this.#original.recorded ?? this.#original;
  }

  static variableOf(state: MutHandle): Variable {
    return state.#variable;
  }

  get value(): Handle {
    const recorder = builder("tl.mut(…).value");
    const variable = this.#variable;
    const retracedValue = repeatRead(recorder, variable);
    if (retracedValue) return new Handle(retracedValue);
    const location = captureLocation();
    recorder.checkVariableUse(variable, location);
    const result = recorder.value(variable.type, location);
    recorder.append({ kind: "read", variable, result, location });
    return new Handle(result);
  }

  set value(newValue: unknown) {
    const recorder = builder("tl.mut(…).value");
    const variable = this.#variable;
    if (repeatWrite(recorder, variable, toArgument(newValue))) return;
    const location = captureLocation();
    recorder.checkVariableUse(variable, location);
    const value = argumentOf(recorder, newValue, "value", "this cannot be held in a tl.mut", location);
    const { type } = variable;
    failIf(whyStateOperand(type, typeOfArgument(value)), location);
    recorder.append({ kind: "write", variable, value: toVariableType(recorder, type, value), location });
  }
}

// As the prototype's prototype, it handles only names that MutHandle does not define.
Object.setPrototypeOf(MutHandle.prototype, statePrototype);

/** Converts a number to a tile of the variable's type. A literal could change the variable's dtype in Triton. */
function toVariableType(recorder: Builder, type: Type, value: Argument): Argument {
  if (type.kind !== "tile" || typeOfArgument(value).kind !== "constexpr") return value;
  const { op, operands } = fullOp(recorder, type, value);
  return recorder.opWithResult(op, operands, {}, type, recorder.location());
}

/** The `full` op that creates a tile from a number. */
export function fullOp(recorder: Builder, type: TileType, value: Argument): Pick<OpStatement, "op" | "operands"> {
  const shape = type.shape.map((dim): Argument => (typeof dim === "number" ? literal(dim) : recorder.constexprOf(dim)));
  return { op: opOf(full), operands: [shape, value, { kind: "dtype", dtype: type.dtype }] };
}

/** A variable that loops and branches can change: `x.value` reads it, and `x.value = y` assigns it. */
export const mut = ((initial: unknown, ...extraArgs: unknown[]): MutHandle => {
  const recorder = builder("tl.mut");
  checkArity("mut", 1, extraArgs, "tl.mut(initial)");
  const retracedVariable = repeatLet(recorder, toArgument(initial));
  if (retracedVariable) return new MutHandle(retracedVariable);
  const location = captureLocation();
  if (isState(initial)) fail(stateOfState(), location, recorder.fixFor(location, { kind: "value" }));
  const value = argumentOf(recorder, initial, "mut", STATE_KINDS, location);
  const type = inferMut(typeOfArgument(value));
  if (type instanceof Message) fail(type, location);
  const variable = recorder.variable(type, location);
  recorder.append({
    kind: "let",
    variable,
    initial: recorder.withoutNames(() => toVariableType(recorder, type, value)),
    location,
  });
  return new MutHandle(variable);
}) as unknown as <const X>(initial: Validate<X, WhyMut<X>>) => MutOut<X>;

/**
 * A loop of the kernel: `for (const k of tl.range(0, K, BLOCK_K)) { … }`. The end is exclusive. With one argument, the
 * loop starts at 0. A negative step counts down, and must be a number or a constexpr. The last argument may have
 * Triton's options, `tl.range(N, { numStages: 3 })`, and `most`, the maximum number of iterations. Tracing records the
 * body once, and runs it again only to detect changed JavaScript state.
 */
export const range = ((...args: unknown[]) => createLoop("range", args, false)) as <
  const Lo,
  const Hi = undefined,
  const Step = 1,
>(
  start: Validate<Lo, WhyRangeBound<Lo>>,
  end?: EndOrOptions<Hi>,
  step?: StepOrOptions<Step, Hi>,
  options?: RangeOptions,
) => Iterable<Scalar<RangeElement<Lo, Hi, Step>>>;

type WhyStaticBound<X> = X extends undefined | number | ConstLike<any, "int"> ? "" : typeof STATIC_BOUNDS;

/** A loop that Triton unrolls: its index is a constexpr in each copy of the body. */
export const staticRange = ((...args: unknown[]) => createLoop("staticRange", args, true)) as unknown as <
  const Lo,
  const Hi = undefined,
  const Step = 1,
>(
  start: Validate<Lo, WhyStaticBound<Lo>>,
  end?: Validate<Hi, WhyStaticBound<Hi>>,
  step?: Validate<Step, WhyStaticBound<Step>>,
) => Iterable<Constexpr<string>>;

function createLoop(name: string, args: unknown[], isUnrolled: boolean): Iterable<Handle> {
  const location = captureLocation();
  const recorder = builder(`tl.${name}`);
  const last = args.at(-1);
  const hasOptions = isOptions(last);
  const boundArgs = hasOptions ? args.slice(0, -1) : args;
  if (boundArgs.some(isOptions)) fail(loopBounds.optionsLast(name), location);
  const bounds = boundArgs.map((bound) => argumentOf(recorder, bound, name, "a bound is an integer", location));
  const [first, second, step = literal(1), ...others] = bounds;
  if (first === undefined || others.length > 0) fail(loopBounds.count(name), location);
  for (const bound of bounds) {
    failIf(whyRangeBound(typeOfArgument(bound), name), location);
    if (isUnrolled && typeOfArgument(bound).kind !== "constexpr") fail(loopBounds.static(), location);
  }
  failIf(whyStep(typeOfArgument(step), name), location);
  const options = optionsOf(recorder, name, hasOptions ? last : {}, isUnrolled ? {} : RANGE_OPTIONS, location);
  const dtype = isUnrolled ? undefined : rangeElement(...bounds.map(typeOfArgument));
  const range = second === undefined ? { start: literal(0), end: first } : { start: first, end: second };
  return new Loop(recorder, { ...range, step, options, unrolled: isUnrolled, location }, dtype);
}

const isOptions = (argument: unknown): argument is object =>
  typeof argument === "object" &&
  argument !== null &&
  !isHandle(argument) &&
  !isState(argument) &&
  !Array.isArray(argument);

/** The type of each loop option. */
const RANGE_OPTIONS = {
  numStages: "int",
  loopUnrollFactor: "int",
  disallowAccMultiBuffer: "bool",
  flatten: "bool",
  warpSpecialize: "bool",
  disableLicm: "bool",
  most: "trips",
} as const;
const WHILE_OPTIONS = { disableLicm: "bool", most: "trips" } as const;

const OPTION_VALUES = { int: "an integer", bool: "true or false", trips: "an integer" } as const;

function optionsOf(
  recorder: Builder,
  name: string,
  authorOptions: object,
  optionKinds: Readonly<Record<string, keyof typeof OPTION_VALUES>>,
  location: Location | undefined,
): Readonly<Record<string, Argument>> {
  const options: Record<string, Argument> = {};
  for (const [key, value] of Object.entries(authorOptions)) {
    if (value === undefined) continue;
    const kind = optionKinds[key];
    if (!kind) {
      failOnUnknownOption(recorder, name, key, Object.keys(optionKinds), location);
    }
    const argument = argumentOf(recorder, value, name, `${key} cannot be this`, location);
    const type = typeOfArgument(argument);
    if (kind === "trips") {
      if (whyRangeBound(type, name)) fail(loopOption.trips(name), location);
    } else if (type.kind !== "constexpr" || type.of !== kind)
      fail(loopOption.constant(name, key, OPTION_VALUES[kind]), location);
    options[key] = argument;
  }
  return options;
}

type LoopHead = Omit<ForStatement, "kind" | "index" | "body">;

/** The result of `tl.range`. Each JavaScript iteration over it records one loop. */
class Loop implements Iterable<Handle> {
  readonly #recorder: Builder;
  readonly #head: LoopHead;
  /** The dtype of the index; undefined if Triton unrolls the loop. */
  readonly #dtype: Elem | undefined;

  constructor(recorder: Builder, head: LoopHead, dtype: Elem | undefined) {
    this.#recorder = recorder;
    this.#head = head;
    this.#dtype = dtype;
    recorder.pendingLoops.add(this);
  }

  get at(): Location | undefined {
    return this.#head.location;
  }

  /** Yields a symbolic index. The code that runs before the generator resumes is the loop's body. */
  *[Symbol.iterator](): Generator<Handle, void> {
    const [recorder, head, dtype] = [this.#recorder, this.#head, this.#dtype];
    recorder.pendingLoops.delete(this);
    const type: Type = dtype
      ? { kind: "tile", dtype, shape: [] }
      : { kind: "constexpr", of: "int", text: recorder.uniqueText("index") };
    for (const bound of [head.start, head.end, head.step]) recorder.checkUse(bound, head.location);
    const {
      params: [index],
      block,
    } = yield* traceBodyTwice(recorder, { label: "the loop", kind: "loop", location: head.location }, function* () {
      const index = recorder.value(type, head.location);
      repeatParams(recorder, [index]);
      let isComplete = false;
      try {
        yield new Handle(index);
        isComplete = true;
      } finally {
        if (!isComplete) fail(earlyExit.leftHere(), head.location);
      }
      return { params: [index], yields: [], form: "nothing" };
    });
    if (!index) throw new Error("a loop has an index");
    recorder.append({ kind: "for", ...head, index, body: block });
  }
}

/**
 * A loop that runs while its condition is true: `tl.whileLoop(() => i.value.lt(n), () => { … })`. Both functions are
 * traced once; the kernel evaluates the condition before each iteration. The last argument may be `{ most: N }`, as in
 * `tl.range`.
 */
export const whileLoop = ((
  condition: () => unknown,
  body: () => unknown,
  authorOptions: object = {},
  ...extraArgs: unknown[]
): void => {
  const location = captureLocation();
  const recorder = builder("tl.whileLoop");
  checkArity("whileLoop", 3, extraArgs, "tl.whileLoop(() => condition, () => { … }, { most })");
  if (typeof condition !== "function") fail(loopFunctions.condition(), location);
  if (typeof body !== "function") fail(loopFunctions.body(), location);
  const options = optionsOf(recorder, "whileLoop", authorOptions, WHILE_OPTIONS, location);
  const traceCondition = (): BodyResult => {
    const result = condition();
    if (typeof result === "boolean")
      failIf(whyWhile({ kind: "constexpr", of: "bool", text: String(result) }), location);
    const test = argumentOf(recorder, result, "whileLoop", "the condition is a scalar of int1", location);
    failIf(whyWhile(typeOfArgument(test)), location);
    return { yields: [test], form: "one" };
  };
  const traceLoopBody = (): BodyResult => {
    if (body() !== undefined) fail(loopFunctions.result(), location);
    return { yields: [], form: "nothing" };
  };
  // An outer body contains both, because the condition runs again after the loop body.
  const { block } = runBody(recorder, { label: "the loop", kind: "loop", location }, () => {
    const conditionBody = runBody(recorder, { label: "the loop's condition", kind: "loop", location }, traceCondition);
    const loopBody = runBody(recorder, { label: "the loop", kind: "loop", location }, traceLoopBody);
    recorder.append({ kind: "while", condition: conditionBody.block, options, body: loopBody.block, location });
    return { yields: [], form: "nothing" };
  });
  block.statements.forEach((statement) => recorder.append(statement));
}) as unknown as <const C>(condition: () => Validate<C, WhyWhile<C>>, body: () => void, options?: WhileOptions) => void;
