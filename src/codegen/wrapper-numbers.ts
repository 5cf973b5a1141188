/** What a caller gives besides tensors: numbers, flags, choices and dtypes, and what the wrapper refuses of them. */
import type { ConstexprParam } from "../ir/nodes.js";
import { constantExpression } from "./autotune.js";
import { type NumberParam, numberParams } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Block, Expression } from "./py.js";
import { CHECK_CHOICE, CHECK_TYPE, torchDType } from "./wrapper-checks.js";
import type { WrapperContext } from "./wrapper.js";

/** The module's table from torch's dtypes to Triton's. */
export const TRITON_DTYPES = "_TRITON_DTYPES";

export function annotationOf(param: NumberParam): string {
  if (param.kind === "constexpr")
    return { string: "str", dtype: "torch.dtype", int: "int", float: "float", bool: "bool" }[param.of];
  if (param.kind === "size") return "int";
  const { dtype } = param;
  if (dtype === "int1") return "bool";
  return typeof dtype === "string" && dtype.includes("int") ? "int" : "float";
}

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
