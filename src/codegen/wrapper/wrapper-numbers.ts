/** The wrapper's checks of numbers, flags, choices and dtypes, and what it passes to the kernel for them. */
import type { ConstexprParam } from "../../ir/nodes.js";
import { numberParams } from "../names/call-order.js";
import * as py from "../python/py-build.js";
import type { Block, Expression } from "../python/py.js";
import { CHECK_CHOICE, CHECK_TYPE, torchDType } from "./wrapper-checks.js";
import type { WrapperContext } from "./wrapper-scope.js";

/** The module's table from torch's dtypes to Triton's. */
export const TRITON_DTYPES = "_TRITON_DTYPES";

/** A constexpr is compiled in, so a value of another type or outside its choices would compile to something else. */
export function numberChecks(context: WrapperContext): Block {
  return numberParams(context.ir).flatMap((param) =>
    param.kind === "constexpr" && param.from === "argument" ? check(context, param) : [],
  );
}

function check(context: WrapperContext, param: ConstexprParam): Block {
  const text = context.names.parameters.get(param.value)!;
  const label = py.string(`${context.names.wrapper}: ${text}`);
  const call = (name: string, ...args: readonly Expression[]) => [
    py.expression(py.call(name, label, py.name(text), ...args)),
  ];
  if (param.choices) {
    const allowed = param.choices.map((name) => (param.of === "dtype" ? torchDType(name) : py.string(name)));
    return call(CHECK_CHOICE, ...allowed);
  }
  return call(CHECK_TYPE, ...(param.of === "float" ? ["float", "int"] : [param.of]).map(py.name));
}

/**
 * The value that a launch passes: Triton's dtype object, or a float so that the kernel does not compute with integers.
 */
export function passed(param: ConstexprParam, local: Expression): Expression {
  if (param.from !== "argument") return local;
  if (param.of === "dtype") return py.subscript(py.name(TRITON_DTYPES), local);
  return param.of === "float" ? py.call("float", local) : local;
}
