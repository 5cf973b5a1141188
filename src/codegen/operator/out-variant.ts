/** The variant of an operator that writes the caller's tensors: `ns::layer_norm_out`. */
import type { TensorParam } from "../../ir/nodes.js";
import { isFloatElem } from "../../types/dtype.js";
import { givenSizes } from "../names/call-order.js";
import { outputName } from "../names/kernel-names.js";
import type { OperatorContext } from "./context.js";
import { writingOperator } from "./registration.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { withoutUnusedSizes } from "../syntax/unused-sizes.js";
import { contiguousCheck, DEVICE, derivedChecks, shapeChecks } from "../wrapper/checks.js";
import { checkedOutput } from "../wrapper/outputs.js";
import { sizeChecks } from "../wrapper/requirements.js";
import { WrapperScope } from "../wrapper/scope.js";

/** Checked as a whole before the first kernel writes: an output may share memory with what only a later one reads. */
export function outDefinitions(context: OperatorContext): Block {
  const { operator, names, params, inputs, outputs } = context;
  const { face, forward } = operator;
  const given = new Map(outputs.map((param) => [param.name, outputName(face, names, param)]));
  const results = Object.fromEntries(outputs.map(({ name }) => [name, forward.results[name]!]));
  const { statements } = context.write({ steps: forward.steps, results }, { device: DEVICE, fake: false, into: given });
  const scope = new OutScope(face, names, false);
  for (const { name } of givenSizes(face)) scope.bound.add(name);
  const required = inputs.filter((param) => !param.optional);
  const body = [
    ...required.flatMap((param) => shapeChecks(scope, param)),
    ...scope.derivedSizes(),
    ...sizeChecks(scope),
    ...required.flatMap((param) => derivedChecks(scope, param)),
    py.assign(DEVICE, context.device()),
    ...outputs.flatMap((param) => [py.expression(checkedOutput(scope, param)), ...contiguousCheck(scope, param)]),
    ...statements,
  ];
  const isFloat = outputs.some(({ dtype }) => isFloatElem(dtype));
  return writingOperator(names, params, [...given.values()], [], withoutUnusedSizes(body), isFloat, context.op);
}

/** The context in which outputs are arguments. */
class OutScope extends WrapperScope {
  override tensor(param: TensorParam): Expression {
    return param.role === "out" ? py.name(outputName(this.ir, this.names, param)) : super.tensor(param);
  }
}
