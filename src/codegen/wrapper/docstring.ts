import {
  type ConstexprParam,
  isMemoryParam,
  isSizeParam,
  type KernelIR,
  paramsOf,
  type PointerParam,
  type TensorParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { rangeOf } from "../../ir/walk.js";
import { isFloatElem } from "../../types/dtype.js";
import { hostExpressions } from "../body/print-op.js";
import { type KernelNames, callOrder, type InputParam, type NumberParam, numberParams } from "../names/kernel-names.js";
import { flatText as printExpression } from "../syntax/layout-expression.js";
import * as py from "../syntax/py-build.js";
import type { Expression, Parameter } from "../syntax/py.js";
import { argumentDisplayName, torchDType, type WrapperContext } from "./checks.js";
import { isFullRange } from "./outputs.js";

/** The positional parameters, annotated. */
export function inputParameters(ir: KernelIR, names: KernelNames): readonly Parameter[] {
  const tensor = py.dotted("torch.Tensor");
  return callOrder(ir).map((param): Parameter => {
    const name = localName(names, param);
    if (isMemoryParam(param))
      return param.given
        ? { name, annotation: py.binary(tensor, "|", py.none), default: py.none }
        : { name, annotation: tensor };
    const defaultValue = defaultOf(param);
    return { name, annotation: py.dotted(annotationOf(param)), ...(defaultValue && { default: defaultValue }) };
  });
}

/** The parameters of a private function. */
export function withoutAnnotations(params: readonly Parameter[]): readonly Parameter[] {
  return params.map(({ name, default: defaultValue }) => ({ name, ...(defaultValue && { default: defaultValue }) }));
}

/** The docstring lines of the positional parameters. */
export function argumentLines(ir: KernelIR, names: KernelNames): readonly string[] {
  const tensors = tensorsOf(ir, "in", "inout");
  const pointers = paramsOf(ir, "pointer");
  const tensorTexts = tensors.map((param): readonly [string, string] => {
    const contiguous = param.contiguous ? ", contiguous" : "";
    const updated = param.role === "inout" ? "; updated in place" : "";
    const optional = param.optional ? ", or None" : "";
    const range = describeRange(param, names);
    return [localName(names, param), `${describeTensor(param)}${range}${contiguous}${optional}${updated}.`];
  });
  return [
    ...groupedLines(tensorTexts),
    ...pointers.map((param) => {
      const optional = param.given ? ", or None" : "";
      const { numel } = param;
      const minimum = typeof numel === "object" ? names.parameters.get(numel) : numel;
      const shape = minimum === undefined ? "of any shape" : `contiguous, of at least ${minimum} elements`;
      return `    ${localName(names, param)}: ${describeDType(param)}, ${shape}${optional}.`;
    }),
    ...numberParams(ir).map(
      (param) => `    ${localName(names, param)}: ${describeNumber(param)}${describeRange(param, names)}.`,
    ),
  ];
}

/** `    x, y: [N] float32.`: one line for adjacent arguments with the same description. */
function groupedLines(items: readonly (readonly [name: string, text: string])[]): readonly string[] {
  const groups: { names: string[]; readonly text: string }[] = [];
  for (const [name, text] of items) {
    const last = groups.at(-1);
    if (last?.text === text) last.names.push(name);
    else groups.push({ names: [name], text });
  }
  return groups.map(({ names, text }) => `    ${names.join(", ")}: ${text}`);
}

/** The outputs, as keyword-only parameters. */
export function outputParameters(context: WrapperContext): readonly Parameter[] {
  const tensor = py.dotted("torch.Tensor");
  const annotation = py.binary(tensor, "|", py.none);
  const flagAnnotation = py.binary(py.binary(tensor, "|", py.name("bool")), "|", py.none);
  const outputs = tensorsOf(context.ir, "out");
  if (outputs.length === 0) return [];
  const parameters = outputs.map((param) => ({
    name: argumentDisplayName(context, param),
    annotation: param.optional ? flagAnnotation : annotation,
    default: py.none,
  }));
  return [{ name: "*" }, ...parameters];
}

/** The docstring lines of the outputs. */
export function outputLines(context: WrapperContext): readonly string[] {
  return groupedLines(
    tensorsOf(context.ir, "out").map((param) => {
      const missing = param.optional ? "allocated if True, left out if None" : "allocated if None";
      return [argumentDisplayName(context, param), `where to write ${describeTensor(param)}; ${missing}.`];
    }),
  );
}

/** The annotation of a return value of `count` tensors, some of which may be None. */
export function returnType(count: number, isOptional: (index: number) => boolean = () => false): Expression {
  const tensor = py.dotted("torch.Tensor");
  const types = Array.from({ length: count }, (_, i) => (isOptional(i) ? py.binary(tensor, "|", py.none) : tensor));
  return types.length > 1 ? py.subscript(py.name("tuple"), ...types) : (types[0] ?? py.none);
}

/** `[M, N] float16 or bfloat16` */
export function describeTensor(param: TensorParam): string {
  return `[${param.dimNames.join(", ")}] ${describeDType(param)}`;
}

function localName(names: KernelNames, param: InputParam): string {
  return names.tensors.get(param.name) ?? names.parameters.get(param.value)!;
}

export function annotationOf(param: NumberParam): string {
  if (param.kind === "constexpr")
    return { string: "str", dtype: "torch.dtype", int: "int", float: "float", bool: "bool" }[param.of];
  if (param.kind === "size") return "int";
  const { dtype } = param;
  if (dtype === "int1") return "bool";
  return typeof dtype === "string" && dtype.includes("int") ? "int" : "float";
}

/** The default, in the type of the annotation: `2.0` for a float. */
function defaultOf(param: NumberParam): Expression | undefined {
  if (param.kind === "size" || param.default === undefined) return undefined;
  if (param.kind === "constexpr" && param.of === "dtype") return torchDType(String(param.default));
  if (annotationOf(param) === "bool") return py.boolean(Boolean(param.default));
  const isFloat = annotationOf(param) === "float";
  return isFloat ? py.numberLiteral(Number(param.default), "float") : py.constant(param.default);
}

/** A declared range in the docstring: ` in [0, N)`, half-open for integers and closed for floats. */
function describeRange(param: TensorParam | NumberParam, names: KernelNames): string {
  const range = rangeOf(param);
  if (range === undefined || (param.kind === "tensor" && isFullRange(param))) return "";
  const nameOf = (value: Value) => py.name(names.parameters.get(value)!);
  if (param.kind === "tensor" && param.partition) {
    const { total, holds } = param.partition;
    return `, rising ${holds === "offsets" ? "from 0 " : ""}to ${printExpression(nameOf(total))}`;
  }
  const bounds = hostExpressions(range, nameOf).map((bound) => printExpression(bound));
  const isFloat = param.kind === "tensor" && isFloatElem(param.dtype);
  return ` in [${bounds.join(", ")}${isFloat ? "]" : ")"}`;
}

/** The description of a number in the docstring. */
function describeNumber(param: NumberParam): string {
  if (isSizeParam(param)) return "a size of the result";
  if (param.kind === "scalar")
    return `a number, passed as ${typeof param.dtype === "string" ? param.dtype : param.dtype.name}`;
  if (param.choices) return describeChoices(param);
  const article = param.of === "int" ? "an" : "a";
  return `${article} ${annotationOf(param)} that the kernel is compiled for`;
}

function describeChoices({ of, choices = [] }: ConstexprParam): string {
  return choices.map((text) => (of === "dtype" ? `torch.${torchName(text)}` : `"${text}"`)).join(" or ");
}

const torchName = (name: string): string => {
  const dtype = torchDType(name);
  return dtype.kind === "attribute" ? dtype.name : name;
};

function describeDType(param: TensorParam | PointerParam): string {
  return typeof param.dtype === "string" ? param.dtype : param.dtype.members.join(" or ");
}
