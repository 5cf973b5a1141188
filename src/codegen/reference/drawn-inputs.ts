/**
 * `get_inputs`: new arguments for the wrapper, of a typical size by default. `draw_inputs`: the inputs that the author
 * defines.
 */
import { formatList } from "../../diagnostics/message.js";
import { type DTypeName, type Elem, isInt } from "../../types/dtype.js";
import {
  type ConstexprParam,
  isLiteral,
  isMemoryParam,
  isSizeParam,
  type KernelIR,
  type Param,
  paramsOf,
  type PointerParam,
  type ScalarParam,
  type SizeParam,
  type TensorParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { TorchPython } from "./expressions.js";
import { inputsOf, type TorchNode } from "../../torch/node.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { hostExpression, hostExpressions, hostInputs } from "../body/print-op.js";
import {
  type KernelNames,
  parameterName,
  tensorName,
  valueName,
  callOrder,
  givenSizes,
  type NumberParam,
} from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Argument, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import { annotationOf } from "../wrapper/docstring.js";
import { INTERPRETED, torchDType } from "../wrapper/checks.js";

/** The numbers on which the author's inputs depend, in the order of the signature. */
export function drawArguments(ir: KernelIR): readonly NumberParam[] {
  const usedNames = inputsOf(Object.values(ir.inputs));
  return ir.params.filter((param): param is NumberParam => !isMemoryParam(param) && usedNames.has(param.name));
}

/** The kernel with some dtype variables replaced by dtypes. */
export function withDtypes(ir: KernelIR, dtypes: Readonly<Record<string, string>>): KernelIR {
  const params = ir.params.map((param): Param => {
    const dtypeOf = (variable: Elem | undefined) =>
      typeof variable === "object" ? (dtypes[variable.name] as DTypeName | undefined) : undefined;
    if (param.kind === "constexpr") {
      const dtype = dtypeOf(param.variable);
      return dtype === undefined ? param : { ...param, default: dtype };
    }
    return "dtype" in param ? { ...param, dtype: dtypeOf(param.dtype) ?? param.dtype } : param;
  });
  return { ...ir, params };
}

/** `draw_inputs`, if the author defines inputs. */
export function drawInputsFunction(
  ir: KernelIR,
  names: KernelNames,
  source: SourceIndex | undefined,
): readonly FunctionDef[] {
  const inputs = inputDefinitions(ir);
  if (inputs.length === 0) return [];
  const nodes = inputs.map(({ node }) => node);
  const numbers = drawArguments(ir).map(({ value }) => ({ name: valueName(names, value) }));
  const reservedNames = new Set(["device", ...numbers.map(({ name }) => name)]);
  const python = new TorchPython(nodes, { ir, names, source, device: py.name("device"), reservedNames });
  const values = inputs.map(({ param, node }) =>
    py.call(py.attribute(python.expression(node), "to"), torchDType(firstMember(param.dtype))),
  );
  const targets = inputs.map(({ param }) => tensorName(names, param));
  return [
    {
      kind: "function",
      name: DRAW_INPUTS,
      decorators: [],
      params: [...numbers, { name: "device" }],
      docstring: `${formatList(targets)} of ${names.wrapper}, at random.`,
      body: [...python.statements, py.returns(py.tupleOrSingle(values))],
    },
  ];
}

const DRAW_INPUTS = "draw_inputs";

/** The tensors that the author defines in `inputs`. */
export function authorInputs(ir: KernelIR): readonly TensorParam[] {
  return inputDefinitions(ir).map(({ param }) => param);
}

function inputDefinitions(ir: KernelIR): readonly { readonly param: TensorParam; readonly node: TorchNode }[] {
  return paramsOf(ir, "tensor").flatMap((param) => {
    const node = ir.inputs[param.name];
    return node ? [{ param, node }] : [];
  });
}

/** The parameters of `get_inputs`: sizes, and keyword-only numbers that the author's shapes set. */
function getInputsParameters(ir: KernelIR): {
  readonly sizes: readonly NamedSize[];
  readonly values: readonly NumberParam[];
} {
  const shapeKeys = new Set(ir.shapes.flatMap((shape) => Object.keys(shape)));
  const freeSizes = sizesOf(ir, tensorsOf(ir, "in", "inout")).filter((param) => !isDerived(param));
  const sizes = freeSizes.filter(({ kind }) => kind === "size");
  const others = callOrder(ir).filter(
    (param): param is NumberParam =>
      (param.kind === "scalar" || param.kind === "constexpr") &&
      shapeKeys.has(param.name) &&
      !freeSizes.some((each) => each === param),
  );
  return { sizes, values: [...freeSizes.filter(({ kind }) => kind !== "size"), ...others] };
}

/** `SHAPES`: the author's shapes as keyword arguments of `get_inputs`. The first one has its defaults. */
export function shapesConstant(ir: KernelIR, names: KernelNames): readonly Statement[] {
  const { sizes, values } = getInputsParameters(ir);
  if (ir.shapes.length < 2) return [];
  const rows = ir.shapes.map((shape) =>
    py.dict(
      ...[...sizes, ...values].map((param) => ({
        key: py.string(valueName(names, param.value)),
        value: valueExpression(param, shape[param.name] ?? defaultValue(param)),
      })),
    ),
  );
  return [py.assign(py.name("SHAPES"), py.list(...rows))];
}

/** `IN_PLACE`: the parameters that the kernel updates, which the reference leaves alone. */
export function inPlaceConstant(ir: KernelIR, names: KernelNames): readonly Statement[] {
  const updated = tensorsOf(ir, "inout").map((tensor) => py.string(tensorName(names, tensor)));
  return updated.length > 0 ? [py.assign(py.name("IN_PLACE"), py.list(...updated))] : [];
}

/** `get_inputs`: returns a list of arguments. Its parameters are sizes with defaults. */
export function getInputsFunction(ir: KernelIR, names: KernelNames): FunctionDef {
  const [shape = {}] = ir.shapes;
  const parameters = getInputsParameters(ir);
  const isParameter = (param: Param): boolean =>
    [...parameters.sizes, ...parameters.values].some((each) => each === param);
  const tensors = tensorsOf(ir, "in", "inout");
  const sizes = sizesOf(ir, tensors);
  const usedValues = new Set<Value>(generatedDims(ir));
  // A number that is no parameter of `get_inputs` is inlined as a literal.
  const local = (value: Value): Expression => {
    usedValues.add(value);
    const param = ir.params.find((each) => each.value === value);
    const isInlined = (param?.kind === "scalar" || param?.kind === "constexpr") && !isParameter(param);
    return isInlined ? valueExpression(param, shape[param.name]) : py.name(valueName(names, value));
  };
  const parameter = (param: NumberParam): Parameter => ({
    name: valueName(names, param.value),
    default: valueExpression(param, shape[param.name] ?? defaultValue(param)),
  });
  const { values: keywordOnly } = parameters;
  const params = [
    ...parameters.sizes.map(parameter),
    ...(keywordOnly.length > 0 ? [{ name: "*" }, ...keywordOnly.map(parameter)] : []),
  ];
  const number = (param: NumberParam): Expression => {
    usedValues.add(param.value);
    const isLocal = isParameter(param) || sizes.some((size) => size === param);
    return isLocal ? py.name(valueName(names, param.value)) : valueExpression(param, shape[param.name]);
  };
  const values = callOrder(ir).map((param) => {
    if (param.kind === "tensor" && (param.name in ir.inputs || param.partition))
      return py.name(tensorName(names, param));
    if (param.kind === "tensor") return tensorExpression(ir, names, param, local);
    if (param.kind !== "pointer") return number(param);
    const { numel } = param;
    if (numel === undefined) return pointerExpression(param);
    const dim = typeof numel === "number" ? sizeLiteral(numel) : py.name(valueName(names, numel));
    return drawnTensor([dim], param, local);
  });
  const assignments = [...drawAssignments(ir, names, number), ...partitionAssignments(ir, names, local)];
  // In reverse order, because a derived size may use earlier ones. Unused sizes are omitted.
  const bindings = sizes.toReversed().flatMap((param) => {
    if (param.kind !== "size" || !param.derived || !usedValues.has(param.value)) return [];
    const value = hostExpression(param.derived, local);
    return [py.assign(local(param.value), value)];
  });
  const needsDevice = tensors.length > 0 || ir.params.some(({ kind }) => kind === "pointer");
  return {
    kind: "function",
    name: "get_inputs",
    decorators: [],
    params,
    body: [
      ...(needsDevice ? [deviceAssignment()] : []),
      ...bindings.toReversed(),
      ...assignments,
      py.returns(py.list(...values)),
    ],
  };
}

/** The dims of tensors that `get_inputs` creates itself. */
function generatedDims(ir: KernelIR): readonly Value[] {
  const dims = ir.params.flatMap((param): readonly (string | number | undefined)[] => {
    if (param.kind === "pointer") return typeof param.numel === "object" ? [param.numel.parameter] : [];
    return param.kind === "tensor" && param.role !== "out" && !(param.name in ir.inputs) ? param.dimNames : [];
  });
  return ir.params.flatMap((param) => ("value" in param && dims.includes(param.name) ? [param.value] : []));
}

const isDerived = (param: NamedSize): boolean => param.kind === "size" && param.derived !== undefined;
const defaultValue = (param: NumberParam) => (param.kind === "size" ? undefined : param.default);

/** `device = "cpu" if INTERPRETED else "cuda"` */
function deviceAssignment(): Statement {
  return py.assign(py.name("device"), py.conditional(py.string("cpu"), py.name(INTERPRETED), py.string("cuda")));
}

/** `x, y = draw_inputs(N, device)`, if the author defines inputs. */
function drawAssignments(
  ir: KernelIR,
  names: KernelNames,
  number: (param: NumberParam) => Expression,
): readonly Statement[] {
  const targets = authorInputs(ir).map((param) => py.name(tensorName(names, param)));
  if (targets.length === 0) return [];
  const target = py.tupleOrSingle(targets);
  return [py.assign(target, py.call(DRAW_INPUTS, ...drawArguments(ir).map(number), py.name("device")))];
}

/** Partitions of a size: sorted integers that end with the size. Offsets start with 0. */
function partitionAssignments(
  ir: KernelIR,
  names: KernelNames,
  local: (value: Value) => Expression,
): readonly Statement[] {
  return tensorsOf(ir, "in", "inout").flatMap((param) => {
    if (param.partition === undefined || param.name in ir.inputs) return [];
    const { total, holds } = param.partition;
    const tensor = py.name(tensorName(names, param));
    return [
      py.assign(tensor, tensorExpression(ir, names, param, local)),
      ...(holds === "offsets" ? [py.assign(py.subscript(tensor, py.number("0")), py.number("0"))] : []),
      py.assign(py.subscript(tensor, py.unary("-", py.number("1"))), local(total)),
    ];
  });
}

/** A large buffer of zeros, because the extent of the pointer is unknown. */
function pointerExpression(param: PointerParam): Expression {
  return py.call(
    "torch.zeros",
    py.binary(py.number("2"), "**", py.number("20")),
    ...py.keywords({ device: py.name("device"), dtype: torchDType(firstMember(param.dtype)) }),
  );
}

/** The value of an argument: the author's for these sizes, its default, or the first allowed value. */
function valueExpression(param: NumberParam, authorValue: number | boolean | string | undefined): Expression {
  if (isSizeParam(param)) return py.numberLiteral(Number(authorValue ?? 256), "int");
  if (param.kind === "scalar")
    return scalarExpression(param, Number(authorValue ?? param.default ?? lowestFromOne(param)));
  if (param.of === "dtype") return torchDType(String(param.default ?? param.choices?.[0]));
  return py.constant(authorValue ?? param.default ?? anyValue(param));
}

function anyValue(param: ConstexprParam): number | boolean | string {
  if (param.of === "string") return param.choices?.[0] ?? "";
  return param.of === "bool" ? false : lowestFromOne(param);
}

/** 1, or the lowest value of a declared range that does not contain 1. */
function lowestFromOne({ range }: ScalarParam | ConstexprParam): number {
  const [low, end] = range?.block.yields ?? [];
  const isBelow = end !== undefined && isLiteral(end) && Number(end.value) <= 1;
  return low !== undefined && isLiteral(low) && (isBelow || Number(low.value) > 1) ? Number(low.value) : 1;
}

function scalarExpression(param: ScalarParam, value: number): Expression {
  if (param.dtype === "int1") return py.boolean(value !== 0);
  return py.numberLiteral(value, annotationOf(param) === "float" ? "float" : "int");
}

type NamedSize = SizeParam | ConstexprParam;

/** The sizes that are arguments or occur in the shapes and ranges of inputs. A derived size follows its inputs. */
function sizesOf(ir: KernelIR, tensors: readonly TensorParam[]): readonly NamedSize[] {
  const sizes = new Set<NamedSize>();
  const addSize = (param: Param | undefined): void => {
    if (param?.kind !== "size" && param?.kind !== "constexpr") return;
    const derived = param.kind === "size" ? param.derived : undefined;
    for (const value of derived ? hostInputs(derived) : []) addSize(ir.params.find((other) => other.value === value));
    sizes.add(param);
  };
  const isArgument = (param: NumberParam) => param.kind === "constexpr" && param.from === "argument";
  const drawNames = drawArguments(ir).flatMap((param) => (isArgument(param) ? [] : [param.name]));
  const argumentNames = givenSizes(ir).map(({ name }) => name);
  const names = [...tensors.flatMap(({ dimNames }) => dimNames), ...drawNames, ...argumentNames];
  for (const { numel } of paramsOf(ir, "pointer"))
    if (typeof numel === "object") addSize(ir.params.find((param) => param.value === numel));
  for (const name of names) addSize(ir.params.find((param) => param.name === name));
  for (const { range } of tensors)
    for (const value of range ? hostInputs(range) : []) addSize(ir.params.find((param) => param.value === value));
  return [...sizes];
}

const firstMember = (elem: Elem): DTypeName => (typeof elem === "string" ? elem : elem.members[0]!);

const sizeLiteral = (size: number): Expression => py.numberLiteral(size, Number.isInteger(size) ? "int" : "float");

function tensorExpression(
  ir: KernelIR,
  names: KernelNames,
  param: TensorParam,
  number: (value: Value) => Expression,
): Expression {
  const dims = param.dimNames.map((name) =>
    typeof name === "number" ? sizeLiteral(name) : py.name(parameterName(ir, names, name)),
  );
  return drawnTensor(dims, param, number);
}

function drawnTensor(
  dims: readonly Expression[],
  param: Pick<TensorParam, "dtype" | "range" | "partition">,
  number: (value: Value) => Expression,
): Expression {
  const shape = py.tuple(...dims);
  const bounds = param.range && hostExpressions(param.range, number);
  const name = firstMember(param.dtype);
  const placement = py.keywords({ device: py.name("device"), dtype: torchDType(name) });
  if (!isInt(name)) {
    const draw = (...keywords: readonly Argument[]): Expression =>
      bounds
        ? py.call(py.attribute(py.call("torch.empty", shape, ...keywords), "uniform_"), ...bounds)
        : py.call("torch.randn", shape, ...keywords);
    // torch cannot draw float8 values.
    if (!name.startsWith("float8")) return draw(...placement);
    const floats = draw(...py.keywords({ device: py.name("device") }));
    return py.call(py.attribute(floats, "to"), torchDType(name));
  }
  const limits = bounds ?? [py.number("0"), py.number(name === "int1" ? "2" : "100")];
  const integers = py.call("torch.randint", ...limits, shape, ...placement);
  return param.partition ? py.attribute(py.call(py.attribute(integers, "sort")), "values") : integers;
}
