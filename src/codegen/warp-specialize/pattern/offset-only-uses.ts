/** Checks whether a block length may change because only the offset of each lane is used. */
import { isValue, type KernelIR, type Value } from "../../../ir/nodes.js";
import { definitions, walkUses } from "../../../ir/walk.js";
import { blockIndexOf, extentDim } from "./block-index.js";

/**
 * True if `starts`, the first indices of blocks, are used only for the index of each lane, as in `start + tl.arange(0,
 * BLOCK)`, and lanes along `dim` likewise.
 */
export function isOffsetOnly({ body }: KernelIR, dim: string, starts: ReadonlySet<Value>): boolean {
  const definitionsOf = definitions(body);
  const indexOf = (value: Value) => blockIndexOf(value, definitionsOf);
  const areLanes = (value: Value): boolean => {
    const index = indexOf(value);
    return index !== undefined && index.starts.length === 0 && extentDim(index.extent) === dim;
  };
  let isOnly = true;
  walkUses(body, (value, user) => {
    if (!starts.has(value) && !areLanes(value)) return;
    const index = user?.kind === "op" ? user.results.map(indexOf)[0] : undefined;
    const isOffset =
      index?.starts.some((start) => isValue(start) && starts.has(start)) && extentDim(index.extent) === dim;
    if (!isOffset) isOnly = false;
  });
  return isOnly;
}
