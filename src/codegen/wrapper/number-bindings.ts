/**
 * Bindings of numbers that are no parameters of a PyTorch function: sizes from shapes, derived sizes, and constexprs.
 */
import { optionalSizes } from "../../analysis/optional-sizes.js";
import {
  type ConstexprParam,
  isLiteral,
  isValue,
  type KernelIR,
  type SizeParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { hostExpression, hostInputs } from "../body/host-expressions.js";
import { type KernelNames, valueName } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Expression } from "../syntax/py.js";

/** A number, its expression, and the numbers that the expression uses. */
export interface Binding {
  readonly name: string;
  readonly value: Expression;
  readonly dependencies?: readonly string[];
}

/** The expression of each size in terms of the input shapes. */
export function sizeBindings(ir: KernelIR, names: KernelNames): readonly Binding[] {
  const inputs = tensorsOf(ir, "in", "inout").filter(({ optional }) => !optional);
  const bound = new Set<Value>();
  const required = inputs.flatMap((param) =>
    param.dims.flatMap((dim, axis): Binding[] => {
      if (!isValue(dim) || isLiteral(dim) || bound.has(dim)) return [];
      bound.add(dim);
      const shape = py.attribute(py.name(names.tensors.get(param.name)!), "shape");
      return [{ name: names.parameters.get(dim)!, value: py.subscript(shape, py.number(String(axis))) }];
    }),
  );
  return [...required, ...optionalSizeBindings(ir, names)];
}

/** The sizes that only optional tensors have: 0 if all of these are absent. */
export function optionalSizeBindings(ir: KernelIR, names: KernelNames): readonly Binding[] {
  return optionalSizes(ir).map(({ param, holders }): Binding => {
    const value = holders.reduceRight<Expression>((otherwise, { tensor, axis }) => {
      const name = py.name(names.tensors.get(tensor.name)!);
      const size = py.subscript(py.attribute(name, "shape"), py.number(String(axis)));
      return py.conditional(otherwise, py.compare(name, ["is", py.none]), size);
    }, py.number("0"));
    return { name: names.parameters.get(param.value)!, value };
  });
}

/** Every number of the kernel that is not an argument, each after its dependencies. */
export function numberBindings(ir: KernelIR, names: KernelNames, shapes: readonly Binding[]): readonly Binding[] {
  const nameOf = (value: Value): string => valueName(names, value);
  const bound = new Set(shapes.map(({ name }) => name));
  const computedBindings = ir.params.flatMap((param): Binding[] => {
    const host = hostOf(param);
    if (host === undefined || bound.has(nameOf(param.value))) return [];
    const value = hostExpression(host, (other) => py.name(nameOf(other)));
    return [{ name: nameOf(param.value), value, dependencies: [...hostInputs(host)].map(nameOf) }];
  });
  const configBindings = ir.params.flatMap((param): Binding[] => {
    const value = param.kind === "constexpr" && param.from === "config" ? commonValue(ir, param) : undefined;
    return value === undefined ? [] : [{ name: nameOf(param.value), value: py.constant(value) }];
  });
  return [...shapes, ...configBindings, ...computedBindings];
}

/** The bindings on which the used names depend, in order. */
export function neededBindings(bindings: readonly Binding[], usedNames: ReadonlySet<string>): readonly Binding[] {
  const names = new Set(usedNames);
  for (const { name, dependencies = [] } of bindings.toReversed())
    if (names.has(name)) dependencies.forEach((each) => names.add(each));
  return bindings.filter(({ name }) => names.has(name));
}

function hostOf(param: KernelIR["params"][number]): SizeParam["derived"] {
  if (param.kind === "size") return param.derived;
  return param.kind === "constexpr" && param.from === "launch" ? param.compute : undefined;
}

/** The value of a constexpr, if it is the same in all configs. */
function commonValue({ tuning: { configs } }: KernelIR, { name }: ConstexprParam) {
  const values = new Set(configs.map((config) => config.values[name]));
  return values.size === 1 ? [...values][0] : undefined;
}
