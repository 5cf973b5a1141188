/**
 * A wrapper as an operator of PyTorch: `torch.library.custom_op` with a fake implementation, so that `torch.compile`
 * keeps the call in its graph, and a second one that writes tensors of its caller.
 */
import { fail } from "../diagnostics.js";
import type { KernelIR, SizeParam, TensorParam, Value } from "../ir/nodes.js";
import { isValue } from "../ir/nodes.js";
import { isInt, members } from "../ir/dtype.js";
import { describedTensors, makesDescriptors } from "../ir/described.js";
import { setsBlocks } from "./descriptors.js";
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
  /** `triton_op` lets torch.compile see into it, and fuse around the kernel; `custom_op`, the default, takes any kernel. */
  readonly form?: "custom_op" | "triton_op";
}

/** `launcher` is the wrapper, `sizes` say where each size is read off. */
export function opDefinitions(
  ir: KernelIR,
  names: KernelNames,
  launcher: FunctionDef,
  sizes: readonly Binding[],
  op: OpOptions,
): Block {
  checkNamespace(ir, op);
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor");
  const why = notAnOperator(ir);
  if (why) fail("op", `${ir.name}: ${why}`, ir.at);
  const star = launcher.params.findIndex((param) => param.name === "*");
  const params = star < 0 ? launcher.params : launcher.params.slice(0, star);
  const outputs = tensors.filter((param) => param.role === "out");
  const updated = tensors.filter((param) => param.role === "inout").map((param) => names.tensors.get(param.name)!);
  const { namespace, form = "custom_op" } = op;
  if (form === "triton_op") checkTraceable(ir);
  const functional: FunctionDef = {
    kind: "function",
    name: names.op,
    decorators: [registration(form, `${namespace}::${names.wrapper}`, updated)],
    params,
    returns: returnType(outputs.length),
    docstring: `${names.wrapper} as torch.ops.${namespace}.${names.wrapper}.`,
    body: callBody(ir, names, params, outputs, updated.length),
  };
  const fake = fakeFunction(ir, names, `_${names.op}_fake`, params, sizes, [py.dotted(`${names.op}.register_fake`)]);
  return [functional, fake, ...(outputs.length > 0 ? outVariant(names, launcher, params, updated, op) : [])];
}

/** `ns::gemm_out`: it writes tensors that the caller has, and gives nothing. */
function outVariant(
  names: KernelNames,
  { params: all }: FunctionDef,
  params: readonly Parameter[],
  updated: readonly string[],
  { namespace, form = "custom_op" }: OpOptions,
): Block {
  const outputs = all.slice(params.length + 1).map(({ name }) => name);
  const call = py.call(
    names.wrapper,
    ...params.map(({ name }) => py.name(name)),
    ...outputs.map((name) => py.keyword(name, py.name(name))),
  );
  const annotation = py.dotted("torch.Tensor");
  const isOptional = (param: Parameter): boolean => param.default !== undefined;
  const definition: FunctionDef = {
    kind: "function",
    name: names.opOut,
    decorators: [registration(form, `${namespace}::${names.wrapper}_out`, [...updated, ...outputs])],
    // PyTorch refuses tensors that can be given by name only.
    params: [
      ...params.filter((param) => !isOptional(param)),
      ...outputs.map((name) => ({ name, annotation })),
      ...params.filter(isOptional),
    ],
    returns: py.none,
    docstring: `${names.wrapper} into tensors of the caller, as torch.ops.${namespace}.${names.wrapper}_out.`,
    body: [py.expression(call)],
  };
  // PyTorch knows that a custom_op which gives nothing gives nothing; of a triton_op it would run the wrapper.
  if (form === "custom_op") return [definition];
  const fake: FunctionDef = {
    kind: "function",
    name: `_${names.opOut}_fake`,
    decorators: [py.dotted(`${names.opOut}.register_fake`)],
    params: withoutAnnotations(definition.params),
    docstring: `What torch.compile sees of ${names.opOut}: nothing new.`,
    body: [py.returns(py.none)],
  };
  return [definition, fake];
}

/** The decorator that makes a function an operator. */
export function registration(
  form: NonNullable<OpOptions["form"]>,
  qualified: string,
  mutated: readonly string[] = [],
): Expression {
  const mutates = py.tuple(...mutated.map((name) => py.string(name)));
  return py.call(`torch.library.${form}`, py.string(qualified), py.keyword("mutates_args", mutates));
}

/** @throws TileScriptError if the namespace is no name. */
export function checkNamespace({ name, at }: KernelIR, { namespace }: OpOptions): void {
  if (!/^[A-Za-z_]\w*$/.test(namespace))
    fail("op", `${name}: ${JSON.stringify(namespace)} cannot be a namespace; use letters, digits and _`, at);
}

/** Why PyTorch could not have it as an operator. */
export function notAnOperator({ params }: KernelIR): string | undefined {
  const isRead = params.some((param) => param.kind === "tensor" && param.role !== "out" && !param.optional);
  return isRead && !params.some((param) => param.kind === "pointer")
    ? undefined
    : "an operator needs a tensor that it reads, and no raw pointers";
}

/** What `wrap_triton` knows is configs, how they are pruned, keys, values to reset or restore, and one launch. */
function checkTraceable(ir: KernelIR): void {
  const { name, params, tuning, launch, at } = ir;
  const refuse = (what: string, why = "torch.compile cannot trace it"): never =>
    fail("op", `${name}: triton_op cannot have ${what}; ${why}, so emit a custom_op`, at);
  const computed = params.find((param) => param.kind === "constexpr" && param.from === "heuristic");
  if (computed) refuse(`the heuristic of ${computed.name}`);
  if (setsBlocks(ir).length > 0) refuse("configs with a hook, which sets the blocks of its descriptors");
  if (describedTensors(ir).length > 0 || makesDescriptors(ir)) refuse("tensor descriptors");
  const [option] = Object.entries(launch.options).filter(([, value]) => value !== false);
  if (option) refuse(`the launch option ${option[0]}`);
  const isPassed = tuning.key === undefined && tuning.configs.some(({ numCtas }) => numCtas !== undefined);
  if (isPassed) refuse("numCtas outside autotune.configs");
  const float = params.find((param) => param.kind === "scalar" && members(param.dtype).some((dtype) => !isInt(dtype)));
  // Seen with torch 2.11: the kernel's own annotation is not asked.
  if (float) refuse(`the float argument ${float.name}`, "torch.compile would compile the kernel for a float64 instead");
}

/** What torch.compile sees of a kernel: new tensors without values. */
export function fakeFunction(
  ir: KernelIR,
  names: KernelNames,
  name: string,
  params: readonly Parameter[],
  sizes: readonly Binding[],
  decorators: readonly Expression[] = [],
): FunctionDef {
  const outputs = ir.params.filter((param): param is TensorParam => param.kind === "tensor" && param.role === "out");
  return {
    kind: "function",
    name,
    decorators,
    params: withoutAnnotations(params),
    docstring: `What torch.compile sees of ${names.wrapper}: shapes and dtypes.`,
    body: fakeBody(ir, names, outputs, sizes),
  };
}

export function withoutAnnotations(params: readonly Parameter[]): readonly Parameter[] {
  return params.map(({ name, default: initial }) => ({ name, ...(initial && { default: initial }) }));
}

/** How many tensors, as an annotation. */
export function returnType(count: number): Expression {
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
