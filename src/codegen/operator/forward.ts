/**
 * The definitions of an operator composed of kernels: PyTorch operators for the forward function and its gradient, and
 * the public function.
 */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import type { OperatorIR } from "../../ir/operator-ir.js";
import { checkNamespace, whyNotAnOperator, whyNotTraceable, type OpOptions, tangentCheck } from "./registration.js";
import type { OperatorContext } from "./context.js";
import { gradientDefinitions } from "./gradient.js";
import * as py from "../syntax/py-build.js";
import type { Block, FunctionDef } from "../syntax/py.js";
import { argumentLines, returnType, describeTensor } from "../wrapper/docstring.js";
import { isFloatElem } from "../../types/dtype.js";

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
