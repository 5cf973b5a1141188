/**
 * Weak literals. A compile-time number in Triton is weak: it adapts to the dtype of the other operand. Triton 3.6
 * treats some of them as strong, unlike 3.9. In both versions an integer argument of 1 becomes a weak constant. If that
 * would change a dtype or a value, the emitter writes the dtype: `tl.full([], x, tl.int8)`.
 */
import { isExactlyRepresentable } from "../../numerics/numeric-float.js";
import { type DTypeName, type Elem, isInt, members } from "../../types/dtype.js";
import {
  type Argument,
  isLiteral,
  isValue,
  type KernelIR,
  type Literal,
  operandOf,
  type OpStatement,
  type Value,
  paramsOf,
  type ScalarParam,
  type Statement,
} from "../../ir/nodes.js";
import { LIMITS } from "../../types/limits.js";
import { promote } from "../../types/promote.js";
import { argumentsOf, blocksOf, valuesIn, walkAll } from "../../ir/walk.js";
import * as py from "../syntax/py-build.js";
import type { Expression, Statement as PyStatement } from "../syntax/py.js";

/** The facts that decide if a value is weak in a kernel. Host code has only Python numbers. */
export interface WeakTypeRules {
  /** True if the value is a weak constant when some size or stride is 1, and a strong int32 otherwise. */
  isWeak(value: Value): boolean;
  /** True if the value is a Python number in Triton's interpreter: a loop index, or arithmetic on it and constants. */
  isPythonNumber(value: Value): boolean;
  isNonNegative(argument: Argument): boolean;
}

/** Sizes and strides. An argument of 1 becomes a weak constant in Triton. */
export function weakIfOne({ params }: KernelIR): ReadonlySet<Value> {
  const strides = params.flatMap((param) => (param.kind === "tensor" ? param.strides.filter(isValue) : []));
  return new Set([...strides, ...params.flatMap((param) => (param.kind === "size" ? [param.value] : []))]);
}

/** The dtype to which an operand must be cast. Undefined if a cast makes no difference. */
export function requiredCast(
  statement: OpStatement,
  argument: Literal | Value,
  literalElem: Elem | undefined,
  weakTypes: WeakTypeRules,
): Elem | undefined {
  if (isValue(argument) && argument.type.kind !== "constexpr")
    return weakTypes.isWeak(argument) ? requiredSizeCast(statement, argument, weakTypes) : undefined;
  const isFloat = literalElem !== undefined && members(literalElem).every((name) => !isInt(name));
  if (literalElem === undefined) return undefined;
  if (statement.op.effect !== "pure") return isLossy(argument, literalElem) ? literalElem : undefined;
  if (!statement.op.triton36.strongLiterals) return undefined;
  const isDTypeSource = statement.op.triton36.firstDecides === true && statement.operands[0] === argument;
  if (isDTypeSource && members(literalElem).includes("float64")) return literalElem;
  return members(literalElem).every((name) => hasSameResult(statement, argument, name, isFloat))
    ? undefined
    : literalElem;
}

/** Triton converts a stored number to float32 before it casts it to the element dtype. */
function isLossy(argument: Literal | Value, literalElem: Elem): boolean {
  if (!members(literalElem).includes("float64")) return false;
  return isLiteral(argument)
    ? !isExactlyRepresentable("float32", Number(argument.value))
    : argument.type.kind === "constexpr" && argument.type.of === "float";
}

/** True if a strong literal (Triton 3.6) and a weak one (3.9) give the same result with a tile of this dtype. */
function hasSameResult(statement: OpStatement, argument: Literal | Value, name: DTypeName, isFloat: boolean): boolean {
  const value = isLiteral(argument) ? Number(argument.value) : undefined;
  const isIntegral = isLiteral(argument)
    ? typeof argument.value === "bigint" || Number.isInteger(argument.value)
    : argument.type.kind === "constexpr" && argument.type.of !== "float";
  const strongDType = isIntegral && !(isLiteral(argument) && isFloat) ? intDType(value) : "float32";
  const isExact =
    value !== undefined && isExactlyRepresentable(name, value) && isExactlyRepresentable(strongDType, value);
  const isRounded = strongDType === "float32" && name === "float64" && !isExact;
  if (promote(name, strongDType) === name && !isRounded) return true;
  return isComparison(statement) && (isExact || (value === undefined && isIntegral && name !== "bfloat16"));
}

/** The dtype of a bare integer in Triton. */
function intDType(value: number | undefined): DTypeName {
  if (value === undefined) return "int32";
  return value >= -LIMITS.int32End && value < LIMITS.int32End ? "int32" : "int64";
}

/** The cast for a size: the type rule treats it as a strong int32, but it is weak in Triton if it is 1. */
function requiredSizeCast(
  statement: OpStatement,
  argument: Value,
  { isWeak, isNonNegative }: WeakTypeRules,
): Elem | undefined {
  const result = statement.results[0]?.type;
  if (argument.type.kind !== "tile") return undefined;
  const dtype = argument.type.dtype;
  if (statement.op.facts.needsTensor?.some((name) => operandOf(statement, name) === argument)) return dtype;
  if (result?.kind !== "tile") return undefined;
  const others = statement.operands.filter((other) => isValue(other) && other.type.kind === "tile" && !isWeak(other));
  if (others.length > 0) {
    const isResultChanged = others.some((other) => {
      const { type } = other as Value;
      if (type.kind !== "tile" || typeof type.dtype !== "string" || type.dtype === "int1") return false;
      return type.dtype !== result.dtype && promote(type.dtype, "int32") === result.dtype;
    });
    return isResultChanged ? dtype : undefined;
  }
  const { spelling } = statement.op;
  if (statement.operands[0] !== argument) return undefined;
  // Python's operators differ from those of tiles: `~True` is -2, `/` returns a float, `//` and `%` floor.
  if (spelling.form === "prefix") return dtype === "int1" ? dtype : undefined;
  if (spelling.form !== "infix" || !FLOORS.has(spelling.operator)) return undefined;
  return spelling.operator !== "/" && isNonNegative(argument) ? undefined : dtype;
}

const FLOORS: ReadonlySet<string> = new Set(["/", "//", "%"]);

/** True if an op on weak numbers returns a weak number, computed as in Python. */
export function isResultWeak(statement: OpStatement, weakTypes: WeakTypeRules): boolean {
  const operands = statement.operands.filter((argument) => argument !== undefined);
  const weakOperands = operands.filter((argument) => isValue(argument) && weakTypes.isWeak(argument)) as Value[];
  const isWeakOperand = (argument: Argument) =>
    isLiteral(argument) || (isValue(argument) && (argument.type.kind === "constexpr" || weakTypes.isWeak(argument)));
  const type = statement.results[0]?.type;
  // `tl.arange(0, N)` is a tile.
  if (type?.kind === "tile" && type.shape.length > 0) return false;
  return (
    weakOperands.length > 0 &&
    statement.op.spelling.form !== "method" &&
    operands.every(isWeakOperand) &&
    weakOperands.every((value) => requiredSizeCast(statement, value, weakTypes) === undefined)
  );
}

/** The spellings that return a Python number for Python operands. */
const PYTHON_NUMBER_FORMS: ReadonlySet<string> = new Set(["infix", "prefix", "same"]);

export function isResultPythonNumber({ op, operands }: OpStatement, { isPythonNumber }: WeakTypeRules): boolean {
  const presentOperands = operands.filter((argument) => argument !== undefined);
  return (
    PYTHON_NUMBER_FORMS.has(op.spelling.form) &&
    presentOperands.some((argument) => isValue(argument) && isPythonNumber(argument)) &&
    presentOperands.every(
      (each) => isLiteral(each) || (isValue(each) && (each.type.kind === "constexpr" || isPythonNumber(each))),
    )
  );
}

function isComparison(statement: OpStatement): boolean {
  const result = statement.results[0]?.type;
  return result?.kind === "tile" && result.dtype === "int1";
}

// The dtypes of scalars inside a kernel. Triton's compiler takes them from the annotations; its interpreter takes them
// from the values, so that a float is a number of Python and an int64 of 3 an int32. A cast on the first line gives
// both the declared dtype. In the compiler, a cast to the own dtype is nothing.

/**
 * The dtype in which a launch passes a scalar. Triton's launcher truncates a number to bfloat16 instead of rounding it,
 * so the kernel rounds.
 */
export const passedDType = (dtype: Elem): Elem => (dtype === "bfloat16" ? "float32" : dtype);

/** The first lines of a kernel: the scalars whose dtype its results depend on. */
export function scalarCasts(ir: KernelIR, parameters: ReadonlyMap<Value, Expression>): readonly PyStatement[] {
  const casts = scalarsToCast(ir).map(({ value, dtype }) => {
    const name = parameters.get(value)!;
    return py.assign(name, castOf(name, dtype as DTypeName));
  });
  return casts.length === 0 ? [] : [py.comment("Triton's interpreter ignores these annotations."), ...casts];
}

function castOf(name: Expression, dtype: DTypeName): Expression {
  const cast = (to: DTypeName) => py.call("tl.full", py.list(), name, py.dotted(`tl.${to}`));
  // The interpreter keeps an int64 from 2**31 to 2**32 as a uint32. A cast to int64 leaves it so.
  return dtype === "int64" ? py.call(py.attribute(cast("uint64"), "to"), py.dotted("tl.int64")) : cast(dtype);
}

function scalarsToCast(ir: KernelIR): readonly ScalarParam[] {
  const scalars = paramsOf(ir, "scalar").filter(({ dtype }) => dtype !== "int32" && dtype !== "int1");
  const values = new Map(scalars.map(({ value, dtype }) => [value, dtype as DTypeName]));
  const dependent = new Set<Value>();
  walkAll(ir, (statement) => {
    for (const value of usedIn(statement)) {
      const dtype = values.get(value);
      if (dtype !== undefined && !isConvertedTo(dtype, statement, values)) dependent.add(value);
    }
  });
  return scalars.filter(({ value }) => dependent.has(value));
}

const usedIn = (statement: Statement): readonly Value[] =>
  [...argumentsOf(statement), ...blocksOf(statement).flatMap(({ yields }) => yields)].flatMap(valuesIn);

/** True if an operator converts a number of Python to this dtype, which is that of its other operand. */
function isConvertedTo(dtype: DTypeName, statement: Statement, scalars: ReadonlyMap<Value, DTypeName>): boolean {
  if (isInt(dtype) || dtype === "bfloat16" || statement.kind !== "op" || statement.op.spelling.form !== "infix")
    return false;
  return statement.operands.some(
    (operand) =>
      isValue(operand) && !scalars.has(operand) && operand.type.kind === "tile" && operand.type.dtype === dtype,
  );
}
