/**
 * A wrapper as a PyTorch operator: `torch.library.custom_op` with a fake implementation, so that `torch.compile` keeps
 * the call in its graph.
 */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import { type KernelIR, paramsOf, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import type { KernelNames } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, FunctionDef, Parameter } from "../syntax/py.js";
import {
  checkNamespace,
  whyNotAnOperator,
  whyNotTraceable,
  type OpOptions,
  recordingCheck,
  registration,
} from "./registration.js";
import { returnType } from "../wrapper/docstring.js";
import { emitFake } from "../wrapper/wrapper.js";
import { isFloatElem } from "../../types/dtype.js";

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
