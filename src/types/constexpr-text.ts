/**
 * Canonical texts of expressions over constexprs, computed identically by types and functions. A text names a
 * dimension.
 *
 * Equal expressions have equal texts. A product with, or quotient by, a power of two is written as `BLOCK * 4` or
 * `BLOCK // 2`, so that BLOCK.mul(2).mul(2), BLOCK.mul(8).floorDiv(2) and BLOCK.mul(4) are one dimension. Dimensions
 * are powers of two and the build checks each config's values, so `BLOCK // 2 * 2` can be simplified to BLOCK.
 *
 * The right operand of every operator is in parentheses unless it is an atom: a name, a number or a call. The last
 * operator outside parentheses is therefore the outermost one, and a matching suffix can be canceled.
 */

interface Log2 {
  "1": [];
  "2": [0];
  "4": [0, 0];
  "8": [0, 0, 0];
  "16": [0, 0, 0, 0];
  "32": [0, 0, 0, 0, 0];
  "64": [0, 0, 0, 0, 0, 0];
  "128": [0, 0, 0, 0, 0, 0, 0];
  "256": [0, 0, 0, 0, 0, 0, 0, 0];
  "512": [0, 0, 0, 0, 0, 0, 0, 0, 0];
  "1024": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
}
type PowerText = keyof Log2;
/** Texts of powers of two by exponent. A power above 1024 is treated as an ordinary factor. */
type Powers = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024"];
const powers: Powers = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024"];
const log2Of = (text: string): number => (powers as readonly string[]).indexOf(text);

// ---- parentheses ----------------------------------------------------------------------------------------------------

/** True for a name, a number, a call such as `cdiv(M, 2)`, or a text in parentheses. */
type IsAtom<T> = T extends `${string} ${string}`
  ? T extends `${infer Head}(${infer Inner})`
    ? Head extends `${string} ${string}`
      ? false
      : Inner extends `${string})${string}`
        ? false
        : true
    : false
  : true;
function isAtom(text: string): boolean {
  if (!text.includes(" ")) return true;
  const open = text.indexOf("(");
  if (open < 0 || !text.endsWith(")")) return false;
  return !text.slice(0, open).includes(" ") && !text.slice(open + 1, -1).includes(")");
}

type Atom<T> = IsAtom<T> extends true ? T & string : `(${T & string})`;
const atom = (text: string): string => (isAtom(text) ? text : `(${text})`);

/** The text as a factor. A product needs no parentheses. */
type Factor<T> = T extends `${string} ${"+" | "-" | "//" | "%" | "/"} ${string}` ? Atom<T> : T & string;
const factor = (text: string): string => (/ (\+|-|\/\/|%|\/) /.test(text) ? atom(text) : text);

/** True for a text without operators other than the product. */
type IsProduct<T> = T extends `${string}${"+" | "-" | "/" | "%" | "("}${string}` ? false : true;
const isProduct = (text: string): boolean => !/[+\-/%(]/.test(text);

/** The text without enclosing parentheses. */
type Bare<T> = T extends `(${infer Inner})` ? (Inner extends `${string})${string}` ? T : Inner) : T & string;
const bare = (text: string): string =>
  text.startsWith("(") && text.endsWith(")") && !text.slice(1, -1).includes(")") ? text.slice(1, -1) : text;

// ---- powers of two --------------------------------------------------------------------------------------------------

/** [base, log2 of its factor, log2 of its divisor] */
type Scaled<T> = T extends `${infer B} * ${infer N extends PowerText}`
  ? [B, Log2[N], []]
  : T extends `${infer B} // ${infer N extends PowerText}`
    ? [B, [], Log2[N]]
    : [T, [], []];
/** The base is the text before the first operator, as in the type `Scaled`. */
function scaled(text: string): [base: string, times: number, over: number] {
  for (const [operator, sign] of [
    [" * ", 1],
    [" // ", -1],
  ] as const) {
    const at = text.indexOf(operator);
    const exponent = at > 0 ? log2Of(text.slice(at + operator.length)) : -1;
    if (exponent >= 0) return sign > 0 ? [text.slice(0, at), exponent, 0] : [text.slice(0, at), 0, exponent];
  }
  return [text, 0, 0];
}

type Scale<B, Times extends 0[], Over extends 0[]> = Times extends [...Over, ...infer R]
  ? R["length"] extends 0
    ? Bare<B>
    : `${Factor<B>} * ${Power<R["length"]>}`
  : Over extends [...Times, ...infer R]
    ? `${Atom<B>} // ${Power<R["length"]>}`
    : never;
/** The text of a power of two. Above 1024 it is not in the table, so the type is any number. */
type Power<N> = N extends keyof Powers ? Powers[N] & string : `${number}`;
function scale(base: string, exponent: number): string {
  if (exponent === 0) return bare(base);
  const power = 2 ** Math.abs(exponent);
  return exponent > 0 ? `${factor(base)} * ${power}` : `${atom(base)} // ${power}`;
}

// ---- operators ------------------------------------------------------------------------------------------------------

export type AddText<A extends string, B extends string> = B extends "0"
  ? A
  : A extends "0"
    ? B
    : A extends B
      ? MulText<A, "2">
      : `${A} + ${Atom<B>}`;
export function addText(a: string, b: string): string {
  if (b === "0") return a;
  if (a === "0") return b;
  return a === b ? mulText(a, "2") : `${a} + ${atom(b)}`;
}

export type SubText<A extends string, B extends string> = B extends "0"
  ? A
  : A extends B
    ? "0"
    : A extends `${infer X} + ${Atom<B>}`
      ? X
      : A extends MulText<B, "2">
        ? B
        : `${A} - ${Atom<B>}`;
export function subText(a: string, b: string): string {
  if (b === "0") return a;
  if (a === b) return "0";
  const last = ` + ${atom(b)}`;
  if (a.endsWith(last)) return a.slice(0, -last.length);
  return a === mulText(b, "2") ? b : `${a} - ${atom(b)}`;
}

export type MulText<A extends string, B extends string> = B extends PowerText
  ? Scaled<A> extends [infer X, infer T extends 0[], infer O extends 0[]]
    ? Scale<X, [...T, ...Log2[B]], O>
    : never
  : `${Factor<A>} * ${Factor<B>}`;
export function mulText(a: string, b: string): string {
  const exponent = log2Of(b);
  if (exponent < 0) return `${factor(a)} * ${factor(b)}`;
  const [base, times, over] = scaled(a);
  return scale(base, times + exponent - over);
}

export type FloorDivText<A extends string, B extends string> = B extends PowerText
  ? Scaled<A> extends [infer X, infer T extends 0[], infer O extends 0[]]
    ? Scale<X, T, [...O, ...Log2[B]]>
    : never
  : A extends `${infer X} * ${Factor<B>}`
    ? Bare<X>
    : [IsProduct<A>, A] extends [true, `${Factor<B>} * ${infer X}`]
      ? X
      : `${Atom<A>} // ${Atom<B>}`;
export function floorDivText(a: string, b: string): string {
  const exponent = log2Of(b);
  if (exponent >= 0) {
    const [base, times, over] = scaled(a);
    return scale(base, times - over - exponent);
  }
  const last = ` * ${factor(b)}`;
  if (a.endsWith(last)) return bare(a.slice(0, -last.length));
  const first = `${factor(b)} * `;
  return a.startsWith(first) && isProduct(a) ? a.slice(first.length) : `${atom(a)} // ${atom(b)}`;
}

export type ModText<A extends string, B extends string> = `${Atom<A>} % ${Atom<B>}`;
export const modText = (a: string, b: string): string => `${atom(a)} % ${atom(b)}`;
export type DivText<A extends string, B extends string> = `${Atom<A>} / ${Atom<B>}`;
export const divText = (a: string, b: string): string => `${atom(a)} / ${atom(b)}`;

/** A comparison: `BLOCK >= N`. */
export type CompareText<A extends string, Sign extends string, B extends string> = `${A} ${Sign} ${B}`;
export const compareText = (a: string, sign: string, b: string): string => `${a} ${sign} ${b}`;

/** A call such as `cdiv(M, BLOCK)` or `min(A, B)`. */
export type CallText<Name extends string, A extends string, B extends string> = `${Name}(${A}, ${B})`;
export const callText = (name: string, a: string, b: string): string => `${name}(${a}, ${b})`;

/** The text of a doubled dimension, as in the results of cat and interleave. */
export type TwiceText<A extends string> = MulText<A, "2">;

/** Parses and evaluates the text of a dimension, such as `BLOCK * 2` (see `constexpr-text.ts`). */

type Numbers = Readonly<Record<string, unknown>>;

/** An interpretation of the parsed text: as a number, or as values of a kernel. */
interface Algebra<T> {
  number(value: number): T;
  /** The value of a constexpr, a size, or the index of an unrolled loop. */
  name(name: string): T;
  neg(x: T): T;
  not(x: T): T;
  /** The comparison of a string constexpr, `MODE == causal`. Undefined if the name is that of a number. */
  isString(name: string, text: string): T | undefined;
  binary: Readonly<Record<Operator, (x: T, y: T) => T>>;
  call: Readonly<Record<string, (...args: readonly T[]) => T>>;
}
type Operator = "+" | "-" | "*" | "//" | "/" | "%" | "<" | "<=" | ">" | ">=" | "==" | "!=";

/** The binary operators by increasing precedence. All are left-associative. */
const levels: readonly (readonly string[])[] = [
  ["<", "<=", ">", ">=", "==", "!="],
  ["+", "-"],
  ["*", "//", "/", "%"],
];

export function readText<T>(text: string, { number, name, neg, not, isString: isWord, binary, call }: Algebra<T>): T {
  const tokens = text.match(/\/\/|[<>=!]=|[-+*/%(),<>]|[\w.@:]+/g) ?? [];
  let next = 0;

  function expression(level: number): T {
    const operators = levels[level];
    if (!operators) return unary();
    let value = expression(level + 1);
    while (operators.includes(tokens[next] ?? "")) {
      const operator = tokens[next++] as Operator;
      value = binary[operator](value, expression(level + 1));
    }
    return value;
  }

  function unary(): T {
    const sign = tokens[next];
    if (sign !== "-" && sign !== "not") return atom();
    next++;
    // As in Python, `not` has lower precedence than a comparison.
    return sign === "not" ? not(expression(0)) : neg(unary());
  }

  function atom(): T {
    const token = tokens[next++] ?? "";
    if (token === "(") {
      const value = expression(0);
      next++;
      return value;
    }
    const f = tokens[next] === "(" ? call[token] : undefined;
    if (f) return f(...list());
    const sign = tokens[next];
    const comparison = sign === "==" || sign === "!=" ? isWord(token, tokens[next + 1] ?? "") : undefined;
    if (comparison !== undefined) {
      next += 2;
      return sign === "==" ? comparison : not(comparison);
    }
    return Number.isNaN(Number(token)) ? name(token) : number(Number(token));
  }

  function list(): T[] {
    const items: T[] = [];
    while (tokens[next] !== ")" && next < tokens.length) {
      next++;
      items.push(expression(0));
    }
    next++;
    return items;
  }

  return expression(0);
}

const arithmetic: Omit<Algebra<number>, "name" | "isString"> = {
  number: (value) => value,
  neg: (x) => -x,
  not: (x) => Number(!x),
  binary: {
    "+": (x, y) => x + y,
    "-": (x, y) => x - y,
    "*": (x, y) => x * y,
    "//": (x, y) => Math.floor(x / y),
    "/": (x, y) => x / y,
    "%": (x, y) => x - y * Math.floor(x / y),
    "<": (x, y) => Number(x < y),
    "<=": (x, y) => Number(x <= y),
    ">": (x, y) => Number(x > y),
    ">=": (x, y) => Number(x >= y),
    "==": (x, y) => Number(x === y),
    "!=": (x, y) => Number(x !== y),
  },
  call: {
    choose: (condition, x = 0, y = 0) => (condition ? x : y),
    and: (x, y) => Number(x && y),
    or: (x, y) => Number(x || y),
    cdiv: (x = 0, y = 1) => Math.ceil(x / y),
    min: Math.min,
    max: Math.max,
    shl: (x = 0, y = 0) => x * 2 ** y,
    shr: (x = 0, y = 0) => Math.floor(x / 2 ** y),
    bit_length: (x = 0) => bitLength(x),
    next_power_of_2: (x = 0) => nextPower(x),
  },
};

/** `int.bit_length` */
export function bitLength(x: number): number {
  if (!Number.isFinite(x)) return x;
  return x === 0 ? 0 : BigInt(Math.trunc(Math.abs(x))).toString(2).length;
}

/** The smallest power of two that is at least `x`; 0 if `x` is below 1. */
export function nextPower(x: number): number {
  return x <= 0 ? 0 : 2 ** bitLength(x - 1);
}

/**
 * Evaluates a text with these values of its names. A boolean is 1 or 0.
 * @throws Error if a name has no value.
 */
export function constexprValue(text: string, numbers: Numbers): number {
  const name = (token: string): number => {
    const declared = numbers[token];
    const value = typeof declared === "boolean" ? Number(declared) : declared;
    if (typeof value !== "number") throw new Error(`the size ${text} has no value here: ${token}`);
    return value;
  };
  const isString = (token: string, literal: string) =>
    typeof numbers[token] === "string" ? Number(numbers[token] === literal) : undefined;
  return readText(text, { ...arithmetic, name, isString });
}
