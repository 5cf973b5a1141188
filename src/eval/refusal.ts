/** Checks, before anything runs, whether a kernel can be launched with a case's sizes. */
import { MAX_GRID, tooThin, MAX_NUMEL, DESCRIPTOR_BYTES } from "../types/limits.js";
import type { Case } from "../contract/compiled.js";
import { sizeOf } from "../numerics/array.js";
import { compiledOps } from "../analysis/compiled-ops.js";
import { describedTensors } from "../analysis/described.js";
import { dtypeTable, type Elem } from "../types/dtype.js";
import { type Argument, isLiteral, isValue, type KernelIR, type Statement, type Value } from "../ir/nodes.js";
import { argumentsOf, definitions, resultsOf, walkAll } from "../ir/walk.js";
import { isUnrolled } from "../types/shape.js";
import { typedArguments } from "../ir/typed.js";
import type { Type } from "../types/types.js";
import { Bindings } from "./bindings.js";
import { launchOf } from "./case-launch.js";
import { layoutStrides } from "./tensor.js";

/** Why the lowered kernel cannot be launched, or undefined if it can. */
export function refusal(ir: KernelIR, at: Case): string | undefined {
  const bindings = new Bindings(ir, launchOf(ir, at));
  return (
    unmet(ir, bindings) ??
    badTile(ir, bindings) ??
    thinTile(ir, bindings) ??
    badGrid(ir, bindings) ??
    misaligned(ir, bindings, at)
  );
}

/** Finds a tensor whose layout a descriptor cannot address. */
function misaligned(ir: KernelIR, bindings: Bindings, { absent, layouts = {} }: Case): string | undefined {
  for (const { param, axis } of describedTensors(ir)) {
    if (absent?.includes(param.name)) continue;
    const layout = layouts[param.name] ?? "contiguous";
    const shape = param.dims.map((dim) => Number(bindings.constant(dim)));
    const strides = layoutStrides(shape, layout);
    const bytes = dtypeTable[bindings.dtype(param.dtype)].bits / 8;
    const isAligned = strides.every((stride, i) => i === axis || (stride * bytes) % DESCRIPTOR_BYTES === 0);
    if (strides[axis] !== 1 || layout === "offset" || !isAligned)
      return `${param.name} is reached through a descriptor, so it starts at a multiple of 16 bytes, axis ${axis} has stride 1 and all others are multiples of 16 bytes; here shape [${shape.join(", ")}] ${typeof layout === "string" ? `is ${layout}` : `has strides [${layout.join(", ")}]`} with ${bytes}-byte elements`;
  }
  return undefined;
}

function unmet({ requires }: KernelIR, bindings: Bindings): string | undefined {
  const first = bindings.host(requires).findIndex((holds) => !holds);
  if (first < 0) return undefined;
  const condition = requires.block.yields[first]!;
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

/** Checks tile sizes that the build could not know. */
function badTile(ir: KernelIR, bindings: Bindings): string | undefined {
  let found: string | undefined;
  walkAll(ir, (statement) => {
    for (const { type } of resultsOf(statement)) {
      if (found !== undefined || type.kind !== "tile") continue;
      // Shapes that depend on the index of an unrolled loop are known only inside it.
      if (type.shape.some(isUnrolled)) continue;
      const shape = type.shape.map((dim) => bindings.dim(dim));
      const odd = shape.findIndex((size) => size < 1 || !Number.isInteger(Math.log2(size)));
      if (odd >= 0) found = `${type.shape[odd]} is ${shape[odd]}, and a tile's dimension is a power of two`;
      else if (sizeOf(shape) > MAX_NUMEL)
        found = `a tile [${type.shape.join(", ")}] would have ${sizeOf(shape)} elements, and Triton allows ${MAX_NUMEL}`;
    }
  });
  return found;
}

/** Checks the smallest dimensions that an op needs, such as the inner one of a dot. */
function thinTile(ir: KernelIR, bindings: Bindings): string | undefined {
  const elem = (of: Elem): Elem => bindings.dtype(of);
  const type = (of: Type): Type => (of.kind === "tile" ? { ...of, dtype: bindings.dtype(of.dtype) } : of);
  for (const statement of compiledOps(ir)) {
    for (const bound of statement.op.needs.least?.(typedArguments(statement, { type, elem })) ?? []) {
      const why = isUnrolled(bound.dim) ? undefined : tooThin(bound, bindings.dim(bound.dim));
      if (why !== undefined) return why;
    }
  }
  return undefined;
}

function badGrid({ grid }: KernelIR, bindings: Bindings): string | undefined {
  const sizes = bindings.host(grid).map(Number);
  const axis = sizes.findIndex((size, i) => size > MAX_GRID[i]!);
  return axis < 0
    ? undefined
    : `axis ${axis} of the grid has ${sizes[axis]} programs, and a GPU allows ${MAX_GRID[axis]}`;
}
