/** How the wrapper speaks of an argument: its annotation, its default and its line in the docstring. */
import type { ConstexprParam, PointerParam, ScalarParam, TensorParam } from "../ir/nodes.js";
import { constantExpression } from "./autotune.js";
import * as py from "./py-build.js";
import type { Expression } from "./py.js";

/** A default as its annotation says: `2.0` for a float. */
export function numberDefault(param: ScalarParam | ConstexprParam, value: number | boolean | string): Expression {
  const isFloat = typeof value === "number" && annotationOf(param) === "float";
  return isFloat ? py.numberLiteral(value, "float") : constantExpression(value);
}

export function annotationOf(param: ScalarParam | ConstexprParam): string {
  if (param.kind === "constexpr") return param.of === "string" ? "str" : param.of;
  const { dtype } = param;
  if (dtype === "int1") return "bool";
  return typeof dtype === "string" && dtype.includes("int") ? "int" : "float";
}

export function numberWords(param: ScalarParam | ConstexprParam): string {
  if (param.kind === "scalar")
    return `a number, passed as ${typeof param.dtype === "string" ? param.dtype : param.dtype.name}`;
  if (param.choices) return param.choices.map((text) => `"${text}"`).join(" or ");
  return `a ${annotationOf(param)} that the kernel is compiled for`;
}

export function dtypeWords(param: TensorParam | PointerParam): string {
  return typeof param.dtype === "string" ? param.dtype : param.dtype.members.join(" or ");
}
