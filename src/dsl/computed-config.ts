/** Splits the result of a `config` function into constants and values that the host computes at launch. */
import { launchOptionNames } from "../compiled/compiled-kernel.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { configName } from "../diagnostics/catalog/config-codes.js";
import { changedState } from "../diagnostics/catalog/control-codes.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import { Handle } from "../ir/handle.js";
import type { HostBlock, Statement, DeviceParam } from "../ir/nodes.js";
import { argumentsOf, resultsOf, valuesIn } from "../ir/walk.js";
import type { KernelDefinition } from "./definition.js";
import { configRemedy } from "./spec-schema.js";
import { isConstant, isObject, kindOf } from "./raw-values.js";
import { devicePropertyNames } from "../compiled/gpus.js";
import type { Builder } from "../ir/builder.js";

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
