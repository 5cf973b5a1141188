/** The lint's sentences: what JavaScript does with a traced value, and what to write instead. */

/** The method that means for values of the program what the operator means for JavaScript's numbers. */
const METHODS: Readonly<Record<string, string>> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "mod",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
  "&": "and",
  "|": "or",
  "^": "xor",
  "<<": "shl",
  ">>": "shr",
};

/** `&&`, `||`, `??`, or an assignment with one of them, whose left side is traced. */
export function logical(operator: string, left: string, right: string): string {
  if (operator.startsWith("??"))
    return `\`${operator}\` on a traced value never takes its right side; remove it, or write tl.when(condition, () => …).otherwise(() => …)`;
  const [side, method] = operator.startsWith("&&") ? ["right", "and"] : ["left", "or"];
  return `\`${operator}\` on a traced value picks its ${side} side, it does not combine masks; write ${call(left, method!, right)}`;
}

export function equality(operator: string, left: string, right: string): string {
  const method = operator.startsWith("!") ? "ne" : "eq";
  return `\`${operator}\` compares handles, not values; write ${call(left, method, right)}`;
}

/** Where the operands change places, `1 < x` is `x.gt(1)`. */
const MIRRORED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };
const COMMUTATIVE = "+*&|^";

/** Arithmetic, order and bits. `base` is the operator without the `=` of an assignment. */
export function arithmetic(
  base: string,
  [left, right]: readonly [string, string],
  leftTraced: boolean,
  operator: string,
): string {
  const what = `\`${operator}\` is JavaScript's and cannot compute with a traced value`;
  const method = METHODS[base];
  if (!method) return `${what}; use the methods of the value or a function of tl`;
  if (leftTraced) return `${what}; write ${base === operator ? "" : `${subject(left)} = `}${call(left, method, right)}`;
  const mirrored = MIRRORED[base] ?? (COMMUTATIVE.includes(base) ? base : undefined);
  if (mirrored) return `${what}; write ${call(right, METHODS[mirrored]!, left)}`;
  return `${what}; make the left side a value of the program, such as tl.full([], a, dtype), and write .${method}(…)`;
}

export function unary(operator: string, operand: string): string {
  if (operator === "!") return `\`!\` on a traced value is always false; write ${subject(operand)}.not()`;
  const remedy = {
    "-": `write ${subject(operand)}.neg()`,
    "~": `write ${subject(operand)}.not()`,
    "+": "leave it out",
  };
  const how =
    remedy[operator as keyof typeof remedy] ??
    `write ${subject(operand)}.${operator === "++" ? "add" : "sub"}(1) and hold the result in tl.mut(…)`;
  return `\`${operator}\` is JavaScript's and cannot compute with a traced value; ${how}`;
}

export const MESSAGES = {
  if: "`if` on a traced value is always taken; use tl.when(condition, () => …)",
  conditional:
    "`?:` on a traced value always takes its first arm; use tl.where(condition, a, b), or tl.when(condition, () => a).otherwise(() => b)",
  while: "`while` on a traced value never ends; use tl.whileLoop(() => condition, () => …)",
  for: "`for` on a traced condition never ends; use for (const i of tl.range(…)) or tl.whileLoop(() => condition, () => …)",
  switch: "`switch` compares handles, not values; use tl.when(x.eq(…), () => …).elseWhen(…).otherwise(…)",
  boolean: "`Boolean(…)` of a traced value is always true; use the value itself as the condition",
  template:
    "a template cannot hold a traced value, which is a number only while the kernel runs; print it with tl.devicePrint(…)",
  break:
    "`break` leaves a traced loop while the kernel is traced; use tl.whileLoop(() => condition, () => …), or tl.when(condition, () => …) around the work",
  continue:
    "`continue` drops the rest of a traced loop's body from the kernel, not from one iteration; put the rest in tl.when(condition, () => …), or in an `if` when JavaScript knows the condition",
  return:
    "`return` leaves a traced loop while the kernel is traced; hold the value in tl.mut(…) and return it after the loop",
  collected:
    "a traced loop yields one symbolic index and cannot be collected; write for (const i of tl.range(…)) { … }",
} as const;

export function outerAssignment(name: string, kind: "loop" | "branch"): string {
  return `\`${name}\` is reassigned inside ${where(kind)}; hold it in tl.mut(…) and write ${name}.value`;
}

export function outerPush(name: string, kind: "loop" | "branch"): string {
  return `\`${name}\` gets one element inside ${where(kind)}, and that element does not exist outside it; make the array inside, or hold the value in tl.mut(…)`;
}

function where(kind: "loop" | "branch"): string {
  return kind === "loop"
    ? "a traced loop, which runs once while the kernel is traced"
    : "a traced branch, which always runs while the kernel is traced";
}

function call(left: string, method: string, right: string): string {
  return `${subject(left)}.${method}(${simple(right, 40) ? right : "b"})`;
}

/** The author's own text where a method can be called on it. */
function subject(text: string): string {
  return simple(text, 30) ? text : "a";
}

/** Names, members, and calls with plain arguments: what reads well in a sentence. */
function simple(text: string, most: number): boolean {
  return text.length <= most && /^(?:[\w$.]|\([\w$., ]*\))+$|^(["'])[^"'\n]*\1$/.test(text);
}
