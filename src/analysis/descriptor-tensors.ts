/** The tensors that a lowered kernel accesses through descriptors, and the requirements of descriptors on them. */
import { DESCRIPTOR_BYTES } from "../types/limits.js";
import { dtypeTable, type Elem, members, isFloatElem } from "../types/dtype.js";
import {
  type Argument,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  paramsOf,
  type PointerParam,
  type TensorParam,
  type Value,
  type Block,
  isFunction,
  isMemoryParam,
  type Statement,
  type Variable,
} from "../ir/nodes.js";
import { argumentsOf, walkAll, callBindings, walk } from "../ir/walk.js";
import type { Op } from "../ir/op.js";

export interface TensorViaDescriptor {
  readonly param: TensorParam;
  /** The contiguous axis. The strides of all others are multiples of 16 bytes. */
  readonly axis: number;
}

/** The distinct tensors, in the order of the parameters. */
export function tensorsViaDescriptor(ir: KernelIR): readonly TensorViaDescriptor[] {
  const descriptors = deviceDescriptors(ir);
  return ir.params.flatMap((param): TensorViaDescriptor[] => {
    if (param.kind !== "tensor") return [];
    if (param.block) return [{ param, axis: param.dims.length - 1 }];
    const axes = descriptors.flatMap((statement) => contiguousAxis(param, statement));
    return [...new Set(axes)].map((axis) => ({ param, axis }));
  });
}

/** A raw pointer of which the kernel makes descriptors. */
export interface PointerViaDescriptor {
  readonly param: PointerParam;
  /** The number of elements between rows that the launch knows and, if the kernel writes through the pointer, in a row. */
  readonly steps: readonly (Value | number)[];
}

/** The distinct pointers, in the order of the parameters. Addresses that the kernel computes are unknown here. */
export function pointersViaDescriptor(ir: KernelIR): readonly PointerViaDescriptor[] {
  const launched = new Set<Argument>(
    ir.params.flatMap(({ kind, value }) => (kind === "tensor" || kind === "pointer" ? [] : [value])),
  );
  const written = writtenPointers(ir);
  return paramsOf(ir, "pointer").flatMap((param) => {
    const made = deviceDescriptors(ir).filter(({ operands: [base] }) => base === param.value);
    if (made.length === 0) return [];
    const steps = made.flatMap(({ operands: [, shape, strides] }) => {
      const outer = isList(strides) ? strides.slice(0, -1) : [];
      return written.includes(param) && isList(shape) ? [...outer, ...shape.slice(-1)] : outer;
    });
    const known = steps.flatMap((step): (Value | number)[] => {
      if (isLiteral(step)) return [Number(step.value)];
      return isValue(step) && launched.has(step) ? [step] : [];
    });
    return [{ param, steps: [...new Set(known)] }];
  });
}

/**
 * The distinct sizes of tensors that descriptors access. Triton casts sizes that the kernel passes to them to int32.
 */
export function descriptorSizes(ir: KernelIR): readonly (Value | number)[] {
  const sizeValues = new Set(
    ir.params.flatMap(({ kind, value }) => (kind === "size" || kind === "scalar" ? [value] : [])),
  );
  const shapes = [
    ...paramsOf(ir, "tensor").flatMap(({ block, dims }) => (block ? dims : [])),
    ...deviceDescriptors(ir).flatMap(({ operands: [, shape] }) => (isList(shape) ? shape : [])),
  ];
  const sizes = shapes.flatMap((size): (Value | number)[] => {
    if (isLiteral(size)) return [Number(size.value)];
    return isValue(size) && (sizeValues.has(size) || size.type.kind === "constexpr") ? [size] : [];
  });
  return [...new Set(sizes)];
}

/** True if the kernel creates descriptors itself, which requires scratch memory. */
export function hasDeviceDescriptors(ir: KernelIR): boolean {
  return deviceDescriptors(ir).length > 0;
}

/** The tensors passed to the kernel as descriptors whose block shapes depend on the config. */
export function descriptorsWithTunedBlocks(ir: KernelIR): readonly TensorParam[] {
  if (ir.tuning.key === undefined || ir.tuning.configs.length < 2) return [];
  const isConfig = (dim: Argument) =>
    ir.params.some((param) => param.kind === "constexpr" && param.from === "config" && param.value === dim);
  return paramsOf(ir, "tensor").filter(({ block = [] }) => block.some(isConfig));
}

/** True if a tensor is accessed only through descriptors, so that the kernel computes none of its offsets in int32. */
export function isDescriptorOnly(ir: KernelIR, param: TensorParam): boolean {
  if (param.block) return true;
  const descriptors = new Set<unknown>(deviceDescriptors(ir));
  let isOnly = tensorsViaDescriptor(ir).some((each) => each.param === param);
  walkAll(ir, (statement) => {
    if (!descriptors.has(statement) && argumentsOf(statement).some((argument) => argument === param.pointer))
      isOnly = false;
  });
  return isOnly;
}

/**
 * The sizes that must be multiples of a number, so that rows of contiguous tensors are multiples of 16 bytes. They
 * belong to the contiguous axis of tensors that are written, or that have more than one axis.
 */
export function requiredDivisors(ir: KernelIR): Readonly<Record<string, number>> {
  const divisors: Record<string, number> = {};
  const require = (name: string, dtype: Elem): void => {
    const bits = Math.min(...members(dtype).map((each) => dtypeTable[each].bits));
    divisors[name] = Math.max(divisors[name] ?? 1, (DESCRIPTOR_BYTES * 8) / bits);
  };
  for (const { param, axis } of tensorsViaDescriptor(ir)) {
    const name = param.dimNames[axis];
    const isFree = param.dims.length < 2 && param.role === "in";
    if (typeof name === "string" && !isFree) require(name, param.dtype);
  }
  for (const { param, steps } of pointersViaDescriptor(ir))
    for (const { name, value } of paramsOf(ir, "size")) if (steps.includes(value)) require(name, param.dtype);
  return divisors;
}

function deviceDescriptors(ir: KernelIR): readonly OpStatement[] {
  const descriptors: OpStatement[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.results[0]?.type.kind === "descriptor") descriptors.push(statement);
  });
  return descriptors;
}

/** The axis whose stride a descriptor assumes to be 1. The descriptor lists the strides of all other axes. */
function contiguousAxis(param: TensorParam, { operands }: OpStatement): readonly number[] {
  const [base, , strides] = operands;
  if (!isValue(base) || base !== param.pointer || !strides || !isList(strides)) return [];
  const outerStrides = strides.slice(0, -1);
  const missing = [...param.strides.entries()].flatMap(([axis, stride]) =>
    outerStrides.includes(stride) ? [] : [{ axis, stride }],
  );
  // Products of sizes are computed in the kernel, as separate values.
  const products = outerStrides.filter((stride) => isValue(stride) && !param.strides.includes(stride));
  const single = missing.filter(({ stride }) => !isList(stride));
  const candidates = products.length === missing.length - single.length ? single : missing;
  const isClear = strides.length === param.strides.length && candidates.length === 1;
  return isClear ? candidates.map(({ axis }) => axis) : [];
}

// The effects of a kernel on the memory of each argument.

type Memory = TensorParam | PointerParam;
export type Effects = ReadonlySet<Op["effect"]>;

export const isWritten = (effects: Effects | undefined): boolean =>
  effects !== undefined && (effects.has("write") || effects.has("atomic"));

/** Atomics whose result in memory depends on their order, if they are on floats. */
const ORDERED_ATOMICS: ReadonlySet<string> = new Set(["atomicAdd", "atomicCas", "atomicXchg", "descriptorAtomicAdd"]);

/** True if the result of a kernel may differ from run to run. A float maximum or minimum has no order. */
export function hasFloatAtomics(ir: KernelIR): boolean {
  let hasThem = false;
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || !ORDERED_ATOMICS.has(statement.op.name)) return;
    const [memory] = statement.operands;
    if (isValue(memory) && "to" in memory.type && isFloatElem(memory.type.to)) hasThem = true;
  });
  return hasThem;
}

/** The raw pointers to memory that a launch changes. */
export function writtenPointers(ir: KernelIR): readonly PointerParam[] {
  const pointers = ir.params.filter((param) => param.kind === "pointer");
  if (pointers.length === 0) return [];
  const effects = accesses(ir);
  return pointers.filter((param) => param.zeroed || isWritten(effects.get(param)));
}

/** The effects on each tensor and raw pointer, including those of helper functions. */
export const accesses = (ir: KernelIR): ReadonlyMap<Memory, Effects> => recordAccesses(ir).effects;

/** The tensors and raw pointers that each op may access. Ops with other addresses are missing. */
export const accessedMemory = (ir: KernelIR): ReadonlyMap<OpStatement, ReadonlySet<Memory>> =>
  recordAccesses(ir).memory;

function recordAccesses(ir: KernelIR) {
  const roots = new Map<Value | Variable, Memory>();
  for (const param of ir.params) {
    if (!isMemoryParam(param)) continue;
    roots.set(param.value, param);
    if (param.kind === "tensor") roots.set(param.pointer, param);
  }
  const effects = new Map<Memory, Set<Op["effect"]>>();
  const memory = new Map<OpStatement, Set<Memory>>();
  const visit = (body: Block) => walk(body, recordEffects);
  visit(ir.body);
  return { effects, memory };

  function recordEffects(statement: Statement): void {
    if (statement.kind === "read") {
      const variableRoot = roots.get(statement.variable);
      if (variableRoot) roots.set(statement.result, variableRoot);
      return;
    }
    // A helper function's accesses count at its calls.
    for (const [param, argument] of callBindings(statement)) {
      const passedRoot = isValue(argument) ? roots.get(argument) : undefined;
      if (passedRoot) roots.set(param, passedRoot);
      else roots.delete(param);
    }
    for (const argument of argumentsOf(statement)) if (isFunction(argument)) visit(argument.function.body);
    const root = argumentsOf(statement)
      .map((argument) => (isValue(argument) ? roots.get(argument) : undefined))
      .find((param) => param !== undefined);
    if (!root) return;
    if (statement.kind === "let") roots.set(statement.variable, root);
    if (statement.kind !== "op") return;
    const { effect } = statement.op;
    memory.set(statement, new Set([...(memory.get(statement) ?? []), root]));
    for (const result of statement.results) if ("access" in result.type) roots.set(result, root);
    effects.set(root, new Set([...(effects.get(root) ?? []), effect]));
  }
}
