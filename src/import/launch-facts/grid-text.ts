/** The grid of a kernel file: from a script's launches, or from the launches in the kernel's own Python file. */
import { callbackText, type HostNames, todoComment } from "../host-text.js";
import { callsIn } from "../lift/expression-parts.js";
import { boundArgument, type HostTree, type KernelTree } from "../tree.js";
import type { InferredLaunchFacts } from "./recorded-values.js";

export interface GridText {
  readonly lines: readonly string[];
  /** Arguments of the wrapper for the axes of which nothing is known. */
  readonly params: readonly string[];
}

const listText = (texts: readonly string[]): string => `[${texts.join(", ")}]`;

export function gridText(tree: KernelTree, names: HostNames, inferred: InferredLaunchFacts | undefined): GridText {
  const { launch } = tree;
  if (!launch) return gridOfFile(tree, names);
  const text = launch.grid && callbackText(launch.grid, names, listText);
  if (text !== undefined) return { lines: [`grid: ${text},`], params: [] };
  const inferredText = inferred?.grid && callbackText(inferred.grid, names, listText);
  if (inferredText !== undefined)
    return { lines: ["// As many programs as each noted launch has.", `grid: ${inferredText},`], params: [] };
  const grids = launch.grids.map((each) => listText(each.map(String)));
  return {
    lines: [
      unknownGrid(grids.length > 0 ? `, such as ${grids.join(", ")}` : "", "script", launch.gridText),
      `grid: () => ${grids[0] ?? "[1]"},`,
    ],
    params: [],
  };
}

const unknownGrid = (examples: string, source: string, text: string | undefined): string =>
  todoComment(
    `how many programs the kernel has${examples}${text === undefined ? "" : `; the ${source} has ${text.replaceAll(/\s+/g, " ")}`}`,
  );

/** The wrapper's caller passes the sizes that no expression over the parameters computes. */
function gridOfFile(tree: KernelTree, names: HostNames): GridText {
  const { fileGrid } = tree;
  const readAxes = programAxes(tree);
  const count = Math.max(fileGrid?.sizes.length ?? 0, ...readAxes.map((axis) => axis + 1), 1);
  const params: string[] = [];
  const axes = Array.from({ length: count }, (_, axis): HostTree => {
    const size = fileGrid?.sizes[axis];
    if (size && callbackText([size], names, listText) !== undefined) return size;
    // All programs on an axis that the kernel does not read do the same.
    if (!readAxes.includes(axis) && size === undefined) return { value: 1 };
    const name = freshName(count === 1 ? "programs" : `programs${axis}`, tree);
    params.push(name);
    return { param: name };
  });
  const text = callbackText(axes, (python) => (params.includes(python) ? { name: python } : names(python)), listText);
  return {
    lines: [...(params.length > 0 ? [unknownGrid("", "file", fileGrid?.text)] : []), `grid: ${text},`],
    params,
  };
}

function freshName(name: string, tree: KernelTree): string {
  return tree.functions[0].params.some((param) => param.name === name) ? freshName(`${name}_`, tree) : name;
}

/** The axes whose program id or size the kernel reads. */
function programAxes({ functions }: KernelTree): readonly number[] {
  return callsIn(functions).flatMap((call) => {
    const isRead = call.callee?.what === "function" && /^tl\.(program_id|num_programs)$/.test(call.callee.name);
    const axis = isRead ? (boundArgument(call, "axis") ?? call.args[0]) : undefined;
    return axis?.kind === "Constant" ? [Number(axis.value)] : [];
  });
}
