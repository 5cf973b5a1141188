/** One op statement as a Python expression, by the spelling in its record. */
import { type Elem, isInt, members } from "../ir/dtype.js";
import { type Argument, isDType, isList, isLiteral, isValue, type Literal, type OpStatement } from "../ir/nodes.js";
import type { Spelling } from "../ir/op.js";
import type { Type } from "../ir/types.js";
import { holdsExactly } from "../ir/numeric.js";
import * as py from "./py-build.js";
import type { Argument as PyArgument, BinaryOperator, CompareOperator, Expression, UnaryOperator } from "./py.js";

/** How the function that is being emitted writes values and dtypes. */
export interface Speaker {
  value(argument: Argument): Expression;
  dtype(elem: Elem): Expression;
}

const COMPARISONS = new Set(["<", "<=", ">", ">=", "==", "!="]);
const BOOLEANS = new Set(["and", "or"]);

/** The expression of a statement, in a kernel or (with the record's `host` spelling) on the host. */
export function spell(
  statement: OpStatement,
  speaker: Speaker,
  spelling: Spelling = statement.op.spelling,
): Expression {
  const weak = weakElem(statement);
  const say = (argument: Argument): Expression => sayArgument(statement, argument, weak, speaker);
  const operands = statement.operands;
  const first = () => say(operands[0]!);
  switch (spelling.form) {
    case "infix":
      return infix(operatorOf(statement, spelling), first(), say(operands[1]!));
    case "prefix":
      return py.unary(operatorOf(statement, spelling) as UnaryOperator, first());
    case "call":
      return py.call(spelling.name, ...args(statement, 0, spelling.keywords ?? [], say));
    case "method":
      return py.call(py.attribute(first(), spelling.name), ...args(statement, 1, [], say));
    case "expand":
      return py.subscript(first(), ...expandIndices(statement));
    case "same":
      return first();
    case "lowered":
      throw new Error(`${statement.op.name} must be lowered before emission`);
    default:
      return spelling satisfies never;
  }
}

/** Truth values that Triton knows when it compiles have operators of their own. */
function operatorOf(statement: OpStatement, spelling: { readonly operator: string; readonly truth?: string }): string {
  const type = statement.results[0]?.type;
  return type?.kind === "constexpr" && type.of === "bool" ? (spelling.truth ?? spelling.operator) : spelling.operator;
}

function infix(operator: string, left: Expression, right: Expression): Expression {
  if (COMPARISONS.has(operator)) return py.compare(left, [operator as CompareOperator, right]);
  if (BOOLEANS.has(operator)) return py.boolOp(operator as "and" | "or", left, right);
  return py.binary(left, operator as BinaryOperator, right);
}

/** Positional operands from the `from`th on, then operands and options by name. Each is said once: that uses it up. */
function args(
  statement: OpStatement,
  from: number,
  keywords: readonly string[],
  say: (argument: Argument) => Expression,
): PyArgument[] {
  const names = Object.keys(statement.op.operands);
  const positional: PyArgument[] = [];
  const named: PyArgument[] = [];
  names.forEach((name, i) => {
    const argument = statement.operands[i];
    if (i < from || argument === undefined) return;
    if (keywords.includes(name) || named.length > 0) named.push(py.keyword(keywordName(name), say(argument)));
    else positional.push(say(argument));
  });
  for (const [name, argument] of Object.entries(statement.options))
    named.push(py.keyword(keywordName(name), say(argument)));
  return [...positional, ...named];
}

/** Python's keyword for an option: `cacheModifier` → `cache_modifier`. */
function keywordName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function expandIndices(statement: OpStatement) {
  const result = statement.results[0]!.type;
  const axis = (statement.operands[1] as Literal).value as number;
  const rank = "shape" in result ? result.shape.length : 0;
  const position = axis < 0 ? axis + rank : axis;
  return Array.from({ length: rank }, (_, i) => (i === position ? py.none : py.slice()));
}

/** The dtype that a number among the operands takes: its tile's, or what the address holds. */
function weakElem(statement: OpStatement): Elem | undefined {
  for (const argument of [...statement.operands, ...Object.values(statement.options)]) {
    if (isDType(argument)) return argument.dtype;
    if (isValue(argument)) {
      const elem = elemOfType(argument.type);
      if (elem !== undefined && !(elem === "int1")) return elem;
    }
  }
  return undefined;
}

function elemOfType(type: Type): Elem | undefined {
  if (type.kind === "tile") return type.dtype;
  if (type.kind === "pointer" || type.kind === "view") return type.to;
  return undefined;
}

function sayArgument(statement: OpStatement, argument: Argument, weak: Elem | undefined, speaker: Speaker): Expression {
  if (isList(argument)) return py.list(...argument.map((item) => sayArgument(statement, item, undefined, speaker)));
  if (isDType(argument)) return speaker.dtype(argument.dtype);
  if (isLiteral(argument)) return literal(statement, argument, weak, speaker);
  return speaker.value(argument);
}

function literal(statement: OpStatement, argument: Literal, weak: Elem | undefined, speaker: Speaker): Expression {
  const { value } = argument;
  if (typeof value === "boolean") return py.boolean(value);
  if (typeof value === "string") return py.string(value);
  const isOperandValue = operandKind(statement, argument) === "value";
  const float = isOperandValue && weak !== undefined && members(weak).every((name) => !isInt(name));
  const text = py.numberLiteral(value, float || !isInteger(value) ? "float" : "int");
  if (!isOperandValue || weak === undefined || !statement.op.strongLiterals36) return text;
  // Triton 3.6 would give the number its own dtype here; a number that both read alike needs no help.
  const alike = members(weak).every(
    (name) => strongDType(value, float) === name || (isComparison(statement) && holdsExactly(name, Number(value))),
  );
  return alike ? text : py.call("tl.full", py.list(), text, speaker.dtype(weak));
}

function isInteger(value: number | bigint): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

function isComparison(statement: OpStatement): boolean {
  const result = statement.results[0]?.type;
  return result?.kind === "tile" && result.dtype === "int1";
}

/** The dtype that a bare literal has in Triton. */
function strongDType(value: number | bigint, float: boolean): string {
  if (float) return "float32";
  return value >= -(2 ** 31) && value < 2 ** 31 ? "int32" : "int64";
}

function operandKind(statement: OpStatement, argument: Argument): string | undefined {
  const i = statement.operands.indexOf(argument);
  const { operands, options } = statement.op;
  if (i >= 0) return Object.values(operands)[i]?.replace("?", "");
  const option = Object.keys(statement.options).find((name) => statement.options[name] === argument);
  return option === undefined ? undefined : options[option]?.replace("?", "");
}
