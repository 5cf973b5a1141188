/**
 * Values of a launch: declared ranges, which are promises about the elements of tensors and requirements on numbers;
 * the result of a `config` function; and the `device` argument.
 */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { paramPartition, paramRange, rangeBound } from "../diagnostics/catalog/param-codes.js";
import { builder, type Builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import {
  type Argument,
  type HostBlock,
  isSizeParam,
  type Param,
  type Value,
  type Statement,
  type DeviceParam,
} from "../ir/nodes.js";
import type { Range } from "../params/param-types.js";
import { add } from "../ops/arithmetic.js";
import { eq, ge, lt, or } from "../ops/compare.js";
import type { KernelDefinition } from "./definition.js";
import { type ParamDescription, partitionOf, type TensorDescription } from "./params.js";
import { launchOptionNames } from "../compiled/compiled-kernel.js";
import { configName } from "../diagnostics/catalog/config-codes.js";
import { changedState } from "../diagnostics/catalog/control-codes.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import { argumentsOf, resultsOf, valuesIn } from "../ir/walk.js";
import { configRemedy } from "./spec-schema.js";
import { isConstant, isObject, kindOf } from "./raw-values.js";
import { devicePropertyNames } from "../compiled/gpus.js";

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

// Splits the result of a `config` function into constants and values that the host computes at launch.

type Meta = Readonly<Record<string, Handle>>;

type Entries = readonly (readonly [string, unknown])[];

export interface ComputedConfig {
  readonly constants: Readonly<Record<string, unknown>>;
  readonly hostBlocks: Readonly<Record<string, HostBlock>>;
  /** Statements that contribute to no returned value. */
  readonly unusedStatements: readonly Statement[];
}

/** `host` traces a callback. */
export function computedConfig(
  { name, spec, at: location }: KernelDefinition,
  meta: Meta,
  host: (body: () => unknown) => HostBlock,
): ComputedConfig {
  const { config } = spec;
  if (typeof config !== "function") return { constants: config ?? {}, hostBlocks: {}, unusedStatements: [] };
  let entries: Entries | undefined;
  const hostBlock = host(() => {
    const result = config(meta);
    if (!isObject(result))
      fail(specValue.part(name, `config gives ${kindOf(result)}`, "config", configRemedy), location);
    const resultEntries = Object.entries(result);
    // The callback runs twice. The tracer compares the statements, so only the constants are compared here.
    if (entries && !haveSameConstants(entries, resultEntries)) fail(changedState.outsideResult("config"), location);
    entries = resultEntries;
    return entries.flatMap(([, value]) => (isConstant(value) ? [] : [value]));
  });
  entries ??= [];
  const computedEntries = entries.filter(([, value]) => !isConstant(value));
  const params = Object.keys(spec.params);
  const unknown = computedEntries.find(([key]) => ![...params, ...launchOptionNames].includes(key));
  if (unknown) fail(configName.unknown(`${name}: its config`, unknown[0], params, launchOptionNames), location);
  const blocks = computedEntries.map(([key], i) => [key, backwardSlice(hostBlock, i)] as const);
  const usedStatements = new Set(blocks.flatMap(([, { block }]) => block.statements));
  return {
    constants: Object.fromEntries(entries.filter(([, value]) => isConstant(value))),
    hostBlocks: Object.fromEntries(blocks),
    unusedStatements: hostBlock.block.statements.filter((statement) => !usedStatements.has(statement)),
  };
}

function haveSameConstants(a: Entries, b: Entries): boolean {
  const isSame = (value: unknown, otherValue: unknown) =>
    isConstant(value) ? Object.is(value, otherValue) : !isConstant(otherValue);
  return (
    a.length === b.length &&
    a.every(([key, value], i) => {
      const [otherKey, otherValue] = b[i] ?? [];
      return key === otherKey && isSame(value, otherValue);
    })
  );
}

/** The block of one yielded value, with only the statements that it depends on. */
function backwardSlice({ block, at: location }: HostBlock, index: number): HostBlock {
  const value = block.yields[index]!;
  const neededValues = new Set<unknown>([value]);
  const statements = block.statements.toReversed().filter((statement) => {
    if (!resultsOf(statement).some((result) => neededValues.has(result))) return false;
    for (const argument of argumentsOf(statement)) for (const operand of valuesIn(argument)) neededValues.add(operand);
    return true;
  });
  return { block: { statements: statements.toReversed(), yields: [value] }, at: location };
}

// The `device` argument of host callbacks: properties of the GPU, with PyTorch's names.

/** An object with a handle for each property, and the properties that the callbacks read. */
export function deviceProperties(
  recorder: Builder,
  location: Location | undefined,
): { readonly device: Handle; readonly usedParams: readonly DeviceParam[] } {
  const usedParams: DeviceParam[] = [];
  const device = {};
  for (const name of devicePropertyNames) {
    const value = recorder.value({ kind: "tile", dtype: "int32", shape: [] }, location, `device.${name}`);
    const param: DeviceParam = { kind: "device", name, value };
    const get = (): Handle => {
      if (!usedParams.includes(param)) usedParams.push(param);
      return new Handle(value);
    };
    Object.defineProperty(device, name, { get, enumerable: true });
  }
  // Callbacks get an object of handles; this is a nested object of handles.
  return { device: device as Handle, usedParams };
}
