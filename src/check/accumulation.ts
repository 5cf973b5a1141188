/** Autotuning runs the kernel several times, so tensors that it both reads and writes must be restored in between. */
import { type Diagnostic, problem, type Said } from "../diagnostics/diagnostic.js";
import { autotuneReset } from "../diagnostics/catalogue/config-codes.js";
import {
  type Block,
  isFunction,
  isMemoryParam,
  isValue,
  type KernelIR,
  type PointerParam,
  type Statement,
  type TensorParam,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import type { Op } from "../ir/op.js";
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
    if (param.kind === "pointer") {
      const effects = touched.get(param);
      const how = effects?.has("write") || effects?.has("atomic") ? carriedOver(effects) : undefined;
      const isTuned = ir.tuning.configs.length > 1 && !reset.has(param.name);
      if (how !== undefined && isTuned) refuse(autotuneReset.pointer(ir.name, param.name, how));
    }
    if (param.kind !== "tensor") continue;
    const how = carriedOver(touched.get(param));
    const changes = param.role === "inout" || reset.has(param.name) || (param.role === "out" && how !== undefined);
    if (param.optional && changes) refuse(autotuneReset.optional(ir.name, param.name));
    if (param.optional || reset.has(param.name)) continue;
    if (param.role !== "in" && param.block && (param.role === "inout" || how !== undefined))
      refuse(autotuneReset.descriptor(ir.name, param.name, param.role));
    else if (param.role === "inout") refuse(autotuneReset.inPlace(ir.name, param.name));
    if (param.role === "out" && how !== undefined) refuse(autotuneReset.accumulates(ir.name, param.name, how));
  }
  return found;
}

type Memory = TensorParam | PointerParam;
type Effects = ReadonlySet<Op["effect"]>;

/** How what a trial leaves reaches the next one, where a kernel writes the memory at all. */
function carriedOver(effects: Effects | undefined): string | undefined {
  return effects?.has("atomic") ? "changed by an atomic" : effects?.has("read") ? "read" : undefined;
}

/** How each tensor and each raw pointer is accessed, in helper functions too. */
function accesses(ir: KernelIR): ReadonlyMap<Memory, Effects> {
  const roots = new Map<Value | Variable, Memory>();
  for (const param of ir.params) {
    if (!isMemoryParam(param)) continue;
    roots.set(param.value, param);
    if (param.kind === "tensor") roots.set(param.pointer, param);
  }
  const found = new Map<Memory, Set<Op["effect"]>>();
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
    found.set(root, new Set([...(found.get(root) ?? []), effect]));
  }
}
