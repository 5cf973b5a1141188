/**
 * The definitions of an operator composed of kernels: PyTorch operators for the forward function, its out variant and
 * its gradient, and the public function.
 */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import type { OperatorIR } from "../../ir/operator-ir.js";
import { outputName } from "../names/kernel-names.js";
import {
  checkNamespace,
  whyNotAnOperator,
  whyNotTraceable,
  type OpOptions,
  outVariantOperator,
} from "./registration.js";
import { fakeName, type OperatorContext } from "./context.js";
import { gradientDefinitions } from "./gradient.js";
import { REFUSE_GRADIENT } from "../wrapper/gradient-helpers.js";
import * as py from "../syntax/py-build.js";
import type { Block, FunctionDef, Statement, Expression } from "../syntax/py.js";
import { WrapperScope } from "../wrapper/scope.js";
import { argumentLines, outputLines, outputParameters, returnType, describeTensor } from "../wrapper/docstring.js";
import type { TensorParam } from "../../ir/nodes.js";
import { isFloatElem } from "../../types/dtype.js";
import { givenSizes } from "../names/call-order.js";
import { withoutUnusedSizes } from "../syntax/unused-sizes.js";
import { contiguousCheck, DEVICE, derivedChecks, shapeChecks } from "../wrapper/checks.js";
import { outputCheck } from "../wrapper/outputs.js";
import { sizeChecks } from "../wrapper/requirements.js";

/** All checks run before the first kernel writes, because an output may overlap an input of a later kernel. */
function outVariantDefinitions(context: OperatorContext): Block {
  const { operator, names, params, inputs, outputs } = context;
  const { signature: face, forward } = operator;
  const targets = new Map(outputs.map((param) => [param.name, outputName(face, names, param)]));
  const results = Object.fromEntries(outputs.map(({ name }) => [name, forward.results[name]!]));
  const { statements } = context.emitComposition(
    { steps: forward.steps, results },
    { device: DEVICE, isFake: false, targets },
  );
  const scope = new OutScope(face, names, false);
  for (const { name } of givenSizes(face)) scope.bound.add(name);
  const requiredInputs = inputs.filter((param) => !param.optional);
  const body = [
    ...requiredInputs.flatMap((param) => shapeChecks(scope, param)),
    ...scope.derivedSizes(),
    ...sizeChecks(scope),
    ...requiredInputs.flatMap((param) => derivedChecks(scope, param)),
    py.assign(DEVICE, context.device()),
    ...outputs.flatMap((param) => [py.expression(outputCheck(scope, param)), ...contiguousCheck(scope, param)]),
    ...statements,
  ];
  const isFloat = outputs.some(({ dtype }) => isFloatElem(dtype));
  return outVariantOperator(names, params, [...targets.values()], [], withoutUnusedSizes(body), isFloat, context.op);
}

/** A wrapper scope in which outputs are arguments. */
class OutScope extends WrapperScope {
  override tensor(param: TensorParam): Expression {
    return param.role === "out" ? py.name(outputName(this.ir, this.names, param)) : super.tensor(param);
  }
}

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
    ...outVariantDefinitions(context),
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
  const tensors = context.inputs.map(({ name }) => context.parameter(name));
  return { params: context.params, tensors, real: emit(false), fake: emit(true) };
}

/** The public function. It returns only the outputs: new tensors, or the caller's. */
function publicFunction(context: OperatorContext): FunctionDef {
  const { operator, names, params, outputs } = context;
  const { signature: face } = operator;
  const scope = new WrapperScope(face, names, false);
  const resultLines = outputs.map((param) => `    ${param.name}: ${describeTensor(param)}.`);
  const targets = outputs.map((param) => py.name(outputName(face, names, param)));
  const isNone = targets.map((name) => py.compare(name, ["is", py.none]));
  return {
    kind: "function",
    name: names.wrapper,
    decorators: [],
    origin: face.at,
    params: [...params, ...outputParameters(scope)],
    returns: returnType(outputs.length),
    docstring: [
      face.doc ?? `The operator ${names.wrapper}.`,
      "",
      "Args:",
      ...argumentLines(face, names),
      ...outputLines(scope),
      "",
      "Returns:",
      ...resultLines,
      "",
      "Raises:",
      "    ValueError: a shape, stride, device or size that a kernel cannot take.",
      "    TypeError: a dtype that a kernel cannot take.",
      "    RuntimeError: an output is given where there would be a gradient.",
    ].join("\n"),
    body: [
      { kind: "if", branches: [{ test: py.boolOp("and", ...isNone), body: functionalCall(context) }] },
      ...outVariantCall(context),
      py.returns(py.tupleOrSingle(targets)),
    ],
  };
}

function functionalCall({ names, params, outputs, results }: OperatorContext): Block {
  const call = py.call(names.op, ...params.map(({ name }) => py.name(name)));
  if (results.length === outputs.length) return [py.returns(call)];
  const outputNames = outputs.map((param) => py.name(names.tensors.get(param.name)!));
  const targets = results.map((_, i) => outputNames[i] ?? py.name("_"));
  return [py.assign(py.tuple(...targets), call), py.returns(py.tupleOrSingle(outputNames))];
}

function outVariantCall({ operator, names, params, inputs, outputs }: OperatorContext): readonly Statement[] {
  const { signature: face } = operator;
  const isRequired = (param: (typeof params)[number]): boolean => param.default === undefined;
  const toNames = (subset: typeof params) => subset.map(({ name }) => py.name(name));
  const targets = outputs.map((param) => py.name(outputName(face, names, param)));
  const tensors = inputs.map((param) => py.name(names.tensors.get(param.name)!));
  const empty = py.call(fakeName(names.op), ...toNames(params));
  // A single output cannot be missing here: its absence selects the functional call.
  const allocations = targets.map((name, i) => {
    const value = py.subscript(empty, py.number(String(i)));
    return py.assign(name, py.conditional(value, py.compare(name, ["is", py.none]), name));
  });
  const optionalParams = params.filter((param) => !isRequired(param));
  return [
    py.expression(py.call(REFUSE_GRADIENT, py.string(names.wrapper), ...tensors, ...targets)),
    ...(targets.length > 1 ? allocations : []),
    py.expression(py.call(names.opOut, ...toNames(params.filter(isRequired)), ...targets, ...toNames(optionalParams))),
  ];
}
