/** The components of an index: program ids and ranges of lanes. */
import { childrenOf } from "../liveness.js";
import { boundArgument, type Call, type Expression } from "../tree.js";
import type { Env } from "./python-access.js";

export interface IndexParts {
  /** The grid axes of the program ids in the index. */
  readonly programAxes: readonly number[];
  /** The lengths of its `tl.arange` calls: parameters or numbers. */
  readonly blockLengths: readonly string[];
}

/** Collects the components of an index. Names are replaced by their definitions. */
export function indexParts(node: Expression, env: Env): IndexParts {
  const programs = new Set<number>();
  const blocks = new Set<string>();
  const visit = (each: object, currentEnv: Env): void => {
    if (!("kind" in each)) return childrenOf(each).forEach((child) => visit(child, currentEnv));
    const expression = each as Expression;
    if (expression.kind === "Name") {
      const binding = currentEnv.get(expression.id);
      if (binding?.value && binding.env) visit(binding.value, binding.env);
    } else if (expression.kind === "Call" && isCallOf(expression, "tl.program_id")) {
      const axis = boundArgument(expression, "axis");
      if (axis?.kind === "Constant" && typeof axis.value === "number") programs.add(axis.value);
    } else if (expression.kind === "Call" && isCallOf(expression, "tl.arange")) {
      const end = boundArgument(expression, "end");
      if (end?.kind === "Name") blocks.add(end.id);
      if (end?.kind === "Constant") blocks.add(String(end.value));
    } else childrenOf(each).forEach((child) => visit(child, currentEnv));
  };
  visit(node, env);
  return { programAxes: [...programs], blockLengths: [...blocks] };
}

const isCallOf = ({ callee }: Call, name: string): boolean => callee?.what === "function" && callee.name === name;
