/** The sizes of lifted tensors in recorded launches, from the memory layouts of the tensors. */
import type { LiftedTensor } from "../lift/lifted-tensors.js";
import type { KernelTree, Layout, RecordedNumbers, HostTree } from "../tree.js";
import { hostValue } from "../host-text.js";

/** Facts about a kernel that are true in all its recorded launches but do not follow from its Python code. */
export interface InferredLaunchFacts {
  /** The grid as a function of sizes. Absent if the script has such an expression itself. */
  readonly grid?: readonly HostTree[];
  /** Conditions under which the accesses of a launch are in bounds and its outputs are written completely. */
  readonly requires: readonly HostTree[];
}

/** Sizes and numeric arguments by name, one map per launch. */
export type RecordedValues = readonly ReadonlyMap<string, number>[];

export const holdsForAllLaunches = (condition: HostTree, recordedValues: RecordedValues): boolean =>
  recordedValues.length > 0 && recordedValues.every((values) => hostValue(condition, values) === true);

/**
 * Renames sizes of axes that share an index expression, and therefore a size name, but have different sizes in a
 * recorded launch.
 */
export function disambiguateSizes(
  { launch }: KernelTree,
  tensors: readonly LiftedTensor[],
  usedNames: ReadonlySet<string>,
): readonly LiftedTensor[] {
  const launches = launch?.noted ?? [];
  const names = new Set([...usedNames, ...tensors.flatMap(({ axes }) => axes.map(({ size }) => size))]);
  const sizeGroups = new Map<string, { readonly name: string; readonly values: (number | undefined)[] }[]>();
  return tensors.map((tensor) => {
    const launchSizes = launches.map((each) => sizesIn(each.tensors[tensor.param], tensor, numbersOf(each)));
    const axes = tensor.axes.map((axis, i) => {
      if (!axis.isNew) return axis;
      const values = launchSizes.map((sizes) => sizes?.[i]);
      const groups = sizeGroups.get(axis.size) ?? [];
      sizeGroups.set(axis.size, groups);
      // A call may omit a tensor.
      const matchingGroup = groups.find((group) =>
        values.every((value, launchIndex) => value === undefined || (group.values[launchIndex] ?? value) === value),
      );
      const name = matchingGroup?.name ?? (groups.length === 0 ? axis.size : freshName(axis.size, names));
      if (!matchingGroup) groups.push({ name, values: [...values] });
      values.forEach((value, launchIndex) => matchingGroup && (matchingGroup.values[launchIndex] ??= value));
      return { ...axis, size: name };
    });
    return { ...tensor, axes };
  });
}

function freshName(size: string, names: Set<string>): string {
  let number = 2;
  while (names.has(`${size}${number}`)) number++;
  names.add(`${size}${number}`);
  return `${size}${number}`;
}

const numbersOf = ({ values }: RecordedNumbers): Map<string, number> =>
  new Map(Object.entries(values).map(([name, value]) => [name, Number(value)]));

/** The numeric arguments and the new sizes of each launch. Sizes that differ between tensors are omitted. */
export function recordedValues({ launch }: KernelTree, tensors: readonly LiftedTensor[]): RecordedValues {
  return (launch?.noted ?? []).map((numbers) => valuesOf(numbers, tensors));
}

function valuesOf(numbers: RecordedNumbers, tensors: readonly LiftedTensor[]): ReadonlyMap<string, number> {
  const values = numbersOf(numbers);
  const sizesByName = new Map<string, Set<number>>();
  for (const tensor of tensors) {
    const sizes = sizesIn(numbers.tensors[tensor.param], tensor, values);
    tensor.axes.forEach(({ size, isNew }, axis) => {
      const value = sizes?.[axis];
      if (isNew && value !== undefined) sizesByName.set(size, (sizesByName.get(size) ?? new Set()).add(value));
    });
  }
  for (const [name, [value, ...others]] of sizesByName)
    if (value !== undefined && others.length === 0) values.set(name, value);
  return values;
}

/** The size of each axis. Undefined for axes whose size does not follow from the layout. */
function sizesIn(
  layout: Layout | undefined,
  { axes, isContiguous }: LiftedTensor,
  values: ReadonlyMap<string, number>,
): readonly (number | undefined)[] | undefined {
  if (!layout) return undefined;
  const declaredSizes = axes.map(({ size, isNew }) => (isNew ? undefined : (values.get(size) ?? numberIn(size))));
  if (isContiguous) {
    const otherElements = declaredSizes.filter((each) => each !== undefined).reduce((x, y) => x * y, 1);
    const elements = layout.shape.reduce((x, y) => x * y, 1);
    const hasOneUnknown = declaredSizes.filter((each) => each === undefined).length === 1;
    return declaredSizes.map(
      (each) => each ?? (hasOneUnknown && otherElements > 0 ? Math.floor(elements / otherElements) : undefined),
    );
  }
  const strides = axes.map(({ strides }) =>
    strides.reduce<number | undefined>((product, name) => {
      const value = values.get(name) ?? numberIn(name);
      return product === undefined || value === undefined ? undefined : product * value;
    }, 1),
  );
  return new MemoryAxes(layout, strides).sizes(declaredSizes);
}

const numberIn = (text: string): number | undefined => (/^\d+$/.test(text) ? Number(text) : undefined);

/** Maps the axes of a tensor in memory to the axes that the kernel indexes. The mapping may merge or split axes. */
class MemoryAxes {
  /** The unassigned memory axes, without axes of length 1, whose stride is arbitrary. */
  readonly #axes: { readonly size: number; readonly stride: number }[];

  constructor(
    { shape, strides }: Layout,
    private readonly axisStrides: readonly (number | undefined)[],
  ) {
    this.#axes = shape.map((size, i) => ({ size, stride: strides[i]! })).filter(({ size }) => size !== 1);
  }

  /** The size of each kernel axis. Axes with a known size are assigned first. */
  sizes(declaredSizes: readonly (number | undefined)[]): readonly (number | undefined)[] {
    const order = declaredSizes
      .map((knownSize, axis) => ({ knownSize, axis, stride: this.axisStrides[axis] ?? NaN }))
      .toSorted((a, b) => Number(a.knownSize === undefined) - Number(b.knownSize === undefined) || a.stride - b.stride);
    const inferredSizes = new Map(
      order.map(({ knownSize, axis, stride }) => [axis, this.#takeAxes(stride, knownSize)]),
    );
    const areAllAssigned = this.#axes.length === 0;
    return declaredSizes.map(
      (knownSize, axis) => knownSize ?? inferredSizes.get(axis) ?? (areAllAssigned ? 1 : undefined),
    );
  }

  /** Assigns adjacent memory axes to a kernel axis, up to its known size or to the start of another kernel axis. */
  #takeAxes(stride: number, knownSize: number | undefined): number | undefined {
    let size = 1;
    while (knownSize === undefined || size < knownSize) {
      const expectedStride = stride * size;
      const axis = this.#axes.find((each) => each.stride === expectedStride);
      if (!axis || (size > 1 && this.axisStrides.includes(expectedStride))) break;
      this.#axes.splice(this.#axes.indexOf(axis), 1);
      const endStride =
        knownSize === undefined
          ? this.#nextInnerStride(expectedStride, axis.size)
          : (knownSize / size) * expectedStride;
      const length = endStride / expectedStride;
      const isSplit = Number.isInteger(length) && length < axis.size && axis.size % length === 0;
      if (isSplit) this.#axes.push({ size: axis.size / length, stride: endStride });
      size *= isSplit ? length : axis.size;
    }
    return size > 1 ? size : undefined;
  }

  /** The stride at which the next kernel axis starts inside a memory axis, or the end of the memory axis. */
  #nextInnerStride(stride: number, size: number): number {
    const knownStrides = this.axisStrides.filter((each) => each !== undefined);
    return Math.min(stride * size, ...knownStrides.filter((each) => each > stride));
  }
}
