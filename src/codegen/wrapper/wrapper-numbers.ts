/** What the wrapper refuses of numbers, flags, choices and dtypes, and what it hands to the kernel for them. */
import type { ConstexprParam } from "../../ir/nodes.js";
import { numberParams } from "../names/call-order.js";
import * as py from "../python/py-build.js";
import type { Block, Expression } from "../python/py.js";
import { CHECK_CHOICE, CHECK_TYPE, torchDType } from "./wrapper-checks.js";
import type { WrapperContext } from "./wrapper-scope.js";

/** The module's table from torch's dtypes to Triton's. */
export const TRITON_DTYPES = "_TRITON_DTYPES";

/** A constexpr is compiled in: what is none of its choices, or of another type, would compile to something else. */
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

/** What a launch passes for it: Triton's own dtype, and a float where an integer would make the kernel's arithmetic one. */
export function passed(param: ConstexprParam, local: Expression): Expression {
  if (param.from !== "argument") return local;
  if (param.of === "dtype") return py.subscript(py.name(TRITON_DTYPES), local);
  return param.of === "float" ? py.call("float", local) : local;
}
