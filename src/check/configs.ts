/** Checks configs against the kernel's constexprs, and what autotuning needs to measure correctly. */
import { type Config, launchOptionNames } from "../compiled/compiled-kernel.js";
import { type Diagnostic, errorDiagnostic, type MessageOfCode, warning } from "../diagnostics/diagnostic.js";
import {
  configMissing,
  configName,
  configRepeated,
  configSources,
  configValue,
  tuningSpace,
} from "../diagnostics/catalog/config-codes.js";
import { unusedTensor } from "../diagnostics/catalog/definition-codes.js";
import { type ConstexprParam, type KernelIR, paramsOf } from "../ir/nodes.js";
import { argumentsOf, valuesIn, walkAll } from "../ir/walk.js";

const POWERS = new Set([1, 2, 4, 8, 16, 32]);

export function checkConfigs(ir: KernelIR): readonly Diagnostic[] {
  const { configs, key } = ir.tuning;
  const found: Diagnostic[] = [];
  const place = (i: number) => (key ? `${ir.name}: config ${i} (${describe(configs[i]!)})` : `${ir.name}: its config`);
  configs.forEach((config, i) => found.push(...checkConfig(ir, config, place(i))));
  const texts = configs.map((config) => JSON.stringify({ ...config, at: undefined }));
  configs.forEach(({ at }, i) => {
    const first = texts.indexOf(texts[i]!);
    if (first < i) found.push(warning(configRepeated(place(i), first), at));
  });
  if (key) {
    if (configs.length === 0) found.push(errorDiagnostic(configSources.none(ir.name), ir.at));
  }
  found.push(...checkSpace(ir));
  return found;
}

function checkSpace(ir: KernelIR): readonly Diagnostic[] {
  const chosen = ir.params.filter((param) => param.kind === "constexpr" && isChosen(param)).map(({ name }) => name);
  const known = [...chosen, ...launchOptionNames];
  return Object.entries(ir.tuning.space ?? {}).flatMap(([name, values]) => {
    if (!known.includes(name)) return [errorDiagnostic(tuningSpace.unknown(ir.name, name, known), ir.at)];
    return Array.isArray(values) && values.length > 0 ? [] : [errorDiagnostic(tuningSpace.empty(ir.name, name), ir.at)];
  });
}

/** Whether a config may give it a value. */
function isChosen({ from, of }: ConstexprParam): boolean {
  return from === "config" || (from === "argument" && of !== "dtype");
}

function describe(config: Config): string {
  const values = Object.entries(config.values).map(([name, value]) => `${name}: ${value}`);
  if (config.numWarps !== undefined) values.push(`numWarps: ${config.numWarps}`);
  return values.join(", ");
}

function checkConfig(ir: KernelIR, config: Config, where: string): readonly Diagnostic[] {
  const constexprs = paramsOf(ir, "constexpr");
  const byName = new Map(constexprs.map((param) => [param.name, param]));
  const expected = constexprs.filter((param) => param.from === "config").map((param) => param.name);
  const found: Diagnostic[] = [];
  const refuse = (said: MessageOfCode) => found.push(errorDiagnostic(said, config.at));
  for (const [name, value] of Object.entries(config.values)) {
    const param = byName.get(name);
    if (!param) refuse(configName.unknown(where, name, expected, launchOptionNames));
    else if (param.from === "heuristic") refuse(configName.heuristic(where, name));
    else if (param.of === "dtype") refuse(configName.dtype(where, name));
    else if (param.from === "launch") refuse(configName.launch(where, name));
    else if (param.from === "dim") refuse(configName.dim(where, name));
    else if (typeof value !== typeofParam(param)) refuse(configValue.type(where, name, value, aTypeOf(param)));
    else if (param.choices && !param.choices.includes(String(value)))
      refuse(configValue.choice(where, name, value, param.choices));
    else if (param.of === "float" && Object.is(value, -0)) refuse(configValue.negativeZero(where, name));
    else if (param.of === "int" && !Number.isInteger(value)) refuse(configValue.integer(where, name, value));
  }
  for (const name of expected) if (!(name in config.values)) refuse(configMissing(where, name));
  const { numWarps, numStages, numCtas, maxnreg } = config;
  if (numWarps !== undefined && !POWERS.has(numWarps)) refuse(configValue.numWarps(where, numWarps));
  for (const [name, value] of Object.entries({ numStages, numCtas, maxnreg }))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      refuse(configValue.launchOption(where, name, value));
  return found;
}

function typeofParam({ of }: ConstexprParam): string {
  return of === "bool" ? "boolean" : of === "string" ? "string" : "number";
}

function aTypeOf({ of }: ConstexprParam): string {
  return of === "bool" ? "true or false" : of === "string" ? "a string" : "a number";
}

/** Warnings about configs. */
export function unusedParams(ir: KernelIR): readonly Diagnostic[] {
  const used = new Set<unknown>();
  walkAll(ir, (statement) => {
    for (const argument of argumentsOf(statement)) for (const value of valuesIn(argument)) used.add(value);
  });
  return ir.params.flatMap((param) =>
    param.kind === "tensor" && !used.has(param.value) && !used.has(param.pointer)
      ? [warning(unusedTensor(ir.name, param.name), ir.at)]
      : [],
  );
}
