/** `get_inputs`: fresh arguments for the wrapper, of a typical size unless the caller names others. */
import { type DTypeName, type Elem, isInt } from "../ir/dtype.js";
import type { ConstexprParam, KernelIR, Param, ScalarParam, SizeParam, TensorParam, Value } from "../ir/nodes.js";
import { constantExpression } from "./autotune.js";
import { callOrder, type NumberParam } from "./call-order.js";
import { hostExpressions, hostInputs } from "./host.js";
import { type KernelNames, parameterName } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Argument, Expression, FunctionDef } from "./py.js";
import { annotationOf } from "./wrapper-words.js";
import { INTERPRETED, torchDType } from "./wrapper-checks.js";

export function inputsFunction(ir: KernelIR, names: KernelNames): FunctionDef {
  const [shape = {}] = ir.shapes;
  const local = (value: Value): Expression => py.name(names.parameters.get(value)!);
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor" && param.role !== "out");
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  const sizes = sizesOf(ir, tensors);
  const isDerived = (param: NamedSize): param is SizeParam => param.kind === "size" && param.derived !== undefined;
  const bindings = sizes.filter(isDerived).map((param) => {
    const [computed] = hostExpressions(param.derived!, local);
    return py.assign(local(param.value), computed!);
  });
  const initial = (param: NamedSize) => (param.kind === "constexpr" ? param.default : undefined);
  const params = sizes
    .filter((param) => !isDerived(param))
    .map((param) => ({
      name: names.parameters.get(param.value)!,
      default: py.numberLiteral(Number(shape[param.name] ?? initial(param) ?? 256), "int"),
    }));
  const device = py.assign(
    py.name("device"),
    py.conditional(py.string("cpu"), py.name(INTERPRETED), py.string("cuda")),
  );
  const values = callOrder(ir).map((param) => {
    if (param.kind === "tensor") return tensorExpression(ir, names, param);
    if (sizes.some((size) => size === param)) return local(param.value);
    if (param.kind !== "pointer") return valueExpression(param, shape[param.name]);
    // Nothing is known of what a pointer reaches.
    return py.call(
      "torch.zeros",
      py.binary(py.number("2"), "**", py.number("20")),
      ...py.keywords({ device: py.name("device"), dtype: torchDType(firstMember(param.dtype)) }),
    );
  });
  return {
    kind: "function",
    name: "get_inputs",
    decorators: [],
    params,
    docstring: `Fresh arguments for ${names.wrapper}${params.length > 0 ? ", of a typical size" : ""}.`,
    body: [...(tensors.length + pointers.length > 0 ? [device] : []), ...bindings, py.returns(py.list(...values))],
  };
}

/** The value of an argument: the author's for these sizes, its default, or the first that is allowed. */
function valueExpression(param: NumberParam, given: number | boolean | string | undefined): Expression {
  if (param.kind === "size" || (param.kind === "constexpr" && param.from === "dim"))
    return py.numberLiteral(Number(given ?? 256), "int");
  if (param.kind === "scalar") return scalarExpression(param, Number(given ?? param.default ?? 1));
  if (param.of === "dtype") return torchDType(String(param.default ?? param.choices?.[0]));
  const fallback = param.of === "string" ? (param.choices?.[0] ?? "") : param.of === "bool" ? false : 1;
  return constantExpression(given ?? param.default ?? fallback);
}

function scalarExpression(param: ScalarParam, value: number): Expression {
  if (param.dtype === "int1") return py.boolean(value !== 0);
  return py.numberLiteral(value, annotationOf(param) === "float" ? "float" : "int");
}

type NamedSize = SizeParam | ConstexprParam;

/** The sizes that shapes and ranges of inputs name, after those that they are computed from. */
function sizesOf(ir: KernelIR, tensors: readonly TensorParam[]): readonly NamedSize[] {
  const found = new Set<NamedSize>();
  const add = (param: Param | undefined): void => {
    if (param?.kind !== "size" && param?.kind !== "constexpr") return;
    const derived = param.kind === "size" ? param.derived : undefined;
    for (const value of derived ? hostInputs(derived) : []) add(ir.params.find((other) => other.value === value));
    found.add(param);
  };
  const names = tensors.flatMap(({ dimNames, range = [], splits }) => [...dimNames, ...range, splits]);
  for (const name of names) add(ir.params.find((param) => param.name === name));
  return [...found];
}

const firstMember = (elem: Elem): DTypeName => (typeof elem === "string" ? elem : elem.members[0]!);

function tensorExpression(ir: KernelIR, names: KernelNames, param: TensorParam): Expression {
  const local = (name: string | number) =>
    typeof name === "number"
      ? py.numberLiteral(name, Number.isInteger(name) ? "int" : "float")
      : py.name(parameterName(ir, names, name));
  const shape = py.tuple(...param.dimNames.map(local));
  const name = firstMember(param.dtype);
  const placement = py.keywords({ device: py.name("device"), dtype: torchDType(name) });
  if (param.splits !== undefined)
    return py.call("torch.linspace", local(0), local(param.splits), ...param.dimNames.map(local), ...placement);
  if (!isInt(name)) {
    const drawn = (...keywords: readonly Argument[]): Expression =>
      param.range
        ? py.call(py.attribute(py.call("torch.empty", shape, ...keywords), "uniform_"), ...param.range.map(local))
        : py.call("torch.randn", shape, ...keywords);
    // torch draws the wider floats only.
    if (!name.startsWith("float8")) return drawn(...placement);
    const wide = drawn(...py.keywords({ device: py.name("device") }));
    return py.call(py.attribute(wide, "to"), torchDType(name));
  }
  const [low, high] = param.range ?? (name === "int1" ? [0, 2] : [0, 100]);
  return py.call("torch.randint", local(low), local(high), shape, ...placement);
}
