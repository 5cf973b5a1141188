/** The ranges that an author declares: of tensors a promise, of numbers requirements. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { paramPartition, paramRange, rangeBound } from "../diagnostics/catalog/param-codes.js";
import { Handle } from "../ir/handle.js";
import { type Argument, type HostBlock, isSizeParam, type Param, type Value } from "../ir/nodes.js";
import type { Range } from "../params/param-types.js";
import { add } from "../ops/arithmetic.js";
import { eq, ge, lt, or } from "../ops/compare.js";
import type { KernelDefinition } from "./definition.js";
import { type ParamDescription, partitionOf, type TensorDescription } from "./params.js";

/** Traces what a function of the sizes computes; `compute` may return numbers and handles. */
export type TraceHost = (compute: (sizes: never) => unknown) => HostBlock;

/** The param with its declared range, or as it is. */
export function withRange(param: Param, params: readonly Param[], kernel: KernelDefinition, host: TraceHost): Param {
  const described = kernel.spec.params[param.name];
  const range = declaredRange(described);
  if (range !== undefined) {
    const block = typeof range === "function" ? host(range) : written(range, params, param.name, kernel, described);
    if (block.block.yields.length !== 2) fail(paramRange.form(`${kernel.name}: ${param.name}`), placeOf(described));
    return { ...param, range: block } as Param;
  }
  const partition = described?.kind === "tensor" ? partitionOf(described.options) : undefined;
  if (partition === undefined || param.kind !== "tensor") return param;
  const { size, holds } = partition;
  const total = sizeNamed(size, params);
  if (total === undefined) {
    const names = params.filter(isSizeParam).map(({ name }) => name);
    return fail(paramPartition.unknown(kernel.name, param.name, size, names), placeOf(described));
  }
  const end = () => [0, asOp(add)(new Handle(total), 1)];
  return { ...param, partition: { total, holds }, range: host(end) };
}

function declaredRange(described: ParamDescription | undefined): Range | undefined {
  if (described?.kind === "tensor") return described.options.range;
  return described?.kind === "scalar" || described?.kind === "constexpr" ? described.range : undefined;
}

/** Bounds that are numbers and names of sizes, which are known when inputs are made. */
function written(
  range: readonly (number | string)[],
  params: readonly Param[],
  name: string,
  { name: kernel }: KernelDefinition,
  described: ParamDescription | undefined,
): HostBlock {
  const yields = range.map((bound): Argument => {
    if (typeof bound === "number") return { kind: "literal", value: bound };
    const names = params.filter(isSizeParam).map((size) => size.name);
    return sizeNamed(bound, params) ?? fail(rangeBound.size(kernel, name, bound, names), placeOf(described));
  });
  return { block: { statements: [], yields }, at: placeOf(described) };
}

const placeOf = (described: ParamDescription | undefined): Location | undefined =>
  described && "at" in described ? described.at : undefined;

function sizeNamed(name: string, params: readonly Param[]): Value | undefined {
  return params.find((param) => isSizeParam(param) && param.name === name)?.value;
}

/** What declared ranges and partitions require of a call, as conditions. */
export function rangeRequirements({ spec }: KernelDefinition, meta: Readonly<Record<string, Handle>>): unknown[] {
  return Object.entries(spec.params).flatMap(([name, described]) => {
    if (described.kind === "tensor") return rowsOf(described, meta);
    const range = declaredRange(described);
    if (range === undefined) return [];
    const given: readonly unknown[] = typeof range === "function" ? range(meta) : range;
    const [low, end] = given.map((bound) => (typeof bound === "string" ? meta[bound] : bound));
    const x = meta[name];
    return [...(isInfinite(low) ? [] : [asOp(ge)(x, low)]), ...(isInfinite(end) ? [] : [asOp(lt)(x, end)])];
  });
}

/** Something is divided into one row at least: of that there are two offsets, or one end. */
function rowsOf({ dims: [dim], options }: TensorDescription, meta: Readonly<Record<string, Handle>>) {
  const partition = partitionOf(options);
  if (partition === undefined || typeof dim !== "string") return [];
  return [asOp(or)(asOp(ge)(meta[dim], partition.holds === "offsets" ? 2 : 1), asOp(eq)(meta[partition.size], 0))];
}

const isInfinite = (bound: unknown): boolean => typeof bound === "number" && !Number.isFinite(bound);

/** An op on values whose types only the build knows. */
const asOp = (op: unknown) => op as (x: unknown, y: unknown) => unknown;
