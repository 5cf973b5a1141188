/** Calls of Triton's functions as calls of ops, by the names that the op records have in Python. */
import type { Op } from "../ir/op.js";
import { snakeCase } from "../codegen/names/names.js";
import { table } from "../ops/table.js";
import { adaptCall } from "./adaptations.js";
import type { Context } from "./context.js";
import { childrenOf } from "./liveness.js";
import type { Call, Expression } from "./tree.js";
import { constantKind, traced, truth, type Value } from "./value.js";

/** An argument of a call: its value, and the expression that it comes from. */
export interface Bound {
  readonly value: Value;
  readonly from?: Expression;
}

/** The arguments of an op's call, which adaptations may change before it is written. */
export interface GivenArguments {
  readonly op: Op;
  /** In the order of the op's operands. */
  readonly operands: (Bound | undefined)[];
  readonly options: Record<string, Bound | undefined>;
  /** Arguments that the op has no place for. */
  readonly others: Record<string, Bound | undefined>;
}

/** Each op by its name in Python. What is written otherwise, such as `x.to(…)`, has its own name in snake_case. */
const ops: ReadonlyMap<string, Op> = new Map(
  table.toReversed().map((op) => {
    const { spelling } = op;
    return [spelling.form === "call" ? spelling.name : `tl.${snakeCase(op.name)}`, op] as const;
  }),
);

/** What Triton calls otherwise than its documentation does. */
const ALIASES: Readonly<Record<string, string>> = {
  "tl.math.max": "tl.maximum",
  "tl.math.min": "tl.minimum",
};

/** Whether an expression has no effect, and reads no memory. */
export function onlyComputes(node: object): boolean {
  const called = "kind" in node && node.kind === "Call" ? (node as Call) : undefined;
  if (called && (called.callee?.what !== "function" || !isPureCall(called.callee.name))) return false;
  return childrenOf(node).every(onlyComputes);
}

const isPureCall = (name: string): boolean => ops.get(ALIASES[name] ?? name)?.effect === "pure";

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

export function operation(name: string, bound: Readonly<Record<string, Bound>>, node: Call, context: Context): Value {
  const op = ops.get(ALIASES[name] ?? name);
  if (!op) return context.scope.refuse(`${name}, which TileScript has not`, node);
  const given = arranged(op, bound, node);
  const flag = given.others["allow_tf32"];
  if (flag?.value.kind === "traced" && constantKind(flag.from) === "bool") {
    const [allowed, exact] = [true, false].map((value) =>
      operation(name, { ...bound, allow_tf32: { value: truth(value) } }, node, context),
    );
    return traced(`tl.when(${flag.value.text}, () => ${allowed!.text}).otherwise(() => ${exact!.text})`);
  }
  const changed = adaptCall(given, node, context);
  if (changed) return changed;
  const [other] = Object.entries(given.others).flatMap(([option, value]) => (value ? [option] : []));
  if (other !== undefined) return context.scope.refuse(`${name} with ${other}`, node);
  const isLibdevice = name.startsWith("libdevice.");
  if (isLibdevice) context.kernel.imports("libdevice");
  const isAboutTarget = name.startsWith("tl.target_info.");
  return written(isLibdevice ? camelCase(name) : `tl.${isAboutTarget ? "targetInfo." : ""}${op.name}`, given);
}

/** Puts each argument where the op has it: an option by its name, an operand by its name or by its place. */
function arranged(op: Op, bound: Readonly<Record<string, Bound>>, node: Call): GivenArguments {
  const names = Object.keys(op.operands);
  const places = (node.parameters ?? []).filter((parameter) => !(camelCase(parameter) in op.options));
  const given: GivenArguments = { op, operands: [], options: {}, others: {} };
  for (const [parameter, argument] of Object.entries(bound)) {
    const name = camelCase(parameter);
    const place = names.includes(name) ? names.indexOf(name) : places.indexOf(parameter);
    if (name in op.options) given.options[name] = argument;
    else if (place < names.length && !given.operands[place]) given.operands[place] = argument;
    else given.others[parameter] = argument;
  }
  return given;
}

function written(callee: string, { operands, options }: GivenArguments): Value {
  const positional = Array.from(operands, (argument) => argument?.value.text ?? "undefined");
  const named = Object.entries(options).flatMap(([name, argument]) =>
    !argument || argument.value.kind === "none"
      ? []
      : [argument.value.text === name ? name : `${name}: ${argument.value.text}`],
  );
  const last = named.length > 0 ? [`{ ${named.join(", ")} }`] : [];
  return traced(`${callee}(${[...positional, ...last].join(", ")})`);
}
