/** The effects of a kernel on the memory of each argument. */
import {
  type Block,
  isFunction,
  isMemoryParam,
  isValue,
  type KernelIR,
  type OpStatement,
  type PointerParam,
  type Statement,
  type TensorParam,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import type { Op } from "../ir/op.js";
import { isFloatElem } from "../types/dtype.js";
import { argumentsOf, callBindings, walk, walkAll } from "../ir/walk.js";

type Memory = TensorParam | PointerParam;
export type Effects = ReadonlySet<Op["effect"]>;

export const isWritten = (effects: Effects | undefined): boolean =>
  effects !== undefined && (effects.has("write") || effects.has("atomic"));

/** Atomics whose result in memory depends on their order, if they are on floats. */
const ORDERED_ATOMICS: ReadonlySet<string> = new Set(["atomicAdd", "atomicCas", "atomicXchg", "descriptorAtomicAdd"]);

/** True if the result of a kernel may differ from run to run. A float maximum or minimum has no order. */
export function hasFloatAtomics(ir: KernelIR): boolean {
  let hasThem = false;
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || !ORDERED_ATOMICS.has(statement.op.name)) return;
    const [memory] = statement.operands;
    if (isValue(memory) && "to" in memory.type && isFloatElem(memory.type.to)) hasThem = true;
  });
  return hasThem;
}

/** The raw pointers through which the kernel writes. */
export function writtenPointers(ir: KernelIR): readonly PointerParam[] {
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  if (pointers.length === 0) return [];
  const effects = accesses(ir);
  return pointers.filter((param) => isWritten(effects.get(param)));
}

/** The effects on each tensor and raw pointer, including those of helper functions. */
export const accesses = (ir: KernelIR): ReadonlyMap<Memory, Effects> => recordAccesses(ir).effects;

/** The tensors and raw pointers that each op may access. Ops with other addresses are missing. */
export const accessedMemory = (ir: KernelIR): ReadonlyMap<OpStatement, ReadonlySet<Memory>> =>
  recordAccesses(ir).memory;

function recordAccesses(ir: KernelIR) {
  const roots = new Map<Value | Variable, Memory>();
  for (const param of ir.params) {
    if (!isMemoryParam(param)) continue;
    roots.set(param.value, param);
    if (param.kind === "tensor") roots.set(param.pointer, param);
  }
  const effects = new Map<Memory, Set<Op["effect"]>>();
  const memory = new Map<OpStatement, Set<Memory>>();
  const visit = (body: Block) => walk(body, recordEffects);
  visit(ir.body);
  return { effects, memory };

  function recordEffects(statement: Statement): void {
    if (statement.kind === "read") {
      const variableRoot = roots.get(statement.variable);
      if (variableRoot) roots.set(statement.result, variableRoot);
      return;
    }
    // A helper function's accesses count at its calls.
    for (const [param, argument] of callBindings(statement)) {
      const passedRoot = isValue(argument) ? roots.get(argument) : undefined;
      if (passedRoot) roots.set(param, passedRoot);
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
    memory.set(statement, new Set([...(memory.get(statement) ?? []), root]));
    for (const result of statement.results) if ("access" in result.type) roots.set(result, root);
    effects.set(root, new Set([...(effects.get(root) ?? []), effect]));
  }
}
