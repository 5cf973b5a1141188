/**
 * A wrapper as an operator of PyTorch: `torch.library.custom_op` with a fake implementation, so that `torch.compile`
 * keeps the call in its graph. Autograd is not registered.
 */
import { fail } from "../diagnostics.js";
import type { KernelIR, SizeParam, TensorParam, Value } from "../ir/nodes.js";
import { isValue } from "../ir/nodes.js";
import { hostExpressions, hostInputs } from "./host.js";
import { givenSizes } from "./call-order.js";
import { type KernelNames, literalNumber } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Block, Expression, FunctionDef, Parameter } from "./py.js";
import type { Binding } from "./reference.js";
import { dtypeBinder, torchDType } from "./wrapper-checks.js";

export interface OpOptions {
  /** The first part of the operator's name: `torch.ops.NAMESPACE.NAME`. */
  readonly namespace: string;
}

/** `launcher` is the wrapper, `sizes` say where each size is read off. */
export function opDefinitions(
  ir: KernelIR,
  names: KernelNames,
  launcher: FunctionDef,
  sizes: readonly Binding[],
  { namespace }: OpOptions,
): Block {
  if (!/^[A-Za-z_]\w*$/.test(namespace))
    fail("op", `${ir.name}: ${JSON.stringify(namespace)} cannot be a namespace; use letters, digits and _`, ir.at);
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor");
  const isRead = tensors.some((param) => param.role !== "out" && !param.optional);
  if (!isRead || ir.params.some((param) => param.kind === "pointer"))
    fail("op", `${ir.name}: an operator needs a tensor that it reads, and no raw pointers`, ir.at);
  const star = launcher.params.findIndex((param) => param.name === "*");
  const params = star < 0 ? launcher.params : launcher.params.slice(0, star);
  const outputs = tensors.filter((param) => param.role === "out");
  const updated = tensors.filter((param) => param.role === "inout");
  const qualified = `${namespace}::${names.wrapper}`;
  const mutates = updated.map((param) => py.string(names.tensors.get(param.name)!));
  const decorator = py.call(
    "torch.library.custom_op",
    py.string(qualified),
    py.keyword("mutates_args", py.tuple(...mutates)),
  );
  const returns = returnType(outputs.length);
  return [
    {
      kind: "function",
      name: names.op,
      decorators: [decorator],
      params,
      returns,
      docstring: `${names.wrapper} as torch.ops.${namespace}.${names.wrapper}.`,
      body: callBody(ir, names, params, outputs, updated.length),
    },
    {
      kind: "function",
      name: `_${names.op}_fake`,
      decorators: [py.dotted(`${names.op}.register_fake`)],
      params: params.map(({ name, default: initial }) => ({ name, ...(initial && { default: initial }) })),
      docstring: `What torch.compile sees of ${names.op}: shapes and dtypes.`,
      body: fakeBody(ir, names, outputs, sizes),
    },
  ];
}

function returnType(count: number): Expression {
  const tensor = py.dotted("torch.Tensor");
  if (count === 0) return py.none;
  return count === 1 ? tensor : py.subscript(py.name("tuple"), ...Array.from({ length: count }, () => tensor));
}

/** An operator returns new tensors only: those that it updates are its caller's already. */
function callBody(
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  outputs: readonly TensorParam[],
  updated: number,
): Block {
  const call = py.call(names.wrapper, ...params.map(({ name }) => py.name(name)));
  if (outputs.length === 0) return [py.expression(call)];
  if (updated === 0) return [py.returns(call)];
  const results = ir.params.filter((param): param is TensorParam => param.kind === "tensor" && param.role !== "in");
  const local = (param: TensorParam) => py.name(param.role === "out" ? names.tensors.get(param.name)! : "_");
  const made = outputs.map(local);
  return [
    py.assign(py.tuple(...results.map(local)), call),
    py.returns(made.length === 1 ? made[0] : py.tuple(...made)),
  ];
}

/** The outputs without their values. */
function fakeBody(ir: KernelIR, names: KernelNames, outputs: readonly TensorParam[], sizes: readonly Binding[]): Block {
  if (outputs.length === 0) return [py.returns(py.none)];
  const local = (value: Value): Expression => py.name(names.parameters.get(value)!);
  const needed = new Map<Value, Block>();
  const given = new Set(givenSizes(ir).map(({ value }) => value));
  const need = (value: Value): void => {
    if (needed.has(value) || given.has(value)) return;
    const param = ir.params.find((other) => other.value === value);
    const derived = param?.kind === "size" ? (param satisfies SizeParam).derived : undefined;
    if (derived) hostInputs(derived).forEach(need);
    const name = names.parameters.get(value)!;
    const bound = derived ? hostExpressions(derived, local)[0] : sizes.find((size) => size.name === name)?.value;
    needed.set(value, bound ? [py.assign(local(value), bound)] : []);
  };
  for (const { dims } of outputs) for (const dim of dims) if (isValue(dim)) need(dim);
  const first = ir.params.find((param) => param.kind === "tensor" && param.role !== "out" && !param.optional)!;
  const device = py.attribute(py.name(names.tensors.get(first.name)!), "device");
  const made = outputs.map((param) => {
    const shape = py.tuple(
      ...param.dims.map((dim) => (isValue(dim) ? local(dim) : py.numberLiteral(literalNumber(dim)!, "int"))),
    );
    return py.call("torch.empty", shape, ...py.keywords({ device, dtype: dtypeOf(ir, names, param) }));
  });
  return [...[...needed.values()].flat(), py.returns(made.length === 1 ? made[0] : py.tuple(...made))];
}

function dtypeOf(ir: KernelIR, names: KernelNames, { dtype }: TensorParam): Expression {
  if (typeof dtype === "string") return torchDType(dtype);
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor");
  const binder = dtypeBinder({ ir, tensors }, dtype.name);
  if (binder.kind === "constexpr") return py.name(names.parameters.get(binder.value)!);
  return py.attribute(py.name(names.tensors.get(binder.name)!), "dtype");
}
