/**
 * The definitions of an operator composed of kernels: PyTorch operators for the forward function and its gradient, and
 * the public function.
 */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import {
  type OperatorContext,
  checkNamespace,
  whyNotAnOperator,
  whyNotTraceable,
  type OpOptions,
  tangentCheck,
  recordingCheck,
  registration,
} from "./context.js";
import { gradientDefinitions } from "./gradient.js";
import * as py from "../syntax/py-build.js";
import type { Block, FunctionDef, Parameter } from "../syntax/py.js";
import { argumentLines, returnType, describeTensor } from "../wrapper/docstring.js";
import { isFloatElem } from "../../types/dtype.js";
import { type KernelIR, paramsOf, type TensorParam, tensorsOf, type OperatorIR } from "../../ir/nodes.js";
import type { KernelNames } from "../names/kernel-names.js";
import { emitFake } from "../wrapper/wrapper.js";

/** @throws TileScriptError if PyTorch cannot register the operator in this form. */
export function checkOperator({ signature: face, kernels }: OperatorIR, op: OpOptions): void {
  checkNamespace(face, op);
  for (const kernel of kernels) {
    const why = whyNotAnOperator(kernel);
    if (why) fail(operatorParams.kernel(face.name, kernel.name, why), kernel.at);
    const untraceable = op.form === "triton_op" && whyNotTraceable(kernel);
    if (untraceable) fail(tritonOp.kernel(face.name, kernel.name, untraceable), kernel.at);
  }
}

export function operatorDefinitions(context: OperatorContext): Block {
  const { operator, names } = context;
  return [
    ...context.register(names.op, names.wrapper, forwardFunction(context), context.results.length),
    ...(operator.backward ? gradientDefinitions(context, operator.backward) : []),
    publicFunction(context),
  ];
}

function forwardFunction(context: OperatorContext) {
  const emit = (isFake: boolean) => {
    const composition = context.emitComposition(context.operator.forward, { device: context.device(), isFake });
    return {
      ...composition,
      statements: [...context.bindings(composition.usedNames, context.sizes), ...composition.statements],
    };
  };
  return { params: context.params, real: emit(false), fake: emit(true) };
}

/** The public function. It returns only the outputs. */
function publicFunction(context: OperatorContext): FunctionDef {
  const { operator, names, params, inputs, outputs } = context;
  const { signature: face } = operator;
  const floats = inputs.filter(({ dtype }) => isFloatElem(dtype)).map(({ name }) => context.parameter(name));
  return {
    kind: "function",
    name: names.wrapper,
    decorators: [],
    origin: face.at,
    params,
    returns: returnType(outputs.length),
    docstring: [
      face.doc ?? `The operator ${names.wrapper}.`,
      "",
      "Args:",
      ...argumentLines(face, names),
      "",
      "Returns:",
      ...outputs.map((param) => `    ${param.name}: ${describeTensor(param)}.`),
    ].join("\n"),
    body: [...tangentCheck(names.wrapper, floats), ...operatorCall(context)],
  };
}

function operatorCall({ names, params, outputs, results }: OperatorContext): Block {
  const call = py.call(names.op, ...params.map(({ name }) => py.name(name)));
  if (results.length === outputs.length) return [py.returns(call)];
  const outputNames = outputs.map((param) => py.name(names.tensors.get(param.name)!));
  const targets = results.map((_, i) => outputNames[i] ?? py.name("_"));
  return [py.assign(py.tuple(...targets), call), py.returns(py.tupleOrSingle(outputNames))];
}

// A wrapper as a PyTorch operator: `torch.library.custom_op` with a fake implementation, so that `torch.compile` keeps
// the call in its graph.

/** @throws TileScriptError if the wrapper of a kernel cannot be an operator. */
export function checkWrapperOperator(ir: KernelIR, op: OpOptions): void {
  checkNamespace(ir, op);
  const reason = whyNotAnOperator(ir) ?? whyNotFixedResults(ir);
  if (reason) fail(operatorParams.standalone(ir.name, reason), ir.at);
  const untraceable = op.form === "triton_op" && whyNotTraceable(ir);
  if (untraceable) fail(tritonOp.standalone(ir.name, untraceable), ir.at);
}

/** The operator of a wrapper, `launcher`. */
export function opDefinitions(ir: KernelIR, names: KernelNames, launcher: FunctionDef, op: OpOptions): Block {
  const { namespace, form = "custom_op" } = op;
  const star = launcher.params.findIndex((param) => param.name === "*");
  const params = star < 0 ? launcher.params : launcher.params.slice(0, star);
  const updated = tensorsOf(ir, "inout");
  const updatedNames = updated.map((param) => names.tensors.get(param.name)!);
  const outputs = tensorsOf(ir, "out");
  const functional: FunctionDef = {
    kind: "function",
    name: names.op,
    decorators: [registration(form, `${namespace}::${names.wrapper}`, updatedNames)],
    params,
    returns: returnType(outputs.length),
    docstring: `${names.wrapper} as torch.ops.${namespace}.${names.wrapper}.`,
    body: callBody(ir, names, params, outputs, updated.length),
  };
  const check = updated.some(({ dtype }) => isFloatElem(dtype)) ? [recordingCheck(names.op)] : [];
  return [functional, emitFake(ir, names, py.dotted(`${names.op}.register_fake`)), ...check];
}

/** The reason that optional outputs prevent an operator: a `torch.library` schema has a fixed number of results. */
function whyNotFixedResults(ir: KernelIR): string | undefined {
  const output = tensorsOf(ir, "out").find(({ optional }) => optional);
  return (
    output &&
    `an operator always has the same results, and ${output.name} may be left out; call the kernel in an op(…), which asks for it or does not`
  );
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
  const results = paramsOf(ir, "tensor").filter(({ role }) => role !== "in");
  const local = (param: TensorParam) => py.name(param.role === "out" ? names.tensors.get(param.name)! : "_");
  const newTensors = outputs.map(local);
  return [py.assign(py.tuple(...results.map(local)), call), py.returns(py.tupleOrSingle(newTensors))];
}
