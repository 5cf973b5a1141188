/** The kernels of an operator, as the build traces them. */
import { OperatorDefinition, traceOperator } from "../../src/dsl/operator.js";
import { trace } from "../../src/dsl/trace.js";
import type { KernelIR } from "../../src/ir/nodes.js";

export function kernelOf(operator: unknown, name: string): KernelIR {
  if (!(operator instanceof OperatorDefinition)) throw new Error("it is no operator");
  const { kernels } = traceOperator(operator, (each) => trace(each), undefined);
  const kernel = kernels.find((each) => each.name === name);
  if (!kernel) throw new Error(`the operator has no kernel ${name}`);
  return kernel;
}
