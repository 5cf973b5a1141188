/** Declared ranges: promises about the elements of tensors, and requirements on numbers. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { paramPartition, paramRange, rangeBound } from "../diagnostics/catalog/param-codes.js";
import { builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import { type Argument, type HostBlock, isSizeParam, type Param, type Value } from "../ir/nodes.js";
import type { Range } from "../params/param-types.js";
import { add } from "../ops/arithmetic.js";
import { eq, ge, lt, or } from "../ops/compare.js";
import type { KernelDefinition } from "./definition.js";
import { type ParamDescription, partitionOf, type TensorDescription } from "./params.js";

/** Traces a function of the sizes. `compute` may return numbers and handles. */
export type TraceHost = (compute: (sizes: never) => unknown) => HostBlock;

/** Adds the declared range or partition, if any. */
export function withRange(param: Param, params: readonly Param[], kernel: KernelDefinition, host: TraceHost): Param {
  const description = kernel.spec.params[param.name];
  const range = declaredRange(description);
  if (range !== undefined) {
    const hostBlock =
      typeof range === "function" ? host(range) : constantRange(range, params, param.name, kernel, description);
    if (hostBlock.block.yields.length !== 2)
      fail(paramRange.form(`${kernel.name}: ${param.name}`), locationOf(description));
    return { ...param, range: hostBlock } as Param;
  }
  const partition = description?.kind === "tensor" ? partitionOf(description.options) : undefined;
  if (partition === undefined || param.kind !== "tensor") return param;
  const { size, holds } = partition;
  const total = sizeValue(size, params);
  if (total === undefined) {
    const names = params.filter(isSizeParam).map(({ name }) => name);
    return fail(paramPartition.unknown(kernel.name, param.name, size, names), locationOf(description));
  }
  const computeRange = () => [0, untypedOp(add)(new Handle(total), 1)];
  return { ...param, partition: { total, holds }, range: host(computeRange) };
}

function declaredRange(description: ParamDescription | undefined): Range | undefined {
  if (description?.kind === "tensor") return description.options.range;
  return description?.kind === "scalar" || description?.kind === "constexpr" ? description.range : undefined;
}

/** A range of numbers and names of sizes. */
function constantRange(
  range: readonly (number | string)[],
  params: readonly Param[],
  name: string,
  { name: kernel }: KernelDefinition,
  description: ParamDescription | undefined,
): HostBlock {
  const yields = range.map((bound): Argument => {
    if (typeof bound === "number") return { kind: "literal", value: bound };
    const names = params.filter(isSizeParam).map((size) => size.name);
    return sizeValue(bound, params) ?? fail(rangeBound.size(kernel, name, bound, names), locationOf(description));
  });
  return { block: { statements: [], yields }, at: locationOf(description) };
}

const locationOf = (description: ParamDescription | undefined): Location | undefined =>
  description && "at" in description ? description.at : undefined;

function sizeValue(name: string, params: readonly Param[]): Value | undefined {
  return params.find((param) => isSizeParam(param) && param.name === name)?.value;
}

/**
 * The conditions on a call that follow from declared ranges and partitions. They have no location, which tells them
 * from the conditions of `requires`.
 */
export function rangeRequirements({ spec }: KernelDefinition, meta: Readonly<Record<string, Handle>>): unknown[] {
  return Object.entries(spec.params).flatMap(([name, description]) => {
    if (description.kind === "tensor") return partitionRequirements(description, meta);
    const range = declaredRange(description);
    if (range === undefined) return [];
    const bounds: readonly unknown[] = typeof range === "function" ? range(meta) : range;
    const [low, end] = bounds.map((bound) => (typeof bound === "string" ? meta[bound] : bound));
    const x = meta[name];
    return unlocated(() => [
      ...(isInfinite(low) ? [] : [untypedOp(ge)(x, low)]),
      ...(isInfinite(end) ? [] : [untypedOp(lt)(x, end)]),
    ]);
  });
}

/** A nonempty size has at least one row, which has two offsets or one end. */
function partitionRequirements({ dims: [dim], options }: TensorDescription, meta: Readonly<Record<string, Handle>>) {
  const partition = partitionOf(options);
  if (partition === undefined || typeof dim !== "string") return [];
  return unlocated(() => [
    untypedOp(or)(
      untypedOp(ge)(meta[dim], partition.holds === "offsets" ? 2 : 1),
      untypedOp(eq)(meta[partition.size], 0),
    ),
  ]);
}

const unlocated = <T>(make: () => T): T => builder("range").pinnedAt(undefined, make);

const isInfinite = (bound: unknown): boolean => typeof bound === "number" && !Number.isFinite(bound);

/** An op without its signature, for operands whose types only the build knows. */
const untypedOp = (op: unknown) => op as (x: unknown, y: unknown) => unknown;
