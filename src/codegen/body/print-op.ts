/** One op statement as a Python expression, by the spelling in its record. */
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
} from "../../ir/nodes.js";
import { type CallSpelling, isValueKind, type Op, type Spelling } from "../../ir/op.js";
import { typedArguments } from "../../ir/typed.js";
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

/** How the function being emitted writes values and dtypes. */
export interface ExpressionPrinter {
  value(argument: Argument): Expression;
  dtype(elem: Elem): Expression;
  /** Present inside a kernel. */
  readonly helpers?: Helpers;
  /** Present inside a kernel, where Triton's versions and weak numbers matter. */
  readonly strength?: WeakTypeRules;
  /** Ops that emission itself made, with what it makes of their operands. */
  readonly built?: Built | undefined;
}

export type Built = ReadonlyMap<Op, (...operands: readonly Expression[]) => Expression>;

/** How helper functions are called. */
export interface Helpers {
  name(helper: FunctionIR): Expression;
  /** Its further arguments: values of its callers, and dtypes. */
  extras(helper: FunctionIR): readonly (Value | Elem)[];
}

function helpersOf({ helpers }: ExpressionPrinter): Helpers {
  if (!helpers) throw new Error("a helper function is called outside a kernel");
  return helpers;
}

const COMPARISONS = new Set(["<", "<=", ">", ">=", "==", "!="]);
const BOOLEANS = new Set(["and", "or"]);
const BITWISE = new Set(["&", "|", "^"]);

/** A number of more than a byte among bits: `0xFFFF0000`. */
function hexadecimal(side: Expression): Expression {
  if (side.kind !== "number" || !/^\d+$/.test(side.text) || BigInt(side.text) < 256n) return side;
  return py.number(`0x${BigInt(side.text).toString(16).toUpperCase()}`);
}

/** The expression of a statement, in a kernel or (with the record's `host` spelling) on the host. */
export function printOp(
  statement: OpStatement,
  speaker: ExpressionPrinter,
  spelling: Spelling = statement.op.spelling,
): Expression {
  const written = spellPlain(statement, speaker, spelling);
  const other = statement.results.length === 1 ? castBack(statement, speaker) : undefined;
  return other === undefined ? written : py.call(py.attribute(written, "to"), other);
}

/** The dtype that the first result is cast to because Triton 3.6 may have given it another. */
export function castBack(statement: OpStatement, speaker: ExpressionPrinter): Expression | undefined {
  const result = statement.results[0]?.type;
  if (!speaker.strength || result?.kind !== "tile") return undefined;
  return statement.op.triton36.result?.(typedArguments(statement)) && speaker.dtype(result.dtype);
}

function spellPlain(statement: OpStatement, speaker: ExpressionPrinter, spelling: Spelling): Expression {
  const weak = weakElem(statement) ?? loneElem(statement);
  const say = (argument: Argument): Expression => sayArgument(statement, argument, weak, speaker);
  const operands = statement.operands;
  const first = () => say(operands[0]!);
  const built = speaker.built?.get(statement.op);
  if (built) return built(...operands.flatMap((operand) => (operand ? [say(operand)] : [])));
  switch (spelling.form) {
    case "infix": {
      const operator = operatorOf(statement, spelling, speaker);
      const sides = [first(), say(operands[1]!)] as const;
      const [left, right] = BITWISE.has(operator) ? sides.map(hexadecimal) : sides;
      return infix(operator, left!, right!);
    }
    case "prefix":
      return py.unary(operatorOf(statement, spelling, speaker) as UnaryOperator, first());
    case "call":
      return py.call(spelling.name, ...args(statement, 0, spelling, say, speaker));
    case "method":
      return method(statement, spelling.name, say, speaker);
    case "expand":
      return py.subscript(first(), ...expandIndices(statement));
    case "reflect": {
      const member = py.attribute(first(), spelling.member);
      const asked = spelling.called ? py.call(member) : member;
      return spelling.negated ? py.unary("not", asked) : asked;
    }
    case "pointer":
      return pointerCast(statement, first(), speaker);
    case "raw":
      return raw(statement, say);
    case "apply":
      return apply(statement, speaker);
    case "conditional":
      return py.conditional(say(operands[1]!), first(), say(operands[2]!));
    case "same":
      return first();
    case "lowered":
      throw new Error(`${statement.op.name} must be lowered before emission`);
    default:
      return spelling satisfies never;
  }
}

/** Python's booleans (on the host, or known when Triton compiles) have operators of their own. */
function operatorOf(
  statement: OpStatement,
  spelling: { readonly operator: string; readonly truth?: string },
  { strength }: ExpressionPrinter,
): string {
  const type = statement.results[0]?.type;
  const isTruth = type?.kind === "constexpr" ? type.of === "bool" : !strength && elemOfType(type ?? none) === "int1";
  return isTruth ? (spelling.truth ?? spelling.operator) : spelling.operator;
}

function infix(operator: string, left: Expression, right: Expression): Expression {
  if (COMPARISONS.has(operator)) return py.compare(left, [operator as CompareOperator, right]);
  if (BOOLEANS.has(operator)) return py.boolOp(operator as "and" | "or", left, right);
  return py.binary(left, operator as BinaryOperator, right);
}

/** `x.to(tl.float32)`. A number that Triton knows has no methods, so it becomes a scalar of the dtype. */
function method(
  statement: OpStatement,
  name: string,
  say: (argument: Argument) => Expression,
  speaker: ExpressionPrinter,
): Expression {
  const [receiver, dtype] = statement.operands;
  if (isDType(dtype)) {
    const isConstant = isLiteral(receiver) || (isValue(receiver) && receiver.type.kind === "constexpr");
    if (isConstant) return full(say(receiver), dtype.dtype, speaker);
    // An argument that is 1 has no methods, nor has the index of a loop on Triton's interpreter.
    const { strength } = speaker;
    if (isValue(receiver) && (strength?.isWeak(receiver) || strength?.isCounted(receiver)))
      return py.call("tl.cast", say(receiver), speaker.dtype(dtype.dtype));
  }
  return py.call(py.attribute(say(receiver!), name), ...args(statement, 1, {}, say, speaker));
}

/** Triton 3.9 cannot cast a pointer to another pointer type, so the cast goes through a number. */
function pointerCast({ operands }: OpStatement, written: Expression, speaker: ExpressionPrinter): Expression {
  const [from, to] = operands;
  const isPointer = isValue(from) && from.type.kind === "pointer";
  const number = isPointer ? py.call(py.attribute(written, "to"), py.dotted("tl.int64")) : written;
  const elem = isDType(to) ? speaker.dtype(to.dtype) : py.none;
  return py.call(py.attribute(number, "to"), py.call("tl.pointer_type", elem));
}

/** The author's Python, with operands in place of `{0}`. */
function raw({ operands }: OpStatement, say: (argument: Argument) => Expression): Expression {
  const [code, given] = operands;
  const list = isList(given) ? given : [];
  const said = list.map(say);
  const text = isLiteral(code) ? String(code.value) : "";
  // Split at the fields: every other part is a number, or a doubled brace.
  const parts = text.split(/(\{\d+\}|\{\{|\}\})/).map((part) => {
    if (part === "{{" || part === "}}") return part.slice(1);
    return /^\{\d+\}$/.test(part) ? said[Number(part.slice(1, -1))]! : part;
  });
  return py.raw(...parts);
}

/** `f(x, y)`, with the further arguments that `f` uses. */
function apply({ operands }: OpStatement, speaker: ExpressionPrinter): Expression {
  const [callee, given] = operands;
  if (!isFunction(callee) || !isList(given)) throw new Error("a call has a function and a list of arguments");
  const { name, extras } = helpersOf(speaker);
  const said = (argument: Argument) => (isDType(argument) ? speaker.dtype(argument.dtype) : speaker.value(argument));
  const beside = extras(callee.function).map((extra) => (isElem(extra) ? speaker.dtype(extra) : speaker.value(extra)));
  return py.call(name(callee.function), ...given.map(said), ...beside);
}

function isElem(extra: Value | Elem): extra is Elem {
  return typeof extra === "string" || !isValue(extra as Value);
}

/** A scalar of a dtype: `tl.full([], x, tl.int8)`. */
function full(value: Expression, elem: Elem, speaker: ExpressionPrinter): Expression {
  return py.call("tl.full", py.list(), value, speaker.dtype(elem));
}

/** Positional operands from the `from`th on, then operands and options by name. Each is written once. */
function args(
  statement: OpStatement,
  from: number,
  { keywords = [], symbols, spread }: Pick<CallSpelling, "keywords" | "symbols" | "spread">,
  say: (argument: Argument) => Expression,
  speaker: ExpressionPrinter,
): PyArgument[] {
  const names = Object.keys(statement.op.operands);
  const positional: PyArgument[] = [];
  const named: PyArgument[] = [];
  names.forEach((name, i) => {
    const argument = statement.operands[i];
    if (i < from) return;
    if (argument === undefined) {
      // Operands that were omitted before one that is present.
      const isFollowed = names
        .slice(i + 1)
        .some((later, j) => statement.operands[i + 1 + j] && !keywords.includes(later));
      if (isFollowed && !keywords.includes(name)) positional.push(py.none);
      return;
    }
    const isSpread = name === spread || (statement.op.rest && i === names.length - 1);
    if (isList(argument) && isSpread) positional.push(...argument.map(say));
    else if (keywords.includes(name) || named.length > 0) named.push(py.keyword(keywordName(name), say(argument)));
    else positional.push(say(argument));
  });
  const symbol = (name: string, value: Constant): Expression | undefined => {
    const known = symbols?.[name]?.[String(value)];
    return known === undefined ? undefined : py.dotted(known);
  };
  for (const [name, argument] of Object.entries(statement.options)) {
    const known = isLiteral(argument) ? symbol(name, argument.value) : undefined;
    named.push(py.keyword(keywordName(name), known ?? say(argument)));
  }
  const pinned = speaker.strength ? (statement.op.spelling.pinned?.(typedArguments(statement)) ?? {}) : {};
  for (const [name, value] of Object.entries(pinned))
    if (!(name in statement.options))
      named.push(py.keyword(keywordName(name), symbol(name, value) ?? py.constant(value)));
  return [...positional, ...named];
}

/** Python's keyword for an option: `cacheModifier` → `cache_modifier`. */
function keywordName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function expandIndices(statement: OpStatement) {
  const result = statement.results[0]!.type;
  const given = statement.operands[1]!;
  const axes = (isList(given) ? given : [given]).map((axis) => (axis as Literal).value as number);
  const rank = "shape" in result ? result.shape.length : 0;
  const isNew = (axis: number) => axes.includes(axis) || axes.includes(axis - rank);
  return Array.from({ length: rank }, (_, axis) => (isNew(axis) ? py.none : py.slice()));
}

/** The dtype that a number among the operands takes: its tile's, or what the address holds; an offset has its own. */
function weakElem(statement: OpStatement): Elem | undefined {
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
 * The dtype of numbers that have nothing beside them, which they give the result: `tl.exp(2.0)`. An op that needs a tile
 * has its dtype from that: the seed beside it, in `tl.rand(7, x)`, is an integer whatever the result is.
 */
function loneElem({ results, op }: OpStatement): Elem | undefined {
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

function sayArgument(
  statement: OpStatement,
  argument: Argument,
  weak: Elem | undefined,
  speaker: ExpressionPrinter,
): Expression {
  if (isList(argument)) {
    const items = argument.map((item) => sayArgument(statement, item, undefined, speaker));
    return operandKind(statement, argument) === "tiles" ? py.tuple(...items) : py.list(...items);
  }
  if (isDType(argument)) return speaker.dtype(argument.dtype);
  if (isFunction(argument)) return helpersOf(speaker).name(argument.function);
  const isOperandValue = isValueKind(operandKind(statement, argument) ?? "");
  const said = isLiteral(argument) ? literal(argument, isOperandValue ? weak : undefined) : speaker.value(argument);
  if (!isOperandValue || !speaker.strength || isTruthOrText(argument)) return said;
  const wide = statement.op.triton36.operands?.(typedArguments(statement));
  if (wide && isValue(argument) && argument.type.kind === "tile")
    return py.call(py.attribute(said, "to"), speaker.dtype(wide));
  const forced = isLone(statement, argument) ? weak : requiredCast(statement, argument, wide ?? weak, speaker.strength);
  return forced === undefined ? said : full(said, forced, speaker);
}

/** A constexpr with no tile beside it: Triton would choose the dtype by its value. */
function isLone(statement: OpStatement, argument: Literal | Value): boolean {
  return isValue(argument) && argument.type.kind === "constexpr" && weakElem(statement) === undefined;
}

function isTruthOrText(argument: Literal | Value): boolean {
  if (isLiteral(argument)) return typeof argument.value === "boolean" || typeof argument.value === "string";
  return argument.type.kind === "constexpr" && argument.type.of !== "int" && argument.type.of !== "float";
}

/** A number among floats is written as a float: `1` as `1.0`. Triton casts floats to integers, but not to 8-bit floats. */
function literal({ value }: Literal, weak: Elem | undefined): Expression {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const names = weak === undefined ? [] : members(weak);
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
