/**
 * Checks the code around a launch: which values it may use before and after a config is chosen, and which never exist.
 */
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
} from "../ir/nodes.js";
import { hostBlockOf, rangeOf } from "../ir/walk.js";

export function checkHost(ir: KernelIR): readonly Diagnostic[] {
  const found = [
    ...ir.params.flatMap((param) => computed(ir, param)),
    ...ir.params.flatMap((param) => rangeMistakes(ir, param)),
    ...requirements(ir),
    ...keys(ir),
    ...specialization(ir),
    ...launchOptions(ir),
    ...dtypeVariables(ir),
  ];
  return found.map((said) => errorDiagnostic(said, ir.at));
}

/** The parameters that a host block uses; for a requirement, those of one condition. */
function inputsOf(ir: KernelIR, { block }: HostBlock, condition?: number): readonly Param[] {
  const used = new Set<unknown>();
  const made = new Map(
    block.statements.flatMap((statement) =>
      statement.kind === "op" ? statement.results.map((result) => [result, statement] as const) : [],
    ),
  );
  const use = (argument: unknown): void => {
    if (isList(argument as never)) (argument as readonly unknown[]).forEach(use);
    if (!isValue(argument as never) || used.has(argument)) return;
    used.add(argument);
    const statement = made.get(argument as never);
    statement?.operands.forEach(use);
    Object.values(statement?.options ?? {}).forEach(use);
  };
  (condition === undefined ? block.yields : [block.yields[condition]]).forEach(use);
  return ir.params.filter((param) => used.has(param.value));
}

const isConstexpr = (param: Param, from: ConstexprParam["from"]): boolean =>
  param.kind === "constexpr" && param.from === from;

/** Derived sizes and launch-time constexprs come before the config; heuristics after it, in the order of params. */
function computed(ir: KernelIR, param: Param): MessageOfCode[] {
  const block = hostBlockOf(param);
  if (!block) return [];
  const isHeuristic = isConstexpr(param, "heuristic");
  if (isConstexpr(param, "launch") && reaches(ir, param, param)) return [computedLater.itself(ir.name, param.name)];
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

/** What a tensor holds exists before the launch. A range of a config's constexpr holds for what the configs say. */
function rangeMistakes(ir: KernelIR, param: Param): MessageOfCode[] {
  const range = rangeOf(param);
  if (range === undefined) return [];
  const decided = (["config", "heuristic", "launch"] as const).flatMap((from) =>
    inputsOf(ir, range).filter((input) => isConstexpr(input, from)),
  );
  const later = decided.map(({ name }) => rangeBound.later(ir.name, param.name, name));
  if (param.kind === "tensor" || !isConstexpr(param, "config")) return later;
  const [low, end] = range.block.yields.map((bound) => (isLiteral(bound) ? Number(bound.value) : Number.NaN));
  const wrong = ir.tuning.configs
    .map(({ values }) => Number(values[param.name]))
    .filter((value) => value < low! || value >= end!);
  return [...later, ...wrong.map((value) => paramRange.config(ir.name, param.name, value, low!, end!))];
}

/** Whether computing `from` needs the value of `to`. */
function reaches(ir: KernelIR, from: Param, to: Param, seen = new Set<Param>()): boolean {
  const block = hostBlockOf(from);
  if (!block || seen.has(from)) return false;
  seen.add(from);
  return inputsOf(ir, block).some((input) => input === to || reaches(ir, input, to, seen));
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
    // A config that is tuned for a key is used for all calls with that key.
    const loose = inputs.filter((input) => !isConstexpr(input, "config") && !keyCovers(ir, input, key));
    return [...later, ...loose.map(({ name }) => autotuneKey.requires(ir.name, name, config.name))];
  });
}

/** Whether a value is the same for all calls with the same key. */
function keyCovers(ir: KernelIR, param: Param, key: readonly string[], covered = new Set<Param>()): boolean {
  if (key.includes(param.name) || covered.has(param)) return true;
  const block = hostBlockOf(param);
  const isCovered = block !== undefined && inputsOf(ir, block).every((input) => keyCovers(ir, input, key, covered));
  if (isCovered) covered.add(param);
  return isCovered;
}

/** Triton looks up the key among a call's arguments, and silently skips names that are missing. */
function keys(ir: KernelIR): MessageOfCode[] {
  const known = ir.params.filter(
    (param) =>
      param.kind === "size" ||
      param.kind === "scalar" ||
      (param.kind === "constexpr" && param.from !== "config" && param.from !== "heuristic"),
  );
  const names = known.map(({ name }) => name);
  return (ir.tuning.key ?? []).flatMap((name): MessageOfCode[] => {
    if (names.includes(name)) return [];
    const param = ir.params.find((other) => other.name === name);
    if (param && isConstexpr(param, "config")) return [autotuneKey.config(ir.name, name)];
    if (param && isConstexpr(param, "heuristic")) return [computedLater.heuristic(ir.name, "the autotune key", name)];
    return [autotuneKey.unknown(ir.name, name, names)];
  });
}

function specialization(ir: KernelIR): MessageOfCode[] {
  const { doNotSpecialize, doNotSpecializeOnAlignment } = ir.launch;
  const isNumber = (param: Param) => param.kind === "size" || param.kind === "scalar";
  const isAligned = (param: Param) => isNumber(param) || isMemoryParam(param);
  const check = (option: string, names: readonly string[], allowed: (param: Param) => boolean) =>
    names.flatMap((name) => {
      if (ir.params.some((param) => param.name === name && allowed(param))) return [];
      const known = ir.params.filter(allowed).map((param) => param.name);
      return [specializedNames(ir.name, option, name, known)];
    });
  return [
    ...check("doNotSpecialize", doNotSpecialize, isNumber),
    ...check("doNotSpecializeOnAlignment", doNotSpecializeOnAlignment, isAligned),
  ];
}

const LAUNCH_OPTIONS = ["launchPdl", "launchCooperativeGrid", "enableFpFusion"];

function launchOptions(ir: KernelIR): MessageOfCode[] {
  return Object.entries(ir.launch.options).flatMap(([name, value]): MessageOfCode[] => {
    if (!LAUNCH_OPTIONS.includes(name)) return [launchOption(ir.name, name, LAUNCH_OPTIONS)];
    const said = `launch.${name} is ${JSON.stringify(value)}`;
    return typeof value === "boolean" ? [] : [specValue.part(ir.name, said, "launch", "an object of truth values")];
  });
}

/** A dtype variable has one meaning, and something that the caller gives must have it. */
function dtypeVariables(ir: KernelIR): MessageOfCode[] {
  const found: MessageOfCode[] = [];
  const elems = ir.params.flatMap((param) => {
    const elem = param.kind === "tensor" ? param.dtype : param.kind === "constexpr" ? param.variable : undefined;
    return elem === undefined || typeof elem === "string" ? [] : [{ param, elem }];
  });
  for (const { param, elem } of elems) {
    const other = elems.find((each) => each.elem.name === elem.name && !sameElem(each.elem, elem));
    if (other && elems.indexOf(other) < elems.findIndex((each) => each.param === param))
      found.push(dtypeVariable.twice(ir.name, elem.name, other.param.name, param.name));
    const same = elems.filter((each) => each.elem.name === elem.name);
    // The dtype of an allocated output must be known even if optional inputs are absent.
    const isAllocated = same.some((each) => each.param.kind === "tensor" && each.param.role === "out");
    const says = (param: Param) =>
      param.kind === "constexpr" ||
      (param.kind === "pointer" && !(isAllocated && param.given)) ||
      (param.kind === "tensor" && param.role !== "out" && !(isAllocated && param.given));
    const isGiven = [...same.map((each) => each.param), ...pointersOf(ir, elem.name)].some(says);
    if (!isGiven) found.push(dtypeVariable.unknown(ir.name, elem.name, param.name));
  }
  return found;
}

const pointersOf = (ir: KernelIR, variable: string): readonly Param[] =>
  ir.params.filter(
    (param) => param.kind === "pointer" && typeof param.dtype !== "string" && param.dtype.name === variable,
  );
