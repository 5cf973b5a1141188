/** Translates calls: Triton functions by op records, Python builtins, and helper functions. */
import { camelCase } from "./author-name.js";
import type { Context } from "./context.js";
import { translateCondition, translateExpression, isAboutDType } from "./translate-expressions.js";
import { translateOperator } from "./operators.js";
import { isOp, operation } from "./op-calls.js";
import { boundArgument, type Call, type Expression } from "./tree.js";
import {
  bindingValue,
  castTo,
  constantInCalls,
  constantOf,
  dtypeValue,
  kindOf,
  list,
  NO_VALUE,
  number,
  traced,
  truth,
  type Value,
} from "./value.js";
import type { BoundArgument } from "./adaptations.js";

const WRITE_ARGUMENTS = "write its arguments one by one";

export function translateCall(node: Call, context: Context): Value {
  const { scope } = context;
  if (node.func.kind === "Attribute" && !node.callee) return translateMethodCall(node, context);
  const callee = calleeOf(node, context);
  const isRecorded = node.callee?.what === "helper" || (callee?.kind === "function" && !isTritonFunction(callee.name));
  const constantResult = isRecorded ? recordedResult(node, context) : undefined;
  if (constantResult) return constantResult;
  if (callee?.kind === "helper") return translateHelperCall(callee.number, node, context);
  if (callee?.kind !== "function")
    return scope.refuse(
      "a call of something other than a Triton function",
      "call functions of tl or @triton.jit functions",
      node,
    );
  const { name } = callee;
  const translateBuiltin = BUILTINS[name];
  if (translateBuiltin)
    return translateBuiltin(node, context) ?? scope.refuse(`${name} with these arguments`, "write its result", node);
  if (!node.bound)
    return scope.refuse(`${name} with starred arguments, or others than it takes`, WRITE_ARGUMENTS, node);
  const bound: Record<string, BoundArgument> = {};
  for (const [parameter, arg] of Object.entries(node.bound)) bound[parameter] = translateArgument(arg, context);
  return operation(name, bound, node, context);
}

/** The called function, if it is known. */
function calleeOf(node: Call, context: Context): Value | undefined {
  return node.callee ? bindingValue(node.callee) : translateExpression(node.func, context);
}

const isTritonFunction = (name: string): boolean => name in BUILTINS || isOp(name);

/** The result of a call whose arguments are all constants, if it was the same constant in every recorded call. */
function recordedResult(node: Call, context: Context): Value | undefined {
  const [type, ...others] = node.types;
  const result = type?.kind === "dtype" && others.length === 0 ? dtypeValue(type.dtype) : constantInCalls(node);
  if (!result || result.kind === "none") return undefined;
  const argNodes = [...node.args, ...node.keywords.map(({ value }) => value)];
  const isKnownArgument = (each: Expression): boolean => kindOf(each) === "constant" || isAboutDType(each);
  if (!argNodes.every(isKnownArgument)) return undefined;
  context.kernel.addTodo(`a call that is ${result.text} in the traced calls`, node.line);
  return result;
}

function translateArgument(node: Expression | readonly Expression[], context: Context): BoundArgument {
  if (!("kind" in node)) {
    const items = node.map((each) => ({ value: translateExpression(each, context), source: each }));
    // `x.permute(2, 0, 1)`, or `x.permute((2, 0, 1))`.
    const [first] = items;
    return items.length === 1 && first?.value.kind === "list"
      ? first
      : { value: list(items.map(({ value }) => value)) };
  }
  return { value: translateExpression(node, context), source: node };
}

const translateArgs = (node: Call, context: Context): readonly Value[] =>
  node.args.map((each) => translateExpression(each, context));

/** The translation of a function that Python or Triton's frontend evaluates. */
type BuiltinTranslator = (node: Call, context: Context) => Value | undefined;

const translateExtremum =
  (method: "minimum" | "maximum", fold: (...values: readonly number[]) => number): BuiltinTranslator =>
  (node, context) => {
    const values = translateArgs(node, context);
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

const translateCdiv: BuiltinTranslator = (node, context) => {
  const [x, y] = translateArgs(node, context);
  if (x?.kind === "number" && y?.kind === "number") return number(Math.ceil(Number(x.value) / Number(y.value)), false);
  return x && y ? translateOperator("cdiv", x, y) : undefined;
};

const translateNextPowerOf2: BuiltinTranslator = (node, context) => {
  const [x] = translateArgs(node, context);
  return x?.kind === "number"
    ? number(2 ** Math.ceil(Math.log2(Number(x.value))), false)
    : recordedResult(node, context);
};

/** Drops prints, which are for debugging. */
const dropPrint: BuiltinTranslator = (node, { kernel }) => {
  kernel.addTodo("a print is left out", node.line);
  return NO_VALUE;
};

const BUILTINS: Readonly<Record<string, BuiltinTranslator | undefined>> = {
  min: translateExtremum("minimum", Math.min),
  max: translateExtremum("maximum", Math.max),
  "triton.cdiv": translateCdiv,
  "tl.cdiv": translateCdiv,
  "triton.next_power_of_2": translateNextPowerOf2,
  "triton.language.core.constexpr": (node, context) => translateArgs(node, context)[0],
  "tl.constexpr": (node, context) => translateArgs(node, context)[0],
  print: dropPrint,
  "tl.static_print": dropPrint,
  "tl.device_print": dropPrint,
  abs: (node, context) => {
    const [x] = translateArgs(node, context);
    return x?.kind === "number" ? number(Math.abs(Number(x.value)), x.isFloat) : x && traced(`tl.abs(${x.text})`);
  },
  len: (node, context) => {
    const [x] = translateArgs(node, context);
    return x?.kind === "list" ? number(x.items.length, false) : undefined;
  },
  float: (node, context) => {
    const [x] = translateArgs(node, context);
    if (x?.kind === "string") return number(Number(x.value.replace(/inf(inity)?$/i, "Infinity")), true);
    return x?.kind === "number" ? number(x.value, true) : x;
  },
  int: (node, context) => {
    const [x] = translateArgs(node, context);
    return x?.kind === "number" ? number(Math.trunc(Number(x.value)), false) : x;
  },
  // A cast to it has the type of the pointer.
  "tl.pointer_type": (node, context) => {
    const [element, ...others] = translateArgs(node, context);
    return element?.kind === "dtype" && others.length === 0 ? element : undefined;
  },
  "tl.static_assert": (node, context) => {
    const condition = node.args[0] && translateCondition(node.args[0], context);
    if (!condition || condition.kind === "truth") return NO_VALUE;
    const message = node.args[1] && translateExpression(node.args[1], context);
    return traced(`tl.staticAssert(${condition.text}${message?.kind === "string" ? `, ${message.text}` : ""})`);
  },
  "tl.device_assert": (node, context) => {
    const [condition, ...more] = node.args;
    const message = more[0] && translateExpression(more[0], context);
    const messageText = message?.kind === "string" ? `, ${message.text}` : "";
    const mask = node.keywords.find(({ arg }) => arg === "mask")?.value ?? more[1];
    const messageAndMask = mask
      ? `${messageText || ', ""'}, { mask: ${translateExpression(mask, context).text} }`
      : messageText;
    return condition && traced(`tl.deviceAssert(${translateCondition(condition, context).text}${messageAndMask})`);
  },
  "tl.reduce": (node, context) => translateFold("reduce", node, context),
  "tl.associative_scan": (node, context) => translateFold("associativeScan", node, context),
};

/** Triton's builtin combine functions. */
const COMBINE: Readonly<Record<string, string>> = {
  _sum_combine: "(a, b) => a.add(b)",
  _prod_combine: "(a, b) => a.mul(b)",
  _xor_combine: "(a, b) => a.xor(b)",
  _or_combine: "(a, b) => a.or(b)",
  _elementwise_max: "(a, b) => tl.maximum(a, b)",
  _elementwise_min: "(a, b) => tl.minimum(a, b)",
};

function translateFold(name: string, node: Call, context: Context): Value | undefined {
  const [input, combineFn] = [boundArgument(node, "input"), boundArgument(node, "combine_fn")];
  if (!input || !combineFn) return undefined;
  const [x, f] = [translateExpression(input, context), translateExpression(combineFn, context)];
  const options = ["keep_dims", "reverse"].flatMap((option) => {
    const value = boundArgument(node, option);
    return value ? [`${camelCase(option)}: ${translateExpression(value, context).text}`] : [];
  });
  const axis = boundArgument(node, "axis");
  const axisText = axis ? translateExpression(axis, context).text : "0";
  const count = x.kind === "list" ? x.items.length : 1;
  const names = (letter: string): readonly string[] => Array.from({ length: count }, (_, i) => `${letter}${i}`);
  const builtinCombine = f.kind === "function" ? COMBINE[f.name.slice(f.name.lastIndexOf(".") + 1)] : undefined;
  let body = builtinCombine;
  if (f.kind === "helper") {
    const [lhs, rhs] = [names("a"), names("b")];
    const { name: callee } = context.kernel.instantiateHelper(
      f.number,
      [...lhs, ...rhs].map((text) => traced(text)),
    );
    const params = `[${lhs.join(", ")}], [${rhs.join(", ")}]`;
    body = count === 1 ? callee : `(${params}) => ${callee}(${[...lhs, ...rhs].join(", ")})`;
  }
  if (body === undefined) return undefined;
  return traced(
    `tl.${name}(${[x.text, axisText, body, ...(options.length > 0 ? [`{ ${options.join(", ")} }`] : [])].join(", ")})`,
  );
}

/** Translates methods of dtypes, of descriptors, and of values without types. */
function translateMethodCall(node: Call, context: Context): Value {
  const { func } = node;
  if (func.kind !== "Attribute") throw new Error("a method call without a method");
  if (isAboutDType(func.value)) {
    const result = constantOf(node);
    if (result) {
      context.kernel.addTodo(`a question about a dtype, decided for the traced calls: ${result.text}`, node.line);
      return result;
    }
  }
  const receiver = translateExpression(func.value, context);
  const argValues =
    kindOf(func.value) === "descriptor" ? descriptorArgs(func.attr, node, context) : translateArgs(node, context);
  if (receiver.kind === "number" && func.attr === "to") return castTo(receiver, argValues[0]?.text ?? "");
  if (receiver.kind !== "traced")
    return context.scope.refuse(`the method .${func.attr} of a ${receiver.kind}`, "write its result", node);
  const name = camelCase(func.attr);
  if (kindOf(func.value) !== "descriptor" && func.value.types.length > 0)
    return context.scope.refuse(`the method .${func.attr}`, "write a function of tl", node);
  return traced(`${receiver.text}.${name}(${argValues.map(({ text }) => text).join(", ")})`);
}

/** Parameters of the descriptor methods that TileScript supports. */
const DESCRIPTOR_METHODS: Readonly<Record<string, readonly string[]>> = {
  load: ["offsets"],
  store: ["offsets", "value"],
  gather: ["x_offsets", "y_offset"],
  scatter: ["value", "x_offsets", "y_offset"],
};

/** The arguments of a descriptor method, by name or by position. */
function descriptorArgs(method: string, node: Call, context: Context): readonly Value[] {
  const names = DESCRIPTOR_METHODS[method] ?? (method.startsWith("atomic_") ? ["offsets", "value"] : []);
  const argsByName = new Map(node.args.map((each, i) => [names[i] ?? `argument ${i + 1}`, each]));
  for (const { arg, value } of node.keywords) argsByName.set(arg ?? "**", value);
  const unknownName = [...argsByName.keys()].find((name) => !names.includes(name));
  if (names.length === 0)
    return context.scope.refuse(
      `the method .${method} of a descriptor`,
      "use load, store, gather, scatter or an atomic",
      node,
    );
  if (unknownName !== undefined)
    return context.scope.refuse(`.${method} of a descriptor with ${unknownName}`, "leave it out", node);
  return names.flatMap((name) => {
    const arg = argsByName.get(name);
    return arg ? [translateExpression(arg, context)] : [];
  });
}

function translateHelperCall(index: number, node: Call, context: Context): Value {
  if (!node.bound || !node.parameters)
    return context.scope.refuse("a call with starred or unknown arguments", WRITE_ARGUMENTS, node);
  const { bound } = node;
  const argValues = node.parameters.map((parameter) => {
    const value = bound[parameter];
    return value === undefined ? undefined : translateArgument(value, context).value;
  });
  const values = argValues.map((value) => value ?? truth(false));
  const isOmitted = argValues.map((value) => value === undefined);
  const { name, args: passedArgs } = context.kernel.instantiateHelper(
    index,
    values.map((value, i) => (isOmitted[i] ? { kind: "nothing", text: "" } : value)),
  );
  return traced(`${name}(${passedArgs.map(({ text }) => text).join(", ")})`);
}
