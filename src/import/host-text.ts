/** Host expressions as TypeScript over the kernel's parameters. */
import type { HostTree } from "./tree.js";

/**
 * Texts of a Python file in TypeScript. A comment or a string must never become code: JavaScript ends a line at more
 * characters than Python does.
 */

/** An object literal of entries such as `numWarps: 8`. */
export const objectText = (entries: readonly string[]): string => `{ ${entries.join(", ")} }`;

/** A comment in one line. */
export const lineComment = (text: string): string => `// ${text.replaceAll("\n", " ")}`;

export const todoComment = (text: string): string => lineComment(`TODO(import): ${text}`);

/** A JSDoc comment with one line per paragraph. The emitter wraps paragraphs. */
export function docComment(doc: string | undefined): string {
  if (doc === undefined) return "";
  const paragraphs = doc.replaceAll("*/", "* /").split(/\n\s*\n/);
  return `/** ${paragraphs.map((paragraph) => paragraph.replaceAll(/\s+/g, " ").trim()).join("\n *\n * ")} */\n`;
}

/**
 * Escapes the characters that end a line in JavaScript alone, and those that a reader cannot see: controls, and marks
 * that change the direction of text (CVE-2021-42574). A string keeps its value.
 */
export const escapeInvisible = (text: string): string =>
  text.replace(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });

/** Maps a Python parameter to its name in the kernel file or to its fixed value. */
export type HostNames = (
  python: string,
) => { readonly name: string } | { readonly value: number | boolean } | undefined;

interface HostText {
  readonly text: string;
  /** Undefined if the expression depends on a parameter. */
  readonly value?: number | boolean;
}

/** The callback `({ n, BLOCK }) => …` for these expressions. Undefined if a parameter is missing. */
export function callbackText(
  trees: readonly HostTree[],
  names: HostNames,
  result: (texts: readonly string[]) => string,
): string | undefined {
  const usedParams = new Set<string>();
  const texts = trees.map((tree) => toHostText(tree, names, usedParams));
  if (!texts.every((each) => each !== undefined)) return undefined;
  const list = [...usedParams].join(", ");
  return `(${list === "" ? "" : `{ ${list} }`}) => ${result(texts.map(({ text }) => text))}`;
}

/** The value of an expression that depends on no parameter. */
export function fixedValue(tree: HostTree, names: HostNames): number | boolean | undefined {
  return toHostText(tree, names, new Set())?.value;
}

/** Evaluates an expression. Undefined if a value is missing. */
export function hostValue(tree: HostTree, values: ReadonlyMap<string, number>): number | boolean | undefined {
  if ("value" in tree) return tree.value;
  if ("param" in tree) return values.get(tree.param);
  const [x, y] = tree.of.map((each) => hostValue(each, values));
  if (x === undefined || (tree.of.length > 1 && y === undefined)) return undefined;
  return evaluateOp(tree.op, Number(x), Number(y));
}

function toHostText(tree: HostTree, names: HostNames, usedParams: Set<string>): HostText | undefined {
  if ("value" in tree) return { text: String(tree.value), value: tree.value };
  if ("param" in tree) {
    const param = names(tree.param);
    if (!param) return undefined;
    if ("value" in param) return { text: String(param.value), value: param.value };
    usedParams.add(param.name);
    return { text: param.name };
  }
  const operands = tree.of.map((each) => toHostText(each, names, usedParams));
  if (!operands.every((part) => part !== undefined)) return undefined;
  const [x, y] = operands;
  if (!x) return undefined;
  if (operands.every(({ value }) => value !== undefined)) {
    const value = evaluateOp(tree.op, Number(x.value), Number(y?.value));
    return value === undefined ? undefined : { text: String(value), value };
  }
  return { text: callText(tree.op, x, y) };
}

/** Operations that are functions of `tl`. All others are methods. */
const TL_FUNCTIONS: ReadonlySet<string> = new Set(["cdiv", "minimum", "maximum", "nextPowerOf2"]);
/** The method of the right operand, for expressions whose left operand is a number. */
const SWAPPED_METHODS: Readonly<Record<string, string>> = {
  add: "add",
  mul: "mul",
  eq: "eq",
  ne: "ne",
  lt: "gt",
  le: "ge",
  gt: "lt",
  ge: "le",
};

function callText(op: string, x: HostText, y: HostText | undefined): string {
  if (!y) return TL_FUNCTIONS.has(op) ? `tl.${op}(${x.text})` : `${x.text}.${op}()`;
  if (TL_FUNCTIONS.has(op) || x.value === undefined)
    return TL_FUNCTIONS.has(op) ? `tl.${op}(${x.text}, ${y.text})` : `${x.text}.${op}(${y.text})`;
  const swapped = SWAPPED_METHODS[op];
  return swapped === undefined ? `tl.${op}(${x.text}, ${y.text})` : `${y.text}.${swapped}(${x.text})`;
}

function evaluateOp(op: string, x: number, y: number): number | boolean | undefined {
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
