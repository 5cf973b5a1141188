/**
 * The number of programs by the sizes of tensors: of the axes that a program's number indexes, whole or in blocks, the
 * product that every noted launch has.
 */
import { hostValue } from "../host-text.js";
import type { LiftedTensor } from "../lift/lifted-tensors.js";
import type { HostTree, KernelTree } from "../tree.js";
import type { RecordedValues } from "./launch-facts.js";

/** Undefined unless there is one for each axis of the grid. */
export function inferGrid(
  { launch }: KernelTree,
  tensors: readonly LiftedTensor[],
  noted: RecordedValues,
): readonly HostTree[] | undefined {
  const grids = launch?.noted?.map(({ grid }) => grid) ?? [];
  const [first] = grids;
  if (!first || !grids.every((grid) => grid?.length === first.length)) return undefined;
  const axes = first.map((_, axis) =>
    programsOf(
      axis,
      tensors,
      noted,
      grids.map((grid) => grid![axis]!),
    ),
  );
  return axes.every((each) => each !== undefined) && axes.some((each) => !("value" in each)) ? axes : undefined;
}

/** Of an axis: the product of the fewest sizes, or the number that it always is. */
function programsOf(
  axis: number,
  tensors: readonly LiftedTensor[],
  noted: RecordedValues,
  programs: readonly number[],
): HostTree | undefined {
  const factors = factorsOf(axis, tensors);
  const isRight = (tree: HostTree): boolean => noted.every((values, i) => hostValue(tree, values) === programs[i]);
  const products = [
    ...factors,
    ...pairs(factors),
    ...pairs(factors).flatMap((pair) => factors.map((each) => times(pair, each))),
  ];
  const [always] = programs;
  const isFixed = programs.every((each) => each === always);
  return products.find(isRight) ?? (isFixed ? { value: always! } : undefined);
}

const times = (x: HostTree, y: HostTree): HostTree => ({ op: "mul", of: [x, y] });

const pairs = (factors: readonly HostTree[]): readonly HostTree[] =>
  factors.flatMap((x, i) => factors.slice(i + 1).map((y) => times(x, y)));

/**
 * The sizes that the number of a program decides about, in blocks where the index has lanes: first those that the kernel
 * is given, which masks compare with.
 */
function factorsOf(axis: number, tensors: readonly LiftedTensor[]): readonly HostTree[] {
  const found = new Map<string, HostTree>();
  const axes = tensors.flatMap((tensor) => tensor.axes);
  for (const { size, indices } of axes.toSorted((a, b) => Number(a.isNew) - Number(b.isNew)))
    for (const { programs, blocks } of indices) {
      if (!programs.includes(axis)) continue;
      const whole = leaf(size);
      const trees = blocks.map((block): HostTree => ({ op: "cdiv", of: [whole, leaf(block)] }));
      for (const tree of blocks.length > 0 ? trees : [whole]) found.set(JSON.stringify(tree), tree);
    }
  return [...found.values()];
}

const leaf = (text: string): HostTree => (/^\d+$/.test(text) ? { value: Number(text) } : { param: text });
