/** How the wrapper speaks of an argument: its annotation, its default and its line in the docstring. */
import type { ConstexprParam, PointerParam, TensorParam } from "../ir/nodes.js";
import { constantExpression } from "./autotune.js";
import type { NumberParam } from "./call-order.js";
import * as py from "./py-build.js";
import type { Expression } from "./py.js";
import { torchDType } from "./wrapper-checks.js";

export function annotationOf(param: NumberParam): string {
  if (param.kind === "constexpr")
    return { string: "str", dtype: "torch.dtype", int: "int", float: "float", bool: "bool" }[param.of];
  if (param.kind === "size") return "int";
  const { dtype } = param;
  if (dtype === "int1") return "bool";
  return typeof dtype === "string" && dtype.includes("int") ? "int" : "float";
}

/** A default as its annotation says: `2.0` for a float. */
export function defaultOf(param: NumberParam): Expression | undefined {
  if (param.kind === "size" || param.default === undefined) return undefined;
  if (param.kind === "constexpr" && param.of === "dtype") return torchDType(String(param.default));
  if (annotationOf(param) === "bool") return py.boolean(Boolean(param.default));
  const isFloat = annotationOf(param) === "float";
  return isFloat ? py.numberLiteral(Number(param.default), "float") : constantExpression(param.default);
}

/** What the docstring says of it. */
export function numberWords(param: NumberParam): string {
  if (param.kind === "size" || (param.kind === "constexpr" && param.from === "dim")) return "a size of the result";
  if (param.kind === "scalar")
    return `a number, passed as ${typeof param.dtype === "string" ? param.dtype : param.dtype.name}`;
  if (param.choices) return choicesInWords(param);
  const article = param.of === "int" ? "an" : "a";
  return `${article} ${annotationOf(param)} that the kernel is compiled for`;
}

function choicesInWords({ of, choices = [] }: ConstexprParam): string {
  return choices.map((text) => (of === "dtype" ? `torch.${torchName(text)}` : `"${text}"`)).join(" or ");
}

const torchName = (name: string): string => {
  const dtype = torchDType(name);
  return dtype.kind === "attribute" ? dtype.name : name;
};

export function dtypeWords(param: TensorParam | PointerParam): string {
  return typeof param.dtype === "string" ? param.dtype : param.dtype.members.join(" or ");
}
