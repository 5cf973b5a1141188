/** Checks the host blocks around a launch: the values that they may use before and after a config is chosen. */
import { type Diagnostic, errorDiagnostic, type MessageOfCode } from "../diagnostics/diagnostic.js";
import { autotuneKey } from "../diagnostics/catalog/config-codes.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import { computedLater, launchOption, specializedNames } from "../diagnostics/catalog/host-codes.js";
import { dtypeVariable, paramRange, rangeBound } from "../diagnostics/catalog/param-codes.js";
import { sameElem } from "../types/dtype.js";
import {
  type ConstexprParam,
  type HostBlock,
  isList,
  isLiteral,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Param,
  tensorsOf,
} from "../ir/nodes.js";
import { hostBlockOf, rangeOf } from "../ir/walk.js";

export function checkHost(ir: KernelIR): readonly Diagnostic[] {
  const messages = [
    ...ir.params.flatMap((param) => computedMistakes(ir, param)),
    ...ir.params.flatMap((param) => rangeMistakes(ir, param)),
    ...requirements(ir),
    ...keyMistakes(ir),
    ...specializationMistakes(ir),
    ...launchOptions(ir),
    ...dtypeVariables(ir),
  ];
  return messages.map((message) => errorDiagnostic(message, ir.at));
}

/** The parameters that a host block uses. With `condition`, those of one requirement. */
function inputsOf(ir: KernelIR, { block }: HostBlock, condition?: number): readonly Param[] {
  const used = new Set<unknown>();
  const definitions = new Map(
    block.statements.flatMap((statement) =>
      statement.kind === "op" ? statement.results.map((result) => [result, statement] as const) : [],
    ),
  );
  const visit = (argument: unknown): void => {
    if (isList(argument as never)) (argument as readonly unknown[]).forEach(visit);
    if (!isValue(argument as never) || used.has(argument)) return;
    used.add(argument);
    const statement = definitions.get(argument as never);
    statement?.operands.forEach(visit);
    Object.values(statement?.options ?? {}).forEach(visit);
  };
  (condition === undefined ? block.yields : [block.yields[condition]]).forEach(visit);
  return ir.params.filter((param) => used.has(param.value));
}

const isConstexpr = (param: Param, from: ConstexprParam["from"]): boolean =>
  param.kind === "constexpr" && param.from === from;

/**
 * Checks evaluation order. Derived sizes and launch-time constexprs are computed before the config, heuristics after it
 * in the order of params.
 */
function computedMistakes(ir: KernelIR, param: Param): MessageOfCode[] {
  const block = hostBlockOf(param);
  if (!block) return [];
  const isHeuristic = isConstexpr(param, "heuristic");
  if (isConstexpr(param, "launch") && dependsOn(ir, param, param)) return [computedLater.itself(ir.name, param.name)];
  return inputsOf(ir, block).flatMap((input) => {
    if (input.kind === "device" && !isConstexpr(param, "launch")) return [computedLater.device(ir.name, param.name)];
    if (!isHeuristic && isConstexpr(input, "config") && ir.tuning.key) {
      return [computedLater.config(ir.name, param.name, input.name, param.kind === "constexpr")];
    }
    if (!isConstexpr(input, "heuristic")) return [];
    if (!isHeuristic) return [computedLater.heuristic(ir.name, param.name, input.name)];
    const isLater = ir.params.indexOf(input) >= ir.params.indexOf(param);
    return isLater ? [computedLater.order(ir.name, param.name, input.name)] : [];
  });
}

/**
 * Checks the bounds of a param's range. A tensor exists before the launch, so its range must not depend on later
 * values. The range of a config's constexpr is checked against the configs.
 */
function rangeMistakes(ir: KernelIR, param: Param): MessageOfCode[] {
  const range = rangeOf(param);
  if (range === undefined) return [];
  const laterInputs = (["config", "heuristic", "launch"] as const).flatMap((from) =>
    inputsOf(ir, range).filter((input) => isConstexpr(input, from)),
  );
  const later = laterInputs.map(({ name }) => rangeBound.later(ir.name, param.name, name));
  if (param.kind === "tensor" || !isConstexpr(param, "config")) return later;
  const [low = Number.NaN, end = Number.NaN] = range.block.yields.map((bound) =>
    isLiteral(bound) ? Number(bound.value) : Number.NaN,
  );
  const outOfRange = ir.tuning.configs
    .map(({ values }) => Number(values[param.name]))
    .filter((value) => value < low || value >= end);
  return [...later, ...outOfRange.map((value) => paramRange.config(ir.name, param.name, value, low, end))];
}

/** True if computing `from` needs the value of `to`. */
function dependsOn(ir: KernelIR, param: Param, target: Param, visited = new Set<Param>()): boolean {
  const block = hostBlockOf(param);
  if (!block || visited.has(param)) return false;
  visited.add(param);
  return inputsOf(ir, block).some((input) => input === target || dependsOn(ir, input, target, visited));
}

function requirements(ir: KernelIR): MessageOfCode[] {
  return ir.requires.block.yields.flatMap((_, condition) => {
    const inputs = inputsOf(ir, ir.requires, condition);
    const later = inputs
      .filter((input) => isConstexpr(input, "heuristic"))
      .map(({ name }) => computedLater.heuristic(ir.name, "requires", name));
    const { key, configs } = ir.tuning;
    const config = inputs.find((input) => isConstexpr(input, "config"));
    if (!key || !config || configs.length < 2) return later;
    // A config that was tuned for a key is used for all calls with that key.
    const uncovered = inputs.filter((input) => !isConstexpr(input, "config") && !isCoveredByKey(ir, input, key));
    return [...later, ...uncovered.map(({ name }) => autotuneKey.requires(ir.name, name, config.name))];
  });
}

/** True if a value is the same for all calls with the same key. */
function isCoveredByKey(ir: KernelIR, param: Param, key: readonly string[], covered = new Set<Param>()): boolean {
  if (key.includes(param.name) || covered.has(param)) return true;
  const block = hostBlockOf(param);
  const isCovered =
    block !== undefined && inputsOf(ir, block).every((input) => isCoveredByKey(ir, input, key, covered));
  if (isCovered) covered.add(param);
  return isCovered;
}

/** Checks that key names exist. Triton looks them up in a call's arguments and silently skips missing names. */
function keyMistakes(ir: KernelIR): MessageOfCode[] {
  const keyable = ir.params.filter(
    (param) =>
      param.kind === "size" ||
      param.kind === "scalar" ||
      (param.kind === "constexpr" && param.from !== "config" && param.from !== "heuristic"),
  );
  const names = keyable.map(({ name }) => name);
  return (ir.tuning.key ?? []).flatMap((name): MessageOfCode[] => {
    if (names.includes(name)) return [];
    const param = ir.params.find((candidate) => candidate.name === name);
    if (param && isConstexpr(param, "config")) return [autotuneKey.config(ir.name, name)];
    if (param && isConstexpr(param, "heuristic")) return [computedLater.heuristic(ir.name, "the autotune key", name)];
    return [autotuneKey.unknown(ir.name, name, names)];
  });
}

function specializationMistakes(ir: KernelIR): MessageOfCode[] {
  const { doNotSpecialize, doNotSpecializeOnAlignment } = ir.launch;
  const isNumber = (param: Param) => param.kind === "size" || param.kind === "scalar";
  const isAligned = (param: Param) => isNumber(param) || isMemoryParam(param);
  const outputSizes = new Set(tensorsOf(ir, "out", "inout").flatMap(({ dims }) => dims));
  const isOutputSize = (param: Param) => param.kind === "size" && !param.derived && outputSizes.has(param.value);
  const check = (option: string, names: readonly string[], allowed: (param: Param) => boolean) =>
    names.flatMap((name) => {
      if (ir.params.some((param) => param.name === name && allowed(param))) return [];
      const allowedNames = ir.params.filter(allowed).map((param) => param.name);
      return [specializedNames(ir.name, option, name, allowedNames)];
    });
  return [
    ...check("doNotSpecialize", doNotSpecialize, isNumber),
    ...check("doNotSpecializeOnAlignment", doNotSpecializeOnAlignment, isAligned),
    ...check("invariant", ir.launch.invariant, isOutputSize),
  ];
}

const LAUNCH_OPTIONS = ["launchPdl", "launchCooperativeGrid", "enableFpFusion"];

function launchOptions(ir: KernelIR): MessageOfCode[] {
  return Object.entries(ir.launch.options).flatMap(([name, value]): MessageOfCode[] => {
    if (!LAUNCH_OPTIONS.includes(name)) return [launchOption(ir.name, name, LAUNCH_OPTIONS)];
    const subject = `launch.${name} is ${JSON.stringify(value)}`;
    return typeof value === "boolean" ? [] : [specValue.part(ir.name, subject, "launch", "an object of truth values")];
  });
}

/** Checks that a dtype variable has one meaning and is bound by an argument of the caller. */
function dtypeVariables(ir: KernelIR): MessageOfCode[] {
  const messages: MessageOfCode[] = [];
  const elems = ir.params.flatMap((param) => {
    if (param.kind !== "tensor" && param.kind !== "constexpr") return [];
    const elem = param.kind === "tensor" ? param.dtype : param.variable;
    return elem === undefined || typeof elem === "string" ? [] : [{ param, elem }];
  });
  for (const { param, elem } of elems) {
    const conflicting = elems.find((each) => each.elem.name === elem.name && !sameElem(each.elem, elem));
    if (conflicting && elems.indexOf(conflicting) < elems.findIndex((each) => each.param === param))
      messages.push(dtypeVariable.duplicate(ir.name, elem.name, conflicting.param.name, param.name));
    const uses = elems.filter((each) => each.elem.name === elem.name);
    // The dtype of an allocated output must be known even if optional inputs are absent.
    const isAllocated = uses.some((each) => each.param.kind === "tensor" && each.param.role === "out");
    const bindsDType = (param: Param) =>
      param.kind === "constexpr" ||
      (param.kind === "pointer" && !(isAllocated && param.given)) ||
      (param.kind === "tensor" && param.role !== "out" && !(isAllocated && param.given));
    const isBound = [...uses.map((each) => each.param), ...pointersOf(ir, elem.name)].some(bindsDType);
    if (!isBound) messages.push(dtypeVariable.unknown(ir.name, elem.name, param.name));
  }
  return messages;
}

const pointersOf = (ir: KernelIR, variable: string): readonly Param[] =>
  ir.params.filter(
    (param) => param.kind === "pointer" && typeof param.dtype !== "string" && param.dtype.name === variable,
  );
