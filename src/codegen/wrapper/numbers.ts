/** The wrapper's checks of numbers, flags, choices and dtypes, and their values in the launch. */
import { type ConstexprParam, isSizeParam } from "../../ir/nodes.js";
import { dtypeTable, type IntName, isInt } from "../../types/dtype.js";
import { type NumberParam, numberParams } from "../names/call-order.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { torchDType } from "./checks.js";
import type { WrapperContext } from "./scope.js";

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
