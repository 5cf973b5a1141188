/** What runs around a launch: who may name whom before and after a config is chosen, and what has no value at all. */
import { type Diagnostic, problem } from "../diagnostics/diagnostic.js";
import { sameElem } from "../types/dtype.js";
import { type ConstexprParam, type HostBlock, isList, isValue, type KernelIR, type Param } from "../ir/nodes.js";

export function checkHost(ir: KernelIR): readonly Diagnostic[] {
  const found = [
    ...ir.params.flatMap((param) => computed(ir, param)),
    ...requirements(ir),
    ...keys(ir),
    ...specialization(ir),
    ...launchOptions(ir),
    ...dtypeVariables(ir),
  ];
  return found.map((message) => problem("host", `${ir.name}: ${message}`, ir.at));
}

/** The parameters that a host block looks at; for a requirement, those of one condition. */
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
function computed(ir: KernelIR, param: Param): string[] {
  const block = param.kind === "size" ? param.derived : param.kind === "constexpr" ? param.compute : undefined;
  if (!block) return [];
  const isHeuristic = isConstexpr(param, "heuristic");
  return inputsOf(ir, block).flatMap((input) => {
    if (!isHeuristic && isConstexpr(input, "config") && ir.tuning.key) {
      const instead = param.kind === "constexpr" ? `; compute ${param.name} in heuristics` : "";
      return [`${param.name} is computed before a config is chosen, and names ${input.name} of the configs${instead}`];
    }
    if (!isConstexpr(input, "heuristic")) return [];
    if (!isHeuristic)
      return [`${param.name} names ${input.name}, which a heuristic computes later; ${NAME_ITS_INPUTS}`];
    const isLater = ir.params.indexOf(input) >= ir.params.indexOf(param);
    return isLater
      ? [`the heuristic of ${param.name} names ${input.name}; list ${input.name} before it in params`]
      : [];
  });
}

const NAME_ITS_INPUTS = "name what that is computed from";

function requirements(ir: KernelIR): string[] {
  return ir.requires.block.yields.flatMap((_, condition) => {
    const inputs = inputsOf(ir, ir.requires, condition);
    const later = inputs
      .filter((input) => isConstexpr(input, "heuristic"))
      .map(({ name }) => `requires names ${name}, which a heuristic computes later; ${NAME_ITS_INPUTS}`);
    const { key, configs } = ir.tuning;
    const config = inputs.find((input) => isConstexpr(input, "config"));
    if (!key || !config || configs.length < 2) return later;
    // What is tuned once for a key is launched for all that share it.
    const loose = inputs.filter((input) => !isConstexpr(input, "config") && !keyCovers(ir, input, key));
    return [
      ...later,
      ...loose.map(
        ({ name }) =>
          `requires names ${name} beside ${config.name}; add "${name}" to the autotune key, else a config tuned for another ${name} is launched`,
      ),
    ];
  });
}

/** Whether a value is the same wherever the key is. */
function keyCovers(ir: KernelIR, param: Param, key: readonly string[]): boolean {
  if (key.includes(param.name)) return true;
  const block = param.kind === "size" ? param.derived : param.kind === "constexpr" ? param.compute : undefined;
  return block !== undefined && inputsOf(ir, block).every((input) => keyCovers(ir, input, key));
}

/** Triton looks for the key among the arguments of a call, and leaves out silently what is not there. */
function keys(ir: KernelIR): string[] {
  const known = ir.params.filter(
    (param) =>
      param.kind === "size" ||
      param.kind === "scalar" ||
      (param.kind === "constexpr" && param.from !== "config" && param.from !== "heuristic"),
  );
  const names = known.map(({ name }) => name);
  return (ir.tuning.key ?? []).flatMap((name) => {
    if (names.includes(name)) return [];
    const param = ir.params.find((other) => other.name === name);
    if (param && isConstexpr(param, "config"))
      return [`the autotune key names ${name}, which the configs choose; leave it out`];
    if (param && isConstexpr(param, "heuristic"))
      return [`the autotune key names ${name}, which a heuristic computes later; ${NAME_ITS_INPUTS}`];
    return [`the autotune key ${name} is no size, scalar or constexpr; it may be ${names.join(", ")}`];
  });
}

function specialization(ir: KernelIR): string[] {
  const { doNotSpecialize, doNotSpecializeOnAlignment } = ir.launch;
  const isNumber = (param: Param) => param.kind === "size" || param.kind === "scalar";
  const isAligned = (param: Param) => isNumber(param) || param.kind === "tensor" || param.kind === "pointer";
  const check = (option: string, names: readonly string[], allowed: (param: Param) => boolean) =>
    names.flatMap((name) => {
      if (ir.params.some((param) => param.name === name && allowed(param))) return [];
      const known = ir.params.filter(allowed).map((param) => param.name);
      return [`${option} names ${name}; it may name ${known.join(", ") || "nothing here"}`];
    });
  return [
    ...check("doNotSpecialize", doNotSpecialize, isNumber),
    ...check("doNotSpecializeOnAlignment", doNotSpecializeOnAlignment, isAligned),
  ];
}

const LAUNCH_OPTIONS = ["launchPdl", "launchCooperativeGrid", "enableFpFusion"];

function launchOptions(ir: KernelIR): string[] {
  return Object.keys(ir.launch.options)
    .filter((name) => !LAUNCH_OPTIONS.includes(name))
    .map((name) => `launch: no option ${name}; it has ${LAUNCH_OPTIONS.join(", ")}, and configs have the others`);
}

/** A dtype variable has one meaning, and something that the caller gives must have it. */
function dtypeVariables(ir: KernelIR): string[] {
  const found: string[] = [];
  const elems = ir.params.flatMap((param) => {
    const elem = param.kind === "tensor" ? param.dtype : param.kind === "constexpr" ? param.variable : undefined;
    return elem === undefined || typeof elem === "string" ? [] : [{ param, elem }];
  });
  for (const { param, elem } of elems) {
    const other = elems.find((each) => each.elem.name === elem.name && !sameElem(each.elem, elem));
    if (other && elems.indexOf(other) < elems.findIndex((each) => each.param === param))
      found.push(
        `two dtype variables are called ${elem.name}, of ${other.param.name} and of ${param.name}; rename one`,
      );
    const same = elems.filter((each) => each.elem.name === elem.name);
    // An output is allocated in a dtype that is known even where optional inputs are absent.
    const isAllocated = same.some((each) => each.param.kind === "tensor" && each.param.role === "out");
    const says = (param: Param) =>
      param.kind === "constexpr" ||
      (param.kind === "pointer" && !(isAllocated && param.given)) ||
      (param.kind === "tensor" && param.role !== "out" && !(isAllocated && param.given));
    const isGiven = [...same.map((each) => each.param), ...pointersOf(ir, elem.name)].some(says);
    if (!isGiven)
      found.push(
        `nothing that the caller gives says which dtype ${elem.name} is, of ${param.name}; add a param constexpr.dtype(${elem.name})`,
      );
  }
  return found;
}

const pointersOf = (ir: KernelIR, variable: string): readonly Param[] =>
  ir.params.filter(
    (param) => param.kind === "pointer" && typeof param.dtype !== "string" && param.dtype.name === variable,
  );
