/** What an index of an access is made of: numbers of programs, and lanes. */
import { childrenOf } from "../liveness.js";
import type { Call, Expression } from "../tree.js";
import type { Env } from "./python-access.js";

export interface IndexParts {
  /** The axes of the grid of which the program's number is in it. */
  readonly programs: readonly number[];
  /** The lengths of its spans of lanes: parameters or numbers. */
  readonly blocks: readonly string[];
}

/** Names are followed to what they were assigned. */
export function indexParts(node: Expression, env: Env): IndexParts {
  const programs = new Set<number>();
  const blocks = new Set<string>();
  const visit = (each: object, where: Env): void => {
    if (!("kind" in each)) return childrenOf(each).forEach((child) => visit(child, where));
    const expression = each as Expression;
    if (expression.kind === "Name") {
      const binding = where.get(expression.id);
      if (binding?.value && binding.env) visit(binding.value, binding.env);
    } else if (expression.kind === "Call" && isOf(expression, "tl.program_id")) {
      const axis = argument(expression, "axis");
      if (axis?.kind === "Constant" && typeof axis.value === "number") programs.add(axis.value);
    } else if (expression.kind === "Call" && isOf(expression, "tl.arange")) {
      const end = argument(expression, "end");
      if (end?.kind === "Name") blocks.add(end.id);
      if (end?.kind === "Constant") blocks.add(String(end.value));
    } else childrenOf(each).forEach((child) => visit(child, where));
  };
  visit(node, env);
  return { programs: [...programs], blocks: [...blocks] };
}

const isOf = ({ callee }: Call, name: string): boolean => callee?.what === "function" && callee.name === name;

function argument({ bound }: Call, name: string): Expression | undefined {
  const given = bound?.[name];
  return given && "kind" in given ? given : undefined;
}
