/** JavaScript that silently ignores a traced value, and its replacement. */
import { defineCode, type Parts } from "../message.js";

/** The method for each comparison of sizes. */
const ORDER_METHODS = { "<": "lt", "<=": "le", ">": "gt", ">=": "ge" } as const;
export type OrderOperator = keyof typeof ORDER_METHODS;

/** The method of traced values for each JavaScript operator. */
const METHODS: Readonly<Record<string, string>> = {
  ...ORDER_METHODS,
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "mod",
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
const MIRRORED_ORDERS = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;
const MIRRORED: Readonly<Record<string, string>> = MIRRORED_ORDERS;
const COMMUTATIVE = ["+", "*", "&", "|", "^", "==", "===", "!=", "!=="];

/**
 * The method for an operator. `isSwapped` if the right side has the method, because only that side is traced. Undefined
 * if there is none: `**`, `??`, and `1 - x`.
 */
export function methodForOperator(
  operator: string,
  isLeftTraced: boolean,
): { method: string; isSwapped: boolean } | undefined {
  const mirrored = isLeftTraced ? operator : (MIRRORED[operator] ?? (COMMUTATIVE.includes(operator) ? operator : ""));
  const method = METHODS[mirrored];
  return method === undefined ? undefined : { method, isSwapped: !isLeftTraced };
}

export function methodForUnary(operator: string): string | undefined {
  if (operator === "-") return "neg";
  return operator === "~" || operator === "!" ? "not" : undefined;
}

/** `&&`, `||`, `??`, or an assignment with one of them, whose left side is traced. */
function logical(operator: string, lhs: string, rhs: string): Parts {
  if (operator.startsWith("??"))
    return [
      `\`${operator}\` on a traced value never takes its right side`,
      `remove it, or write tl.when(condition, () => …).otherwise(() => …)`,
    ];
  const [returnedSide, method] = operator.startsWith("&&") ? ["right", "and"] : ["left", "or"];
  // The right side has only an effect, so there is nothing to combine.
  if (operator === "&&" && /^tl\.(?:store|atomic\w+|devicePrint|debugBarrier)\(/.test(rhs))
    return [
      `\`&&\` on a traced value picks its right side, which always runs`,
      `write tl.when(${shortText(lhs, "condition")}, () => ${shortText(rhs, "tl.store(…)")})`,
    ];
  return [
    `\`${operator}\` on a traced value picks its ${returnedSide} side, it does not combine masks`,
    `write ${call(lhs, method, rhs)}`,
  ];
}

/**
 * The construct that a comparison controls. The remedy of the comparison alone would let JavaScript branch on a handle.
 */
export type Choice = "if" | "while" | "conditional" | undefined;

function wrapCondition(condition: string, choice: Choice): string {
  if (choice === undefined) return condition;
  if (choice === "while") return `tl.whileLoop(() => ${condition}, () => …)`;
  return choice === "if" ? `tl.when(${condition}, () => …)` : `tl.where(${condition}, …, …)`;
}

const BY_HANDLE = "compares handles, not values";

function equality(operator: string, lhs: string, rhs: string, choice: Choice): Parts {
  const comparison = call(lhs, operator.startsWith("!") ? "ne" : "eq", rhs);
  return [`\`${operator}\` ${BY_HANDLE}`, `write ${wrapCondition(comparison, choice)}`];
}

const NOT_TRACED = "is JavaScript's and cannot compute with a traced value";

/** Arithmetic, order and bits. `base` is the operator without the `=` of an assignment. */
function arithmetic(
  base: string,
  [lhs, rhs]: readonly [string, string],
  isLeftTraced: boolean,
  operator: string,
  choice: Choice,
): Parts {
  const problem = `\`${operator}\` ${NOT_TRACED}`;
  if (base === "**") return [problem, `write ${power(lhs, rhs)}`];
  if (!METHODS[base]) return [problem, `use the methods of the value or a function of tl`];
  const remedy = methodForOperator(base, isLeftTraced);
  if (!remedy)
    return [
      problem,
      `make the left side a value of the program, such as tl.full([], ${shortText(lhs, "…")}, dtype), and write .${METHODS[base]}(…)`,
    ];
  if (base === "/" && isLeftTraced)
    return [
      problem,
      `write ${call(lhs, "floorDiv", rhs)} for integers, such as indices and sizes, or ${call(lhs, "div", rhs)} for floats`,
    ];
  const [receiver, argument] = remedy.isSwapped ? [rhs, lhs] : [lhs, rhs];
  const condition = wrapCondition(call(receiver, remedy.method, argument), choice);
  return [problem, `write ${base === operator || remedy.isSwapped ? "" : `${subject(lhs)} = `}${condition}`];
}

/** `x ** 2` and other powers. */
function power(lhs: string, rhs: string): string {
  if (rhs === "2") return `${subject(lhs)}.mul(${subject(lhs)})`;
  if (rhs === "0.5") return `tl.sqrt(${shortText(lhs, "…")})`;
  if (rhs === "-0.5") return `tl.rsqrt(${shortText(lhs, "…")})`;
  return `libdevice.pow(${shortText(lhs, "…")}, ${shortText(rhs, "…")})`;
}

/** `tl.load(x + offsets)`, as Triton adds offsets to pointers. */
function address(base: string, [lhs, rhs]: readonly [string, string]): Parts {
  const view = base === lhs ? call(base, "at", rhs) : `${subject(base)}.at(…)`;
  return [
    `\`+\` ${NOT_TRACED}`,
    `write ${view} for a tensor, with one index for each axis, or ${call(lhs, "add", rhs)} for a pointer`,
  ];
}

function unary(operator: string, operand: string): Parts {
  const method = methodForUnary(operator);
  if (operator === "!") return [`\`!\` on a traced value is always false`, `write ${subject(operand)}.${method}()`];
  const problem = `\`${operator}\` ${NOT_TRACED}`;
  if (method !== undefined) return [problem, `write ${subject(operand)}.${method}()`];
  if (operator === "+") return [problem, "leave it out"];
  const step = operator === "++" ? "add" : "sub";
  return [problem, `write ${subject(operand)}.${step}(1) and hold the result in tl.mut(…)`];
}

function describeAssignment(name: string, kind: "loop" | "branch"): Parts {
  return [
    `\`${name}\` is reassigned inside ${describeScope(kind)}`,
    `declare it inside, or hold it in tl.mut(…) and write ${name}.value`,
  ];
}

function describePush(name: string, kind: "loop" | "branch"): Parts {
  return [
    `\`${name}\` gets one element inside ${describeScope(kind)}, and that element does not exist outside it`,
    `make the array inside, or hold the value in tl.mut(…)`,
  ];
}

function describeScope(kind: "loop" | "branch"): string {
  return kind === "loop"
    ? "a traced loop, which runs once while the kernel is traced"
    : "a traced branch, which always runs while the kernel is traced";
}

function call(lhs: string, method: string, rhs: string): string {
  return `${subject(lhs)}.${method}(${shortText(rhs, "…")})`;
}

const shortText = (text: string, otherwise: string): string => (isSimple(text, 40) ? text : otherwise);

/** The author's own text, if a method can be called on it. */
function subject(text: string): string {
  return isSimple(text, 30) ? text : "(…)";
}

/** True for names, members, and calls with simple arguments, which are readable in a sentence. */
function isSimple(text: string, limit: number): boolean {
  return text.length <= limit && /^(?:[\w$.]|\((?:[\w$., ]|\([\w$., ]*\))*\))+$|^(["'])[^"'\n]*\1$/.test(text);
}

/** `a <= x < b` */
function chainedComparison(
  [a, x, b]: readonly [string, string, string],
  [firstOperator, secondOperator]: readonly [OrderOperator, OrderOperator],
): Parts {
  const first = call(x, ORDER_METHODS[MIRRORED_ORDERS[firstOperator]], a);
  const conjunction = `${first}.and(${call(x, ORDER_METHODS[secondOperator], b)})`;
  return [
    `\`${firstOperator} … ${secondOperator}\` is Python's, and JavaScript compares a truth value with the third`,
    `write ${conjunction}`,
  ];
}

export const hiddenCoercion = defineCode("hidden-coercion", {
  chained: chainedComparison,
  logical,
  equality,
  arithmetic,
  address,
  rounded: (callee: string, remedy: string) => [
    `\`${callee}\` and \`/\` are JavaScript's and cannot compute with a traced value`,
    `write ${remedy}`,
  ],
  unary,
  /** `x[i, j]` of traced indices. */
  indexed: (owner: string, indices: string) => {
    const view = `${subject(owner)}.at(${/^[\w$., ]{1,40}$/.test(indices) ? indices : "…"})`;
    return [
      `\`[…]\` is JavaScript's and takes no traced value`,
      `write tl.load(${view}) to read, tl.store(${view}, value) to write`,
    ];
  },
  ofNumbers: (callee: string, remedy: string) => [`\`${callee}\` ${NOT_TRACED}`, `write ${remedy}`],
  identity: (method: string) => [
    `\`${method}\` ${BY_HANDLE}`,
    `compare with .eq(…), and put .or(…) between several; a WeakMap may hold data about a handle`,
  ],
  dtype: (operation: string, name: string, members: readonly string[]) => [
    `\`${operation}\` compares objects, and this dtype is ${name}, which the launch decides`,
    `branch with tl.when(${name}.is(tl.${members[0]}), () => …)`,
  ],
  dimension: (operation: string, dim: string) => [
    `\`${operation}\` compares objects, and the dimension ${dim} has a value only when Triton compiles`,
    `write .eq(…) and branch with tl.when(…)`,
  ],
  reflection: (operation: string, property: string) => [
    `\`${operation}\` compares objects, and the launch decides ${property}`,
    `write ${property}.eq(…) and branch with tl.when(…)`,
  ],
  question: (callee: string) => [
    `\`${callee}\` asks about a number of JavaScript, and is false for every traced value`,
    `\`typeof x === "number"\` tells such numbers from traced values, and x.ne(x) is true of NaN`,
  ],
  length: () => [
    "`Array(…)` of a traced value is an array of one element, because JavaScript does not know its number",
    "loop with tl.range(…)",
  ],
  template: (container = "a template") => [
    `${container} cannot hold a traced value, which is a number only while the kernel runs`,
    `print it with tl.devicePrint(…)`,
  ],
  /** `Number(N)`, `parseInt(N)` */
  converted: (callee: string, argument: string) => [
    `\`${callee}\` takes numbers of JavaScript, and a traced value is a number only while the kernel runs`,
    `write ${subject(argument)} itself, or ${subject(argument)}.to(tl.int32) for an integer`,
  ],
  /** `f(x = 1)` */
  keyword: (name: string, value: string) => [
    `\`${name} = \` is Python's keyword argument, and JavaScript assigns to ${name}`,
    `write ${shortText(value, "the value")} at its place, or { ${name}: ${shortText(value, "…")} } in an object at the end`,
  ],
  /** `(M, N)` */
  tuple: (items: readonly string[]) => [
    `\`(a, b)\` is Python's tuple, and JavaScript takes its last item alone`,
    `write [${items.map((item) => shortText(item, "…")).join(", ")}]`,
  ],
  /** `N // 2;` */
  comment: (lhs: string, rhs: string) => [
    `\`//\` begins a comment in JavaScript, and ${rhs} is not divided by`,
    `write ${call(lhs, "floorDiv", rhs)}`,
  ],
});

const ENDLESS_FOR = "on a traced condition never ends";

export const tracedCondition = defineCode("traced-condition", {
  if: () => ["`if` on a traced value is always taken", "use tl.when(condition, () => …)"],
  /** An optional param. */
  optional: (name: string) => [
    `\`${shortText(name, "it")}\` is an object where the caller leaves it out, too`,
    `ask tl.when(${shortText(name, "x")}.given, () => …)`,
  ],
  conditional: () => [
    "`?:` on a traced value always takes its first arm",
    "use tl.where(condition, a, b), or tl.when(condition, () => a).otherwise(() => b)",
  ],
  while: () => ["`while` on a traced value never ends", "use tl.whileLoop(() => condition, () => …)"],
  for: () => [
    "`for` on a traced condition never ends",
    "use for (const i of tl.range(…)) or tl.whileLoop(() => condition, () => …)",
  ],
  /** `head` is the corrected head of the loop. */
  counted: (head: string) => [`\`for\` ${ENDLESS_FOR}`, `write ${head}`],
  switch: () => ["`switch` compares handles, not values", "use tl.when(x.eq(…), () => …).elseWhen(…).otherwise(…)"],
  predicate: (method: string) => [
    `\`${method}\` takes every traced value for true`,
    `choose with tl.where(condition, a, b), or combine conditions with .and(…) and .or(…)`,
  ],
  forIn: () => ["`for … in` asks for the names of an object's properties", "write for (const i of tl.range(…)) { … }"],
  truthiness: () => [
    "code here or earlier uses a traced value as a JavaScript condition, which is always true",
    "write tl.when(condition, () => …) or tl.where(condition, a, b) instead of `if`, `?:`, `&&`, `||` and filter(Boolean), and x !== undefined for optional values",
  ],
  boolean: () => ["`Boolean(…)` of a traced value is always true", "use the value itself as the condition"],
});

export const unreadSource = defineCode("unread-source", (name: string, module: string) => [
  `the source of ${name} from ${JSON.stringify(module)} cannot be read, so uses of traced values as JavaScript numbers or conditions in it go unnoticed`,
  `check it, or move it to a file of the project`,
]);

export const outerAssignment = defineCode("outer-assignment", { assigned: describeAssignment, pushed: describePush });
