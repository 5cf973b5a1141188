/** The sizes of lifted tensors in the launches that were noted, from how the tensors lay in memory. */
import type { LiftedTensor } from "../lift/lifted-tensors.js";
import type { KernelTree, Layout, NotedNumbers } from "../tree.js";
import type { RecordedValues } from "./launch-facts.js";

/**
 * The tensors with a name for each size that the launches show: axes that one index has got a letter for are apart where
 * memory says so.
 */
export function withSizesApart(
  { launch }: KernelTree,
  tensors: readonly LiftedTensor[],
  taken: ReadonlySet<string>,
): readonly LiftedTensor[] {
  const noted = launch?.noted ?? [];
  const names = new Set([...taken, ...tensors.flatMap(({ axes }) => axes.map(({ size }) => size))]);
  const known = new Map<string, { readonly name: string; readonly values: (number | undefined)[] }[]>();
  return tensors.map((tensor) => {
    const found = noted.map((each) => sizesIn(each.tensors[tensor.param], tensor, numbersOf(each)));
    const axes = tensor.axes.map((axis, i) => {
      if (!axis.isNew) return axis;
      const values = found.map((sizes) => sizes?.[i]);
      const groups = known.get(axis.size) ?? [];
      known.set(axis.size, groups);
      // A call may leave a tensor out.
      const own = groups.find((group) =>
        values.every((each, place) => each === undefined || (group.values[place] ?? each) === each),
      );
      const name = own?.name ?? (groups.length === 0 ? axis.size : free(axis.size, names));
      if (!own) groups.push({ name, values: [...values] });
      values.forEach((each, place) => own && (own.values[place] ??= each));
      return { ...axis, size: name };
    });
    return { ...tensor, axes };
  });
}

function free(size: string, names: Set<string>): string {
  let number = 2;
  while (names.has(`${size}${number}`)) number++;
  names.add(`${size}${number}`);
  return `${size}${number}`;
}

const numbersOf = ({ values }: NotedNumbers): Map<string, number> =>
  new Map(Object.entries(values).map(([name, value]) => [name, Number(value)]));

/** What a launch passes, and the sizes that only tensors have. A size that tensors disagree about has no value. */
export function recordedValues({ launch }: KernelTree, tensors: readonly LiftedTensor[]): RecordedValues {
  return (launch?.noted ?? []).map((noted) => valuesOf(noted, tensors));
}

function valuesOf(noted: NotedNumbers, tensors: readonly LiftedTensor[]): ReadonlyMap<string, number> {
  const values = numbersOf(noted);
  const found = new Map<string, Set<number>>();
  for (const tensor of tensors) {
    const sizes = sizesIn(noted.tensors[tensor.param], tensor, values);
    tensor.axes.forEach(({ size, isNew }, axis) => {
      const value = sizes?.[axis];
      if (isNew && value !== undefined) found.set(size, (found.get(size) ?? new Set()).add(value));
    });
  }
  for (const [name, [value, ...others]] of found) if (others.length === 0) values.set(name, value!);
  return values;
}

/** The size of each axis, where memory shows it. */
function sizesIn(
  layout: Layout | undefined,
  { axes, isContiguous }: LiftedTensor,
  values: ReadonlyMap<string, number>,
): readonly (number | undefined)[] | undefined {
  if (!layout) return undefined;
  const given = axes.map(({ size, isNew }) => (isNew ? undefined : (values.get(size) ?? numberIn(size))));
  if (isContiguous) {
    const rest = given.filter((each) => each !== undefined).reduce((x, y) => x * y, 1);
    const all = layout.shape.reduce((x, y) => x * y, 1);
    const isOneOpen = given.filter((each) => each === undefined).length === 1;
    return given.map((each) => each ?? (isOneOpen && rest > 0 ? Math.floor(all / rest) : undefined));
  }
  const strides = axes.map(({ strides }) =>
    strides.reduce<number | undefined>((product, name) => {
      const value = values.get(name) ?? numberIn(name);
      return product === undefined || value === undefined ? undefined : product * value;
    }, 1),
  );
  return new Memory(layout, strides).sizes(given);
}

const numberIn = (text: string): number | undefined => (/^\d+$/.test(text) ? Number(text) : undefined);

/** The axes that a tensor has in memory, shared out among those that a kernel sees: one may be several of the others. */
class Memory {
  /** What is left. An axis of length 1 has whatever stride. */
  readonly #places: { readonly size: number; readonly stride: number }[];

  constructor(
    { shape, strides }: Layout,
    private readonly wanted: readonly (number | undefined)[],
  ) {
    this.#places = shape.map((size, i) => ({ size, stride: strides[i]! })).filter(({ size }) => size !== 1);
  }

  /** The size of each axis; those that are known are taken first. */
  sizes(given: readonly (number | undefined)[]): readonly (number | undefined)[] {
    const order = given
      .map((known, axis) => ({ known, axis, stride: this.wanted[axis] ?? NaN }))
      .toSorted((a, b) => Number(a.known === undefined) - Number(b.known === undefined) || a.stride - b.stride);
    const found = new Map(order.map(({ known, axis, stride }) => [axis, this.#take(stride, known)]));
    const isAll = this.#places.length === 0;
    return given.map((known, axis) => known ?? found.get(axis) ?? (isAll ? 1 : undefined));
  }

  /** Places one behind another, up to a known size or to where another axis begins. */
  #take(stride: number, known: number | undefined): number | undefined {
    let size = 1;
    while (known === undefined || size < known) {
      const at = stride * size;
      const place = this.#places.findIndex((each) => each.stride === at);
      if (place < 0 || (size > 1 && this.wanted.includes(at))) break;
      const [whole] = this.#places.splice(place, 1);
      const end = known === undefined ? this.#nextAfter(at, whole!.size) : (known / size) * at;
      const part = end / at;
      const isSplit = Number.isInteger(part) && part < whole!.size && whole!.size % part === 0;
      if (isSplit) this.#places.push({ size: whole!.size / part, stride: end });
      size *= isSplit ? part : whole!.size;
    }
    return size > 1 ? size : undefined;
  }

  /** Where the next axis begins inside of a place, or the place ends. */
  #nextAfter(stride: number, size: number): number {
    const inside = this.wanted.filter((each) => each !== undefined && each > stride && each < stride * size);
    return Math.min(stride * size, ...inside.map((each) => each!));
  }
}
