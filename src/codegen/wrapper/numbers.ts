/** The wrapper's checks of numbers, flags, choices and dtypes, and their values in the launch. */
import {
  type ConstexprParam,
  isSizeParam,
  isLiteral,
  isValue,
  type KernelIR,
  type SizeParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { dtypeTable, type IntName, isInt } from "../../types/dtype.js";
import { type NumberParam, numberParams, type KernelNames, valueName } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { torchDType, type WrapperContext } from "./checks.js";
import { optionalSizes } from "../../analysis/launch-facts.js";
import { hostExpression, hostInputs } from "../body/print-op.js";

/** Functions of the library. */
const CHECK_CHOICE = "_check_choice";
const CHECK_CONSTANT = "_check_constant";
const CHECK_FLOAT = "_check_float";
const CHECK_INT = "_check_int";
const CHECK_TYPE = "_check_type";

/** The module's table from PyTorch dtypes to Triton dtypes. */
export const TRITON_DTYPES = "_TRITON_DTYPES";

/**
 * A constexpr is compiled into the kernel, so a value of another type or outside its choices would compile a different
 * kernel. A number that its dtype cannot represent would reach the kernel as a different number.
 */
export function numberChecks(context: WrapperContext, isSelected: (param: NumberParam) => boolean = () => true): Block {
  const selected = numberParams(context.ir).filter(isSelected);
  return selected.map((param) => {
    const text = context.names.parameters.get(param.value)!;
    const label = py.string(`${context.names.wrapper}: ${text}`);
    const [name, ...args] = argumentCheck(param);
    return py.expression(py.call(name, label, py.name(text), ...args));
  });
}

/** The helper that checks an argument, and the additional arguments of that helper. */
function argumentCheck(param: NumberParam): readonly [string, ...Expression[]] {
  if (isSizeParam(param)) return [CHECK_INT, py.number("0"), highest(31)];
  if (param.kind === "scalar") {
    const { dtype } = param;
    if (typeof dtype !== "string" || dtype === "int1") return [CHECK_TYPE, py.name("bool")];
    return isInt(dtype) ? [CHECK_INT, ...rangeOf(dtype)] : [CHECK_FLOAT, torchDType(dtype)];
  }
  if (param.choices)
    return [CHECK_CHOICE, ...param.choices.map((name) => (param.of === "dtype" ? torchDType(name) : py.string(name)))];
  return param.of === "float" ? [CHECK_CONSTANT] : [CHECK_TYPE, py.name(param.of)];
}

/** The lowest and the highest value of an integer dtype. */
function rangeOf(dtype: IntName): readonly [Expression, Expression] {
  const { bits, signed } = dtypeTable[dtype];
  return signed ? [py.unary("-", py.powerOfTwo(bits - 1)), highest(bits - 1)] : [py.number("0"), highest(bits)];
}

/** `2**31 - 1` */
const highest = (exponent: number): Expression => py.binary(py.powerOfTwo(exponent), "-", py.number("1"));

/**
 * The value that a launch passes: a Triton dtype for a PyTorch dtype, and a float for an int, to avoid integer
 * arithmetic.
 */
export function launchArgument(param: ConstexprParam, local: Expression): Expression {
  if (param.from !== "argument") return local;
  if (param.of === "dtype") return py.subscript(py.name(TRITON_DTYPES), local);
  return param.of === "float" ? py.call("float", local) : local;
}

// Bindings of numbers that are no parameters of a PyTorch function: sizes from shapes, derived sizes, and constexprs.

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
