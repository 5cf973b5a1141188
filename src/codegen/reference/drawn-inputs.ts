/**
 * `get_inputs`: fresh arguments for the wrapper, of a typical size unless the caller names others. `draw_inputs`: those
 * that the author describes.
 */
import { formatList } from "../../diagnostics/format-list.js";
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
import { inputsOf } from "../../torch/node.js";
import type { SourceIndex } from "../../ir/source.js";
import { callOrder, givenSizes, type NumberParam } from "../names/call-order.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import { type KernelNames, parameterName } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Argument, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import { annotationOf } from "../wrapper/docstring.js";
import { INTERPRETED, torchDType } from "../wrapper/checks.js";

/** The numbers that the author's inputs use, in the order of the signature. */
export function drawArguments(ir: KernelIR): readonly NumberParam[] {
  const used = inputsOf(Object.values(ir.inputs));
  return ir.params.filter((param): param is NumberParam => !isMemoryParam(param) && used.has(param.name));
}

/** The kernel with some of its dtype variables decided. */
export function withDtypes(ir: KernelIR, dtypes: Readonly<Record<string, string>>): KernelIR {
  const params = ir.params.map((param): Param => {
    const variable = param.kind === "constexpr" ? param.variable : "dtype" in param ? param.dtype : undefined;
    const decided = typeof variable === "object" ? (dtypes[variable.name] as DTypeName | undefined) : undefined;
    if (decided === undefined) return param;
    return param.kind === "constexpr" ? { ...param, default: decided } : ({ ...param, dtype: decided } as Param);
  });
  return { ...ir, params };
}

/** `draw_inputs`, for a kernel whose author describes some. */
export function drawFunction(
  ir: KernelIR,
  names: KernelNames,
  source: SourceIndex | undefined,
): readonly FunctionDef[] {
  const drawn = drawnTensors(ir);
  if (drawn.length === 0) return [];
  const nodes = drawn.map(({ name }) => ir.inputs[name]!);
  const numbers = drawArguments(ir).map(({ value }) => ({ name: names.parameters.get(value)! }));
  const taken = new Set(["device", ...numbers.map(({ name }) => name)]);
  const written = new TorchPython(nodes, { ir, names, source, device: py.name("device"), taken });
  const values = drawn.map((param, i) =>
    py.call(py.attribute(written.expression(nodes[i]!), "to"), torchDType(firstMember(param.dtype))),
  );
  return [
    {
      kind: "function",
      name: DRAW,
      decorators: [],
      params: [...numbers, { name: "device" }],
      docstring: `${formatList(drawn.map(({ name }) => names.tensors.get(name)!))} of ${names.wrapper}, at random.`,
      body: [...written.statements, py.returns(py.tupled(values))],
    },
  ];
}

const DRAW = "draw_inputs";

/** The tensors that the author describes. */
export function drawnTensors(ir: KernelIR): readonly TensorParam[] {
  return paramsOf(ir, "tensor").filter(({ name }) => name in ir.inputs);
}

/** What `get_inputs` takes: sizes, and by keyword alone the numbers that not every value is right for. */
function parametersOf(ir: KernelIR): { readonly sizes: readonly NamedSize[]; readonly values: readonly NumberParam[] } {
  const given = new Set(ir.shapes.flatMap((shape) => Object.keys(shape)));
  const free = sizesOf(ir, tensorsOf(ir, "in", "inout")).filter((param) => !isDerived(param));
  const sizes = free.filter(({ kind }) => kind === "size");
  const others = callOrder(ir).filter(
    (param): param is NumberParam =>
      (param.kind === "scalar" || param.kind === "constexpr") &&
      given.has(param.name) &&
      !free.some((each) => each === param),
  );
  return { sizes, values: [...free.filter(({ kind }) => kind !== "size"), ...others] };
}

/** `SHAPES`: the author's, as keyword arguments of `get_inputs`, which has the first of them as defaults. */
export function shapesConstant(ir: KernelIR, names: KernelNames): readonly Statement[] {
  const { sizes, values } = parametersOf(ir);
  if (ir.shapes.length < 2) return [];
  const rows = ir.shapes.map((shape) =>
    py.dict(
      ...[...sizes, ...values].map((param) => ({
        key: py.string(names.parameters.get(param.value)!),
        value: valueExpression(param, shape[param.name] ?? initial(param)),
      })),
    ),
  );
  return [
    py.comment("Sizes to verify and to measure with, as in get_inputs(**SHAPES[0])."),
    py.assign(py.name("SHAPES"), py.list(...rows)),
  ];
}

/** `get_inputs`: a list of arguments, whose sizes are parameters with a default. */
export function inputsFunction(ir: KernelIR, names: KernelNames): FunctionDef {
  const [shape = {}] = ir.shapes;
  const parameters = parametersOf(ir);
  const isParameter = (param: Param): boolean =>
    [...parameters.sizes, ...parameters.values].some((each) => each === param);
  const tensors = tensorsOf(ir, "in", "inout");
  const sizes = sizesOf(ir, tensors);
  const used = new Set<Value>(dimsWritten(ir));
  // A number that is no parameter of `get_inputs` is written out.
  const local = (value: Value): Expression => {
    used.add(value);
    const param = ir.params.find((each) => each.value === value);
    const isWritten = (param?.kind === "scalar" || param?.kind === "constexpr") && !isParameter(param);
    return isWritten ? valueExpression(param, shape[param.name]) : py.name(names.parameters.get(value)!);
  };
  const parameter = (param: NumberParam): Parameter => ({
    name: names.parameters.get(param.value)!,
    default: valueExpression(param, shape[param.name] ?? initial(param)),
  });
  const { values: byKeyword } = parameters;
  const params = [
    ...parameters.sizes.map(parameter),
    ...(byKeyword.length > 0 ? [{ name: "*" }, ...byKeyword.map(parameter)] : []),
  ];
  const number = (param: NumberParam): Expression => {
    used.add(param.value);
    const isLocal = isParameter(param) || sizes.some((size) => size === param);
    return isLocal ? py.name(names.parameters.get(param.value)!) : valueExpression(param, shape[param.name]);
  };
  const values = callOrder(ir).map((param) => {
    if (param.kind === "tensor" && (param.name in ir.inputs || param.partition))
      return py.name(names.tensors.get(param.name)!);
    if (param.kind === "tensor") return tensorExpression(ir, names, param, local);
    if (param.kind !== "pointer") return number(param);
    const { numel } = param;
    if (numel === undefined) return pointerExpression(param);
    const dim = typeof numel === "number" ? numel : numel.parameter!;
    return tensorExpression(ir, names, { dtype: param.dtype, dimNames: [dim] }, local);
  });
  const assigned = [...assignedDraws(ir, names, number), ...assignedPartitions(ir, names, local)];
  // From the last one back: a derived size may be computed from those before it, and one that nothing uses is left out.
  const bindings = sizes.toReversed().flatMap((param) => {
    if (param.kind !== "size" || !param.derived || !used.has(param.value)) return [];
    const [computed] = hostExpressions(param.derived, local);
    return [py.assign(local(param.value), computed!)];
  });
  const needsDevice = tensors.length > 0 || ir.params.some(({ kind }) => kind === "pointer");
  return {
    kind: "function",
    name: "get_inputs",
    decorators: [],
    params,
    docstring: `Fresh arguments for ${names.wrapper}${params.length > 0 ? ", of a typical size" : ""}.`,
    body: [
      ...(needsDevice ? [assignedDevice()] : []),
      ...bindings.toReversed(),
      ...assigned,
      py.returns(py.list(...values)),
    ],
  };
}

/** The dims of tensors that `get_inputs` makes itself. */
function dimsWritten(ir: KernelIR): readonly Value[] {
  const dims = ir.params.flatMap((param): readonly (string | number | undefined)[] => {
    if (param.kind === "pointer") return typeof param.numel === "object" ? [param.numel.parameter] : [];
    return param.kind === "tensor" && param.role !== "out" && !(param.name in ir.inputs) ? param.dimNames : [];
  });
  return ir.params.flatMap((param) => ("value" in param && dims.includes(param.name) ? [param.value] : []));
}

const isDerived = (param: NamedSize): boolean => param.kind === "size" && param.derived !== undefined;
const initial = (param: NumberParam) => (param.kind === "size" ? undefined : param.default);

/** `device = "cpu" if INTERPRETED else "cuda"` */
function assignedDevice(): Statement {
  return py.assign(py.name("device"), py.conditional(py.string("cpu"), py.name(INTERPRETED), py.string("cuda")));
}

/** `x, y = draw_inputs(N, device)`, if the author describes inputs. */
function assignedDraws(
  ir: KernelIR,
  names: KernelNames,
  number: (param: NumberParam) => Expression,
): readonly Statement[] {
  const targets = drawnTensors(ir).map(({ name }) => py.name(names.tensors.get(name)!));
  if (targets.length === 0) return [];
  const target = py.tupled(targets);
  return [py.assign(target, py.call(DRAW, ...drawArguments(ir).map(number), py.name("device")))];
}

/** Where rows lie: integers in order, up to the size that they divide; offsets begin with 0. */
function assignedPartitions(
  ir: KernelIR,
  names: KernelNames,
  local: (value: Value) => Expression,
): readonly Statement[] {
  return tensorsOf(ir, "in", "inout").flatMap((param) => {
    if (param.partition === undefined || param.name in ir.inputs) return [];
    const { total, holds } = param.partition;
    const tensor = py.name(names.tensors.get(param.name)!);
    return [
      py.assign(tensor, tensorExpression(ir, names, param, local)),
      ...(holds === "offsets" ? [py.assign(py.subscript(tensor, py.number("0")), py.number("0"))] : []),
      py.assign(py.subscript(tensor, py.unary("-", py.number("1"))), local(total)),
    ];
  });
}

/** Zeros, since nothing says how far a pointer reaches. */
function pointerExpression(param: PointerParam): Expression {
  return py.call(
    "torch.zeros",
    py.binary(py.number("2"), "**", py.number("20")),
    ...py.keywords({ device: py.name("device"), dtype: torchDType(firstMember(param.dtype)) }),
  );
}

/** The value of an argument: the author's for these sizes, its default, or the first that is allowed. */
function valueExpression(param: NumberParam, given: number | boolean | string | undefined): Expression {
  if (isSizeParam(param)) return py.numberLiteral(Number(given ?? 256), "int");
  if (param.kind === "scalar") return scalarExpression(param, Number(given ?? param.default ?? lowestFromOne(param)));
  if (param.of === "dtype") return torchDType(String(param.default ?? param.choices?.[0]));
  const fallback =
    param.of === "string" ? (param.choices?.[0] ?? "") : param.of === "bool" ? false : lowestFromOne(param);
  return py.constant(given ?? param.default ?? fallback);
}

/** 1, or the lowest value of a declared range that begins above it. */
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

/** The sizes that the caller gives or that inputs' shapes and ranges name. A derived size follows those it is computed from. */
function sizesOf(ir: KernelIR, tensors: readonly TensorParam[]): readonly NamedSize[] {
  const found = new Set<NamedSize>();
  const add = (param: Param | undefined): void => {
    if (param?.kind !== "size" && param?.kind !== "constexpr") return;
    const derived = param.kind === "size" ? param.derived : undefined;
    for (const value of derived ? hostInputs(derived) : []) add(ir.params.find((other) => other.value === value));
    found.add(param);
  };
  const isArgument = (param: NumberParam) => param.kind === "constexpr" && param.from === "argument";
  const drawn = drawArguments(ir).flatMap((param) => (isArgument(param) ? [] : [param.name]));
  const given = givenSizes(ir).map(({ name }) => name);
  const names = [...tensors.flatMap(({ dimNames }) => dimNames), ...drawn, ...given];
  for (const { numel } of paramsOf(ir, "pointer"))
    if (typeof numel === "object") add(ir.params.find((param) => param.value === numel));
  for (const name of names) add(ir.params.find((param) => param.name === name));
  for (const { range } of tensors)
    for (const value of range ? hostInputs(range) : []) add(ir.params.find((param) => param.value === value));
  return [...found];
}

const firstMember = (elem: Elem): DTypeName => (typeof elem === "string" ? elem : elem.members[0]!);

function tensorExpression(
  ir: KernelIR,
  names: KernelNames,
  param: Pick<TensorParam, "dtype" | "dimNames" | "range" | "partition">,
  number: (value: Value) => Expression,
): Expression {
  const local = (name: string | number) =>
    typeof name === "number"
      ? py.numberLiteral(name, Number.isInteger(name) ? "int" : "float")
      : py.name(parameterName(ir, names, name));
  const shape = py.tuple(...param.dimNames.map(local));
  const bounds = param.range && hostExpressions(param.range, number);
  const name = firstMember(param.dtype);
  const placement = py.keywords({ device: py.name("device"), dtype: torchDType(name) });
  if (!isInt(name)) {
    const drawn = (...keywords: readonly Argument[]): Expression =>
      bounds
        ? py.call(py.attribute(py.call("torch.empty", shape, ...keywords), "uniform_"), ...bounds)
        : py.call("torch.randn", shape, ...keywords);
    // torch cannot draw float8 values.
    if (!name.startsWith("float8")) return drawn(...placement);
    const wide = drawn(...py.keywords({ device: py.name("device") }));
    return py.call(py.attribute(wide, "to"), torchDType(name));
  }
  const [low, high] = bounds ?? [py.number("0"), py.number(name === "int1" ? "2" : "100")];
  const drawn = py.call("torch.randint", low!, high!, shape, ...placement);
  return param.partition ? py.attribute(py.call(py.attribute(drawn, "sort")), "values") : drawn;
}
