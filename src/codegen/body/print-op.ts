/** Prints an op statement as a Python expression, by the spelling in its op record. */
import type { Constant } from "../../values/runtime-values.js";
import { type Elem, isFp8, isInt, members } from "../../types/dtype.js";
import {
  type Argument,
  type FunctionIR,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type Literal,
  type OpStatement,
  type Value,
  type HostBlock,
} from "../../ir/nodes.js";
import { type CallSpelling, isValueKind, type Op, type Spelling } from "../../ir/op.js";
import { typedArguments } from "../../ir/walk.js";
import { none, type Type } from "../../types/types.js";
import * as py from "../syntax/py-build.js";
import type {
  Argument as PyArgument,
  BinaryOperator,
  CompareOperator,
  Expression,
  UnaryOperator,
} from "../syntax/py.js";
import { requiredCast, type WeakTypeRules } from "./weak-literals.js";

/** Printing of values and dtypes in the function that is being emitted. */
export interface ExpressionPrinter {
  value(argument: Argument): Expression;
  dtype(elem: Elem): Expression;
  /** Undefined outside kernels. */
  readonly helpers?: Helpers;
  /** Undefined outside kernels, where weak literals and Triton's version do not matter. */
  readonly weakTypes?: WeakTypeRules;
  /** Printers of the ops that the emitter itself adds. */
  readonly syntheticOps?: SyntheticOps | undefined;
}

export type SyntheticOps = ReadonlyMap<Op, (...operands: readonly Expression[]) => Expression>;

/** The names and hidden arguments of helper functions. */
export interface Helpers {
  name(helper: FunctionIR): Expression;
  /** Additional arguments: captured values of the callers, and dtypes. */
  extras(helper: FunctionIR): readonly (Value | Elem)[];
}

function helpersOf({ helpers }: ExpressionPrinter): Helpers {
  if (!helpers) throw new Error("a helper function is called outside a kernel");
  return helpers;
}

const COMPARISONS = new Set(["<", "<=", ">", ">=", "==", "!="]);
const BOOLEANS = new Set(["and", "or"]);
const BITWISE = new Set(["&", "|", "^"]);

/** Prints a bitwise operand above one byte in hexadecimal: `0xFFFF0000`. */
function toHexadecimal(operand: Expression): Expression {
  if (operand.kind !== "number" || !/^\d+$/.test(operand.text) || BigInt(operand.text) < 256n) return operand;
  return py.number(`0x${BigInt(operand.text).toString(16).toUpperCase()}`);
}

/** The expression of a statement in a kernel. For host code, pass the op's `host` spelling. */
export function printOp(
  statement: OpStatement,
  printer: ExpressionPrinter,
  spelling: Spelling = statement.op.spelling,
): Expression {
  const expression = printWithoutCast(statement, printer, spelling);
  const dtype = statement.results.length === 1 ? resultCastDType(statement, printer) : undefined;
  return dtype === undefined ? expression : py.call(py.attribute(expression, "to"), dtype);
}

/** The dtype to cast the first result to, because Triton 3.6 may return another dtype. */
export function resultCastDType(statement: OpStatement, printer: ExpressionPrinter): Expression | undefined {
  const result = statement.results[0]?.type;
  if (!printer.weakTypes || result?.kind !== "tile") return undefined;
  return statement.op.triton36.result?.(typedArguments(statement)) && printer.dtype(result.dtype);
}

function printWithoutCast(statement: OpStatement, printer: ExpressionPrinter, spelling: Spelling): Expression {
  const literalElem = operandElem(statement) ?? resultElem(statement);
  const toExpression = (argument: Argument): Expression => printArgument(statement, argument, literalElem, printer);
  const { operands } = statement;
  const operand = (index: number): Expression => {
    const argument = operands[index];
    if (argument === undefined) throw new Error(`${statement.op.name} has no operand ${index}`);
    return toExpression(argument);
  };
  const printSynthetic = printer.syntheticOps?.get(statement.op);
  if (printSynthetic) return printSynthetic(...operands.flatMap((each) => (each ? [toExpression(each)] : [])));
  switch (spelling.form) {
    case "infix": {
      const operator = operatorOf(statement, spelling, printer);
      const [left, right] = [operand(0), operand(1)];
      return BITWISE.has(operator)
        ? infix(operator, toHexadecimal(left), toHexadecimal(right))
        : infix(operator, left, right);
    }
    case "prefix":
      return py.unary(operatorOf(statement, spelling, printer) as UnaryOperator, operand(0));
    case "call":
      return py.call(spelling.name, ...printArguments(statement, 0, spelling, toExpression, printer));
    case "method":
      return method(statement, spelling.name, operand(0), toExpression, printer);
    case "expand":
      return py.subscript(operand(0), ...expandIndices(statement));
    case "reflect": {
      const member = py.attribute(operand(0), spelling.member);
      const access = spelling.called ? py.call(member) : member;
      return spelling.negated ? py.unary("not", access) : access;
    }
    case "pointer":
      return pointerCast(statement, operand(0), printer);
    case "raw":
      return raw(statement, toExpression);
    case "apply":
      return apply(statement, printer);
    case "conditional":
      return py.conditional(operand(1), operand(0), operand(2));
    case "same":
      return operand(0);
    case "lowered":
      throw new Error(`${statement.op.name} must be lowered before emission`);
    default:
      return spelling satisfies never;
  }
}

/** Python booleans, on the host or as constexprs, use `and`, `or` and `not` instead of the bitwise operators. */
function operatorOf(
  statement: OpStatement,
  spelling: { readonly operator: string; readonly truth?: string },
  { weakTypes }: ExpressionPrinter,
): string {
  const type = statement.results[0]?.type;
  const isBoolean = type?.kind === "constexpr" ? type.of === "bool" : !weakTypes && elemOfType(type ?? none) === "int1";
  return isBoolean ? (spelling.truth ?? spelling.operator) : spelling.operator;
}

function infix(operator: string, lhs: Expression, rhs: Expression): Expression {
  if (COMPARISONS.has(operator)) return py.compare(lhs, [operator as CompareOperator, rhs]);
  if (BOOLEANS.has(operator)) return py.boolOp(operator as "and" | "or", lhs, rhs);
  return py.binary(lhs, operator as BinaryOperator, rhs);
}

/** `x.to(tl.float32)`. A compile-time constant has no methods, so it becomes `tl.full([], x, tl.float32)`. */
function method(
  statement: OpStatement,
  name: string,
  receiverExpression: Expression,
  toExpression: (argument: Argument) => Expression,
  printer: ExpressionPrinter,
): Expression {
  const [receiver, dtype] = statement.operands;
  if (isDType(dtype)) {
    const isConstant = isLiteral(receiver) || (isValue(receiver) && receiver.type.kind === "constexpr");
    if (isConstant) return full(receiverExpression, dtype.dtype, printer);
    // Neither an argument that is 1 nor a loop index in Triton's interpreter has methods.
    const { weakTypes } = printer;
    if (isValue(receiver) && (weakTypes?.isWeak(receiver) || weakTypes?.isPythonNumber(receiver)))
      return py.call("tl.cast", receiverExpression, printer.dtype(dtype.dtype));
  }
  return py.call(py.attribute(receiverExpression, name), ...printArguments(statement, 1, {}, toExpression, printer));
}

/** Triton 3.9 cannot cast a pointer to another pointer type, so the cast goes through int64. */
function pointerCast({ operands }: OpStatement, expression: Expression, printer: ExpressionPrinter): Expression {
  const [source, target] = operands;
  const isPointer = isValue(source) && source.type.kind === "pointer";
  const number = isPointer ? py.call(py.attribute(expression, "to"), py.dotted("tl.int64")) : expression;
  const elem = isDType(target) ? printer.dtype(target.dtype) : py.none;
  return py.call(py.attribute(number, "to"), py.call("tl.pointer_type", elem));
}

/** The author's Python text, with operands substituted for `{0}`, `{1}`, … */
function raw({ operands }: OpStatement, toExpression: (argument: Argument) => Expression): Expression {
  const [code, operandList] = operands;
  const items = isList(operandList) ? operandList : [];
  const expressions = items.map(toExpression);
  const text = isLiteral(code) ? String(code.value) : "";
  // The capture group keeps the fields and doubled braces in the result of `split`.
  const segments = text.split(/(\{\d+\}|\{\{|\}\})/).map((part) => {
    if (part === "{{" || part === "}}") return part.slice(1);
    const [, index] = /^\{(\d+)\}$/.exec(part) ?? [];
    if (index === undefined) return part;
    const expression = expressions[Number(index)];
    if (!expression) throw new Error(`Python text has no operand ${part}`);
    return expression;
  });
  return py.raw(...segments);
}

/** `f(x, y)`, followed by the values that `f` captures. */
function apply({ operands }: OpStatement, printer: ExpressionPrinter): Expression {
  const [callee, callArguments] = operands;
  if (!isFunction(callee) || !isList(callArguments)) throw new Error("a call has a function and a list of arguments");
  const { name, extras } = helpersOf(printer);
  const toExpression = (argument: Argument) =>
    isDType(argument) ? printer.dtype(argument.dtype) : printer.value(argument);
  const extraArguments = extras(callee.function).map((extra) =>
    isElem(extra) ? printer.dtype(extra) : printer.value(extra),
  );
  return py.call(name(callee.function), ...callArguments.map(toExpression), ...extraArguments);
}

function isElem(extra: Value | Elem): extra is Elem {
  return typeof extra === "string" || !isValue(extra as Value);
}

/** A scalar of a dtype: `tl.full([], x, tl.int8)`. */
function full(value: Expression, elem: Elem, printer: ExpressionPrinter): Expression {
  return py.call("tl.full", py.list(), value, printer.dtype(elem));
}

/** Positional operands from `startIndex` on, then operands and options as keyword arguments. */
function printArguments(
  statement: OpStatement,
  startIndex: number,
  { keywords = [], symbols, spread }: Pick<CallSpelling, "keywords" | "symbols" | "spread">,
  toExpression: (argument: Argument) => Expression,
  printer: ExpressionPrinter,
): PyArgument[] {
  const names = Object.keys(statement.op.operands);
  const positional: PyArgument[] = [];
  const keywordArguments: PyArgument[] = [];
  names.forEach((name, i) => {
    const argument = statement.operands[i];
    if (i < startIndex) return;
    if (argument === undefined) {
      // An omitted operand before a present one is printed as None.
      const hasLaterOperand = names
        .slice(i + 1)
        .some((later, j) => statement.operands[i + 1 + j] && !keywords.includes(later));
      if (hasLaterOperand && !keywords.includes(name)) positional.push(py.none);
      return;
    }
    const isSpread = name === spread || (statement.op.hasRestOperand && i === names.length - 1);
    if (isList(argument) && isSpread) positional.push(...argument.map(toExpression));
    else if (keywords.includes(name) || keywordArguments.length > 0)
      keywordArguments.push(py.keyword(keywordName(name), toExpression(argument)));
    else positional.push(toExpression(argument));
  });
  const symbol = (name: string, value: Constant): Expression | undefined => {
    const symbolName = symbols?.[name]?.[String(value)];
    return symbolName === undefined ? undefined : py.dotted(symbolName);
  };
  for (const [name, argument] of Object.entries(statement.options)) {
    const symbolExpression = isLiteral(argument) ? symbol(name, argument.value) : undefined;
    keywordArguments.push(py.keyword(keywordName(name), symbolExpression ?? toExpression(argument)));
  }
  const pinnedOptions = printer.weakTypes ? (statement.op.spelling.pinned?.(typedArguments(statement)) ?? {}) : {};
  for (const [name, value] of Object.entries(pinnedOptions))
    if (!(name in statement.options))
      keywordArguments.push(py.keyword(keywordName(name), symbol(name, value) ?? py.constant(value)));
  return [...positional, ...keywordArguments];
}

/** The Python keyword of an option: `cacheModifier` → `cache_modifier`. */
function keywordName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function expandIndices(statement: OpStatement) {
  const [result] = statement.results;
  const [, axisOperand] = statement.operands;
  const axes = (isList(axisOperand) ? axisOperand : [axisOperand]).map((axis) => isLiteral(axis) && Number(axis.value));
  const rank = result && "shape" in result.type ? result.type.shape.length : 0;
  const isNew = (axis: number) => axes.includes(axis) || axes.includes(axis - rank);
  return Array.from({ length: rank }, (_, axis) => (isNew(axis) ? py.none : py.slice()));
}

/**
 * The dtype that a literal operand adapts to: that of a tile operand or of a pointer's elements. Pointer offsets do not
 * adapt.
 */
function operandElem(statement: OpStatement): Elem | undefined {
  if (statement.results[0]?.type.kind === "pointer") return undefined;
  for (const argument of [...statement.operands, ...Object.values(statement.options)]) {
    if (isDType(argument)) return argument.dtype;
    if (isValue(argument)) {
      const elem = elemOfType(argument.type);
      if (elem !== undefined && !(elem === "int1")) return elem;
    }
  }
  return undefined;
}

/**
 * The dtype of literals if no operand is a tile, as in `tl.exp(2.0)`: that of the result. An op that requires a tile is
 * excluded: the seed in `tl.rand(7, x)` is an integer for every dtype of the result.
 */
function resultElem({ results, op }: OpStatement): Elem | undefined {
  const type = results[0]?.type;
  const needsTile = Object.values(op.operands).includes("tile");
  return results.length === 1 && op.effect === "pure" && !needsTile && type?.kind === "tile" && type.dtype !== "int1"
    ? type.dtype
    : undefined;
}

function elemOfType(type: Type): Elem | undefined {
  if (type.kind === "tile") return type.dtype;
  if (type.kind === "pointer" || type.kind === "view" || type.kind === "descriptor") return type.to;
  return undefined;
}

function printArgument(
  statement: OpStatement,
  argument: Argument,
  literalElem: Elem | undefined,
  printer: ExpressionPrinter,
): Expression {
  if (isList(argument)) {
    const items = argument.map((item) => printArgument(statement, item, undefined, printer));
    return operandKind(statement, argument) === "tiles" ? py.tuple(...items) : py.list(...items);
  }
  if (isDType(argument)) return printer.dtype(argument.dtype);
  if (isFunction(argument)) return helpersOf(printer).name(argument.function);
  const isOperandValue = isValueKind(operandKind(statement, argument) ?? "");
  const expression = isLiteral(argument)
    ? literal(argument, isOperandValue ? literalElem : undefined)
    : printer.value(argument);
  if (!isOperandValue || !printer.weakTypes || isBooleanOrString(argument)) return expression;
  const wideElem = statement.op.triton36.operands?.(typedArguments(statement));
  if (wideElem && isValue(argument) && argument.type.kind === "tile")
    return py.call(py.attribute(expression, "to"), printer.dtype(wideElem));
  const castElem = isConstexprWithoutTile(statement, argument)
    ? literalElem
    : requiredCast(statement, argument, wideElem ?? literalElem, printer.weakTypes);
  return castElem === undefined ? expression : full(expression, castElem, printer);
}

/** Triton would choose the dtype of this constexpr by its value, because no operand is a tile. */
function isConstexprWithoutTile(statement: OpStatement, argument: Literal | Value): boolean {
  return isValue(argument) && argument.type.kind === "constexpr" && operandElem(statement) === undefined;
}

function isBooleanOrString(argument: Literal | Value): boolean {
  if (isLiteral(argument)) return typeof argument.value === "boolean" || typeof argument.value === "string";
  return argument.type.kind === "constexpr" && argument.type.of !== "int" && argument.type.of !== "float";
}

/**
 * A number among floats is printed as a float: `1` as `1.0`. Triton casts floats to integers, but not integers to
 * float8.
 */
function literal({ value }: Literal, elem: Elem | undefined): Expression {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const names = elem === undefined ? [] : members(elem);
  const isFloat = names.length > 0 && (names.some(isFp8) || names.every((name) => !isInt(name)));
  return isNumber && isFloat ? py.numberLiteral(value, "float") : py.constant(value);
}

function operandKind(statement: OpStatement, argument: Argument): string | undefined {
  const i = statement.operands.indexOf(argument);
  const { operands, options } = statement.op;
  if (i >= 0) return Object.values(operands)[i]?.replace("?", "");
  const option = Object.keys(statement.options).find((name) => statement.options[name] === argument);
  return option === undefined ? undefined : options[option]?.replace("?", "");
}

// Host expressions: arithmetic over sizes and constexprs for grids, launch-time constexprs and requirements.

/** The expressions that a host block yields. `name` returns the name of a parameter in their scope. */
export function hostExpressions(host: HostBlock, name: (value: Value) => Expression): readonly Expression[] {
  const definitions = new Map<Value, OpStatement>();
  for (const statement of host.block.statements)
    if (statement.kind === "op") for (const result of statement.results) definitions.set(result, statement);
  const toExpression = (argument: Argument): Expression => {
    if (isValue(argument)) {
      const statement = definitions.get(argument);
      return statement
        ? printOp(statement, printer, statement.op.spelling.host ?? statement.op.spelling)
        : name(argument);
    }
    if (isList(argument)) return py.list(...argument.map(toExpression));
    if (!isLiteral(argument)) throw new Error("a dtype stands in a host expression");
    return py.constant(argument.value);
  };
  const printer = {
    value: toExpression,
    dtype: () => {
      throw new Error("a dtype stands in a host expression");
    },
  };
  return host.block.yields.map(toExpression);
}

/** The expression of a host block that yields one value. */
export function hostExpression(host: HostBlock, name: (value: Value) => Expression): Expression {
  const [expression, extra] = hostExpressions(host, name);
  if (!expression || extra) throw new Error("a host block does not yield exactly one value");
  return expression;
}

/** The parameters that the results of a host block depend on. */
export function hostInputs(host: HostBlock): ReadonlySet<Value> {
  const definitions = new Map<Value, OpStatement>();
  for (const statement of host.block.statements)
    if (statement.kind === "op") for (const result of statement.results) definitions.set(result, statement);
  const inputs = new Set<Value>();
  const visited = new Set<Value>();
  const visit = (argument: Argument | undefined): void => {
    if (argument === undefined) return;
    if (isList(argument)) return argument.forEach(visit);
    if (!isValue(argument) || visited.has(argument)) return;
    visited.add(argument);
    const statement = definitions.get(argument);
    if (!statement) inputs.add(argument);
    statement?.operands.forEach(visit);
    Object.values(statement?.options ?? {}).forEach(visit);
  };
  host.block.yields.forEach(visit);
  return inputs;
}
