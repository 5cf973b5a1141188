/** The wrapper's checks of numbers, flags, choices and dtypes, and what it passes to the kernel for them. */
import { type ConstexprParam, isSizeParam } from "../../ir/nodes.js";
import { isInt } from "../../types/dtype.js";
import { type NumberParam, numberParams } from "../names/call-order.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { CHECK_CHOICE, CHECK_CONSTANT, CHECK_FLOAT, CHECK_INT, CHECK_TYPE } from "./argument-helpers.js";
import { torchDType } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The module's table from torch's dtypes to Triton's. */
export const TRITON_DTYPES = "_TRITON_DTYPES";

/**
 * A constexpr is compiled in, so a value of another type or outside its choices would compile to something else. A
 * number that the kernel's dtype does not hold would reach it as another number.
 */
export function numberChecks(context: WrapperContext): Block {
  return numberParams(context.ir).map((param) => {
    const text = context.names.parameters.get(param.value)!;
    const label = py.string(`${context.names.wrapper}: ${text}`);
    const [name, ...args] = check(param);
    return py.expression(py.call(name, label, py.name(text), ...args));
  });
}

/** The function that checks an argument, and what it is given besides. */
function check(param: NumberParam): readonly [string, ...Expression[]] {
  if (isSizeParam(param)) return [CHECK_INT, torchDType("int32"), py.number("0")];
  if (param.kind === "scalar") {
    const { dtype } = param;
    if (typeof dtype !== "string" || dtype === "int1") return [CHECK_TYPE, py.name("bool")];
    return [isInt(dtype) ? CHECK_INT : CHECK_FLOAT, torchDType(dtype)];
  }
  if (param.choices)
    return [CHECK_CHOICE, ...param.choices.map((name) => (param.of === "dtype" ? torchDType(name) : py.string(name)))];
  return param.of === "float" ? [CHECK_CONSTANT] : [CHECK_TYPE, py.name(param.of)];
}

/**
 * The value that a launch passes: Triton's dtype object, or a float so that the kernel does not compute with integers.
 */
export function launchArgument(param: ConstexprParam, local: Expression): Expression {
  if (param.from !== "argument") return local;
  if (param.of === "dtype") return py.subscript(py.name(TRITON_DTYPES), local);
  return param.of === "float" ? py.call("float", local) : local;
}
