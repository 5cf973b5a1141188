/** The kernels and operators of the examples, traced, with what a launch checks. */
import { preconditions } from "../../src/analysis/preconditions.js";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { traceOperator, type OperatorDefinition } from "../../src/dsl/operator.js";
import type { KernelIR, OperatorIR } from "../../src/ir/nodes.js";
import { lower, traceAndCheck } from "../../src/pipeline/trace-and-check.js";

const irOf = (definition: KernelDefinition): KernelIR => traceAndCheck(definition, undefined).ir;

/** A kernel, or an operator with its signature as a kernel. */
export interface Traced {
  readonly ir: KernelIR;
  readonly operator: OperatorIR | undefined;
}

export function traced(kernel: KernelDefinition | OperatorDefinition): Traced {
  if (kernel instanceof KernelDefinition) return { ir: irOf(kernel), operator: undefined };
  const operator = traceOperator(kernel, irOf);
  return { ir: operator.signature, operator };
}

const lowered = new WeakMap<KernelIR, KernelIR>();

export function loweredOf(ir: KernelIR): KernelIR {
  let result = lowered.get(ir);
  if (!result) lowered.set(ir, (result = lower(ir)));
  return result;
}

export const checkedOf = (ir: KernelIR) => preconditions(loweredOf(ir));
