/** Parses and evaluates the text of a dimension, such as `BLOCK * 2` (see `constexpr-text.ts`). */

type Numbers = Readonly<Record<string, unknown>>;

/** An interpretation of the parsed text: as a number, or as values of a kernel. */
export interface Algebra<T> {
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
