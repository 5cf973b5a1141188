/** The tensors that a lowered kernel accesses through descriptors, and what descriptors require of them. */
import { DESCRIPTOR_BYTES } from "../types/limits.js";
import { dtypeTable, members } from "../types/dtype.js";
import {
  type Argument,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  paramsOf,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { argumentsOf, walkAll } from "../ir/walk.js";

export interface TensorViaDescriptor {
  readonly param: TensorParam;
  /** The contiguous axis. The strides of all others are multiples of 16 bytes. */
  readonly axis: number;
}

/** Each tensor once, in the order of the parameters. */
export function tensorsViaDescriptor(ir: KernelIR): readonly TensorViaDescriptor[] {
  const made = descriptorsMade(ir);
  return ir.params.flatMap((param): TensorViaDescriptor[] => {
    if (param.kind !== "tensor") return [];
    if (param.block) return [{ param, axis: param.dims.length - 1 }];
    const axes = made.flatMap((statement) => contiguousAxis(param, statement));
    return [...new Set(axes)].map((axis) => ({ param, axis }));
  });
}

/** The sizes of what descriptors reach, each once: Triton casts those that the kernel gives them to int32. */
export function describedSizes(ir: KernelIR): readonly (Value | number)[] {
  const known = new Set(ir.params.flatMap(({ kind, value }) => (kind === "size" || kind === "scalar" ? [value] : [])));
  const shapes = [
    ...paramsOf(ir, "tensor").flatMap(({ block, dims }) => (block ? dims : [])),
    ...descriptorsMade(ir).flatMap(({ operands: [, shape] }) => (isList(shape) ? shape : [])),
  ];
  const sizes = shapes.flatMap((size): (Value | number)[] => {
    if (isLiteral(size)) return [Number(size.value)];
    return isValue(size) && (known.has(size) || size.type.kind === "constexpr") ? [size] : [];
  });
  return [...new Set(sizes)];
}

/** Whether the kernel makes descriptors itself, which needs scratch memory. */
export function makesDescriptors(ir: KernelIR): boolean {
  return descriptorsMade(ir).length > 0;
}

/** The tensors that reach the kernel as descriptors whose blocks a choice of configs decides. */
export function descriptorsWithTunedBlocks(ir: KernelIR): readonly TensorParam[] {
  if (ir.tuning.key === undefined || ir.tuning.configs.length < 2) return [];
  const isConfig = (dim: Argument) =>
    ir.params.some((param) => param.kind === "constexpr" && param.from === "config" && param.value === dim);
  return paramsOf(ir, "tensor").filter(({ block = [] }) => block.some(isConfig));
}

/** Whether a tensor is accessed only through descriptors, so that the kernel computes none of its offsets in int32. */
export function isDescriptorOnly(ir: KernelIR, param: TensorParam): boolean {
  if (param.block) return true;
  const made = new Set<unknown>(descriptorsMade(ir));
  let isOnly = tensorsViaDescriptor(ir).some((each) => each.param === param);
  walkAll(ir, (statement) => {
    if (!made.has(statement) && argumentsOf(statement).some((argument) => argument === param.pointer)) isOnly = false;
  });
  return isOnly;
}

/**
 * The sizes that must be multiples of a number, so that the rows of contiguous tensors are multiples of 16 bytes: those
 * of the contiguous axis, in tensors with more than one axis.
 */
export function requiredDivisors(ir: KernelIR): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { param, axis } of tensorsViaDescriptor(ir)) {
    const name = param.dimNames[axis];
    if (typeof name !== "string" || param.dims.length < 2) continue;
    const bits = Math.min(...members(param.dtype).map((dtype) => dtypeTable[dtype].bits));
    found[name] = Math.max(found[name] ?? 1, (DESCRIPTOR_BYTES * 8) / bits);
  }
  return found;
}

function descriptorsMade(ir: KernelIR): readonly OpStatement[] {
  const found: OpStatement[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.results[0]?.type.kind === "descriptor") found.push(statement);
  });
  return found;
}

/** The axis of a tensor whose stride a descriptor assumes to be 1; the descriptor lists the strides of all others. */
function contiguousAxis(param: TensorParam, { operands }: OpStatement): readonly number[] {
  const [base, , strides] = operands;
  if (!isValue(base) || base !== param.pointer || !strides || !isList(strides)) return [];
  const given = strides.slice(0, -1);
  const missing = [...param.strides.keys()].filter((axis) => !given.includes(param.strides[axis]!));
  // Products of sizes are computed in the kernel, as values of their own.
  const products = given.filter((stride) => isValue(stride) && !param.strides.includes(stride));
  const listed = missing.filter((axis) => isList(param.strides[axis]));
  const left = products.length === listed.length ? missing.filter((axis) => !listed.includes(axis)) : missing;
  return strides.length === param.strides.length && left.length === 1 ? left : [];
}
