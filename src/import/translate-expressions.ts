/** Translates Python expressions to TypeScript. */
import { pythonName } from "./author-name.js";
import type { Context } from "./context.js";
import { MISSING_ARGUMENT, usesOmittedParam } from "./dead-code.js";
import type { FunctionScope } from "./function-scope.js";
import { readNames } from "./liveness.js";
import { translateBinary, translateAnd, translateComparison, translateOr, hasMethods } from "./operators.js";
import type { Attribute, Comparison, Expression, Subscript, View } from "./tree.js";
import {
  castTo,
  constant,
  constantKind,
  constantOf,
  dtypeValue,
  elementOf,
  isConstant,
  isCompileTimeConstant,
  kindOf,
  bindingValue,
  list,
  NONE,
  number,
  rankOf,
  string,
  traced,
  truth,
  type Value,
  translateNot,
} from "./value.js";

/** Constructs that Triton compiles and `import` does not, each with a remedy. */
const UNTRANSLATED: Readonly<Record<string, readonly [string, string] | undefined>> = {
  ListComp: ["a list comprehension", "write out its items"],
  NamedExpr: ["an assignment in an expression", "assign on a line of its own"],
};
const untranslated = (construct: string): readonly [string, string] => [
  `the expression ${construct}`,
  "write names, calls and operators",
];

const PASS_IT = "pass it as an argument of the kernel";

/** @throws UnsupportedConstruct with the reason and the line. */
export function translateExpression(node: Expression, context: Context): Value {
  const { scope } = context;
  if (node.known) {
    const value = bindingValue(node.known);
    if (value) return value;
    if (node.known.what !== "module" && node.kind === "Name")
      scope.refuse(`${node.id} is ${node.known.what === "other" ? `a ${node.known.name}` : "unknown"}`, PASS_IT, node);
  }
  const translate = (inner: Expression): Value => translateExpression(inner, context);
  switch (node.kind) {
    case "Name":
      return (
        scope.read(node.id) ??
        scope.refuse(`${pythonName(node.id)} has no value here`, "assign it on each path that leads here", node)
      );
    case "Constant":
      return (
        constant(node.of, node.value) ??
        scope.refuse(`a constant of type ${node.of}`, "write a number, a string, True, False or None", node)
      );
    case "BinOp":
      return translateBinary(
        node.op,
        { value: translate(node.left), source: node.left },
        { value: translate(node.right), source: node.right },
        node,
        context,
      );
    case "Compare":
      return translateComparisons(node, context);
    case "BoolOp":
      return translateLogical(node.op, node.values, context);
    case "UnaryOp":
      return translateUnary(node, context);
    case "IfExp":
      return translateChoice(node, context);
    case "Tuple":
    case "List":
      return list(node.elts.map(translate));
    case "Attribute":
      return translateAttribute(node, context);
    case "Subscript":
      return translateSubscript(node, context);
    case "Call":
      return context.translate.call(node, context);
    case "View":
      return translateView(node, context);
    case "JoinedStr":
      return string("");
    case "Slice":
      return scope.refuse("a slice", "select rows and columns by masks", node);
    case "Unsupported":
      return scope.refuse(...(UNTRANSLATED[node.construct] ?? untranslated(node.construct)), node);
    default:
      return node satisfies never;
  }
}

function translateView({ tensor, indices }: View, context: Context): Value {
  const texts = indices.map(({ index, isClaimed }) => {
    const { text } = translateExpression(index, context);
    return isClaimed ? `tl.inBounds(${text})` : text;
  });
  return traced(`${context.kernel.tensor(tensor)}.at(${texts.join(", ")})`);
}

function translateComparisons(node: Comparison, context: Context): Value {
  const sides = [node.left, ...node.comparators].map((source) => ({
    value: translateExpression(source, context),
    source,
  }));
  const results = node.ops.map((op, i) => {
    const [lhs, rhs] = [sides[i]!, sides[i + 1]!];
    const isNone = rhs.value.kind === "none";
    if (op === "Is" || op === "IsNot" || (isNone && (op === "Eq" || op === "NotEq"))) {
      const isEqual = isNone
        ? translateIsNone(lhs.value, lhs.source, context)
        : translateComparison("Eq", lhs, rhs, node);
      return op === "Is" || op === "Eq" ? isEqual : translateNot(isEqual);
    }
    if (op === "In" || op === "NotIn") {
      if (rhs.value.kind !== "list")
        return context.scope.refuse(
          "`in` with something other than a list",
          "compare with each value, x == 1 or x == 2",
          node,
        );
      const isMember = rhs.value.items
        .map((value) => translateComparison("Eq", lhs, { value }, node))
        .reduce(translateOr, truth(false));
      return op === "In" ? isMember : translateNot(isMember);
    }
    return translateComparison(op, lhs, rhs, node);
  });
  return results.reduce(translateAnd);
}

/** `x is None`. */
function translateIsNone(value: Value, source: Expression, { kernel, scope }: Context): Value {
  if (value.kind === "none") return truth(true);
  const param = optionalParam(value, kernel.optionalPointers);
  if (param !== undefined) return traced(`${param}.given.not()`, true);
  // The value is None exactly if its compile-time condition is false.
  const condition = source.kind === "Name" ? scope.variable(source.id)?.condition : undefined;
  if (condition) return translateNot(condition);
  if (constantKind(source) === "NoneType")
    return scope.refuse(
      "a value that is None in some calls only",
      "pass a flag as a tl.constexpr, and ask for that",
      source,
    );
  return truth(false);
}

/** The optional parameter whose pointer a value is, if any. */
function optionalParam({ text }: Value, optionalPointers: ReadonlySet<string>): string | undefined {
  const param = text.replace(/\.ptr$/, "");
  return optionalPointers.has(param) ? param : undefined;
}

/** Translates an expression in a boolean context to a boolean or to a handle of one. */
export function translateCondition(node: Expression, context: Context): Value {
  const recordedConstant = context.kernel.isSpecialized ? constantOf(node) : undefined;
  return context.scope.foldCondition(
    toTruthValue(recordedConstant ?? translateExpression(node, context), node, context),
  );
}

function toTruthValue(value: Value, node: Expression, context: Context): Value {
  switch (value.kind) {
    case "truth":
      return value;
    case "number":
      return truth(Number(value.value) !== 0);
    case "string":
      return truth(value.value !== "");
    case "none":
      return truth(false);
    case "traced":
      break;
    case "dtype":
    case "function":
    case "helper":
    case "list":
    case "nothing":
      return context.scope.refuse(`a ${value.kind} as a condition`, "compare it with what it may be", node);
    default:
      return value satisfies never;
  }
  const param = optionalParam(value, context.kernel.optionalPointers);
  if (param !== undefined) return traced(`${param}.given`, true);
  if (kindOf(node) === "pointer") return traced(`${value.text}.to(tl.int64).ne(0)`);
  const pythonType = constantKind(node) ?? (node.types.length === 0 ? value.typeTag : undefined);
  const element = elementOf(node);
  const isNumber = pythonType === "int" || pythonType === "float" || (element !== undefined && element !== "int1");
  return isNumber ? traced(`${value.text}.ne(0)`, isConstant(value)) : value;
}

function translateLogical(op: "And" | "Or", nodes: readonly Expression[], context: Context): Value {
  const values = nodes.map((node) => translateCondition(node, context));
  return op === "And" ? values.reduce(translateAnd, truth(true)) : values.reduce(translateOr, truth(false));
}

function translateUnary(node: Extract<Expression, { kind: "UnaryOp" }>, context: Context): Value {
  if (node.op === "Not") return translateNot(translateCondition(node.operand, context));
  const value = translateExpression(node.operand, context);
  if (node.op === "UAdd") return value;
  if (value.kind === "number") {
    const operand = value.value;
    if (node.op === "USub") return number(-operand, value.isFloat);
    return number(typeof operand === "bigint" ? ~operand : -operand - 1, false);
  }
  if (!hasMethods(value)) return context.scope.refuse(`${node.op} of a ${value.kind}`, "write its result", node);
  // A constant has no bits.
  if (node.op === "Invert" && constantKind(node.operand) === "int")
    return traced(`tl.sub(-1, ${value.text})`, isConstant(value));
  return traced(`${value.text}.${node.op === "USub" ? "neg" : "not"}()`, isConstant(value));
}

/** `x if condition else y` */
const LEFT_OUT_CHOICE = "one side of this choice is left out: no traced call takes it";

/** True if the kernel's arguments have one value each, which decides a condition, in place of an enclosing branch. */
const isDecidedByArguments = (test: Expression, scope: FunctionScope): boolean => {
  const values = [...readNames(test)].flatMap((name) => scope.variable(name)?.value ?? []);
  return scope.isKernel && values.length > 0 && values.every(({ kind }) => kind !== "traced");
};

function translateChoice(node: Extract<Expression, { kind: "IfExp" }>, context: Context): Value {
  const { scope } = context;
  const condition = translateCondition(node.test, context);
  if (condition.kind === "truth") {
    if (isDecidedByArguments(node.test, scope))
      context.kernel.leaveOut("arm", LEFT_OUT_CHOICE, (condition.value ? node.orelse : node.body).line);
    return translateExpression(condition.value ? node.body : node.orelse, context);
  }
  if (isCompileTimeConstant(condition, node.test))
    for (const [arm, otherArm, requiredCondition] of [
      [node.body, node.orelse, translateNot(condition)],
      [node.orelse, node.body, condition],
    ] as const)
      if (usesOmittedParam([arm], context)) {
        scope.refute({ condition: translateNot(requiredCondition), names: [], reason: MISSING_ARGUMENT });
        if (scope.isKernel) context.kernel.leaveOut("arm", LEFT_OUT_CHOICE, arm.line);
        return translateExpression(otherArm, context);
      }
  const [x, y] = [translateExpression(node.body, context), translateExpression(node.orelse, context)];
  const isNumber = (value: Value, source: Expression): boolean =>
    value.kind === "number" || (value.kind === "traced" && isCompileTimeConstant(value, source));
  if (isCompileTimeConstant(condition, node.test) && isNumber(x, node.body) && isNumber(y, node.orelse))
    return traced(`tl.choose(${condition.text}, ${x.text}, ${y.text})`, true);
  const dtype = elementOf(node.body) ?? elementOf(node.orelse) ?? elementOf(node);
  const arm = (value: Value, source: Expression): string => {
    if (value.kind === "traced" && (dtype === undefined || !isCompileTimeConstant(value, source))) return value.text;
    if ((value.kind === "number" || value.kind === "truth" || value.kind === "traced") && dtype !== undefined)
      return castTo(value, context.kernel.dtype(dtype)).text;
    return context.scope.refuse(
      `a condition that chooses ${value.kind === "none" ? "None" : `a ${value.kind}`}`,
      "choose between tiles or numbers",
      node,
    );
  };
  return traced(`tl.when(${condition.text}, () => ${arm(x, node.body)}).otherwise(() => ${arm(y, node.orelse)})`);
}

function translateAttribute(node: Attribute, context: Context): Value {
  const { scope } = context;
  const { attr } = node;
  const [type, ...others] = node.types;
  if (attr === "dtype" || attr === "element_ty" || attr === "type" || attr === "scalar")
    return translateDType(node, context);
  const constantValue = constantOf(node);
  if (constantValue && isAboutDType(node.value)) return constantValue;
  if (kindOf(node.value) === "descriptor") return scope.refuse(`.${attr} of a descriptor`, PASS_IT, node);
  const base = translateExpression(node.value, context);
  if (attr === "T") return traced(`${base.text}.T`);
  if (attr === "value") return base;
  if (attr === "shape") {
    const rank = rankOf(node.value);
    if (rank === undefined) return scope.refuse("the shape of a value of several ranks", "write the sizes", node);
    return list(Array.from({ length: rank }, (_, axis) => traced(`${base.text}.shape[${axis}]`)));
  }
  return scope.refuse(`the attribute .${attr}${others.length > 0 || !type ? "" : ` of a ${type.kind}`}`, PASS_IT, node);
}

/** True if an expression is a dtype or an attribute that leads to a dtype. */
export function isAboutDType(node: Expression): boolean {
  return (
    kindOf(node) === "dtype" ||
    node.known?.what === "dtype" ||
    (node.kind === "Attribute" && ["dtype", "element_ty", "type", "scalar"].includes(node.attr))
  );
}

/** Translates `x.dtype` and `x_ptr.dtype.element_ty` to the element type of the root value. */
function translateDType(node: Attribute, context: Context): Value {
  let root: Expression = node.value;
  while (root.kind === "Attribute" && !root.known) root = root.value;
  if (root.known?.what === "dtype") return dtypeValue(root.known.dtype);
  const value = translateExpression(root, context);
  if (value.kind === "dtype") return value;
  const parameter = root.kind === "Name" && context.scope.isKernel ? root.id : undefined;
  const element = elementOf(root) ?? (parameter === undefined ? undefined : context.kernel.elementOf(parameter));
  if (element === undefined)
    return context.scope.refuse("the dtype of something other than a tile", "write the dtype, tl.float32", node);
  return { kind: "dtype", text: context.kernel.dtype(element) };
}

/** `x[:, None]`, `shape[0]`. */
function translateSubscript(node: Subscript, context: Context): Value {
  const base = translateExpression(node.value, context);
  const dims = node.slice.kind === "Tuple" ? node.slice.elts : [node.slice];
  if (base.kind === "list" || kindOf(node.value) === "tuple") return translateItem(base, dims, node, context);
  const newAxes: number[] = [];
  for (const [axis, dim] of dims.entries()) {
    if (dim.kind === "Slice" && !dim.lower && !dim.upper) continue;
    const value = translateExpression(dim, context);
    if (value.kind !== NONE.kind)
      return context.scope.refuse(
        "a subscript with a number, as tiles have no elements by index",
        "select it by a mask and tl.sum",
        node,
      );
    newAxes.push(axis);
  }
  if (newAxes.length === 0) return base;
  if (kindOf(node.value) === "pointer")
    return traced(`${base.text}${newAxes.map((axis) => `.expandDims(${axis})`).join("")}`);
  if (dims.length === 2 && newAxes.length === 1 && rankOf(node.value) !== 2)
    return traced(`${base.text}.${newAxes[0] === 0 ? "row" : "col"}`);
  return traced(`${base.text}.expandDims(${newAxes.length === 1 ? newAxes[0] : `[${newAxes.join(", ")}]`})`);
}

function translateItem(base: Value, dims: readonly Expression[], node: Subscript, context: Context): Value {
  const [dim, ...more] = dims;
  if (!dim || more.length > 0) return context.scope.refuse("a tuple with several indices", "write one index", node);
  const index = translateExpression(dim, context);
  if (index.kind !== "number")
    return context.scope.refuse(
      "an index of a tuple that is no number",
      "write a number, or loop by tl.static_range",
      node,
    );
  const itemIndex = Number(index.value);
  if (base.kind !== "list") return traced(`${base.text}[${itemIndex}]`);
  return (
    base.items.at(itemIndex) ??
    context.scope.refuse("an index outside of the tuple", "write one below its length", node)
  );
}
