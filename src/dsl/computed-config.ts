/** Splits the result of a `config` function into constants and values that the host computes at launch. */
import { launchOptionNames } from "../compiled/compiled-kernel.js";
import { fail } from "../diagnostics/diagnostic.js";
import { configName } from "../diagnostics/catalog/config-codes.js";
import { changedState } from "../diagnostics/catalog/control-codes.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import type { Handle } from "../ir/handle.js";
import type { HostBlock, Statement } from "../ir/nodes.js";
import { argumentsOf, resultsOf, valuesIn } from "../ir/walk.js";
import type { KernelDefinition } from "./definition.js";
import { configRemedy } from "./spec-schema.js";
import { isConstant, isObject, kindOf } from "./raw-values.js";

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
