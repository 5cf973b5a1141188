/** State that loops and branches change. */
import { typeOfArgument } from "../ir/typed.js";
import { type Builder, builder } from "../ir/builder.js";
import { fail } from "../diagnostics/diagnostic.js";
import { ruleViolation } from "../diagnostics/catalog/rule-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { Handle, isState, STATE } from "../ir/handle.js";
import type { Argument, OpStatement, Variable } from "../ir/nodes.js";
import { repeatLet, repeatRead, repeatWrite } from "../ir/retrace-matcher.js";
import type { Validate } from "../types/rule-error.js";
import { inferMut, type MutOut, whyStateOperand, type WhyMut } from "../rules/control-rules.js";
import type { TileType, Type } from "../types/types.js";
import { full } from "../ops/create.js";
import { opOf, toArgument } from "../ops/define.js";
import { stateNames } from "./unknown-names.js";
import { argumentOf, literal, failIf, checkArity } from "./argument.js";

/** What `tl.mut` returns. Not a tile: `.value` reads and writes. */
export class MutHandle {
  readonly [STATE] = true;
  readonly #made: Variable;

  constructor(variable: Variable) {
    this.#made = variable;
  }

  get #variable(): Variable {
    return this.#made.recorded ?? this.#made;
  }

  /** The variable behind a state. */
  static of(state: MutHandle): Variable {
    return state.#variable;
  }

  get value(): Handle {
    const recorder = builder("tl.mut(…).value");
    const variable = this.#variable;
    const repeated = repeatRead(recorder, variable);
    if (repeated) return new Handle(repeated);
    const at = captureLocation();
    recorder.useVariable(variable, at);
    const result = recorder.value(variable.type, at);
    recorder.append({ kind: "read", variable, result, at });
    return new Handle(result);
  }

  set value(given: unknown) {
    const recorder = builder("tl.mut(…).value");
    const variable = this.#variable;
    if (repeatWrite(recorder, variable, toArgument(given))) return;
    const at = captureLocation();
    recorder.useVariable(variable, at);
    const value = argumentOf(recorder, given, "value: this cannot be held in a tl.mut", at);
    const { type } = variable;
    failIf(whyStateOperand(type, typeOfArgument(value)), at);
    recorder.append({ kind: "write", variable, value: strong(recorder, type, value), at });
  }
}

// Only its prototype's prototype is asked for names that it does not have.
Object.setPrototypeOf(MutHandle.prototype, stateNames);

/** Turns a number into a tile of the variable's type: a bare literal would change its dtype in Triton. */
function strong(recorder: Builder, type: Type, value: Argument): Argument {
  if (type.kind !== "tile" || typeOfArgument(value).kind !== "constexpr") return value;
  const { op, operands } = fullOp(recorder, type, value);
  return recorder.op(op, operands, {}, [type], recorder.location())[0]!;
}

/** The op that makes a tile of a number. */
export function fullOp(recorder: Builder, type: TileType, value: Argument): Pick<OpStatement, "op" | "operands"> {
  const shape = type.shape.map((dim): Argument =>
    typeof dim === "number" ? literal(dim) : recorder.constexprs.get(dim)!,
  );
  return { op: opOf(full)!, operands: [shape, value, { kind: "dtype", dtype: type.dtype }] };
}

/** State that loops and branches change: `.value` reads it at that point of the program, and writes it. */
export const mut = ((initial: unknown, ...more: unknown[]): MutHandle => {
  const recorder = builder("tl.mut");
  checkArity("mut", 1, more, "tl.mut(initial)");
  const repeated = repeatLet(recorder, toArgument(initial));
  if (repeated) return new MutHandle(repeated);
  const at = captureLocation();
  const again = "mut: this is state already; start from its .value";
  if (isState(initial)) fail(ruleViolation(again), at, recorder.mend(at, { kind: "value" }));
  const value = argumentOf(recorder, initial, "mut: takes a tile, a pointer or a number", at);
  const type = inferMut(typeOfArgument(value));
  if (typeof type === "string") fail(ruleViolation(type), at);
  const variable = recorder.variable(type, at);
  recorder.append({ kind: "let", variable, initial: recorder.unnamed(() => strong(recorder, type, value)), at });
  return new MutHandle(variable);
}) as unknown as <const X>(initial: Validate<X, WhyMut<X>>) => MutOut<X>;
