/** Variables that loops and branches can change. */
import { typeOfArgument } from "../ir/walk.js";
import { type Builder, builder } from "../ir/builder.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { Message } from "../diagnostics/message.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { Handle, isState, STATE } from "../ir/handle.js";
import type { Argument, OpStatement, Variable } from "../ir/nodes.js";
import { repeatLet, repeatRead, repeatWrite } from "../ir/retrace.js";
import type { Validate, RuleError } from "../types/rule-error.js";
import {
  inferMut,
  STATE_KINDS,
  stateOfState,
  type MutOut,
  whyStateOperand,
  type WhyMut,
} from "../rules/control-rules.js";
import type { TileType, Type } from "../types/types.js";
import { full } from "../ops/create.js";
import { opOf, toArgument, failOnState } from "../ops/define.js";
import { statePrototype } from "./unknown-names.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";

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

export function literal(value: number): Argument {
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
