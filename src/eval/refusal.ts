/** Checks, before anything runs, whether a kernel can be launched with a case's sizes. */
import { belowMinimumDim, MAX_NUMEL } from "../types/limits.js";
import type { TestCase, Layout } from "../compiled/compiled-kernel.js";
import { areContiguous, sizeOf } from "../numerics/array.js";
import { isFloat } from "../numerics/numeric.js";
import { holdsExactly, round } from "../numerics/numeric-float.js";
import { compiledOps, type Constants, constantsOf, reachedStatements } from "../analysis/compiled-ops.js";
import {
  INT32_LIMIT_MESSAGE,
  type Precondition,
  type PreconditionOf,
  preconditions,
  extentOf,
} from "../analysis/preconditions.js";
import { type DTypeName, dtypeTable, type Elem } from "../types/dtype.js";
import {
  type Argument,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Statement,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { argumentsOf, definitions, resultsOf } from "../ir/walk.js";
import { isUnrolled } from "../types/shape.js";
import { typedArguments } from "../ir/typed.js";
import type { Type } from "../types/types.js";
import type { Constant } from "../values/runtime-values.js";
import { Bindings } from "./bindings.js";
import { launchOf } from "./case-launch.js";
import { divisionByZero, dependsOnDivisionByZero } from "./host-values.js";
import { constantOutOfRange } from "./constant-range.js";
import { layoutStrides } from "./tensor.js";
import { isPower } from "../types/dims.js";

/** Why the lowered kernel cannot be launched, or undefined if it can. */
export function refusal(ir: KernelIR, at: TestCase): string | undefined {
  const launch: LaunchCase = { ir, at, bindings: new Bindings(ir, launchOf(ir, at)) };
  // The wrapper asks for numbers and layouts before it computes with them.
  const required = first(launch, "number", "constant", "contiguous") ?? first(launch, "requirement", "size");
  // Python raises an error there, so the case fails.
  if (required === undefined && divisionByZero(ir, launch.bindings)) return undefined;
  return (
    required ??
    badTile(launch) ??
    thinTile(launch) ??
    constantOutOfRange(ir, launch.bindings, constantsAt(launch)) ??
    first(
      launch,
      "grid",
      "descriptor",
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

/** A case of a kernel, with what the host computes of it. */
interface LaunchCase {
  readonly ir: KernelIR;
  readonly at: TestCase;
  readonly bindings: Bindings;
}

/** The sentence about the first precondition of these kinds that does not hold. */
function first(launch: LaunchCase, ...kinds: readonly Precondition["kind"][]): string | undefined {
  for (const kind of kinds)
    for (const each of preconditions(launch.ir)) {
      const why = each.kind === kind ? whyNot(each, launch) : undefined;
      if (why !== undefined) return why;
    }
  return undefined;
}

/** The sentence about a precondition that does not hold. */
function whyNot(condition: Precondition, { ir, at, bindings }: LaunchCase): string | undefined {
  switch (condition.kind) {
    case "requirement": {
      const isMet = bindings.host(ir.requires)[condition.index];
      if (isMet || dependsOnDivisionByZero(ir.requires.block.yields[condition.index]!, ir.requires, bindings))
        return undefined;
      return unmet(ir, condition.index, bindings);
    }
    case "size":
      return negative(condition, bindings);
    case "grid": {
      const { axis, most } = condition;
      const size = Number(bindings.host(ir.grid)[axis]);
      return size > most ? `axis ${axis} of the grid has ${size} programs, and a GPU allows ${most}` : undefined;
    }
    case "descriptor":
      return misaligned(condition, memoryOf(condition.param, at, bindings));
    case "number":
      return unheld(condition, at, bindings);
    case "constant":
      return negativeZero(condition, bindings);
    case "contiguous":
      return notContiguous(condition, memoryOf(condition.param, at, bindings));
    case "same-strides": {
      const [own, other] = [memoryOf(condition.param, at, bindings), memoryOf(condition.as, at, bindings)];
      // An axis of one element may have any stride.
      const isSame = (stride: number, axis: number) => own!.shape[axis]! <= 1 || stride === other!.strides[axis];
      if (!own || !other || own.strides.every(isSame)) return undefined;
      return `${condition.param.name} must have the strides of ${condition.as.name}, [${other.strides.join(", ")}], got [${own.strides.join(", ")}]`;
    }
    case "reach": {
      const { param, below } = condition;
      const memory = memoryOf(param, at, bindings);
      if (memory === undefined || extentOf(param, memory.shape, memory.strides) < below) return undefined;
      return `${param.name} spans more elements than int32 offsets reach; build the kernel with { offsets: tl.int64 } for it`;
    }
    case "count":
      return uncounted(condition, bindings);
    case "tile-size": {
      const { param, least } = condition;
      const size = Number(bindings.constant(param.value));
      if (size >= least && isPower(size)) return undefined;
      return `${param.name} must be a power of two${least > 1 ? ` from ${least} up` : ""}, got ${size}`;
    }
    case "launch-option":
      return wrongOption(condition, bindings);
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

/** About a number of the caller's. */
function unheld({ param }: PreconditionOf<"number">, at: TestCase, bindings: Bindings): string | undefined {
  const value = at.scalars?.[param.name] ?? param.default;
  const why = value === undefined ? undefined : whyNoNumber(bindings.dtype(param.dtype), Number(value));
  return why === undefined ? undefined : `${param.name} ${why}`;
}

/** About a float that is compiled in. */
function negativeZero({ param }: PreconditionOf<"constant">, bindings: Bindings): string | undefined {
  const isNegative = Object.is(bindings.constant(param.value), -0);
  return isNegative ? `${param.name} must not be -0.0, which Triton takes for 0.0` : undefined;
}

/** About an option that the config computes. */
function wrongOption({ name, compute }: PreconditionOf<"launch-option">, bindings: Bindings): string | undefined {
  const value = Number(bindings.host(compute)[0]);
  const isRight = name === "numWarps" ? [1, 2, 4, 8, 16, 32].includes(value) : value >= 1;
  const must = name === "numWarps" ? "a power of two up to 32" : "positive";
  return isRight ? undefined : `${name} must be ${must}, got ${value}`;
}

/** About a size that is computed. */
function negative({ param }: PreconditionOf<"size">, bindings: Bindings): string | undefined {
  const size = bindings.sizes[param.name]!;
  const isSize = size >= 0 || dependsOnDivisionByZero(param.derived!.block.yields[0]!, param.derived!, bindings);
  return isSize ? undefined : `a computed size is negative: ${param.name} = ${size}`;
}

/** About a tensor that has gaps, or another order. */
function notContiguous({ param }: PreconditionOf<"contiguous">, memory: Memory | undefined): string | undefined {
  if (memory === undefined || areContiguous(memory.shape, memory.strides)) return undefined;
  return `${param.name} must be contiguous, got strides [${memory.strides.join(", ")}]`;
}

/** About a size that int32 does not count up to. */
function uncounted({ size, by, below }: PreconditionOf<"count">, bindings: Bindings): string | undefined {
  const [name, count] =
    typeof size === "number" ? ["an axis", size] : [size.parameter, Number(bindings.constant(size))];
  return count < below ? undefined : `${name} is ${count}, ${INT32_LIMIT_MESSAGE[by]}`;
}

/** What a number must be that its dtype does not hold. */
function whyNoNumber(dtype: DTypeName, value: number): string | undefined {
  if (isFloat(dtype)) {
    const fits = !Number.isFinite(value) || Number.isFinite(round(dtype, { saturate: false })(value));
    return fits ? undefined : `must fit ${dtype}, got ${value}`;
  }
  if (holdsExactly(dtype, value)) return undefined;
  return Number.isInteger(value)
    ? `must be a value of ${dtype}, got ${value}`
    : `must be a whole number, because it is ${dtype}, got ${value}`;
}

/** How a tensor lies in memory. */
interface Memory {
  readonly layout: Layout;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly bytes: number;
}

/** Undefined for a tensor that is left out. */
function memoryOf(param: TensorParam, { absent, layouts = {} }: TestCase, bindings: Bindings): Memory | undefined {
  if (absent?.includes(param.name)) return undefined;
  const layout = layouts[param.name] ?? "contiguous";
  const shape = param.dims.map((dim) => Number(bindings.constant(dim)));
  const bytes = dtypeTable[bindings.dtype(param.dtype)].bits / 8;
  return { layout, shape, strides: layoutStrides(shape, layout), bytes };
}

/** About a tensor whose layout a descriptor cannot address. */
function misaligned(
  { param, axis, bytes: unit }: PreconditionOf<"descriptor">,
  memory: Memory | undefined,
): string | undefined {
  if (memory === undefined) return undefined;
  const { layout, shape, strides, bytes } = memory;
  const isAligned = strides.every((stride, i) => i === axis || (stride * bytes) % unit === 0);
  if (strides[axis] === 1 && layout !== "offset" && isAligned) return undefined;
  const how = typeof layout === "string" ? `is ${layout}` : `has strides [${layout.join(", ")}]`;
  return `${param.name} is reached through a descriptor, so it starts at a multiple of ${unit} bytes, axis ${axis} has stride 1 and all others are multiples of ${unit} bytes; here shape [${shape.join(", ")}] ${how} with ${bytes}-byte elements`;
}

/** About a requirement of the author's. */
function unmet({ requires }: KernelIR, index: number, bindings: Bindings): string {
  const condition = requires.block.yields[index]!;
  const made = definitions(requires.block);
  const values = parametersOf(condition, made).map(
    (value) => `${value.parameter} is ${String(bindings.constant(value))}`,
  );
  const here = values.length > 0 ? `; here ${values.join(" and ")}` : "";
  return `it requires ${written(condition, made)}${here}`;
}

type Made = ReadonlyMap<Value, Statement>;

/** The parameters that a host expression uses, each once. */
function parametersOf(argument: Argument, made: Made): readonly Value[] {
  if (!isValue(argument)) return [];
  const statement = made.get(argument);
  if (!statement) return [argument];
  return [...new Set(argumentsOf(statement).flatMap((operand) => parametersOf(operand, made)))];
}

/** A host expression as text. */
function written(argument: Argument, made: Made, isOperand = false): string {
  if (isLiteral(argument)) return String(argument.value);
  if (!isValue(argument)) return "…";
  const statement = made.get(argument);
  if (statement?.kind !== "op") return argument.parameter ?? "…";
  const { host } = statement.op.spelling;
  const operands = argumentsOf(statement);
  if (host?.form === "infix" || host?.form === "prefix") {
    const isTruth = host.truth !== undefined && argument.type.kind === "constexpr" && argument.type.of === "bool";
    const operator = isTruth ? host.truth : host.operator;
    const parts = operands.map((operand) => written(operand, made, true));
    const text = host.form === "infix" ? parts.join(` ${operator} `) : `${operator} ${parts.join()}`;
    return isOperand ? `(${text})` : text;
  }
  return `${statement.op.name}(${operands.map((operand) => written(operand, made)).join(", ")})`;
}

/** What the launch knows of constexpr conditions: Triton compiles only the arm that is taken. */
function constantsAt({ ir, at, bindings }: LaunchCase): Constants {
  const known = new Map<Value, () => Constant>();
  for (const param of ir.params) {
    if (param.kind === "constexpr") known.set(param.value, () => bindings.constant(param.value));
    if (isMemoryParam(param) && param.given) known.set(param.given, () => !at.absent?.includes(param.name));
  }
  return constantsOf(ir, (value) => known.get(value)?.());
}

/** Checks tile sizes that the build could not know. */
function badTile(launch: LaunchCase): string | undefined {
  const { ir, bindings } = launch;
  for (const statement of reachedStatements(ir, constantsAt(launch))) {
    for (const { type } of resultsOf(statement)) {
      // Shapes that depend on the index of an unrolled loop are known only inside it.
      if (type.kind !== "tile" || type.shape.some(isUnrolled)) continue;
      const shape = type.shape.map((dim) => bindings.dim(dim));
      const odd = shape.findIndex((size) => !isPower(size));
      if (odd >= 0) return `${type.shape[odd]} is ${shape[odd]}, and a tile's dimension is a power of two`;
      if (sizeOf(shape) > MAX_NUMEL)
        return `a tile [${type.shape.join(", ")}] would have ${sizeOf(shape)} elements, and Triton allows ${MAX_NUMEL}`;
    }
  }
  return undefined;
}

/** Checks the smallest dimensions that an op needs, such as the inner one of a dot. */
function thinTile(launch: LaunchCase): string | undefined {
  const { ir, bindings } = launch;
  const elem = (of: Elem): Elem => bindings.dtype(of);
  const type = (of: Type): Type => (of.kind === "tile" ? { ...of, dtype: bindings.dtype(of.dtype) } : of);
  for (const statement of compiledOps(ir, constantsAt(launch))) {
    for (const bound of statement.op.needs.least?.(typedArguments(statement, { type, elem })) ?? []) {
      const why = isUnrolled(bound.dim) ? undefined : belowMinimumDim(bound, bindings.dim(bound.dim));
      if (why !== undefined) return why;
    }
  }
  return undefined;
}
