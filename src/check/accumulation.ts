/** Autotuning runs the kernel several times, so tensors that it both reads and writes must be restored in between. */
import { type Diagnostic, problem, type Said } from "../diagnostics/diagnostic.js";
import { autotuneReset } from "../diagnostics/catalogue/config-codes.js";
import {
  type Block,
  isFunction,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Statement,
  type TensorParam,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { argumentsOf, handedOver, walk } from "../ir/walk.js";

export function checkAccumulation(ir: KernelIR): readonly Diagnostic[] {
  if (!ir.tuning.key) return [];
  const reset = new Set([...ir.tuning.resetToZero, ...ir.tuning.restoreValue]);
  const found: Diagnostic[] = [];
  const refuse = (said: Said) => found.push(problem(said, ir.at));
  for (const name of reset)
    if (!ir.params.some((param) => param.name === name && isMemoryParam(param)))
      refuse(autotuneReset.unknown(ir.name, name));
  const touched = accesses(ir);
  for (const param of ir.params) {
    if (param.kind !== "tensor") continue;
    const changes = param.role === "inout" || reset.has(param.name) || (param.role === "out" && touched.has(param));
    if (param.optional && changes) refuse(autotuneReset.optional(ir.name, param.name));
    if (param.optional || reset.has(param.name)) continue;
    if (param.role !== "in" && param.block && (param.role === "inout" || touched.has(param)))
      refuse(autotuneReset.descriptor(ir.name, param.name, param.role));
    else if (param.role === "inout") refuse(autotuneReset.inPlace(ir.name, param.name));
    const how = param.role === "out" ? touched.get(param) : undefined;
    if (how !== undefined) refuse(autotuneReset.accumulates(ir.name, param.name, how));
  }
  return found;
}

/** Tensors whose elements decide what is stored: those that are loaded from, or changed by atomics. */
function accesses(ir: KernelIR): ReadonlyMap<TensorParam, "read" | "changed by an atomic"> {
  const roots = new Map<Value | Variable, TensorParam>();
  for (const param of ir.params)
    if (param.kind === "tensor") {
      roots.set(param.value, param);
      roots.set(param.pointer, param);
    }
  const found = new Map<TensorParam, "read" | "changed by an atomic">();
  const visit = (body: Block) => walk(body, note);
  visit(ir.body);
  return found;

  function note(statement: Statement): void {
    if (statement.kind === "read") {
      const held = roots.get(statement.variable);
      if (held) roots.set(statement.result, held);
      return;
    }
    // A helper function's accesses count where it is called.
    for (const [param, argument] of handedOver(statement)) {
      const given = isValue(argument) ? roots.get(argument) : undefined;
      if (given) roots.set(param, given);
      else roots.delete(param);
    }
    for (const argument of argumentsOf(statement)) if (isFunction(argument)) visit(argument.function.body);
    const root = argumentsOf(statement)
      .map((argument) => (isValue(argument) ? roots.get(argument) : undefined))
      .find((param) => param !== undefined);
    if (!root) return;
    if (statement.kind === "let") roots.set(statement.variable, root);
    if (statement.kind !== "op") return;
    const { effect } = statement.op;
    for (const result of statement.results) if ("access" in result.type) roots.set(result, root);
    if (effect === "atomic") found.set(root, "changed by an atomic");
    else if (effect === "read" && !found.has(root)) found.set(root, "read");
  }
}
