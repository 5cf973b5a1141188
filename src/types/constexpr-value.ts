/** The expression behind a dimension's text, such as `BLOCK * 2` (see `constexpr-text.ts`). */

type Numbers = Readonly<Record<string, unknown>>;

/** How to read a text: as a number, or as values of a kernel. */
export interface Algebra<T> {
  number(value: number): T;
  /** Reads a constexpr, a size, or the index of an unrolled loop. */
  name(name: string): T;
  neg(x: T): T;
  binary: Readonly<Record<Operator, (x: T, y: T) => T>>;
  call: Readonly<Record<string, (...args: readonly T[]) => T>>;
}
type Operator = "+" | "-" | "*" | "//" | "/" | "%";

/** Loosest first; all associate to the left. */
const levels: readonly (readonly string[])[] = [
  ["+", "-"],
  ["*", "//", "/", "%"],
];

export function readText<T>(text: string, { number, name, neg, binary, call }: Algebra<T>): T {
  const tokens = text.match(/\/\/|[-+*/%(),]|[\w.@:]+/g) ?? [];
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
    if (tokens[next] !== "-") return atom();
    next++;
    return neg(unary());
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

const arithmetic: Omit<Algebra<number>, "name"> = {
  number: (value) => value,
  neg: (x) => -x,
  binary: {
    "+": (x, y) => x + y,
    "-": (x, y) => x - y,
    "*": (x, y) => x * y,
    "//": (x, y) => Math.floor(x / y),
    "/": (x, y) => x / y,
    "%": (x, y) => x - y * Math.floor(x / y),
  },
  call: {
    cdiv: (x = 0, y = 1) => Math.ceil(x / y),
    min: Math.min,
    max: Math.max,
    shl: (x = 0, y = 0) => x * 2 ** y,
    shr: (x = 0, y = 0) => Math.floor(x / 2 ** y),
    bit_length: (x = 0) => bitLength(x),
    next_power_of_2: (x = 0) => (x <= 0 ? 0 : 2 ** Math.ceil(Math.log2(x))),
  },
};

/** `int.bit_length` */
export function bitLength(x: number): number {
  return x === 0 ? 0 : Math.floor(Math.log2(Math.abs(x))) + 1;
}

/**
 * The number that a text stands for, given those of its names.
 * @throws Error if the text has a name without a value here.
 */
export function constexprValue(text: string, numbers: Numbers): number {
  const name = (token: string): number => {
    const value = numbers[token];
    if (typeof value !== "number") throw new Error(`the size ${text} has no value here: ${token}`);
    return value;
  };
  return readText(text, { ...arithmetic, name });
}
