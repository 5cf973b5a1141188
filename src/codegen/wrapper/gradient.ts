/** The wrapper's statements for a call of which PyTorch would record a gradient. */
import { writtenPointers } from "../../analysis/memory-effects.js";
import { isMemoryParam } from "../../ir/nodes.js";
import { isFloatElem } from "../../types/dtype.js";
import { callOrder } from "../names/call-order.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { RECORDS_GRADIENT, REFUSE_GRADIENT, WITHOUT_GRADIENT } from "./gradient-helpers.js";
import { deviceHolder, IS_TRACED, argumentDisplayName } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** Results that are floats require grad then; what is written through pointers is refused. */
export function gradientChecks(context: WrapperContext): Block {
  const { ir, names, tensors } = context;
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  const inputs = [...tensors.filter((param) => param.role !== "out"), ...pointers];
  const outputs = tensors.filter((param) => param.role === "out");
  const updated = tensors.filter((param) => param.role === "inout");
  const wrapper = py.string(names.wrapper);
  const through = writtenPointers(ir).filter((param) => isFloatElem(param.dtype));
  const given = [
    ...outputs.map((param) => py.name(argumentDisplayName(context, param))),
    ...through.map((param) => context.tensor(param)),
  ];
  const floats = inputs.filter((param) => isFloatElem(param.dtype)).map((param) => context.tensor(param));
  const results = [...outputs, ...updated].filter((param) => isFloatElem(param.dtype));
  if (results.length === 0) {
    // Addresses that are loaded may be written, too, where nothing is returned.
    const mayWrite = outputs.length + updated.length === 0 || through.length > 0;
    return floats.length === 0 || !mayWrite ? [] : [py.expression(py.call(REFUSE_GRADIENT, wrapper, ...floats))];
  }
  const records = py.call(
    RECORDS_GRADIENT,
    wrapper,
    ...floats,
    ...results.filter((param) => param.role === "out").map((param) => py.name(argumentDisplayName(context, param))),
  );
  const holder = deviceHolder(context);
  const test = context.traceable
    ? py.boolOp("and", py.unary("not", py.call(IS_TRACED, context.tensor(holder!))), records)
    : records;
  const locals = callOrder(ir).map((param): Expression =>
    isMemoryParam(param) ? context.tensor(param) : py.name(names.parameters.get(param.value)!),
  );
  const list = (items: readonly Expression[]) => (items.length > 0 ? py.tuple(...items) : undefined);
  const call = py.call(
    WITHOUT_GRADIENT,
    py.name(names.wrapper),
    py.tuple(...locals),
    ...py.keywords({
      updated: list(updated.map((param) => context.tensor(param))),
      given: list(given),
      device: holder ? undefined : py.name("device"),
    }),
    // Asked for, since a tensor is refused.
    ...outputs
      .filter(({ optional }) => optional)
      .map((param) => py.keyword(argumentDisplayName(context, param), py.name(argumentDisplayName(context, param)))),
  );
  return [{ kind: "if", branches: [{ test, body: [py.returns(call)] }] }];
}
