/** Calls: of Triton's functions by the op records, of Python's own, and of helper functions. */
import type { Context } from "./context.js";
import { translateCondition, translateExpression, isAboutDType } from "./translate-expressions.js";
import { translateOperator } from "./operators.js";
import { type Bound, operation } from "./op-calls.js";
import type { Call, Expression } from "./tree.js";
import { cast, constantOf, dtypeValue, kindOf, list, NO_VALUE, number, traced, truth, type Value } from "./value.js";

export function translateCall(node: Call, context: Context): Value {
  const { scope } = context;
  if (node.func.kind === "Attribute" && !node.callee) return ofObject(node, context);
  const callee = node.callee ? undefined : translateExpression(node.func, context);
  const name =
    node.callee?.what === "function" ? node.callee.name : callee?.kind === "function" ? callee.name : undefined;
  if (node.callee?.what === "helper" || (name !== undefined && !isOfTriton(name))) {
    const decided = decidedOf(node, context);
    if (decided) return decided;
  }
  if (node.callee?.what === "helper") return helper(node.callee.number, node, context);
  if (callee?.kind === "helper") return helper(callee.number, node, context);
  if (name === undefined) return scope.refuse("a call of what is no function of Triton", node);
  const own = python[name];
  if (own) return own(node, context) ?? scope.refuse(`${name} with these arguments`, node);
  if (!node.bound) return scope.refuse(`${name} with starred arguments, or others than it takes`, node);
  const bound: Record<string, Bound> = {};
  for (const [parameter, given] of Object.entries(node.bound)) bound[parameter] = argument(given, context);
  return operation(name, bound, node, context);
}

const isOfTriton = (name: string): boolean => name in python || /^(tl|libdevice)\./.test(name);

/** What a call of constants alone gave, where it was one constant whenever Triton compiled it. */
function decidedOf(node: Call, context: Context): Value | undefined {
  const [type, ...others] = node.types;
  const known = type?.kind === "dtype" && others.length === 0 ? dtypeValue(type.dtype) : constantOf(node);
  if (!known || known.kind === "none") return undefined;
  const given = [...node.args, ...node.keywords.map(({ value }) => value)];
  const isKnownArgument = (each: Expression): boolean => kindOf(each) === "constant" || isAboutDType(each);
  if (!given.every(isKnownArgument)) return undefined;
  context.kernel.todo(`a call that is ${known.text} in the traced calls`, node.line);
  return known;
}

function argument(given: Expression | readonly Expression[], context: Context): Bound {
  if (!("kind" in given)) {
    const items = given.map((each) => ({ value: translateExpression(each, context), from: each }));
    // `x.permute(2, 0, 1)`, or `x.permute((2, 0, 1))`.
    const [first] = items;
    return items.length === 1 && first?.value.kind === "list"
      ? first
      : { value: list(items.map(({ value }) => value)) };
  }
  return { value: translateExpression(given, context), from: given };
}

const args = (node: Call, context: Context): readonly Value[] =>
  node.args.map((each) => translateExpression(each, context));

/** A call that Python or Triton's front end decides. */
type Own = (node: Call, context: Context) => Value | undefined;

const extreme =
  (method: "minimum" | "maximum", fold: (...values: readonly number[]) => number): Own =>
  (node, context) => {
    const values = args(node, context);
    const numbers = values.flatMap((value) => (value.kind === "number" ? [value] : []));
    if (numbers.length === values.length)
      return number(
        fold(...numbers.map(({ value }) => Number(value))),
        numbers.some(({ isFloat }) => isFloat),
      );
    return values.length < 2
      ? undefined
      : traced(values.map(({ text }) => text).reduce((x, y) => `tl.${method}(${x}, ${y})`));
  };

const rounded: Own = (node, context) => {
  const [x, y] = args(node, context);
  if (x?.kind === "number" && y?.kind === "number") return number(Math.ceil(Number(x.value) / Number(y.value)), false);
  return x && y ? translateOperator("cdiv", x, y) : undefined;
};

const power: Own = (node, context) => {
  const [x] = args(node, context);
  return x?.kind === "number" ? number(2 ** Math.ceil(Math.log2(Number(x.value))), false) : decidedOf(node, context);
};

/** Prints are left out: they show what the imported kernel need not. */
const dropped: Own = (node, { kernel }) => {
  kernel.todo("a print is left out", node.line);
  return NO_VALUE;
};

const python: Readonly<Record<string, Own | undefined>> = {
  min: extreme("minimum", Math.min),
  max: extreme("maximum", Math.max),
  "triton.cdiv": rounded,
  "tl.cdiv": rounded,
  "triton.next_power_of_2": power,
  "triton.language.core.constexpr": (node, context) => args(node, context)[0],
  "tl.constexpr": (node, context) => args(node, context)[0],
  print: dropped,
  "tl.static_print": dropped,
  "tl.device_print": dropped,
  abs: (node, context) => {
    const [x] = args(node, context);
    return x?.kind === "number" ? number(Math.abs(Number(x.value)), x.isFloat) : x && traced(`tl.abs(${x.text})`);
  },
  len: (node, context) => {
    const [x] = args(node, context);
    return x?.kind === "list" ? number(x.items.length, false) : undefined;
  },
  float: (node, context) => {
    const [x] = args(node, context);
    if (x?.kind === "string") return number(Number(x.value.replace(/inf(inity)?$/i, "Infinity")), true);
    return x?.kind === "number" ? number(x.value, true) : x;
  },
  int: (node, context) => {
    const [x] = args(node, context);
    return x?.kind === "number" ? number(Math.trunc(Number(x.value)), false) : x;
  },
  "tl.static_assert": (node, context) => {
    const asked = node.args[0] && translateCondition(node.args[0], context);
    if (!asked || asked.kind === "truth") return NO_VALUE;
    const message = node.args[1] && translateExpression(node.args[1], context);
    return traced(`tl.staticAssert(${asked.text}${message?.kind === "string" ? `, ${message.text}` : ""})`);
  },
  "tl.device_assert": (node, context) => {
    const [asked, ...more] = node.args;
    const message = more[0] && translateExpression(more[0], context);
    const said = message?.kind === "string" ? `, ${message.text}` : "";
    const mask = node.keywords.find(({ arg }) => arg === "mask")?.value ?? more[1];
    const masked = mask ? `${said || ', ""'}, { mask: ${translateExpression(mask, context).text} }` : said;
    return asked && traced(`tl.deviceAssert(${translateCondition(asked, context).text}${masked})`);
  },
  "tl.reduce": (node, context) => combined("reduce", node, context),
  "tl.associative_scan": (node, context) => combined("associativeScan", node, context),
};

/** Triton's own functions of elements. */
const COMBINE: Readonly<Record<string, string>> = {
  _sum_combine: "(a, b) => a.add(b)",
  _prod_combine: "(a, b) => a.mul(b)",
  _xor_combine: "(a, b) => a.xor(b)",
  _or_combine: "(a, b) => a.or(b)",
  _elementwise_max: "(a, b) => tl.maximum(a, b)",
  _elementwise_min: "(a, b) => tl.minimum(a, b)",
};

function combined(name: string, node: Call, context: Context): Value | undefined {
  const { bound } = node;
  const [input, axis, given] = [bound?.["input"], bound?.["axis"], bound?.["combine_fn"]];
  if (!input || !given || !("kind" in input) || !("kind" in given)) return undefined;
  const [x, f] = [translateExpression(input, context), translateExpression(given, context)];
  const options = ["keep_dims", "reverse"].flatMap((option) => {
    const value = bound?.[option];
    return value && "kind" in value
      ? [`${option === "keep_dims" ? "keepDims" : option}: ${translateExpression(value, context).text}`]
      : [];
  });
  const along = axis && "kind" in axis ? translateExpression(axis, context).text : "0";
  const count = x.kind === "list" ? x.items.length : 1;
  const names = (letter: string): readonly string[] => Array.from({ length: count }, (_, i) => `${letter}${i}`);
  const own = f.kind === "function" ? COMBINE[f.name.split(".").at(-1)!] : undefined;
  let body = own;
  if (f.kind === "helper") {
    const [left, right] = [names("a"), names("b")];
    const { name: callee } = context.kernel.helper(
      f.number,
      [...left, ...right].map((text) => traced(text)),
    );
    const pattern = (of: readonly string[]): string => (count === 1 ? of[0]! : `[${of.join(", ")}]`);
    body =
      count === 1 ? callee : `(${pattern(left)}, ${pattern(right)}) => ${callee}(${[...left, ...right].join(", ")})`;
  }
  if (body === undefined) return undefined;
  return traced(
    `tl.${name}(${[x.text, along, body, ...(options.length > 0 ? [`{ ${options.join(", ")} }`] : [])].join(", ")})`,
  );
}

/** A method of what is no tile: a dtype, a descriptor, or a tile that only some calls have. */
function ofObject(node: Call, context: Context): Value {
  const { func } = node;
  if (func.kind !== "Attribute") return context.scope.refuse("a call", node);
  if (isAboutDType(func.value)) {
    const known = constantOf(node);
    if (known) {
      context.kernel.todo(`a question about a dtype, decided for the traced calls: ${known.text}`, node.line);
      return known;
    }
  }
  const receiver = translateExpression(func.value, context);
  const given = kindOf(func.value) === "descriptor" ? ofDescriptor(func.attr, node, context) : args(node, context);
  if (receiver.kind === "number" && func.attr === "to") return cast(receiver, given[0]?.text ?? "");
  if (receiver.kind !== "traced") return context.scope.refuse(`the method .${func.attr} of a ${receiver.kind}`, node);
  const name = func.attr.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (kindOf(func.value) !== "descriptor" && func.value.types.length > 0)
    return context.scope.refuse(`the method .${func.attr}`, node);
  return traced(`${receiver.text}.${name}(${given.map(({ text }) => text).join(", ")})`);
}

/** The parameters of methods of descriptors, where TileScript has the same. */
const DESCRIPTOR_METHODS: Readonly<Record<string, readonly string[]>> = {
  load: ["offsets"],
  store: ["offsets", "value"],
  gather: ["x_offsets", "y_offset"],
  scatter: ["value", "x_offsets", "y_offset"],
};

/** The arguments of a descriptor's method, by name or by place. */
function ofDescriptor(method: string, node: Call, context: Context): readonly Value[] {
  const names = DESCRIPTOR_METHODS[method] ?? (method.startsWith("atomic_") ? ["offsets", "value"] : []);
  const given = new Map(node.args.map((each, i) => [names[i] ?? `argument ${i + 1}`, each]));
  for (const { arg, value } of node.keywords) given.set(arg ?? "**", value);
  const other = [...given.keys()].find((name) => !names.includes(name));
  if (names.length === 0) return context.scope.refuse(`the method .${method} of a descriptor`, node);
  if (other !== undefined) return context.scope.refuse(`.${method} of a descriptor with ${other}; leave it out`, node);
  return names.flatMap((name) => (given.has(name) ? [translateExpression(given.get(name)!, context)] : []));
}

function helper(index: number, node: Call, context: Context): Value {
  if (!node.bound || !node.parameters) return context.scope.refuse("a call with starred or unknown arguments", node);
  const { bound } = node;
  const given = node.parameters.map((parameter) => {
    const value = bound[parameter];
    return value === undefined ? undefined : argument(value, context).value;
  });
  const values = given.map((value) => value ?? truth(false));
  const missing = given.map((value) => value === undefined);
  const { name, args: passed } = context.kernel.helper(
    index,
    values.map((value, i) => (missing[i] ? { kind: "nothing", text: "" } : value)),
  );
  return traced(`${name}(${passed.map(({ text }) => text).join(", ")})`);
}
