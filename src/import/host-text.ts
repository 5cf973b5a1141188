/** What the host computes before a launch, as TypeScript over the kernel's parameters. */
import type { HostTree } from "./tree.js";

/** A parameter of the kernel file by its Python name, or the value that it is fixed to. */
export type HostNames = (
  python: string,
) => { readonly name: string } | { readonly value: number | boolean } | undefined;

interface Written {
  readonly text: string;
  /** Undefined for what is computed at a launch. */
  readonly value?: number | boolean;
}

/** `({ n, BLOCK }) => …` of a tree's text, or undefined if a parameter is missing. */
export function callback(
  trees: readonly HostTree[],
  names: HostNames,
  result: (texts: readonly string[]) => string,
): string | undefined {
  const used = new Set<string>();
  const written = trees.map((tree) => write(tree, names, used));
  if (!written.every((each) => each !== undefined)) return undefined;
  const list = [...used].join(", ");
  return `(${list === "" ? "" : `{ ${list} }`}) => ${result(written.map(({ text }) => text))}`;
}

/** The value of a tree that no parameter decides. */
export function fixedValue(tree: HostTree, names: HostNames): number | boolean | undefined {
  return write(tree, names, new Set())?.value;
}

/** What a tree gives for these values; undefined where one is missing. */
export function hostValue(tree: HostTree, values: ReadonlyMap<string, number>): number | boolean | undefined {
  if ("value" in tree) return tree.value;
  if ("param" in tree) return values.get(tree.param);
  const [x, y] = tree.of.map((each) => hostValue(each, values));
  if (x === undefined || (tree.of.length > 1 && y === undefined)) return undefined;
  return fold(tree.op, Number(x), Number(y));
}

function write(tree: HostTree, names: HostNames, used: Set<string>): Written | undefined {
  if ("value" in tree) return { text: String(tree.value), value: tree.value };
  if ("param" in tree) {
    const known = names(tree.param);
    if (!known) return undefined;
    if ("value" in known) return { text: String(known.value), value: known.value };
    used.add(known.name);
    return { text: known.name };
  }
  const parts = tree.of.map((each) => write(each, names, used));
  if (!parts.every((part) => part !== undefined)) return undefined;
  const [x, y] = parts;
  if (!x) return undefined;
  if (parts.every(({ value }) => value !== undefined)) {
    const value = fold(tree.op, Number(x.value), Number(y?.value));
    return value === undefined ? undefined : { text: String(value), value };
  }
  return { text: called(tree.op, x, y) };
}

/** Functions of `tl`; the others are methods. */
const FUNCTIONS: ReadonlySet<string> = new Set(["cdiv", "minimum", "maximum", "nextPowerOf2"]);
/** What the other side's method is called, where a number stands first. */
const TURNED: Readonly<Record<string, string>> = {
  add: "add",
  mul: "mul",
  eq: "eq",
  ne: "ne",
  lt: "gt",
  le: "ge",
  gt: "lt",
  ge: "le",
};

function called(op: string, x: Written, y: Written | undefined): string {
  if (!y) return FUNCTIONS.has(op) ? `tl.${op}(${x.text})` : `${x.text}.${op}()`;
  if (FUNCTIONS.has(op) || x.value === undefined)
    return FUNCTIONS.has(op) ? `tl.${op}(${x.text}, ${y.text})` : `${x.text}.${op}(${y.text})`;
  const turned = TURNED[op];
  return turned === undefined ? `tl.${op}(${x.text}, ${y.text})` : `${y.text}.${turned}(${x.text})`;
}

function fold(op: string, x: number, y: number): number | boolean | undefined {
  const values: Readonly<Record<string, () => number | boolean>> = {
    add: () => x + y,
    sub: () => x - y,
    mul: () => x * y,
    floorDiv: () => Math.floor(x / y),
    mod: () => x - y * Math.floor(x / y),
    cdiv: () => Math.ceil(x / y),
    minimum: () => Math.min(x, y),
    maximum: () => Math.max(x, y),
    nextPowerOf2: () => 2 ** Math.ceil(Math.log2(Math.max(x, 1))),
    eq: () => x === y,
    ne: () => x !== y,
    lt: () => x < y,
    le: () => x <= y,
    gt: () => x > y,
    ge: () => x >= y,
    not: () => x === 0,
  };
  return values[op]?.();
}
