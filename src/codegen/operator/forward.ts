/**
 * An operator made of kernels, as the module has it: operators of PyTorch for it, for writing tensors of the caller,
 * and for its gradient; and the function that PyTorch code calls.
 */
import { fail } from "../../diagnostics/diagnostic.js";
import { operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import type { OperatorIR } from "../../ir/operator-ir.js";
import { outputName } from "../names/kernel-names.js";
import { checkNamespace, notAnOperator, notTraceable, type OpOptions } from "./registration.js";
import { fakeName, type OperatorContext } from "./context.js";
import { gradientDefinitions } from "./gradient.js";
import { outDefinitions } from "./out-variant.js";
import { REFUSE_GRADIENT } from "../wrapper/gradient-helpers.js";
import * as py from "../syntax/py-build.js";
import type { Block, FunctionDef, Statement } from "../syntax/py.js";
import { WrapperScope } from "../wrapper/scope.js";
import { argumentLines, outputLines, outputParameters, returnType, describeTensor } from "../wrapper/docstring.js";

/** @throws TileScriptError if PyTorch cannot register it in this form. */
export function checkOperator({ face, kernels }: OperatorIR, op: OpOptions): void {
  checkNamespace(face, op);
  for (const kernel of kernels) {
    const why = notAnOperator(kernel);
    if (why) fail(operatorParams.kernel(face.name, kernel.name, why), kernel.at);
    const untraceable = op.form === "triton_op" && notTraceable(kernel);
    if (untraceable) fail(tritonOp.kernel(face.name, kernel.name, untraceable), kernel.at);
  }
}

export function operatorDefinitions(context: OperatorContext): Block {
  const { operator, names } = context;
  return [
    ...context.registered(names.op, names.wrapper, forward(context), context.results.length),
    ...(operator.backward ? gradientDefinitions(context, operator.backward) : []),
    ...outDefinitions(context),
    callable(context),
  ];
}

function forward(context: OperatorContext) {
  const write = (fake: boolean) => {
    const written = context.write(context.operator.forward, { device: context.device(), fake });
    return { ...written, statements: [...context.bindings(written.used, context.sizes), ...written.statements] };
  };
  const tensors = context.inputs.map(({ name }) => context.parameter(name));
  return { params: context.params, tensors, real: write(false), fake: write(true) };
}

/** The function for PyTorch code. It returns only the outputs: new tensors, or the caller's. */
function callable(context: OperatorContext): FunctionDef {
  const { operator, names, params, outputs } = context;
  const { face } = operator;
  const scope = new WrapperScope(face, names, false);
  const gives = outputs.map((param) => `    ${param.name}: ${describeTensor(param)}.`);
  const written = outputs.map((param) => py.name(outputName(face, names, param)));
  const isNone = written.map((name) => py.compare(name, ["is", py.none]));
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
      ...gives,
      "",
      "Raises:",
      "    ValueError: a shape, stride, device or size that a kernel cannot take.",
      "    TypeError: a dtype that a kernel cannot take.",
      "    RuntimeError: an output is given where there would be a gradient.",
    ].join("\n"),
    body: [
      { kind: "if", branches: [{ test: py.boolOp("and", ...isNone), body: functional(context) }] },
      ...writing(context),
      py.returns(py.tupled(written)),
    ],
  };
}

function functional({ names, params, outputs, results }: OperatorContext): Block {
  const call = py.call(names.op, ...params.map(({ name }) => py.name(name)));
  if (results.length === outputs.length) return [py.returns(call)];
  const made = outputs.map((param) => py.name(names.tensors.get(param.name)!));
  const targets = results.map((_, i) => made[i] ?? py.name("_"));
  return [py.assign(py.tuple(...targets), call), py.returns(py.tupled(made))];
}

function writing({ operator, names, params, inputs, outputs }: OperatorContext): readonly Statement[] {
  const { face } = operator;
  const isRequired = (param: (typeof params)[number]): boolean => param.default === undefined;
  const given = (some: typeof params) => some.map(({ name }) => py.name(name));
  const written = outputs.map((param) => py.name(outputName(face, names, param)));
  const tensors = inputs.map((param) => py.name(names.tensors.get(param.name)!));
  const empty = py.call(fakeName(names.op), ...given(params));
  // Only one of several can be missing here.
  const allocated = written.map((name, i) => {
    const value = py.subscript(empty, py.number(String(i)));
    return py.assign(name, py.conditional(value, py.compare(name, ["is", py.none]), name));
  });
  const others = params.filter((param) => !isRequired(param));
  return [
    py.expression(py.call(REFUSE_GRADIENT, py.string(names.wrapper), ...tensors, ...written)),
    ...(written.length > 1 ? allocated : []),
    py.expression(py.call(names.opOut, ...given(params.filter(isRequired)), ...written, ...given(others))),
  ];
}
