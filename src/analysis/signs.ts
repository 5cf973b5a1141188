/**
 * Which integers are certainly not negative, by the rules in op records. A view leaves out the lower bound of an index
 * where this holds. Plain and fixed on purpose: what is emitted must not depend on what a solver finds.
 */
import {
  type Argument,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { bodiesOf, definitions, handedOver, walkAll } from "../ir/walk.js";

/** Overflow apart, which the wrapper's limit on extents excludes. */
export function nonNegativeValues(ir: KernelIR): (argument: Argument) => boolean {
  const made = definitions(...bodiesOf(ir));
  const parameters = new Set(ir.params.filter((p) => isNonNegative(ir, p.name)).map((p) => p.value));
  const writes = new Map<Variable, Argument[]>();
  const handed = new Map<Value, Argument[]>();
  walkAll(ir, (statement) => {
    for (const [param, given] of handedOver(statement)) handed.set(param, [...(handed.get(param) ?? []), given]);
    if (statement.kind === "let") writes.set(statement.variable, [statement.initial]);
    if (statement.kind === "write") writes.get(statement.variable)?.push(statement.value);
  });
  // State is assumed not to be negative until some write might make it so; what survives is an invariant.
  const held = new Set(writes.keys());
  let known = new Map<Value, boolean>();
  const ask = (argument: Argument | undefined): boolean => {
    if (isLiteral(argument)) return typeof argument.value === "number" && argument.value >= 0;
    if (!isValue(argument)) return false;
    let answer = known.get(argument);
    if (answer === undefined) known.set(argument, (answer = parameters.has(argument) || derive(argument)));
    return answer;
  };
  const derive = (value: Value): boolean => {
    const statement = made.get(value);
    const given = handed.get(value);
    if (given) return given.every(ask);
    switch (statement?.kind) {
      case "op":
        if (statement.op.effect === "read") return loads(statement);
        return statement.op.nonNegative?.(statement.operands.map(ask)) ?? false;
      case "read":
        return held.has(statement.variable);
      case "for":
        return isNegative(statement.step)
          ? isAtLeastMinusOne(statement.end) || ask(statement.end)
          : ask(statement.start) && ask(statement.step);
      case "if": {
        const i = statement.results.indexOf(value);
        return ask(statement.then.yields[i]) && ask(statement.otherwise.yields[i]);
      }
      default:
        return false;
    }
  };
  /** What a tensor holds that the caller promised a range of, and what masked lanes hold instead. */
  const loads = ({ operands: [address], options }: OpStatement): boolean => {
    const view = isValue(address) ? made.get(address) : undefined;
    const tensor = view?.kind === "op" && view.results[0]?.type.kind === "view" ? view.operands[0] : undefined;
    const param = ir.params.find((other) => other.kind === "tensor" && other.value === tensor);
    const lowest = param?.kind === "tensor" ? param.range?.[0] : undefined;
    return typeof lowest === "number" && lowest >= 0 && (options.other === undefined || ask(options.other));
  };
  for (let settled = false; !settled;) {
    settled = true;
    known = new Map();
    for (const variable of held) {
      if (writes.get(variable)!.every(ask)) continue;
      held.delete(variable);
      settled = false;
    }
  }
  return ask;
}

/** A loop that counts down: its index stays above the end. */
function isNegative(step: Argument): boolean {
  return isLiteral(step) && typeof step.value === "number" && step.value < 0;
}

function isAtLeastMinusOne(end: Argument): boolean {
  return isLiteral(end) && typeof end.value === "number" && end.value >= -1;
}

/** Sizes are; constexprs are where every config says so, and where they are computed from sizes. */
function isNonNegative(ir: KernelIR, name: string): boolean {
  const param = ir.params.find((p) => p.name === name)!;
  if (param.kind === "size") return true;
  if (param.kind !== "constexpr" || param.of !== "int") return false;
  if (param.from === "argument" || param.from === "heuristic") return false;
  return param.from !== "config" || ir.tuning.configs.every(({ values }) => Number(values[name]) >= 0);
}
