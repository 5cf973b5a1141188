/** Python's expressions as TypeScript. */
import { translateCall } from "./translate-calls.js";
import type { Context } from "./context.js";
import { NOT_GIVEN, usesOmittedParam } from "./dead-code.js";
import { binary, translateAnd, compare, either, hasMethods, negated } from "./operators.js";
import type { Attribute, Comparison, Expression, Subscript, View } from "./tree.js";
import {
  cast,
  constant,
  constantKind,
  constantOf,
  dtypeValue,
  elementOf,
  isConstant,
  isKnown,
  kindOf,
  knownValue,
  list,
  NONE,
  number,
  rankOf,
  string,
  traced,
  truth,
  type Value,
} from "./value.js";

/** @throws NotImported with the reason and the line. */
export function translateExpression(node: Expression, context: Context): Value {
  const { scope } = context;
  if (node.known) {
    const value = knownValue(node.known);
    if (value) return value;
    if (node.known.what !== "module" && node.kind === "Name")
      scope.refuse(`${node.id} is ${node.known.what === "other" ? `a ${node.known.name}` : "unknown"}`, node);
  }
  const of = (inner: Expression): Value => translateExpression(inner, context);
  switch (node.kind) {
    case "Name":
      return scope.read(node.id) ?? scope.refuse(`${node.id} has no value here`, node);
    case "Constant":
      return constant(node.of, node.value) ?? scope.refuse(`a constant of type ${node.of}`, node);
    case "BinOp":
      return binary(
        node.op,
        { value: of(node.left), from: node.left },
        { value: of(node.right), from: node.right },
        node,
        context,
      );
    case "Compare":
      return comparisons(node, context);
    case "BoolOp":
      return logical(node.op, node.values, context);
    case "UnaryOp":
      return unary(node, context);
    case "IfExp":
      return choice(node, context);
    case "Tuple":
    case "List":
      return list(node.elts.map(of));
    case "Attribute":
      return attribute(node, context);
    case "Subscript":
      return subscript(node, context);
    case "Call":
      return translateCall(node, context);
    case "View":
      return view(node, context);
    case "JoinedStr":
      return string("");
    default:
      return scope.refuse(`${node.kind} is not translated`, node);
  }
}

function view({ tensor, indices }: View, context: Context): Value {
  const texts = indices.map(({ index, isClaimed }) => {
    const { text } = translateExpression(index, context);
    return isClaimed ? `tl.inBounds(${text})` : text;
  });
  return traced(`${context.kernel.tensor(tensor)}.at(${texts.join(", ")})`);
}

function comparisons(node: Comparison, context: Context): Value {
  const sides = [node.left, ...node.comparators].map((from) => ({ value: translateExpression(from, context), from }));
  const each = node.ops.map((op, i) => {
    const [left, right] = [sides[i]!, sides[i + 1]!];
    const isNone = right.value.kind === "none";
    if (op === "Is" || op === "IsNot" || (isNone && (op === "Eq" || op === "NotEq"))) {
      const same = isNone ? isAbsent(left.value, left.from, context) : compare("Eq", left, right, node);
      return op === "Is" || op === "Eq" ? same : negated(same);
    }
    if (op === "In" || op === "NotIn") {
      if (right.value.kind !== "list") return context.scope.refuse("`in` of what is no list", node);
      const found = right.value.items.map((value) => compare("Eq", left, { value }, node)).reduce(either, truth(false));
      return op === "In" ? found : negated(found);
    }
    return compare(op, left, right, node);
  });
  return each.reduce(translateAnd);
}

/** `x is None`. */
function isAbsent(value: Value, from: Expression, { kernel, scope }: Context): Value {
  if (value.kind === "none") return truth(true);
  const param = optionalParam(value, kernel.optional);
  if (param !== undefined) return traced(`${param}.given.not()`, true);
  // It was made under a condition that Triton knows, and else is None.
  const under = from.kind === "Name" ? scope.variable(from.id)?.under : undefined;
  if (under) return negated(under);
  if (constantKind(from) === "NoneType") return scope.refuse("a value that is None in some calls only", from);
  return truth(false);
}

/** The parameter of which a value is the pointer, if calls may leave it out. */
function optionalParam({ text }: Value, optional: ReadonlySet<string>): string | undefined {
  const param = text.replace(/\.ptr$/, "");
  return optional.has(param) ? param : undefined;
}

/** As a condition: a truth value, or a handle of one. */
export function translateCondition(node: Expression, context: Context): Value {
  const decided = context.kernel.decides ? constantOf(node) : undefined;
  return context.scope.decide(truthOf(decided ?? translateExpression(node, context), node, context));
}

function truthOf(value: Value, node: Expression, context: Context): Value {
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
    default:
      return context.scope.refuse(`a ${value.kind} as a condition`, node);
  }
  const param = optionalParam(value, context.kernel.optional);
  if (param !== undefined) return traced(`${param}.given`, true);
  if (kindOf(node) === "pointer") return truth(true);
  const of = constantKind(node) ?? (node.types.length === 0 ? value.of : undefined);
  const element = elementOf(node);
  const isNumber = of === "int" || of === "float" || (element !== undefined && element !== "int1");
  return isNumber ? traced(`${value.text}.ne(0)`, isConstant(value)) : value;
}

function logical(op: "And" | "Or", nodes: readonly Expression[], context: Context): Value {
  const values = nodes.map((node) => translateCondition(node, context));
  return op === "And" ? values.reduce(translateAnd, truth(true)) : values.reduce(either, truth(false));
}

function unary(node: Extract<Expression, { kind: "UnaryOp" }>, context: Context): Value {
  if (node.op === "Not") return negated(translateCondition(node.operand, context));
  const value = translateExpression(node.operand, context);
  if (node.op === "UAdd") return value;
  if (value.kind === "number") {
    const given = value.value;
    if (node.op === "USub") return number(-given, value.isFloat);
    return number(typeof given === "bigint" ? ~given : -given - 1, false);
  }
  if (!hasMethods(value)) return context.scope.refuse(`${node.op} of a ${value.kind}`, node);
  return traced(`${value.text}.${node.op === "USub" ? "neg" : "not"}()`, isConstant(value));
}

/** `x if condition else y` */
function choice(node: Extract<Expression, { kind: "IfExp" }>, context: Context): Value {
  const { scope } = context;
  const asked = translateCondition(node.test, context);
  if (asked.kind === "truth") return translateExpression(asked.value ? node.body : node.orelse, context);
  if (isKnown(asked, node.test))
    for (const [arm, other, holds] of [
      [node.body, node.orelse, negated(asked)],
      [node.orelse, node.body, asked],
    ] as const)
      if (usesOmittedParam([arm], context)) {
        scope.refute({ condition: negated(holds), names: [], why: NOT_GIVEN });
        return translateExpression(other, context);
      }
  const [x, y] = [translateExpression(node.body, context), translateExpression(node.orelse, context)];
  const isNumber = (value: Value, from: Expression): boolean =>
    value.kind === "number" || (value.kind === "traced" && isKnown(value, from));
  if (isKnown(asked, node.test) && isNumber(x, node.body) && isNumber(y, node.orelse))
    return traced(`tl.choose(${asked.text}, ${x.text}, ${y.text})`, true);
  const dtype = elementOf(node.body) ?? elementOf(node.orelse) ?? elementOf(node);
  const arm = (value: Value): string => {
    if (value.kind === "traced") return value.text;
    if ((value.kind === "number" || value.kind === "truth") && dtype !== undefined)
      return cast(value, context.kernel.dtype(dtype)).text;
    return context.scope.refuse(`a condition that chooses ${value.kind === "none" ? "None" : `a ${value.kind}`}`, node);
  };
  return traced(`tl.when(${asked.text}, () => ${arm(x)}).otherwise(() => ${arm(y)})`);
}

function attribute(node: Attribute, context: Context): Value {
  const { scope } = context;
  const { attr } = node;
  // The type of what Triton met, where that is a dtype.
  const [only, ...others] = node.types;
  if (attr === "dtype" || attr === "element_ty" || attr === "type" || attr === "scalar") return dtypeOf(node, context);
  const known = constantOf(node);
  if (known && isAboutDType(node.value)) return known;
  if (kindOf(node.value) === "descriptor")
    return scope.refuse(`.${attr} of a descriptor; pass it as an argument of the kernel`, node);
  const base = translateExpression(node.value, context);
  if (attr === "T") return traced(`${base.text}.T`);
  if (attr === "value") return base;
  if (attr === "shape") {
    const rank = rankOf(node.value);
    if (rank === undefined) return scope.refuse("the shape of a value of several ranks", node);
    return list(Array.from({ length: rank }, (_, axis) => traced(`${base.text}.shape[${axis}]`)));
  }
  return scope.refuse(`the attribute .${attr}${others.length > 0 || !only ? "" : ` of a ${only.kind}`}`, node);
}

/** Whether an expression is a dtype, or leads to one. */
export function isAboutDType(node: Expression): boolean {
  return (
    kindOf(node) === "dtype" ||
    node.known?.what === "dtype" ||
    (node.kind === "Attribute" && ["dtype", "element_ty", "type", "scalar"].includes(node.attr))
  );
}

/** `x.dtype`, `x_ptr.dtype.element_ty`: the dtype of the value that it starts from. */
function dtypeOf(node: Attribute, context: Context): Value {
  let root: Expression = node.value;
  while (root.kind === "Attribute" && !root.known) root = root.value;
  if (root.known?.what === "dtype") return dtypeValue(root.known.dtype);
  const value = translateExpression(root, context);
  if (value.kind === "dtype") return value;
  const parameter = root.kind === "Name" && context.scope.isKernel ? root.id : undefined;
  const element = elementOf(root) ?? (parameter === undefined ? undefined : context.kernel.elementOf(parameter));
  if (element === undefined) return context.scope.refuse("the dtype of what is no tile", node);
  return { kind: "dtype", text: context.kernel.dtype(element) };
}

/** `x[:, None]`, `shape[0]`. */
function subscript(node: Subscript, context: Context): Value {
  const base = translateExpression(node.value, context);
  const dims = node.slice.kind === "Tuple" ? node.slice.elts : [node.slice];
  if (base.kind === "list" || kindOf(node.value) === "tuple") return item(base, dims, node, context);
  const added: number[] = [];
  for (const [axis, dim] of dims.entries()) {
    if (dim.kind === "Slice" && !dim.lower && !dim.upper) continue;
    const value = translateExpression(dim, context);
    if (value.kind !== NONE.kind)
      return context.scope.refuse("a subscript with a number: Triton's tiles have no elements by index", node);
    added.push(axis);
  }
  if (added.length === 0) return base;
  if (kindOf(node.value) === "pointer")
    return traced(`${base.text}${added.map((axis) => `.expandDims(${axis})`).join("")}`);
  if (dims.length === 2 && added.length === 1 && rankOf(node.value) !== 2)
    return traced(`${base.text}.${added[0] === 0 ? "row" : "col"}`);
  return traced(`${base.text}.expandDims(${added.length === 1 ? added[0] : `[${added.join(", ")}]`})`);
}

function item(base: Value, dims: readonly Expression[], node: Subscript, context: Context): Value {
  const [only, ...more] = dims;
  if (!only || more.length > 0) return context.scope.refuse("a tuple with several indices", node);
  const index = translateExpression(only, context);
  if (index.kind !== "number") return context.scope.refuse("an index of a tuple that is no number", node);
  const place = Number(index.value);
  if (base.kind !== "list") return traced(`${base.text}[${place}]`);
  return base.items.at(place) ?? context.scope.refuse("an index outside of the tuple", node);
}
