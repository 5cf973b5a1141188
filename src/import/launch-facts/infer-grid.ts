/**
 * Infers the grid from recorded launches. Each grid axis is a product of the sizes of the tensor axes that its program
 * id indexes. A size may be divided by a block length. The product must match every recorded launch.
 */
import { hostValue } from "../host-text.js";
import type { LiftedTensor } from "../lift/lifted-tensors.js";
import type { HostTree, KernelTree } from "../tree.js";
import type { RecordedValues } from "./recorded-values.js";

/** Undefined if an axis of the grid has no expression, or if all axes are constants. */
export function inferGrid(
  { launch }: KernelTree,
  tensors: readonly LiftedTensor[],
  recordedValues: RecordedValues,
): readonly HostTree[] | undefined {
  const grids = launch?.noted?.map(({ grid }) => grid) ?? [];
  const [first] = grids;
  if (!first || !grids.every((grid) => grid?.length === first.length)) return undefined;
  const axes = first.map((firstCount, axis) => {
    const factors = factorsOf(axis, tensors);
    const isConsistent = (tree: HostTree): boolean =>
      recordedValues.every((values, i) => hostValue(tree, values) === grids[i]?.[axis]);
    const isFixed = grids.every((grid) => grid?.[axis] === firstCount);
    return productsOf(factors).find(isConsistent) ?? (isFixed ? { value: firstCount } : undefined);
  });
  return axes.every((each) => each !== undefined) && axes.some((each) => !("value" in each)) ? axes : undefined;
}

/** The products of one to three factors, those with the fewest first. */
const productsOf = (factors: readonly HostTree[]): readonly HostTree[] => [
  ...factors,
  ...pairs(factors),
  ...pairs(factors).flatMap((pair) => factors.map((each) => multiply(pair, each))),
];

const multiply = (x: HostTree, y: HostTree): HostTree => ({ op: "mul", of: [x, y] });

const pairs = (factors: readonly HostTree[]): readonly HostTree[] =>
  factors.flatMap((x, i) => factors.slice(i + 1).map((y) => multiply(x, y)));

/**
 * The candidate factors of a grid axis: sizes of the tensor axes that its program id indexes, divided by the block
 * length if the index is a tile. Sizes that are parameters come first, because masks compare with them.
 */
function factorsOf(axis: number, tensors: readonly LiftedTensor[]): readonly HostTree[] {
  const factors = new Map<string, HostTree>();
  const axes = tensors.flatMap((tensor) => tensor.axes);
  for (const { size, indices } of axes.toSorted((a, b) => Number(a.isNew) - Number(b.isNew)))
    for (const { programAxes, blockLengths } of indices) {
      if (!programAxes.includes(axis)) continue;
      const sizeTree = leaf(size);
      const trees = blockLengths.map((block): HostTree => ({ op: "cdiv", of: [sizeTree, leaf(block)] }));
      for (const tree of blockLengths.length > 0 ? trees : [sizeTree]) factors.set(JSON.stringify(tree), tree);
    }
  return [...factors.values()];
}

const leaf = (text: string): HostTree => (/^\d+$/.test(text) ? { value: Number(text) } : { param: text });
