/** Translates calls of Triton functions to ops, by the Python names in the op records. */
import type { Op } from "../ir/op.js";
import { snakeCase } from "../codegen/names/names.js";
import { table } from "../ops/table.js";
import { adaptCall, type BoundArgument, type OpArguments } from "./adaptations.js";
import { camelCase } from "./author-name.js";
import type { Context } from "./context.js";
import { childrenOf } from "./liveness.js";
import type { Call } from "./tree.js";
import { constantKind, traced, truth, type Value } from "./value.js";

/** Ops by Python name. An op without function spelling, such as `x.to(…)`, has its own name in snake_case. */
const ops: ReadonlyMap<string, Op> = new Map(
  table.toReversed().map((op) => {
    const { spelling } = op;
    return [spelling.form === "call" ? spelling.name : `tl.${snakeCase(op.name)}`, op] as const;
  }),
);

/** Internal Triton names of documented functions. */
const ALIASES: Readonly<Record<string, string>> = {
  "tl.math.max": "tl.maximum",
  "tl.math.min": "tl.minimum",
};

/** True if an expression has no effect and reads no memory. */
export function isSideEffectFree(node: object): boolean {
  const call = "kind" in node && node.kind === "Call" ? (node as Call) : undefined;
  if (call && (call.callee?.what !== "function" || !isPureCall(call.callee.name))) return false;
  return childrenOf(node).every(isSideEffectFree);
}

export const isOp = (name: string): boolean => ops.has(ALIASES[name] ?? name);

const isPureCall = (name: string): boolean => ops.get(ALIASES[name] ?? name)?.effect === "pure";

export function operation(
  name: string,
  bound: Readonly<Record<string, BoundArgument>>,
  node: Call,
  context: Context,
): Value {
  const op = ops.get(ALIASES[name] ?? name);
  if (!op) return context.scope.refuse(`${name}, which TileScript has not`, "write it by other functions of tl", node);
  const args = matchArguments(op, bound, node);
  const flag = args.unmatched["allow_tf32"];
  if (flag?.value.kind === "traced" && constantKind(flag.source) === "bool") {
    const textIf = (isAllowed: boolean): string =>
      operation(name, { ...bound, allow_tf32: { value: truth(isAllowed) } }, node, context).text;
    return traced(`tl.when(${flag.value.text}, () => ${textIf(true)}).otherwise(() => ${textIf(false)})`);
  }
  const adapted = adaptCall(args, node, context);
  if (adapted) return adapted;
  const [unmatched] = Object.entries(args.unmatched).flatMap(([option, value]) => (value ? [option] : []));
  if (unmatched !== undefined) return context.scope.refuse(`${name} with ${unmatched}`, `leave ${unmatched} out`, node);
  const isLibdevice = name.startsWith("libdevice.");
  if (isLibdevice) context.kernel.addImport("libdevice");
  const isAboutTarget = name.startsWith("tl.target_info.");
  return emitCall(isLibdevice ? camelCase(name) : `tl.${isAboutTarget ? "targetInfo." : ""}${op.name}`, args);
}

/** Matches arguments to the op: options by name, operands by name or by position. */
function matchArguments(op: Op, bound: Readonly<Record<string, BoundArgument>>, node: Call): OpArguments {
  const names = Object.keys(op.operands);
  const positionalNames = (node.parameters ?? []).filter((parameter) => !(camelCase(parameter) in op.options));
  const args: OpArguments = { op, operands: [], options: {}, unmatched: {} };
  for (const [parameter, argument] of Object.entries(bound)) {
    const name = camelCase(parameter);
    const index = names.includes(name) ? names.indexOf(name) : positionalNames.indexOf(parameter);
    if (name in op.options) args.options[name] = argument;
    else if (index < names.length && !args.operands[index]) args.operands[index] = argument;
    else args.unmatched[parameter] = argument;
  }
  return args;
}

function emitCall(callee: string, { operands, options }: OpArguments): Value {
  const positional = Array.from(operands, (argument) => argument?.value.text ?? "undefined");
  const optionTexts = Object.entries(options).flatMap(([name, argument]) =>
    !argument || argument.value.kind === "none"
      ? []
      : [argument.value.text === name ? name : `${name}: ${argument.value.text}`],
  );
  const optionsObject = optionTexts.length > 0 ? [`{ ${optionTexts.join(", ")} }`] : [];
  return traced(`${callee}(${[...positional, ...optionsObject].join(", ")})`);
}
