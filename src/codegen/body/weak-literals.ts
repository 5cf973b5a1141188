/**
 * Weak and strong numbers. A number that Triton knows when it compiles is weak: it takes the dtype of the tile that it
 * meets. Triton 3.6 makes some of them strong where 3.9 does not, and an integer argument that is 1 becomes a weak
 * constant in both. Where that would change a dtype or a value, emission names the dtype: `tl.full([], x, tl.int8)`.
 */
import { holdsExactly } from "../../numerics/numeric-float.js";
import { type DTypeName, type Elem, isInt, members } from "../../types/dtype.js";
import {
  type Argument,
  isLiteral,
  isValue,
  type KernelIR,
  type Literal,
  type OpStatement,
  type Value,
} from "../../ir/nodes.js";
import { promote } from "../../types/promote.js";

/** The facts that decide strength inside a kernel; the host only has Python's numbers. */
export interface WeakTypeRules {
  /** Whether the value is a weak constant to Triton if some size or stride is 1, and a strong int32 otherwise. */
  isWeak(value: Value): boolean;
  /** Whether Triton's interpreter holds the value as a number of Python: a loop's index, and its sums with constants. */
  isCounted(value: Value): boolean;
  isNonNegative(argument: Argument): boolean;
}

/** Sizes and strides, which Triton turns into weak constants if they are 1. */
export function weakIfOne({ params }: KernelIR): ReadonlySet<Value> {
  const strides = params.flatMap((param) => (param.kind === "tensor" ? param.strides.filter(isValue) : []));
  return new Set([...strides, ...params.flatMap((param) => (param.kind === "size" ? [param.value] : []))]);
}

/** The dtype that must be written out for an operand, or undefined if the meaning is the same without. */
export function requiredCast(
  statement: OpStatement,
  argument: Literal | Value,
  weak: Elem | undefined,
  strength: WeakTypeRules,
): Elem | undefined {
  if (isValue(argument) && argument.type.kind !== "constexpr")
    return strength.isWeak(argument) ? forcedSize(statement, argument, strength) : undefined;
  const isFloat = weak !== undefined && members(weak).every((name) => !isInt(name));
  if (weak === undefined) return undefined;
  if (statement.op.effect !== "pure") return losesDigits(argument, weak) ? weak : undefined;
  if (!statement.op.triton36.strongLiterals) return undefined;
  const decides = statement.op.triton36.firstDecides === true && statement.operands[0] === argument;
  if (decides && members(weak).includes("float64")) return weak;
  return members(weak).every((name) => meansTheSame(statement, argument, name, isFloat)) ? undefined : weak;
}

/** Triton takes a stored number as float32 before it casts it to the dtype in memory. */
function losesDigits(argument: Literal | Value, weak: Elem): boolean {
  if (!members(weak).includes("float64")) return false;
  return isLiteral(argument)
    ? !holdsExactly("float32", Number(argument.value))
    : argument.type.kind === "constexpr" && argument.type.of === "float";
}

/** Whether 3.6's strong number and 3.9's weak one give the same result beside a tile of this dtype. */
function meansTheSame(statement: OpStatement, argument: Literal | Value, name: DTypeName, isFloat: boolean): boolean {
  const value = isLiteral(argument) ? Number(argument.value) : undefined;
  const isIntegral = isLiteral(argument)
    ? typeof argument.value === "bigint" || Number.isInteger(argument.value)
    : argument.type.kind === "constexpr" && argument.type.of !== "float";
  const own = isIntegral && !(isLiteral(argument) && isFloat) ? intDType(value) : "float32";
  const both = value !== undefined && holdsExactly(name, value) && holdsExactly(own, value);
  const isRounded = own === "float32" && name === "float64" && !both;
  if (promote(name, own) === name && !isRounded) return true;
  return isComparison(statement) && (both || (value === undefined && isIntegral && name !== "bfloat16"));
}

/** The dtype that Triton gives a bare integer. */
function intDType(value: number | undefined): DTypeName {
  if (value === undefined) return "int32";
  return value >= -(2 ** 31) && value < 2 ** 31 ? "int32" : "int64";
}

/**
 * A size among an op's operands is strong by the type rule, so it must be strong in Triton if that makes a difference.
 */
function forcedSize(
  statement: OpStatement,
  argument: Value,
  { isWeak, isNonNegative }: WeakTypeRules,
): Elem | undefined {
  const result = statement.results[0]?.type;
  if (result?.kind !== "tile" || argument.type.kind !== "tile") return undefined;
  const own = argument.type.dtype;
  const others = statement.operands.filter((other) => isValue(other) && other.type.kind === "tile" && !isWeak(other));
  if (others.length > 0) {
    const changes = others.some((other) => {
      const { type } = other as Value;
      if (type.kind !== "tile" || typeof type.dtype !== "string" || type.dtype === "int1") return false;
      return type.dtype !== result.dtype && promote(type.dtype, "int32") === result.dtype;
    });
    return changes ? own : undefined;
  }
  const { spelling } = statement.op;
  if (statement.operands[0] !== argument) return undefined;
  // Python's own operators mean something else than a tile's: `~True` is -2, `/` gives a float, `//` and `%` floor.
  if (spelling.form === "prefix") return own === "int1" ? own : undefined;
  if (spelling.form !== "infix" || !FLOORS.has(spelling.operator)) return undefined;
  return spelling.operator !== "/" && isNonNegative(argument) ? undefined : own;
}

const FLOORS: ReadonlySet<string> = new Set(["/", "//", "%"]);

/** Whether an op on weak numbers gives a weak number, computed as in Python. */
export function isResultWeak(statement: OpStatement, strength: WeakTypeRules): boolean {
  const values = statement.operands.filter((argument) => argument !== undefined);
  const weak = values.filter((argument) => isValue(argument) && strength.isWeak(argument)) as Value[];
  const isKnown = (argument: Argument) =>
    isLiteral(argument) || (isValue(argument) && (argument.type.kind === "constexpr" || strength.isWeak(argument)));
  return (
    weak.length > 0 &&
    statement.op.spelling.form !== "method" &&
    values.every(isKnown) &&
    weak.every((value) => forcedSize(statement, value, strength) === undefined)
  );
}

/** How ops are spelled that give a number of Python for such numbers. */
const STAY_COUNTED: ReadonlySet<string> = new Set(["infix", "prefix", "same"]);

/** Whether an op on numbers of Python gives one. */
export function staysCounted({ op, operands }: OpStatement, { isCounted }: WeakTypeRules): boolean {
  const given = operands.filter((argument) => argument !== undefined);
  return (
    STAY_COUNTED.has(op.spelling.form) &&
    given.some((argument) => isValue(argument) && isCounted(argument)) &&
    given.every((each) => isLiteral(each) || (isValue(each) && (each.type.kind === "constexpr" || isCounted(each))))
  );
}

function isComparison(statement: OpStatement): boolean {
  const result = statement.results[0]?.type;
  return result?.kind === "tile" && result.dtype === "int1";
}
