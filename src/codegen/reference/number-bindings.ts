/** How a function in PyTorch gets the numbers that are not among its parameters: off shapes, or computed from others. */
import { type ConstexprParam, type KernelIR, type SizeParam, type Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import type { KernelNames } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Expression } from "../syntax/py.js";

/** A number, the expression that gives it, and the numbers that the expression uses. */
export interface Binding {
  readonly name: string;
  readonly value: Expression;
  readonly needs?: readonly string[];
}

/** Every number of the kernel that is not an argument, each after those that it needs. */
export function numberBindings(ir: KernelIR, names: KernelNames, shapes: readonly Binding[]): readonly Binding[] {
  const nameOf = (value: Value): string => names.parameters.get(value)!;
  const bound = new Set(shapes.map(({ name }) => name));
  const computed = ir.params.flatMap((param): Binding[] => {
    const host = hostOf(param);
    if (host === undefined || bound.has(nameOf(param.value))) return [];
    const [value] = hostExpressions(host, (other) => py.name(nameOf(other)));
    return [{ name: nameOf(param.value), value: value!, needs: [...hostInputs(host)].map(nameOf) }];
  });
  const chosen = ir.params.flatMap((param): Binding[] => {
    const value = param.kind === "constexpr" && param.from === "config" ? onlyValue(ir, param) : undefined;
    return value === undefined ? [] : [{ name: nameOf(param.value), value: py.constant(value) }];
  });
  return [...shapes, ...chosen, ...computed];
}

/** Those of the bindings that the used names need, in order. */
export function neededBindings(bindings: readonly Binding[], used: ReadonlySet<string>): readonly Binding[] {
  const needed = new Set(used);
  for (const { name, needs = [] } of bindings.toReversed())
    if (needed.has(name)) needs.forEach((each) => needed.add(each));
  return bindings.filter(({ name }) => needed.has(name));
}

function hostOf(param: KernelIR["params"][number]): SizeParam["derived"] {
  if (param.kind === "size") return param.derived;
  return param.kind === "constexpr" && param.from === "launch" ? param.compute : undefined;
}

/** The value that all configs give a constexpr. */
function onlyValue({ tuning: { configs } }: KernelIR, { name }: ConstexprParam) {
  const values = new Set(configs.map((config) => config.values[name]));
  return values.size === 1 ? [...values][0] : undefined;
}
