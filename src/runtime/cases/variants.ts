/** What a caller chooses besides sizes: dtypes, flags, choices and numbers that are constexprs. */
import { cacheKey } from "../../compiled/canonical-json.js";
import {
  type TestCase,
  type CompiledKernel,
  type ConstexprSignature,
  passedConstexprs,
} from "../../compiled/compiled-kernel.js";
import type { Selection } from "./selection.js";

type Arguments = NonNullable<TestCase["constexprs"]>;

export interface Variant {
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs: Arguments;
}

/** Values of which a variant takes one: each sets dtypes or constexprs. */
type Axis = readonly Variant[];

/** Beyond this many combinations, each pair of values occurs together, but not every combination. */
const MANY_VARIANTS = 24;

/** The assignments of dtype variables, flags, choices and numbers that the selection allows. */
export function variantsFor(kernel: CompiledKernel, { dtypes = {}, constexprs = {} }: Selection): Variant[] {
  const { signature } = kernel;
  const axes: Axis[] = Object.entries(signature.dtypes).map(([name, members]) =>
    (name in dtypes ? [dtypes[name]!] : members).map((value) => ({ dtypes: { [name]: value }, constexprs: {} })),
  );
  const open = passedConstexprs(signature).filter(({ name }) => !(name in constexprs));
  const listed = open.filter(({ kind, choices }) => choices || kind === "bool");
  for (const constexpr of listed)
    axes.push(valuesOf(constexpr).map((value) => ({ dtypes: {}, constexprs: { [constexpr.name]: value } })));
  const numbers = open.filter((each) => !listed.includes(each));
  if (numbers.length > 0) axes.push(declaredNumbers(kernel, numbers));
  return combinations(axes).map((picked) => ({
    dtypes: Object.assign({}, ...picked.map((each) => each.dtypes)) as Variant["dtypes"],
    constexprs: Object.assign({ ...constexprs }, ...picked.map((each) => each.constexprs)) as Arguments,
  }));
}

const valuesOf = ({ choices }: ConstexprSignature): readonly (boolean | string)[] => choices ?? [false, true];

/** Numbers make sense together: those that the author gives with a shape, or the defaults. */
function declaredNumbers(kernel: CompiledKernel, numbers: readonly ConstexprSignature[]): Axis {
  const found = new Map<string, Variant>();
  const add = (given: Arguments): void => {
    const entries = numbers.flatMap(({ name, default: initial }) => {
      const value = given[name] ?? initial;
      return value === undefined ? [] : [[name, value] as const];
    });
    if (entries.length < numbers.length) return;
    found.set(cacheKey(entries), { dtypes: {}, constexprs: Object.fromEntries(entries) });
  };
  add({});
  kernel.shapes.forEach((_, i) => add(kernel.arguments?.[i] ?? {}));
  const ones = Object.fromEntries(numbers.map(({ name, default: initial }) => [name, initial ?? 1]));
  return found.size > 0 ? [...found.values()] : [{ dtypes: {}, constexprs: ones }];
}

/** Every combination of one value of each axis; or, of many, some in which each pair of values occurs. */
function combinations(axes: readonly Axis[]): (readonly Variant[])[] {
  const total = axes.reduce((count, axis) => count * axis.length, 1);
  if (total <= MANY_VARIANTS) return product(axes);
  return pairwise(axes.map(({ length }) => length)).map((row) => row.map((value, axis) => axes[axis]![value]!));
}

function product(axes: readonly Axis[]): (readonly Variant[])[] {
  // The first axis changes fastest.
  return axes.reduceRight<(readonly Variant[])[]>(
    (rows, axis) => rows.flatMap((row) => axis.map((value) => [value, ...row])),
    [[]],
  );
}

/** Rows of indices below these counts, such that each pair of indices of two columns occurs in some row. */
export function pairwise(counts: readonly number[]): number[][] {
  const pairs = new Set<string>();
  const key = (i: number, x: number, j: number, y: number): string =>
    i < j ? `${i},${x},${j},${y}` : `${j},${y},${i},${x}`;
  const columns = [...counts.keys()];
  for (const i of columns)
    for (const j of columns.slice(i + 1))
      for (let x = 0; x < counts[i]!; x++) for (let y = 0; y < counts[j]!; y++) pairs.add(key(i, x, j, y));
  const rows: number[][] = [];
  while (pairs.size > 0) {
    const [first] = pairs;
    const [i, x, j, y] = first!.split(",").map(Number) as [number, number, number, number];
    const row = new Map([
      [i, x],
      [j, y],
    ]);
    // Each further column takes the value that covers most of the pairs that are left.
    for (const column of columns.filter((each) => !row.has(each))) {
      const gains = Array.from(
        { length: counts[column]! },
        (_, value) => [...row].filter(([other, chosen]) => pairs.has(key(column, value, other, chosen))).length,
      );
      row.set(column, gains.indexOf(Math.max(...gains)));
    }
    for (const [a, u] of row) for (const [b, v] of row) if (a !== b) pairs.delete(key(a, u, b, v));
    rows.push(columns.map((column) => row.get(column)!));
  }
  return rows;
}
