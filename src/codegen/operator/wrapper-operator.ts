/**
 * A wrapper as a PyTorch operator: `torch.library.custom_op` with a fake implementation, so that `torch.compile` keeps
 * the call in its graph, and an out variant that writes the caller's tensors.
 */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import {
  isValue,
  type KernelIR,
  paramsOf,
  type SizeParam,
  type TensorParam,
  tensorsOf,
  type Value,
} from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import { givenSizes } from "../names/call-order.js";
import { type KernelNames, literalNumber } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter } from "../syntax/py.js";
import {
  checkNamespace,
  forwardModeCheck,
  whyNotAnOperator,
  whyNotTraceable,
  type OpOptions,
  recordingCheck,
  registration,
  withoutAnnotations,
  outVariantOperator,
} from "./registration.js";
import type { Binding } from "../reference/number-bindings.js";
import { dtypeBinder, torchDType } from "../wrapper/checks.js";
import { returnType } from "../wrapper/docstring.js";
import { isFloatElem } from "../../types/dtype.js";

/** The operators of a wrapper, `launcher`. `sizes` are the expressions of sizes in terms of the input shapes. */
export function opDefinitions(
  ir: KernelIR,
  names: KernelNames,
  launcher: FunctionDef,
  sizes: readonly Binding[],
  op: OpOptions,
): Block {
  checkNamespace(ir, op);
  const tensors = paramsOf(ir, "tensor");
  const reason = whyNotAnOperator(ir) ?? whyNotFixedResults(ir);
  if (reason) fail(operatorParams.standalone(ir.name, reason), ir.at);
  const star = launcher.params.findIndex((param) => param.name === "*");
  const params = star < 0 ? launcher.params : launcher.params.slice(0, star);
  const outputs = tensors.filter((param) => param.role === "out");
  const updated = tensors.filter((param) => param.role === "inout").map((param) => names.tensors.get(param.name)!);
  const inputNames = tensors.filter((param) => param.role !== "out").map((param) => names.tensors.get(param.name)!);
  const isFloat = (role: TensorParam["role"]): boolean => tensorsOf(ir, role).some((param) => isFloatElem(param.dtype));
  const check = isFloat("inout") ? [recordingCheck(names.op)] : [];
  const { namespace, form = "custom_op" } = op;
  const untraceable = form === "triton_op" && whyNotTraceable(ir);
  if (untraceable) fail(tritonOp.standalone(ir.name, untraceable), ir.at);
  const functional: FunctionDef = {
    kind: "function",
    name: names.op,
    decorators: [registration(form, `${namespace}::${names.wrapper}`, updated)],
    params,
    returns: returnType(outputs.length),
    docstring: `${names.wrapper} as torch.ops.${namespace}.${names.wrapper}.`,
    body: [forwardModeCheck(names.wrapper, inputNames), ...callBody(ir, names, params, outputs, updated.length)],
  };
  const fake = fakeFunction(ir, names, `_${names.op}_fake`, params, sizes, [py.dotted(`${names.op}.register_fake`)]);
  if (outputs.length === 0) return [functional, fake, ...check];
  const outputNames = launcher.params.slice(params.length + 1).map((param) => param.name);
  const call = py.call(
    names.wrapper,
    ...params.map(({ name }) => py.name(name)),
    ...outputNames.map((name) => py.keyword(name, py.name(name))),
  );
  const writesFloats = isFloat("out") || isFloat("inout");
  const outVariant = outVariantOperator(names, params, outputNames, updated, [py.expression(call)], writesFloats, op);
  return [functional, fake, ...check, ...outVariant];
}

/** The reason that optional outputs prevent an operator: a `torch.library` schema has a fixed number of results. */
function whyNotFixedResults(ir: KernelIR): string | undefined {
  const output = tensorsOf(ir, "out").find(({ optional }) => optional);
  return (
    output &&
    `an operator always has the same results, and ${output.name} may be left out; call the kernel in an op(…), which asks for it or does not`
  );
}

/** A kernel's fake implementation for torch.compile: empty tensors. */
export function fakeFunction(
  ir: KernelIR,
  names: KernelNames,
  name: string,
  params: readonly Parameter[],
  sizes: readonly Binding[],
  decorators: readonly Expression[] = [],
): FunctionDef {
  const outputs = tensorsOf(ir, "out");
  return {
    kind: "function",
    name,
    decorators,
    params: withoutAnnotations(params),
    docstring: `What torch.compile sees of ${names.wrapper}: shapes and dtypes.`,
    body: fakeBody(ir, names, outputs, sizes),
  };
}

/** An operator returns only new tensors, not the tensors that it updates. */
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
  const results = tensorsOf(ir, "out", "inout");
  const local = (param: TensorParam) => py.name(param.role === "out" ? names.tensors.get(param.name)! : "_");
  const newTensors = outputs.map(local);
  return [py.assign(py.tuple(...results.map(local)), call), py.returns(py.tupleOrSingle(newTensors))];
}

/** Allocates the outputs without computing them. */
function fakeBody(ir: KernelIR, names: KernelNames, outputs: readonly TensorParam[], sizes: readonly Binding[]): Block {
  // The docstring is the body.
  if (outputs.length === 0) return [];
  const local = (value: Value): Expression => py.name(names.parameters.get(value)!);
  const bindings = new Map<Value, Block>();
  const argumentSizes = new Set(givenSizes(ir).map(({ value }) => value));
  const bindSize = (value: Value): void => {
    if (bindings.has(value) || argumentSizes.has(value)) return;
    const param = ir.params.find((other) => other.value === value);
    const derived = param?.kind === "size" ? (param satisfies SizeParam).derived : undefined;
    if (derived) hostInputs(derived).forEach(bindSize);
    const name = names.parameters.get(value)!;
    const formula = derived ? hostExpressions(derived, local)[0] : sizes.find((size) => size.name === name)?.value;
    bindings.set(value, formula ? [py.assign(local(value), formula)] : []);
  };
  for (const { dims } of outputs) for (const dim of dims) if (isValue(dim)) bindSize(dim);
  const first = ir.params.find((param) => param.kind === "tensor" && param.role !== "out" && !param.optional)!;
  const device = py.attribute(py.name(names.tensors.get(first.name)!), "device");
  const emptyTensors = outputs.map((param) => {
    const shape = py.tuple(
      ...param.dims.map((dim) => (isValue(dim) ? local(dim) : py.numberLiteral(literalNumber(dim)!, "int"))),
    );
    return py.call("torch.empty", shape, ...py.keywords({ device, dtype: dtypeOf(ir, names, param) }));
  });
  return [...[...bindings.values()].flat(), py.returns(py.tupleOrSingle(emptyTensors))];
}

function dtypeOf(ir: KernelIR, names: KernelNames, { dtype }: TensorParam): Expression {
  if (typeof dtype === "string") return torchDType(dtype);
  const tensors = paramsOf(ir, "tensor");
  const binder = dtypeBinder({ ir, tensors }, dtype.name);
  if (binder.kind === "constexpr") return py.name(names.parameters.get(binder.value)!);
  return py.attribute(py.name(names.tensors.get(binder.name)!), "dtype");
}
