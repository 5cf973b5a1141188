/** `config` as a function: constants stand in the config, and the launch computes the rest. */
import { launchOptionNames } from "../compiled/compiled-kernel.js";
import { fail } from "../diagnostics/diagnostic.js";
import { configName } from "../diagnostics/catalog/config-codes.js";
import { changedState } from "../diagnostics/catalog/control-codes.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import type { Handle } from "../ir/handle.js";
import type { HostBlock, Statement } from "../ir/nodes.js";
import { argumentsOf, resultsOf, valuesIn } from "../ir/walk.js";
import type { KernelDefinition } from "./definition.js";
import { configRemedy, isConstant, isObject, kindOf } from "./spec-forms.js";

type Meta = Readonly<Record<string, Handle>>;

type Entries = readonly (readonly [string, unknown])[];

export interface ComputedConfig {
  readonly fixed: Readonly<Record<string, unknown>>;
  readonly computed: Readonly<Record<string, HostBlock>>;
  /** What the function computes and does not return. */
  readonly unused: readonly Statement[];
}

/** `host` records what a callback computes. */
export function computedConfig(
  { name, spec, at }: KernelDefinition,
  meta: Meta,
  host: (body: () => unknown) => HostBlock,
): ComputedConfig {
  const { config } = spec;
  if (typeof config !== "function") return { fixed: config ?? {}, computed: {}, unused: [] };
  let entries: Entries | undefined;
  const all = host(() => {
    const given = config(meta);
    if (!isObject(given)) fail(specValue.part(name, `config gives ${kindOf(given)}`, "config", configRemedy), at);
    const now = Object.entries(given);
    // It is run twice, and what it computes is compared elsewhere.
    if (entries && !sameConstants(entries, now)) fail(changedState.outsideResult("config"), at);
    entries = now;
    return entries.flatMap(([, value]) => (isConstant(value) ? [] : [value]));
  });
  entries ??= [];
  const computed = entries.filter(([, value]) => !isConstant(value));
  const params = Object.keys(spec.params);
  const unknown = computed.find(([key]) => ![...params, ...launchOptionNames].includes(key));
  if (unknown) fail(configName.unknown(`${name}: its config`, unknown[0], params, launchOptionNames), at);
  const parts = computed.map(([key], i) => [key, partOf(all, i)] as const);
  const used = new Set(parts.flatMap(([, { block }]) => block.statements));
  return {
    fixed: Object.fromEntries(entries.filter(([, value]) => isConstant(value))),
    computed: Object.fromEntries(parts),
    unused: all.block.statements.filter((statement) => !used.has(statement)),
  };
}

function sameConstants(a: Entries, b: Entries): boolean {
  const isSame = (value: unknown, other: unknown) => (isConstant(value) ? Object.is(value, other) : !isConstant(other));
  return a.length === b.length && a.every(([key, value], i) => key === b[i]![0] && isSame(value, b[i]![1]));
}

/** The block of one of the values, with the statements that it needs. */
function partOf({ block, at }: HostBlock, place: number): HostBlock {
  const value = block.yields[place]!;
  const needed = new Set<unknown>([value]);
  const statements = block.statements.toReversed().filter((statement) => {
    if (!resultsOf(statement).some((result) => needed.has(result))) return false;
    for (const argument of argumentsOf(statement)) for (const used of valuesIn(argument)) needed.add(used);
    return true;
  });
  return { block: { statements: statements.toReversed(), yields: [value] }, at };
}
