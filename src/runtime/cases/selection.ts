/** The options fixed on the command line, and the configs that remain. */
import {
  type CompiledKernel,
  type TestCase,
  type ConstexprSignature,
  passedConstexprs,
  type Layout,
  type Signature,
  type TensorSignature,
} from "../../compiled/compiled-kernel.js";
import { type Architecture, configsFor } from "../../compiled/gpus.js";
import { cacheKey } from "../../compiled/canonical-json.js";

export interface Selection {
  readonly sizes?: Readonly<Record<string, number>>;
  /** Requires `sizes`. */
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  readonly dtypes?: Readonly<Record<string, string>>;
  readonly config?: number;
  /** The GPU in use, which determines the configs of a list by GPU. */
  readonly on?: Architecture | null | undefined;
  readonly seed: number;
}

/** The item at an index, counting round and round. */
export function inTurn<Item>(items: readonly Item[], index: number): Item {
  const item = items.at(index % items.length);
  if (item === undefined) throw new Error("there are no items to take in turn");
  return item;
}

/** The indices of the configs to try. */
export function configsOf(
  { configs }: CompiledKernel,
  { config, on }: { readonly config?: number | undefined; readonly on?: Selection["on"] },
): readonly number[] {
  return config === undefined ? configsFor(configs, on) : [config];
}

// Call arguments other than tensors and sizes: dtypes, and constexprs that are flags, choices or numbers.

type Arguments = NonNullable<TestCase["constexprs"]>;

export interface Variant {
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs: Arguments;
}

/** The alternatives of one choice, each of which sets dtypes or constexprs. */
type Axis = readonly Variant[];

/** The limit for all combinations. Beyond it, the variants cover every pair of values (pairwise testing). */
const MAX_COMBINATIONS = 24;

/** The assignments of dtype variables, flags, choices and numbers that the selection allows. */
export function variantsFor(kernel: CompiledKernel, { dtypes = {}, constexprs = {} }: Selection): Variant[] {
  const { signature } = kernel;
  const axes: Axis[] = Object.entries(signature.dtypes).map(([name, members]) => {
    const chosen = dtypes[name];
    return (chosen === undefined ? members : [chosen]).map((value) => ({ dtypes: { [name]: value }, constexprs: {} }));
  });
  const unfixed = passedConstexprs(signature).filter(({ name }) => !(name in constexprs));
  const listed = unfixed.filter(({ kind, choices }) => choices || kind === "bool");
  for (const constexpr of listed)
    axes.push(valuesOf(constexpr).map((value) => ({ dtypes: {}, constexprs: { [constexpr.name]: value } })));
  const numbers = unfixed.filter((constexpr) => !listed.includes(constexpr));
  if (numbers.length > 0) axes.push(declaredNumbers(kernel, numbers));
  return combinations(axes).map((values) => ({
    dtypes: Object.assign({}, ...values.map((each) => each.dtypes)) as Variant["dtypes"],
    constexprs: Object.assign({ ...constexprs }, ...values.map((each) => each.constexprs)) as Arguments,
  }));
}

const valuesOf = ({ choices }: ConstexprSignature): readonly (boolean | string)[] => choices ?? [false, true];

/** Numbers that are meaningful together: the declared arguments of each shape, or the defaults. */
function declaredNumbers(kernel: CompiledKernel, numbers: readonly ConstexprSignature[]): Axis {
  const variants = new Map<string, Variant>();
  const add = (args: Arguments): void => {
    const entries = numbers.flatMap(({ name, default: initial }) => {
      const value = args[name] ?? initial;
      return value === undefined ? [] : [[name, value] as const];
    });
    if (entries.length < numbers.length) return;
    variants.set(cacheKey(entries), { dtypes: {}, constexprs: Object.fromEntries(entries) });
  };
  add({});
  kernel.shapes.forEach((_, i) => add(kernel.arguments?.[i] ?? {}));
  const ones = Object.fromEntries(numbers.map(({ name, default: initial }) => [name, initial ?? 1]));
  return variants.size > 0 ? [...variants.values()] : [{ dtypes: {}, constexprs: ones }];
}

/** Every combination of one value per axis. If there are too many, rows that cover every pair of values. */
function combinations(axes: readonly Axis[]): (readonly Variant[])[] {
  const total = axes.reduce((count, axis) => count * axis.length, 1);
  if (total <= MAX_COMBINATIONS) return product(axes);
  return pairwise(axes.map(({ length }) => length)).map((row) => row.map((value, axis) => axes[axis]![value]!));
}

function product(axes: readonly Axis[]): (readonly Variant[])[] {
  // The first axis changes fastest.
  return axes.reduceRight<(readonly Variant[])[]>(
    (rows, axis) => rows.flatMap((row) => axis.map((value) => [value, ...row])),
    [[]],
  );
}

/** Rows of indices below `counts`. Every pair of indices in two columns occurs in some row. */
export function pairwise(counts: readonly number[]): number[][] {
  const pairs = new Map<string, readonly [i: number, x: number, j: number, y: number]>();
  const key = (i: number, x: number, j: number, y: number): string =>
    i < j ? `${i},${x},${j},${y}` : `${j},${y},${i},${x}`;
  const columns = [...counts.entries()];
  for (const [i, xCount] of columns)
    for (const [j, yCount] of columns.slice(i + 1))
      for (let x = 0; x < xCount; x++) for (let y = 0; y < yCount; y++) pairs.set(key(i, x, j, y), [i, x, j, y]);
  const rows: number[][] = [];
  for (let [pair] = pairs.values(); pair; [pair] = pairs.values()) {
    const [i, x, j, y] = pair;
    const row = new Map([
      [i, x],
      [j, y],
    ]);
    // Each further column takes the value that covers most of the uncovered pairs.
    for (const [column, count] of columns.filter(([each]) => !row.has(each))) {
      const gains = Array.from(
        { length: count },
        (_, value) => [...row].filter(([other, chosen]) => pairs.has(key(column, value, other, chosen))).length,
      );
      row.set(column, gains.indexOf(Math.max(...gains)));
    }
    for (const [a, u] of row) for (const [b, v] of row) if (a !== b) pairs.delete(key(a, u, b, v));
    rows.push([...row].toSorted(([a], [b]) => a - b).map(([, value]) => value));
  }
  return rows;
}

// Memory layouts of a test case's tensors: the supported ones, and one layout for tensors with equal strides.

type Layouts = Readonly<Record<string, Layout>>;

export const allLayouts: readonly Layout[] = ["contiguous", "transposed", "sliced", "offset"];

/**
 * The tensors whose layout a test case chooses: all except an operator's outputs, which its wrapper always allocates.
 */
export function tensorsWithLayout({ tensors, kernels }: Signature): readonly TensorSignature[] {
  return kernels ? tensors.filter(({ role }) => role !== "out") : tensors;
}

/** The layouts of a tensor that its wrapper supports, `contiguous` first. */
export function layoutsOf({ drawn }: Pick<Signature, "drawn">, tensor: TensorSignature): readonly Layout[] {
  const { name, role, contiguous, dims, described, partition } = tensor;
  if (described) return ["contiguous"];
  if (contiguous) return ["contiguous", "offset"];
  // An input with declared values cannot be expanded, because its rows may differ.
  const isExpandable = role === "in" && dims.length > 0 && partition === undefined && !drawn?.tensors.includes(name);
  return [
    "contiguous",
    ...(dims.length < 2 ? [] : (["transposed"] as const)),
    ...(dims.length < 1 ? [] : (["sliced"] as const)),
    "offset",
    ...(isExpandable ? (["expanded"] as const) : []),
  ];
}

/**
 * Assigns one layout to all tensors with equal strides: that of the first. An output without a layout is allocated
 * contiguous by the wrapper. A written tensor cannot be expanded, because its elements would overlap.
 */
export function sharedLayouts({ tensors }: Pick<Signature, "tensors">, layouts: Layouts): Layouts {
  const result: Record<string, Layout> = { ...layouts };
  for (const { name: first } of tensors) {
    const group = tensors.filter(({ name, stridesOf }) => name === first || stridesOf === first);
    if (group.length < 2) continue;
    const layout = group.map(({ name }) => layouts[name]).find((layout) => layout !== undefined) ?? "contiguous";
    const isFixed = group.some(({ name, role }) => role === "out" && !(name in layouts)) || layout === "expanded";
    for (const { name } of group) if (name in layouts) result[name] = isFixed ? "contiguous" : layout;
  }
  return result;
}
