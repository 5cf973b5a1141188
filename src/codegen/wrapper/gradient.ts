/** The wrapper's handling of calls that autograd records. */
import { writtenPointers } from "../../analysis/memory-effects.js";
import { isMemoryParam } from "../../ir/nodes.js";
import { isFloatElem } from "../../types/dtype.js";
import { callOrder } from "../names/call-order.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { RECORDS_GRADIENT, REFUSE_GRADIENT, WITHOUT_GRADIENT } from "./gradient-helpers.js";
import { deviceHolder, IS_TRACED, argumentDisplayName } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** Makes float results require grad. Rejects the call if the kernel writes floats through pointers. */
export function gradientChecks(context: WrapperContext): Block {
  const { ir, names, tensors } = context;
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  const inputs = [...tensors.filter((param) => param.role !== "out"), ...pointers];
  const outputs = tensors.filter((param) => param.role === "out");
  const updatedParams = tensors.filter((param) => param.role === "inout");
  const wrapper = py.string(names.wrapper);
  const floatPointers = writtenPointers(ir).filter((param) => isFloatElem(param.dtype));
  const callerTensors = [
    ...outputs.map((param) => py.name(argumentDisplayName(context, param))),
    ...floatPointers.map((param) => context.tensor(param)),
  ];
  const floatInputs = inputs.filter((param) => isFloatElem(param.dtype)).map((param) => context.tensor(param));
  const results = [...outputs, ...updatedParams].filter((param) => isFloatElem(param.dtype));
  if (results.length === 0) {
    // A kernel without results may write through addresses that it loads.
    const mayWrite = outputs.length + updatedParams.length === 0 || floatPointers.length > 0;
    return floatInputs.length === 0 || !mayWrite
      ? []
      : [py.expression(py.call(REFUSE_GRADIENT, wrapper, ...floatInputs))];
  }
  const recordsGradient = py.call(
    RECORDS_GRADIENT,
    wrapper,
    ...floatInputs,
    ...results.filter((param) => param.role === "out").map((param) => py.name(argumentDisplayName(context, param))),
  );
  const holder = deviceHolder(context);
  const test = context.isTraceable
    ? py.boolOp("and", py.unary("not", py.call(IS_TRACED, context.tensor(holder!))), recordsGradient)
    : recordsGradient;
  const locals = callOrder(ir).map((param): Expression =>
    isMemoryParam(param) ? context.tensor(param) : py.name(names.parameters.get(param.value)!),
  );
  const list = (items: readonly Expression[]) => (items.length > 0 ? py.tuple(...items) : undefined);
  const call = py.call(
    WITHOUT_GRADIENT,
    py.name(names.wrapper),
    py.tuple(...locals),
    ...py.keywords({
      updated: list(updatedParams.map((param) => context.tensor(param))),
      given: list(callerTensors),
      device: holder ? undefined : py.name("device"),
    }),
    // An optional output is passed on as a flag. Tensors were rejected above.
    ...outputs
      .filter(({ optional }) => optional)
      .map((param) => py.keyword(argumentDisplayName(context, param), py.name(argumentDisplayName(context, param)))),
  );
  return [{ kind: "if", branches: [{ test, body: [py.returns(call)] }] }];
}
