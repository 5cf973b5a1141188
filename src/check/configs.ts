/** Checks configs against the kernel's constexprs, and the settings that autotuning needs to measure correctly. */
import { type Config, launchOptionNames } from "../compiled/compiled-kernel.js";
import { type Diagnostic, errorDiagnostic, type MessageOfCode, warning } from "../diagnostics/diagnostic.js";
import {
  configMissing,
  configName,
  configRepeated,
  configSources,
  configValue,
  tuningSpace,
  autotuneReset,
} from "../diagnostics/catalog/config-codes.js";
import { unusedTensor } from "../diagnostics/catalog/definition-codes.js";
import { type ConstexprParam, type KernelIR, paramsOf, isMemoryParam, type TensorParam } from "../ir/nodes.js";
import { argumentsOf, valuesIn, walkAll } from "../ir/walk.js";
import { accesses, type Effects, isWritten } from "../analysis/descriptor-tensors.js";
import { defaultTf32Dots } from "../analysis/rounding-profile.js";
import { defaultPrecision } from "../diagnostics/catalog/operand-codes.js";

const POWERS = new Set([1, 2, 4, 8, 16, 32]);

export function checkConfigs(ir: KernelIR): readonly Diagnostic[] {
  const { configs, key } = ir.tuning;
  const diagnostics: Diagnostic[] = [];
  const describeConfig = (config: Config, i: number) =>
    key ? `${ir.name}: config ${i} (${describe(config)})` : `${ir.name}: its config`;
  configs.forEach((config, i) => diagnostics.push(...checkConfig(ir, config, describeConfig(config, i))));
  const texts = configs.map((config) => JSON.stringify({ ...config, at: undefined }));
  configs.forEach((config, i) => {
    const first = texts.findIndex((text) => text === texts[i]);
    if (first < i) diagnostics.push(warning(configRepeated(describeConfig(config, i), first), config.at));
  });
  if (key && configs.length === 0) diagnostics.push(errorDiagnostic(configSources.none(ir.name), ir.at));
  diagnostics.push(...checkSpace(ir));
  return diagnostics;
}

function checkSpace(ir: KernelIR): readonly Diagnostic[] {
  const configurable = ir.params
    .filter((param) => param.kind === "constexpr" && isConfigurable(param))
    .map(({ name }) => name);
  const allowedNames = [...configurable, ...launchOptionNames];
  return Object.entries(ir.tuning.space ?? {}).flatMap(([name, values]) => {
    if (!allowedNames.includes(name)) return [errorDiagnostic(tuningSpace.unknown(ir.name, name, allowedNames), ir.at)];
    return Array.isArray(values) && values.length > 0 ? [] : [errorDiagnostic(tuningSpace.empty(ir.name, name), ir.at)];
  });
}

/** True if a config may set the constexpr. */
function isConfigurable({ from, of: valueKind }: ConstexprParam): boolean {
  return from === "config" || (from === "argument" && valueKind !== "dtype");
}

function describe(config: Config): string {
  const values = Object.entries(config.values).map(([name, value]) => `${name}: ${value}`);
  if (config.numWarps !== undefined) values.push(`numWarps: ${config.numWarps}`);
  return values.join(", ");
}

function checkConfig(ir: KernelIR, config: Config, subject: string): readonly Diagnostic[] {
  const constexprs = paramsOf(ir, "constexpr");
  const byName = new Map(constexprs.map((param) => [param.name, param]));
  const expected = constexprs.filter((param) => param.from === "config").map((param) => param.name);
  const diagnostics: Diagnostic[] = [];
  const report = (message: MessageOfCode) => diagnostics.push(errorDiagnostic(message, config.at));
  for (const [name, value] of Object.entries(config.values)) {
    const param = byName.get(name);
    const message = param
      ? valueMistake(param, value, subject)
      : configName.unknown(subject, name, expected, launchOptionNames);
    if (message) report(message);
  }
  for (const name of expected) if (!(name in config.values)) report(configMissing(subject, name));
  const { numWarps, numStages, numCtas, maxnreg } = config;
  if (numWarps !== undefined && !POWERS.has(numWarps)) report(configValue.numWarps(subject, numWarps));
  for (const [name, value] of Object.entries({ numStages, numCtas, maxnreg }))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      report(configValue.launchOption(subject, name, value));
  return diagnostics;
}

function valueMistake(
  { name, from, of: valueKind, choices }: ConstexprParam,
  value: Config["values"][string],
  subject: string,
): MessageOfCode | undefined {
  if (from === "heuristic") return configName.heuristic(subject, name);
  if (valueKind === "dtype") return configName.dtype(subject, name);
  if (from === "launch") return configName.launch(subject, name);
  if (from === "dim") return configName.dim(subject, name);
  const { type, words } = JAVASCRIPT_TYPES[valueKind];
  if (typeof value !== type) return configValue.type(subject, name, value, words);
  if (choices && !choices.includes(String(value))) return configValue.choice(subject, name, value, choices);
  if (valueKind === "float" && Object.is(value, -0)) return configValue.negativeZero(subject, name);
  return valueKind === "int" && !Number.isInteger(value) ? configValue.integer(subject, name, value) : undefined;
}

const NUMBER = { type: "number", words: "a number" };
const JAVASCRIPT_TYPES = {
  bool: { type: "boolean", words: "true or false" },
  string: { type: "string", words: "a string" },
  int: NUMBER,
  float: NUMBER,
};

/** Warnings about tensor params that the kernel does not use. */
export function unusedParams(ir: KernelIR): readonly Diagnostic[] {
  const used = new Set<unknown>();
  walkAll(ir, (statement) => {
    for (const argument of argumentsOf(statement)) for (const value of valuesIn(argument)) used.add(value);
  });
  return ir.params.flatMap((param) =>
    param.kind === "tensor" && !used.has(param.value) && !used.has(param.pointer)
      ? [warning(unusedTensor[param.role === "out" ? "output" : "input"](ir.name, param.name), ir.at)]
      : [],
  );
}

// Autotuning runs the kernel several times, so tensors that it both reads and writes must be restored in between.

export function checkAccumulation(ir: KernelIR): readonly Diagnostic[] {
  if (!ir.tuning.key) return [];
  const reset = new Set([...ir.tuning.resetToZero, ...ir.tuning.restoreValue]);
  const diagnostics: Diagnostic[] = [];
  const report = (message: MessageOfCode) => diagnostics.push(errorDiagnostic(message, ir.at));
  listMistakes(ir).forEach(report);
  const accessEffects = accesses(ir);
  for (const param of ir.params) {
    if (param.kind === "pointer") {
      const effects = accessEffects.get(param);
      const reason = isWritten(effects) ? whyCarriedOver(effects) : undefined;
      const isCarriedOver = reason !== undefined && ir.tuning.configs.length > 1;
      if (param.given && (isCarriedOver || reset.has(param.name))) report(autotuneReset.optional(ir.name, param.name));
      else if (isCarriedOver && !reset.has(param.name)) report(autotuneReset.pointer(ir.name, param.name, reason));
    }
    if (param.kind === "tensor")
      tensorMistakes(ir, param, whyCarriedOver(accessEffects.get(param)), reset).forEach(report);
  }
  return diagnostics;
}

/** Mistakes in the lists themselves. A launch zeroes what is `zeroed`, so no caller fills it. */
function listMistakes({ name: kernel, params, tuning: { resetToZero, restoreValue } }: KernelIR) {
  const memory = new Map(params.filter(isMemoryParam).map((param) => [param.name, param]));
  const unknown = Object.entries({ resetToZero, restoreValue }).flatMap(([list, names]) =>
    names.filter((name) => !memory.has(name)).map((name) => autotuneReset.unknown(kernel, list, name)),
  );
  const zeroedMistakes = resetToZero.flatMap((name) => {
    if (restoreValue.includes(name)) return [autotuneReset.both(kernel, name)];
    const param = memory.get(name);
    const isFilled = param && !param.zeroed && !(param.kind === "tensor" && param.role === "out");
    return isFilled ? [autotuneReset.filled(kernel, name)] : [];
  });
  return [...unknown, ...zeroedMistakes];
}

function tensorMistakes(
  ir: KernelIR,
  { name, role, optional, block }: TensorParam,
  reason: string | undefined,
  reset: ReadonlySet<string>,
): readonly MessageOfCode[] {
  const isChanged = role === "inout" || (role === "out" && reason !== undefined);
  if (optional) return isChanged || reset.has(name) ? [autotuneReset.optional(ir.name, name)] : [];
  if (!isChanged) return [];
  const descriptor = block ? [autotuneReset.descriptor(ir.name, name, role)] : [];
  if (reset.has(name)) return descriptor;
  const inPlace = role === "inout" && !block ? [autotuneReset.inPlace(ir.name, name)] : [];
  const accumulates = role === "out" && reason !== undefined ? [autotuneReset.accumulates(ir.name, name, reason)] : [];
  return [...descriptor, ...inPlace, ...accumulates];
}

/** The way in which the memory written by a trial affects the next trial. Undefined if it does not. */
function whyCarriedOver(effects: Effects | undefined): string | undefined {
  if (effects?.has("atomic")) return "changed by an atomic";
  return effects?.has("read") ? "read" : undefined;
}

// Products of float32 that Triton computes in TF32, because the author states no precision.

export function checkDotPrecision(ir: KernelIR): readonly Diagnostic[] {
  return defaultTf32Dots(ir).map(({ location }) => warning(defaultPrecision(), location));
}
