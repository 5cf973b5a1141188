/** What JavaScript would do silently with a traced value, and what to write instead. */
import { defineCode } from "./define-code.js";

/** The method of traced values for each operator of JavaScript. */
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
  "&&": "and",
  "||": "or",
  "==": "eq",
  "===": "eq",
  "!=": "ne",
  "!==": "ne",
};

/** Operators for swapped operands: `1 < x` is `x.gt(1)`. */
const MIRRORED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };
const COMMUTATIVE = ["+", "*", "&", "|", "^", "==", "===", "!=", "!=="];

/**
 * The method that does what an operator does, and whether the right side has it because only that is traced. Undefined
 * where there is none: `**`, `??`, and `1 - x`.
 */
export function methodOf(operator: string, leftTraced: boolean): { method: string; swapped: boolean } | undefined {
  const written = leftTraced ? operator : (MIRRORED[operator] ?? (COMMUTATIVE.includes(operator) ? operator : ""));
  const method = METHODS[written];
  return method === undefined ? undefined : { method, swapped: !leftTraced };
}

export function unaryMethodOf(operator: string): string | undefined {
  return operator === "-" ? "neg" : operator === "~" || operator === "!" ? "not" : undefined;
}

/** `&&`, `||`, `??`, or an assignment with one of them, whose left side is traced. */
function logical(operator: string, left: string, right: string): string {
  if (operator.startsWith("??"))
    return `\`${operator}\` on a traced value never takes its right side; remove it, or write tl.when(condition, () => …).otherwise(() => …)`;
  const side = operator.startsWith("&&") ? "right" : "left";
  const { method } = methodOf(operator.slice(0, 2), true)!;
  // What only has an effect, or nothing to combine.
  if (operator === "&&" && /^tl\.(?:store|atomic\w+|devicePrint|debugBarrier)\(/.test(right))
    return `\`&&\` on a traced value picks its right side, which always runs; write tl.when(${plainText(left, "condition")}, () => ${plainText(right, "tl.store(…)")})`;
  return `\`${operator}\` on a traced value picks its ${side} side, it does not combine masks; write ${call(left, method, right)}`;
}

/** What a comparison decides: its remedy alone would leave JavaScript to choose by a handle. */
export type Choice = "if" | "while" | "conditional" | undefined;

function chosen(condition: string, choice: Choice): string {
  if (choice === undefined) return condition;
  if (choice === "while") return `tl.whileLoop(() => ${condition}, () => …)`;
  return choice === "if" ? `tl.when(${condition}, () => …)` : `tl.where(${condition}, a, b)`;
}

function equality(operator: string, left: string, right: string, choice: Choice): string {
  const compared = call(left, methodOf(operator, true)!.method, right);
  return `\`${operator}\` compares handles, not values; write ${chosen(compared, choice)}`;
}

/** Arithmetic, order and bits. `base` is the operator without the `=` of an assignment. */
function arithmetic(
  base: string,
  [left, right]: readonly [string, string],
  leftTraced: boolean,
  operator: string,
  choice: Choice,
): string {
  const what = `\`${operator}\` is JavaScript's and cannot compute with a traced value`;
  if (base === "**") return `${what}; write ${power(left, right)}`;
  if (!METHODS[base]) return `${what}; use the methods of the value or a function of tl`;
  const remedy = methodOf(base, leftTraced);
  if (!remedy)
    return `${what}; make the left side a value of the program, such as tl.full([], a, dtype), and write .${METHODS[base]}(…)`;
  if (base === "/" && leftTraced)
    return `${what}; write ${call(left, "floorDiv", right)} for integers, such as indices and sizes, or ${call(left, "div", right)} for floats`;
  const [receiver, argument] = remedy.swapped ? [right, left] : [left, right];
  const written = chosen(call(receiver, remedy.method, argument), choice);
  return `${what}; write ${base === operator || remedy.swapped ? "" : `${subject(left)} = `}${written}`;
}

/** `x ** 2` and other powers. */
function power(left: string, right: string): string {
  if (right === "2") return `${subject(left)}.mul(${subject(left)})`;
  if (right === "0.5") return `tl.sqrt(${plainText(left, "a")})`;
  if (right === "-0.5") return `tl.rsqrt(${plainText(left, "a")})`;
  return `libdevice.pow(${plainText(left, "a")}, ${plainText(right, "b")})`;
}

/** `tl.load(x + offsets)`, as Triton adds offsets to pointers. */
function address(base: string, [left, right]: readonly [string, string]): string {
  const at = base === left ? call(base, "at", right) : `${subject(base)}.at(i, j)`;
  return `\`+\` is JavaScript's and cannot compute with a traced value; write ${at} for a tensor, with one index for each axis, or ${call(left, "add", right)} for a pointer`;
}

function unary(operator: string, operand: string): string {
  const method = unaryMethodOf(operator);
  if (operator === "!") return `\`!\` on a traced value is always false; write ${subject(operand)}.${method}()`;
  const remedy =
    method !== undefined
      ? `write ${subject(operand)}.${method}()`
      : operator === "+"
        ? "leave it out"
        : `write ${subject(operand)}.${operator === "++" ? "add" : "sub"}(1) and hold the result in tl.mut(…)`;
  return `\`${operator}\` is JavaScript's and cannot compute with a traced value; ${remedy}`;
}

function outerAssigned(name: string, kind: "loop" | "branch"): string {
  return `\`${name}\` is reassigned inside ${where(kind)}; declare it inside, or hold it in tl.mut(…) and write ${name}.value`;
}

function outerPushed(name: string, kind: "loop" | "branch"): string {
  return `\`${name}\` gets one element inside ${where(kind)}, and that element does not exist outside it; make the array inside, or hold the value in tl.mut(…)`;
}

function where(kind: "loop" | "branch"): string {
  return kind === "loop"
    ? "a traced loop, which runs once while the kernel is traced"
    : "a traced branch, which always runs while the kernel is traced";
}

function call(left: string, method: string, right: string): string {
  return `${subject(left)}.${method}(${plainText(right, "…")})`;
}

const plainText = (text: string, otherwise: string): string => (simple(text, 40) ? text : otherwise);

/** The author's own text, if a method can be called on it. */
function subject(text: string): string {
  return simple(text, 30) ? text : "a";
}

/** Names, members, and calls with plain arguments: what reads well in a sentence. */
function simple(text: string, most: number): boolean {
  return text.length <= most && /^(?:[\w$.]|\((?:[\w$., ]|\([\w$., ]*\))*\))+$|^(["'])[^"'\n]*\1$/.test(text);
}

/** `a <= x < b` */
function comparedTwice([a, x, b]: readonly [string, string, string], operators: readonly string[]): string {
  const [first, second] = operators as [string, string];
  const both = `${call(x, METHODS[MIRRORED[first]!]!, a)}.and(${call(x, METHODS[second]!, b)})`;
  return `\`${first} … ${second}\` is Python's, and JavaScript compares a truth value with the third; write ${both}`;
}

export const hiddenCoercion = defineCode("hidden-coercion", {
  chained: comparedTwice,
  logical,
  equality,
  arithmetic,
  address,
  rounded: (callee: string, instead: string) =>
    `\`${callee}\` and \`/\` are JavaScript's and cannot compute with a traced value; write ${instead}`,
  unary,
  /** `x[i, j]` of traced indices. */
  indexed: (owner: string, indices: string) => {
    const view = `${subject(owner)}.at(${/^[\w$., ]{1,40}$/.test(indices) ? indices : "i, j"})`;
    return `\`[…]\` is JavaScript's and takes no traced value; write tl.load(${view}) to read, tl.store(${view}, value) to write`;
  },
  ofNumbers: (callee: string, instead: string) =>
    `\`${callee}\` is JavaScript's and cannot compute with a traced value; write ${instead}`,
  identity: (method: string) =>
    `\`${method}\` compares handles, not values; compare with .eq(…), and put .or(…) between several; a WeakMap may hold what JavaScript knows of a handle`,
  dtype: (how: string, name: string, members: readonly string[]) =>
    `\`${how}\` compares objects, and this dtype is ${name}, which the launch decides; branch with tl.when(${name}.is(tl.${members[0]}), () => …)`,
  dimension: (how: string, dim: string) =>
    `\`${how}\` compares objects, and the dimension ${dim} has a value only when Triton compiles; write .eq(…) and branch with tl.when(…)`,
  reflection: (how: string, asked: string) =>
    `\`${how}\` compares objects, and the launch decides ${asked}; write ${asked}.eq(…) and branch with tl.when(…)`,
  question: (callee: string) =>
    `\`${callee}\` asks about a number of JavaScript, and is false for every traced value; \`typeof x === "number"\` tells such numbers from traced values, and x.ne(x) is true of NaN`,
  length: () =>
    "`Array(…)` of a traced value is an array of one element, because JavaScript does not know its number; loop with tl.range(…)",
  template: (what = "a template") =>
    `${what} cannot hold a traced value, which is a number only while the kernel runs; print it with tl.devicePrint(…)`,
  /** `Number(N)`, `parseInt(N)` */
  converted: (callee: string, given: string) =>
    `\`${callee}\` takes numbers of JavaScript, and a traced value is a number only while the kernel runs; write ${subject(given)} itself, or ${subject(given)}.to(tl.int32) for an integer`,
  /** `f(x = 1)` */
  keyword: (name: string, value: string) =>
    `\`${name} = \` is Python's keyword argument, and JavaScript assigns to ${name}; write ${plainText(value, "the value")} at its place, or { ${name}: ${plainText(value, "…")} } in an object at the end`,
  /** `(M, N)` */
  tuple: (items: readonly string[]) =>
    `\`(a, b)\` is Python's tuple, and JavaScript takes its last item alone; write [${items.map((item) => plainText(item, "…")).join(", ")}]`,
  /** `N // 2;` */
  comment: (left: string, right: string) =>
    `\`//\` begins a comment in JavaScript, and ${right} is not divided by; write ${call(left, "floorDiv", right)}`,
});

export const tracedCondition = defineCode("traced-condition", {
  if: () => "`if` on a traced value is always taken; use tl.when(condition, () => …)",
  /** An optional param. */
  optional: (name: string) =>
    `\`${plainText(name, "it")}\` is an object where the caller leaves it out, too; ask tl.when(${plainText(name, "x")}.given, () => …)`,
  conditional: () =>
    "`?:` on a traced value always takes its first arm; use tl.where(condition, a, b), or tl.when(condition, () => a).otherwise(() => b)",
  while: () => "`while` on a traced value never ends; use tl.whileLoop(() => condition, () => …)",
  for: () =>
    "`for` on a traced condition never ends; use for (const i of tl.range(…)) or tl.whileLoop(() => condition, () => …)",
  /** `head` is the loop's head as it should be. */
  counted: (head: string) => `\`for\` on a traced condition never ends; write ${head}`,
  switch: () => "`switch` compares handles, not values; use tl.when(x.eq(…), () => …).elseWhen(…).otherwise(…)",
  predicate: (method: string) =>
    `\`${method}\` takes every traced value for true; choose with tl.where(condition, a, b), or combine conditions with .and(…) and .or(…)`,
  forIn: () => "`for … in` asks for the names of an object's properties; write for (const i of tl.range(…)) { … }",
  asked: () =>
    "something here or before asks JavaScript whether a traced value is true, and it always is; write tl.when(condition, () => …) or tl.where(condition, a, b) instead of `if`, `?:`, `&&`, `||` and filter(Boolean), and x !== undefined for what may be absent",
  boolean: () => "`Boolean(…)` of a traced value is always true; use the value itself as the condition",
});

export const unreadSource = defineCode(
  "unread-source",
  (name: string, from: string) =>
    `the source of ${name} from ${JSON.stringify(from)} cannot be read, so nothing tells whether JavaScript takes a traced value in it for a number or for true; check it, or move it to a file of the project`,
);

export const outerAssignment = defineCode("outer-assignment", { assigned: outerAssigned, pushed: outerPushed });
