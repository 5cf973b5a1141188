/** Checks before a launch that a kernel's preconditions are satisfied for the sizes of a test case. */
import { formatMessage, Message } from "../diagnostics/message.js";
import { belowMinimumDim, type Limits } from "../types/limits.js";
import type { TestCase, Layout } from "../compiled/compiled-kernel.js";
import { areContiguous, sizeOf } from "../numerics/array.js";
import { isFloat, bitsOf } from "../numerics/numeric-int.js";
import { isExactlyRepresentable, round } from "../numerics/numeric-float.js";
import { compiledOps, type Constants, constantsOf, reachedStatements } from "../analysis/dtype-bindings.js";
import {
  INT32_LIMIT_MESSAGE,
  type Precondition,
  type PreconditionOf,
  preconditions,
  extentOf,
} from "../analysis/preconditions.js";
import { type DTypeName, dtypeTable, type Elem, isInt, isSigned } from "../types/dtype.js";
import {
  type Argument,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Statement,
  type TensorParam,
  type Value,
  isDType,
  isList,
  type HostBlock,
  type OpStatement,
} from "../ir/nodes.js";
import { argumentsOf, definitions, resultsOf, hostBlocksOf, typedArguments, typeOfArgument } from "../ir/walk.js";
import { isUnrolled } from "../types/shape.js";
import { type Type, type ConstexprType, literalValue } from "../types/types.js";
import type { Constant } from "../values/runtime-values.js";
import { Bindings, launchOf } from "./bindings.js";
import { layoutStrides } from "./tensor.js";
import { isPower, atAxis } from "../types/dims.js";
import { hostValue } from "../diagnostics/catalog/host-codes.js";
import { fail } from "../diagnostics/diagnostic.js";

/** The reason why the lowered kernel cannot be launched. Undefined if it can. */
export function refusal(ir: KernelIR, testCase: TestCase): string | undefined {
  const launch: LaunchCase = { ir, testCase, bindings: new Bindings(ir, launchOf(ir, testCase)) };
  // The wrapper checks numbers and layouts before it evaluates host expressions with them.
  const required =
    firstViolation(launch, "number", "constant", "contiguous") ?? firstViolation(launch, "requirement", "size");
  // Python raises an error for a division by zero, so the test case fails.
  if (required === undefined && divisionByZero(ir, launch.bindings)) return undefined;
  return (
    required ??
    tileSizeViolation(launch) ??
    minimumDimViolation(launch) ??
    constantOutOfRange(ir, launch.bindings, constantsAt(launch)) ??
    firstViolation(
      launch,
      "grid",
      "descriptor",
      "pointer-descriptor",
      "same-strides",
      "reach",
      "count",
      "tile-size",
      "launch-size",
      "launch-power",
      "launch-option",
    )
  );
}

/** A test case of a kernel, with its host values. */
interface LaunchCase {
  readonly ir: KernelIR;
  readonly testCase: TestCase;
  readonly bindings: Bindings;
}

/** The message of the first violated precondition of these kinds. */
function firstViolation(launch: LaunchCase, ...kinds: readonly Precondition["kind"][]): string | undefined {
  for (const kind of kinds)
    for (const precondition of preconditions(launch.ir)) {
      const violation = precondition.kind === kind ? violationOf(precondition, launch) : undefined;
      if (violation !== undefined) return violation;
    }
  return undefined;
}

/** The message of a precondition, if it is violated. */
function violationOf(condition: Precondition, { ir, testCase, bindings }: LaunchCase): string | undefined {
  switch (condition.kind) {
    case "requirement": {
      const isSatisfied = bindings.host(ir.requires)[condition.index];
      const requirement = ir.requires.block.yields[condition.index]!;
      if (isSatisfied || dependsOnDivisionByZero(requirement, ir.requires, bindings)) return undefined;
      return requirementViolation(ir, requirement, bindings);
    }
    case "size":
      return sizeViolation(condition, bindings);
    case "grid": {
      const { axis, most: max } = condition;
      const size = Number(bindings.host(ir.grid)[axis]);
      return size > max ? `axis ${axis} of the grid has ${size} programs, and a GPU allows ${max}` : undefined;
    }
    case "descriptor":
      return descriptorViolation(condition, memoryOf(condition.param, testCase, bindings));
    case "pointer-descriptor":
      return stepViolation(condition, bindings);
    case "number":
      return numberViolation(condition, testCase, bindings, ir.limits);
    case "constant":
      return constantViolation(condition, bindings);
    case "contiguous":
      return contiguityViolation(condition, memoryOf(condition.param, testCase, bindings));
    case "same-strides":
      return strideViolation(condition, testCase, bindings);
    case "reach": {
      const { param, below } = condition;
      const memory = memoryOf(param, testCase, bindings);
      if (memory === undefined || extentOf(param, memory.shape, memory.strides) < below) return undefined;
      return `${param.name} spans more elements than int32 offsets reach; build the kernel with { offsets: tl.int64 } for it`;
    }
    case "count":
      return countViolation(condition, bindings);
    case "tile-size": {
      const { param, least: min } = condition;
      const size = Number(bindings.constant(param.value));
      if (size >= min && isPower(size)) return undefined;
      return `${param.name} must be a power of two${min > 1 ? ` from ${min} up` : ""}, got ${size}`;
    }
    case "launch-option":
      return optionViolation(condition, bindings);
    case "launch-size": {
      const size = Number(bindings.constant(condition.param.value));
      if (size <= condition.most) return undefined;
      return `${condition.param.name} would be ${size}; a tile holds at most ${condition.most} elements`;
    }
    case "launch-power": {
      const size = Number(bindings.constant(condition.param.value));
      if (isPower(size)) return undefined;
      return `${condition.param.name} would be ${size}, and a tile's dimension is a power of two`;
    }
    default:
      return condition satisfies never;
  }
}

function strideViolation(
  { param, as: otherParam }: PreconditionOf<"same-strides">,
  testCase: TestCase,
  bindings: Bindings,
): string | undefined {
  const [memory, otherMemory] = [memoryOf(param, testCase, bindings), memoryOf(otherParam, testCase, bindings)];
  if (!memory || !otherMemory) return undefined;
  // The stride of an axis of size 1 is irrelevant.
  const isSame = (size: number, axis: number) => size <= 1 || memory.strides[axis] === otherMemory.strides[axis];
  if (memory.shape.every(isSame)) return undefined;
  return `${param.name} must have the strides of ${otherParam.name}, [${otherMemory.strides.join(", ")}], got [${memory.strides.join(", ")}]`;
}

function numberViolation(
  { param }: PreconditionOf<"number">,
  testCase: TestCase,
  bindings: Bindings,
  limits: Limits,
): string | undefined {
  const value = testCase.scalars?.[param.name] ?? param.default;
  const problem =
    value === undefined ? undefined : whyUnrepresentable(bindings.dtype(param.dtype), Number(value), limits);
  return problem === undefined ? undefined : `${param.name} ${problem}`;
}

function constantViolation({ param }: PreconditionOf<"constant">, bindings: Bindings): string | undefined {
  const isNegative = Object.is(bindings.constant(param.value), -0);
  return isNegative ? `${param.name} must not be -0.0, which Triton takes for 0.0` : undefined;
}

function optionViolation({ name, compute }: PreconditionOf<"launch-option">, bindings: Bindings): string | undefined {
  const value = Number(bindings.host(compute)[0]);
  const isValid = name === "numWarps" ? [1, 2, 4, 8, 16, 32].includes(value) : value >= 1;
  const expected = name === "numWarps" ? "a power of two up to 32" : "positive";
  return isValid ? undefined : `${name} must be ${expected}, got ${value}`;
}

function sizeViolation({ param }: PreconditionOf<"size">, bindings: Bindings): string | undefined {
  const { value, derived } = param;
  const size = Number(bindings.constant(value));
  if (size >= 0) return undefined;
  const isUndefined = derived?.block.yields.some((result) => dependsOnDivisionByZero(result, derived, bindings));
  return isUndefined ? undefined : `a computed size is negative: ${param.name} = ${size}`;
}

function contiguityViolation({ param }: PreconditionOf<"contiguous">, memory: Memory | undefined): string | undefined {
  if (memory === undefined || areContiguous(memory.shape, memory.strides)) return undefined;
  return `${param.name} must be contiguous, got strides [${memory.strides.join(", ")}]`;
}

function countViolation({ size, by, below }: PreconditionOf<"count">, bindings: Bindings): string | undefined {
  const [name, count] =
    typeof size === "number" ? ["an axis", size] : [size.parameter, Number(bindings.constant(size))];
  return count < below ? undefined : `${name} is ${count}, ${INT32_LIMIT_MESSAGE[by]}`;
}

/** The requirement that a number violates because its dtype cannot represent it. */
function whyUnrepresentable(dtype: DTypeName, value: number, { int32End }: Limits): string | undefined {
  if (isFloat(dtype)) {
    const fits = !Number.isFinite(value) || Number.isFinite(round(dtype, { saturate: false })(value));
    return fits ? undefined : `must fit ${dtype}, got ${value}`;
  }
  const isInRange = dtype !== "int32" || (value >= -int32End && value < int32End);
  if (isInRange && isExactlyRepresentable(dtype, value)) return undefined;
  return Number.isInteger(value)
    ? `must be a value of ${dtype}, got ${value}`
    : `must be a whole number, because it is ${dtype}, got ${value}`;
}

/** The memory layout of a tensor. */
interface Memory {
  readonly layout: Layout;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly bytes: number;
}

/** Undefined for an absent tensor. */
function memoryOf(param: TensorParam, { absent, layouts = {} }: TestCase, bindings: Bindings): Memory | undefined {
  if (absent?.includes(param.name)) return undefined;
  const layout = layouts[param.name] ?? "contiguous";
  const shape = param.dims.map((dim) => Number(bindings.constant(dim)));
  const bytes = dtypeTable[bindings.dtype(param.dtype)].bits / 8;
  return { layout, shape, strides: layoutStrides(shape, layout), bytes };
}

function descriptorViolation(
  { param, axis, bytes: unit }: PreconditionOf<"descriptor">,
  memory: Memory | undefined,
): string | undefined {
  if (memory === undefined) return undefined;
  const { layout, shape, strides, bytes } = memory;
  const isAligned = strides.every((stride, i) => i === axis || (stride * bytes) % unit === 0);
  const isWhole = param.role === "in" || (atAxis(shape, axis) * bytes) % unit === 0;
  if (strides[axis] === 1 && layout !== "offset" && isAligned && isWhole) return undefined;
  const layoutText = typeof layout === "string" ? `is ${layout}` : `has strides [${layout.join(", ")}]`;
  return `${param.name} is reached through a descriptor, so it starts at a multiple of ${unit} bytes, axis ${axis} has stride 1 and all others${param.role === "in" ? "" : ", and the length of that axis,"} are multiples of ${unit} bytes; here shape [${shape.join(", ")}] ${layoutText} with ${bytes}-byte elements`;
}

function stepViolation(
  { param, steps, bytes: unit }: PreconditionOf<"pointer-descriptor">,
  bindings: Bindings,
): string | undefined {
  const bytes = dtypeTable[bindings.dtype(param.dtype)].bits / 8;
  const numbers = steps.map((step) => (typeof step === "number" ? step : Number(bindings.constant(step))));
  const wrong = numbers.find((step) => (step * bytes) % unit !== 0);
  if (wrong === undefined) return undefined;
  return `${param.name} is reached through a descriptor, so its strides, and the rows that are written, are multiples of ${unit} bytes; here ${wrong} elements of ${bytes} bytes`;
}

function requirementViolation({ requires }: KernelIR, condition: Argument, bindings: Bindings): string {
  const definingStatements = definitions(requires.block);
  const values = parametersOf(condition, definingStatements).map(
    (value) => `${value.parameter} is ${String(bindings.constant(value))}`,
  );
  const suffix = values.length > 0 ? `; here ${values.join(" and ")}` : "";
  return `it requires ${formatHostExpression(condition, definingStatements)}${suffix}`;
}

type Definitions = ReadonlyMap<Value, Statement>;

/** The distinct parameters that a host expression uses. */
function parametersOf(argument: Argument, definingStatements: Definitions): readonly Value[] {
  if (!isValue(argument)) return [];
  const statement = definingStatements.get(argument);
  if (!statement) return [argument];
  return [...new Set(argumentsOf(statement).flatMap((operand) => parametersOf(operand, definingStatements)))];
}

function formatHostExpression(argument: Argument, definingStatements: Definitions, isOperand = false): string {
  if (isLiteral(argument)) return String(argument.value);
  if (!isValue(argument)) return "…";
  const statement = definingStatements.get(argument);
  if (statement?.kind !== "op") return argument.parameter ?? "…";
  const { host } = statement.op.spelling;
  const operands = argumentsOf(statement);
  if (host?.form === "infix" || host?.form === "prefix") {
    const isTruth = host.truth !== undefined && argument.type.kind === "constexpr" && argument.type.of === "bool";
    const operator = isTruth ? host.truth : host.operator;
    const operandTexts = operands.map((operand) => formatHostExpression(operand, definingStatements, true));
    const text = host.form === "infix" ? operandTexts.join(` ${operator} `) : `${operator} ${operandTexts.join()}`;
    return isOperand ? `(${text})` : text;
  }
  return `${statement.op.name}(${operands.map((operand) => formatHostExpression(operand, definingStatements)).join(", ")})`;
}

/** Values of constexpr conditions in this launch. Triton compiles only the branch that is taken. */
export function constantsAt({ ir, testCase, bindings }: LaunchCase, dtypeOf?: (elem: Elem) => Constant): Constants {
  const getters = new Map<Value, () => Constant>();
  for (const param of ir.params) {
    if (param.kind === "constexpr") getters.set(param.value, () => bindings.constant(param.value));
    if (isMemoryParam(param) && param.given) getters.set(param.given, () => !testCase.absent?.includes(param.name));
  }
  return constantsOf(ir, (value) => getters.get(value)?.(), dtypeOf);
}

/** Checks tile shapes that are unknown at build time. */
function tileSizeViolation(launch: LaunchCase): string | undefined {
  const { ir, bindings } = launch;
  for (const statement of reachedStatements(ir, constantsAt(launch))) {
    for (const { type } of resultsOf(statement)) {
      // Shapes that depend on the index of an unrolled loop are known only in its body.
      if (type.kind !== "tile" || type.shape.some(isUnrolled)) continue;
      const shape = type.shape.map((dim) => bindings.dim(dim));
      const invalidAxis = shape.findIndex((size) => !isPower(size));
      if (invalidAxis >= 0)
        return `${type.shape[invalidAxis]} is ${shape[invalidAxis]}, and a tile's dimension is a power of two`;
      const { maxNumel } = ir.limits;
      if (sizeOf(shape) > maxNumel)
        return `a tile [${type.shape.join(", ")}] would have ${sizeOf(shape)} elements, and Triton allows ${maxNumel}`;
    }
  }
  return undefined;
}

/** Checks minimum dims of ops, such as the inner dim of a dot. */
function minimumDimViolation(launch: LaunchCase): string | undefined {
  const { ir, bindings } = launch;
  const elem = (unbound: Elem): Elem => bindings.dtype(unbound);
  const type = (unbound: Type): Type =>
    unbound.kind === "tile" ? { ...unbound, dtype: bindings.dtype(unbound.dtype) } : unbound;
  for (const statement of compiledOps(ir, constantsAt(launch))) {
    for (const bound of statement.op.needs.minimumDims?.(typedArguments(statement, { type, elem })) ?? []) {
      const why = isUnrolled(bound.dim) ? undefined : belowMinimumDim(bound, bindings.dim(bound.dim), ir.limits);
      if (why !== undefined) return formatMessage(why);
    }
  }
  return undefined;
}

// Detects constexpr integers outside the range of the dtype that they are combined with. Triton knows their values at
// compile time; the build does not.

/** The type rule's message for an out-of-range constant, which Triton would reject, such as 300 with a tile of int8. */
function constantOutOfRange(ir: KernelIR, bindings: Bindings, constant: Constants): string | undefined {
  for (const statement of compiledOps(ir, constant)) {
    const args = argumentsOf(statement);
    const types = args.map(typeOfArgument);
    const openTypes = types.filter(isOpen);
    // A value that depends on the index of an unrolled loop is known only in its body.
    if (openTypes.length === 0 || types.some(isUnrolledIndexType)) continue;
    const numbers = openTypes.map(({ text }) => bindings.dim(text));
    const elems = args.flatMap(elemsOf).map((elem) => bindings.dtype(elem));
    if (elems.every((dtype) => numbers.every((value) => isRepresentable(dtype, value)))) continue;
    const result = statement.op.infer(typedArguments(statement, bindingSubstitution(bindings)));
    if (result instanceof Message) return result.text;
  }
  return undefined;
}

const isOpen = (type: Type): type is ConstexprType =>
  type.kind === "constexpr" && type.of === "int" && literalValue(type) === undefined;

const isUnrolledIndexType = (type: Type): boolean =>
  type.kind === "constexpr" ? isUnrolled(type.text) : "shape" in type && type.shape.some(isUnrolled);

/** Element types of a tile or of memory, and a dtype argument itself. */
function elemsOf(argument: Argument): readonly Elem[] {
  if (isList(argument)) return argument.flatMap(elemsOf);
  if (isDType(argument)) return [argument.dtype];
  const type = typeOfArgument(argument);
  if (type.kind === "tile") return [type.dtype];
  return "to" in type ? [type.to] : [];
}

function isRepresentable(dtype: DTypeName, value: number): boolean {
  if (!isInt(dtype)) return true;
  const limit = 2 ** (bitsOf(dtype) - (isSigned(dtype) ? 1 : 0));
  return value < limit && value >= (isSigned(dtype) ? -limit : 0);
}

function bindingSubstitution(bindings: Bindings): Parameters<typeof typedArguments>[1] {
  const elem = (unbound: Elem): Elem => bindings.dtype(unbound);
  const bindShape = (type: Type): Type =>
    "shape" in type ? { ...type, shape: type.shape.map((dim) => bindings.dim(dim)) } : type;
  const bindElement = (type: Type): Type => ("to" in type ? { ...type, to: elem(type.to) } : type);
  const type = (unbound: Type): Type => {
    if (isOpen(unbound)) return { ...unbound, text: String(bindings.dim(unbound.text)) };
    return bindShape(unbound.kind === "tile" ? { ...unbound, dtype: elem(unbound.dtype) } : bindElement(unbound));
  };
  return { type, elem };
}

// Host expressions that fail in a test case, where Python raises an error: division by zero, and negative sizes.

/**
 * Checks the values that the launch computes.
 *
 * @throws TileScriptError at the author's line.
 */
export function checkHostValues(ir: KernelIR, bindings: Bindings): void {
  const division = divisionByZero(ir, bindings);
  if (division)
    fail(hostValue.zeroDivision(ir.name, valuesOf(ir, bindings)), division.statement.location ?? division.block.at);
  for (const param of ir.params)
    if (param.kind === "size" && param.derived) {
      const size = Number(bindings.constant(param.value));
      if (size < 0) fail(hostValue.negative(param.name, size, valuesOf(ir, bindings)), param.derived.at);
    }
}

function divisionByZero(
  ir: KernelIR,
  bindings: Bindings,
): { readonly statement: OpStatement; readonly block: HostBlock } | undefined {
  for (const block of hostBlocksOf(ir)) {
    bindings.host(block);
    for (const statement of block.block.statements)
      if (statement.kind === "op" && becomesInfinite(statement, bindings)) return { statement, block };
  }
  return undefined;
}

/** True if a value of a host block depends on a division by zero. */
function dependsOnDivisionByZero(value: Argument, block: HostBlock, bindings: Bindings): boolean {
  if (!isValue(value)) return false;
  const definition = block.block.statements.find((statement) => resultsOf(statement).includes(value));
  // The caller may pass an infinite scalar.
  if (isInfinite(value, bindings) && (definition || !((value.parameter ?? "") in bindings.scalars))) return true;
  return (
    definition !== undefined &&
    argumentsOf(definition).some((operand) => dependsOnDivisionByZero(operand, block, bindings))
  );
}

/** True if finite operands have an infinite result. */
const becomesInfinite = ({ operands, results }: OpStatement, bindings: Bindings): boolean =>
  isInfinite(results[0], bindings) && !operands.some((operand) => isInfinite(operand, bindings));

function isInfinite(value: Argument | undefined, bindings: Bindings): boolean {
  return isValue(value) && isInfiniteNumber(bindings.constant(value));
}

const isInfiniteNumber = (value: unknown): boolean => typeof value === "number" && !Number.isFinite(value);

/** `N=100, BLOCK=64`, without values that cannot be computed. */
function valuesOf({ params }: KernelIR, { sizes, scalars, constexprs }: Bindings): string {
  const values = { ...sizes, ...scalars, ...constexprs };
  const isKnown = (name: string): boolean => name in values && (name in scalars || !isInfiniteNumber(values[name]));
  return params.flatMap(({ name }) => (isKnown(name) ? [`${name}=${String(values[name])}`] : [])).join(", ");
}
