/** The ops of a kernel that ask for the compilation target. */
import type { KernelIR, OpStatement } from "../ir/nodes.js";
import { walkAll } from "../ir/walk.js";

const cache = new WeakMap<KernelIR, readonly OpStatement[]>();

/** Kept, because each launch of a kernel asks for them. */
export function targetQueries(ir: KernelIR): readonly OpStatement[] {
  const cached = cache.get(ir);
  if (cached) return cached;
  const queries: OpStatement[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.op.facts.answer) queries.push(statement);
  });
  cache.set(ir, queries);
  return queries;
}
