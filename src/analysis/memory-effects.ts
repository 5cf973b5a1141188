/** What a kernel does to the memory of each argument. */
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

type Memory = TensorParam | PointerParam;
export type Effects = ReadonlySet<Op["effect"]>;

export const isWritten = (effects: Effects | undefined): boolean =>
  effects !== undefined && (effects.has("write") || effects.has("atomic"));

/** The raw pointers to whose memory the kernel writes. */
export function writtenPointers(ir: KernelIR): readonly PointerParam[] {
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  if (pointers.length === 0) return [];
  const touched = accesses(ir);
  return pointers.filter((param) => isWritten(touched.get(param)));
}

/** How each tensor and each raw pointer is accessed, in helper functions too. */
export function accesses(ir: KernelIR): ReadonlyMap<Memory, Effects> {
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
