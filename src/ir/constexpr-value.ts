/** The number behind a dimension's text, such as `BLOCK * 2` (see `ir/constexpr-text.ts`), given those of its names. */

type Numbers = Readonly<Record<string, unknown>>;

const functions: Readonly<Record<string, (...args: readonly number[]) => number>> = {
  cdiv: (x = 0, y = 1) => Math.ceil(x / y),
  min: Math.min,
  max: Math.max,
  shl: (x = 0, y = 0) => x * 2 ** y,
  shr: (x = 0, y = 0) => Math.floor(x / 2 ** y),
  bit_length: (x = 0) => bitLength(x),
  next_power_of_2: (x = 0) => (x <= 0 ? 0 : 2 ** Math.ceil(Math.log2(x))),
};

/** `int.bit_length` */
export function bitLength(x: number): number {
  return x === 0 ? 0 : Math.floor(Math.log2(Math.abs(x))) + 1;
}

type Binary = (x: number, y: number) => number;

/** Loosest first; all associate to the left. */
const levels: readonly Readonly<Record<string, Binary>>[] = [
  { "+": (x, y) => x + y, "-": (x, y) => x - y },
  {
    "*": (x, y) => x * y,
    "//": (x, y) => Math.floor(x / y),
    "/": (x, y) => x / y,
    "%": (x, y) => x - y * Math.floor(x / y),
  },
];

/** @throws Error if the text names something that has no value here. */
export function constexprValue(text: string, numbers: Numbers): number {
  const tokens = text.match(/\/\/|[-+*/%(),]|[\w.@:]+/g) ?? [];
  let next = 0;

  function expression(level: number): number {
    const operators = levels[level];
    if (!operators) return unary();
    let value = expression(level + 1);
    for (let f = operators[tokens[next] ?? ""]; f; f = operators[tokens[next] ?? ""]) {
      next++;
      value = f(value, expression(level + 1));
    }
    return value;
  }

  function unary(): number {
    if (tokens[next] !== "-") return atom();
    next++;
    return -unary();
  }

  function atom(): number {
    const token = tokens[next++] ?? "";
    if (token === "(") {
      const value = expression(0);
      next++;
      return value;
    }
    const f = tokens[next] === "(" ? functions[token] : undefined;
    if (f) return f(...list());
    const value = token in numbers ? numbers[token] : Number(token);
    if (typeof value !== "number" || Number.isNaN(value))
      throw new Error(`the size ${text} has no value here: ${token}`);
    return value;
  }

  function list(): number[] {
    const items: number[] = [];
    while (tokens[next] !== ")" && next < tokens.length) {
      next++;
      items.push(expression(0));
    }
    next++;
    return items;
  }

  return expression(0);
}
