/** Whether a number of lanes may change, since a program asks only where each of them lies. */
import { isValue, type KernelIR, type Value } from "../../../ir/nodes.js";
import { definitions, walkUses } from "../../../ir/walk.js";
import { blockIndexOf, extentDim } from "./block-index.js";

/**
 * Whether `starts`, the first places of blocks, are used for the places of their lanes alone, and lanes of the dimension
 * likewise: in `start + tl.arange(0, BLOCK)`.
 */
export function isOffsetOnly({ body }: KernelIR, dim: string, starts: ReadonlySet<Value>): boolean {
  const made = definitions(body);
  const indexOf = (value: Value) => blockIndexOf(value, made);
  const areLanes = (value: Value): boolean => {
    const index = indexOf(value);
    return index !== undefined && index.starts.length === 0 && extentDim(index.extent) === dim;
  };
  let isSo = true;
  walkUses(body, (value, by) => {
    if (!starts.has(value) && !areLanes(value)) return;
    const index = by?.kind === "op" ? by.results.map(indexOf)[0] : undefined;
    const isPlace = index?.starts.some((start) => isValue(start) && starts.has(start));
    if (!isPlace || extentDim(index!.extent) !== dim) isSo = false;
  });
  return isSo;
}
