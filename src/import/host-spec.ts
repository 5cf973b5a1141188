/** The launch part of a spec: grid, requirements, configs, heuristics. */
import { camelCase } from "./author-name.js";
import type { DeclaredParam } from "./declared-params.js";
import { conditionsOf, type EqualConstants } from "./equal-constants.js";
import { callbackText, fixedValue, type HostNames, lineComment, objectText, todoComment } from "./host-text.js";
import type { LiftedTensor } from "./lift/lifted-tensors.js";
import type { LeftOut } from "./left-out.js";
import type { InferredLaunchFacts } from "./launch-facts/recorded-values.js";
import type { HostTree, KernelTree, LaunchOptionValues, Tuning } from "./tree.js";

/** The lines of the spec after `params`. */
export function hostLines(params: readonly DeclaredParam[], tree: KernelTree, context: HostContext): readonly string[] {
  const { tuning, launch } = tree;
  for (const option of tuning.leftOut) context.leaveOut("option", `${option} is left out`);
  const heuristics = heuristicsOf(params, tuning, context);
  const computedNames = new Set(heuristics.flatMap(({ python, text }) => (text === undefined ? [] : [python])));
  return [
    ...context.gridLines,
    ...requiresLines(tree, context),
    ...configLines(params, tree, context, computedNames),
    ...(computedNames.size > 0
      ? [`heuristics: {`, ...heuristics.flatMap(({ name, text }) => (text ? [`${name}: ${text},`] : [])), `},`]
      : []),
    ...heuristics.flatMap(({ name, pythonText }) =>
      pythonText === undefined
        ? []
        : [todoComment(`a heuristic for ${name}, which the original computes: ${pythonText}`)],
    ),
    ...doNotSpecializeLines(params, tree, context),
    todoComment(
      `${params.some(({ kind }) => kind === "pointer") ? "tensors in place of pointers; then " : ""}a reference, ({ ${argumentsOf(params)} }, torch) => …`,
    ),
    ...(launch?.place === undefined ? [] : [lineComment(`Noted at ${launch.place}.`)]),
  ];
}

/** The argument names of a reference function. */
const argumentsOf = (params: readonly DeclaredParam[]): string =>
  params.flatMap(({ name, kind, text }) => (text !== undefined && REFERENCE_KINDS.has(kind) ? [name] : [])).join(", ");
const REFERENCE_KINDS: ReadonlySet<string> = new Set(["pointer", "descriptor", "tensor", "scalar"]);

/** Omits conditions on values that a callback cannot name. */
function requiresLines({ launch }: KernelTree, { names, inferred, equalConstants }: HostContext): readonly string[] {
  const canName = (each: HostTree): boolean => callbackText([each], names, () => "") !== undefined;
  const ofShapes = conditionsOf(equalConstants).filter(canName);
  const ofAccesses = inferred?.requires.filter(canName) ?? [];
  if (ofShapes.length + ofAccesses.length === 0) return [];
  const text = callbackText([...ofShapes, ...ofAccesses], names, (each) => `[${each.join(", ")}]`);
  const ofAccessesComment = launch
    ? "// What the accesses need, and every noted launch has."
    : todoComment("what the accesses need; is it true of each launch?");
  const comments = [
    ...(ofShapes.length > 0 ? ["// Shapes agree only if these constants are equal."] : []),
    ...(ofAccesses.length > 0 ? [ofAccessesComment] : []),
  ];
  return [...comments, `requires: ${text},`];
}

/** Inputs for the launch part of a spec. */
export interface HostContext {
  readonly names: HostNames;
  readonly inferred: InferredLaunchFacts | undefined;
  readonly equalConstants: EqualConstants | undefined;
  /** The flags that `given` replaces. */
  readonly presenceFlags: ReadonlyMap<string, readonly string[]>;
  readonly gridLines: readonly string[];
  /** Tensors that replace pointers. */
  readonly tensors: readonly LiftedTensor[];
  /** Raw pointers whose memory autotuning trials would change. */
  readonly restoredPointers: ReadonlySet<string>;
  /** The same, for a parameter that Triton cannot restore. */
  readonly mutatedParam: string | undefined;
  leaveOut(what: LeftOut["what"], text: string): void;
}

interface Heuristic {
  readonly python: string;
  readonly name: string;
  /** Undefined if no expression over the arguments computes it. */
  readonly text?: string;
  /** The function of the original, if it is no expression over the arguments. */
  readonly pythonText?: string;
}

function paramNamesOf(tree: HostTree): readonly string[] {
  if ("param" in tree) return [tree.param];
  return "of" in tree ? tree.of.flatMap(paramNamesOf) : [];
}

function heuristicsOf(
  params: readonly DeclaredParam[],
  tuning: Tuning,
  { names, leaveOut }: HostContext,
): readonly Heuristic[] {
  return params.flatMap(({ python, name, kind }): readonly Heuristic[] => {
    const tree = tuning.heuristics[python];
    if (!tree) return [];
    if ("text" in tree) {
      leaveOut("heuristic", `the heuristic of ${python} is left out: no expression over the arguments computes it`);
      return [{ python, name, pythonText: tree.text }];
    }
    // If a heuristic reads its own constant, callers pass the constant.
    if (paramNamesOf(tree).includes(python)) {
      leaveOut("heuristic", `the heuristic of ${python} is left out: it changes what the caller passes`);
      return [];
    }
    const isComputed = kind === "size" || kind === "int" || kind === "bool";
    const text = isComputed ? callbackText([tree], names, (texts) => texts.join("")) : undefined;
    const isFixed = fixedValue(tree, names) !== undefined;
    return [{ python, name, ...(text !== undefined && !isFixed && { text }) }];
  });
}

function configLines(
  params: readonly DeclaredParam[],
  { tuning, launch }: KernelTree,
  context: HostContext,
  computedNames: ReadonlySet<string>,
): readonly string[] {
  const { autotune } = tuning;
  const tunedNames = new Set(autotune?.configs.flatMap(({ values }) => Object.keys(values)));
  const pinnedParams = params.filter(
    ({ python, value, isArgument }) =>
      value !== undefined &&
      !isArgument &&
      !tunedNames.has(python) &&
      !computedNames.has(python) &&
      !(python in tuning.heuristics),
  );
  const otherHeuristics = params.filter(({ python }) => python in tuning.heuristics && !computedNames.has(python));
  const fixedParams = [...pinnedParams, ...otherHeuristics];
  const todos = pinnedParams.flatMap(({ python, name, value, otherValues }) => {
    const passed = launch?.passed[python];
    if (passed !== undefined)
      return [todoComment(`${name} is ${value} as in the first call; the script passes ${passed}`)];
    return otherValues.length > 0
      ? [todoComment(`${name} is ${value}; other calls pass ${otherValues.join(", ")}`)]
      : [];
  });
  if (!autotune) {
    const entries = [...fixedParams.map(assignmentText), ...optionTexts(launch?.options ?? {})];
    return entries.length > 0 ? [...todos, `config: ${objectText(entries)},`] : todos;
  }
  return [...todos, ...autotuneLines(params, autotune, tuning.heuristics, context, fixedParams)];
}

const assignmentText = ({ name, value }: DeclaredParam): string => `${name}: ${value}`;

function autotuneLines(
  params: readonly DeclaredParam[],
  tuning: NonNullable<Tuning["autotune"]>,
  heuristics: Tuning["heuristics"],
  context: HostContext,
  fixedParams: readonly DeclaredParam[],
): readonly string[] {
  const { key, configs } = tuning;
  const { names, mutatedParam, leaveOut } = context;
  // Drops configs that contradict the value of a fixed constant.
  const compatibleConfigs = configs.filter(({ values }) =>
    Object.entries(values).every(([python, value]) => {
      const param = names(python);
      return !param || !("value" in param) || param.value === value;
    }),
  );
  if (compatibleConfigs.length < configs.length)
    leaveOut(
      "config",
      `configs are left out: ${configs.length - compatibleConfigs.length} of ${configs.length} have other values of a fixed constant`,
    );
  const configTexts = compatibleConfigs.map(({ values, options }) => {
    const assignments = Object.entries(values).flatMap(([python, value]) => {
      const param = names(python);
      return param && "name" in param ? [`${param.name}: ${JSON.stringify(value)}`] : [];
    });
    return objectText([...assignments, ...fixedParams.map(assignmentText), ...optionTexts(options)]);
  });
  const keys = key.flatMap((python) => {
    const param = params.find((each) => each.python === python);
    const isKey = param?.kind === "scalar" || param?.isArgument === true;
    // Triton's key contains the dtypes of the tensors that a call passes, so also which of them it passes.
    if (!param && context.presenceFlags.has(python)) return [];
    if (param && isKey && !(python in heuristics)) return [JSON.stringify(param.name)];
    leaveOut("key", `the autotune key ${python} is left out: no argument of the imported kernel has this name`);
    return [];
  });
  const tunedNames = new Set([
    ...compatibleConfigs.flatMap(({ values }) => Object.keys(values)),
    ...fixedParams.map(({ python }) => python),
  ]);
  const sizeKeys = sizesRelatedTo(tunedNames, context);
  if (mutatedParam !== undefined) {
    const obstacle = `once ${mutatedParam} is ${remedyFor(mutatedParam, params)}: each trial sees the result of the previous one`;
    if (configTexts.length > 1) leaveOut("option", `autotuning is left out: it is possible ${obstacle}`);
    return [
      todoComment(`autotune with the ${configTexts.length} configs of the original ${obstacle}`),
      `config: ${configTexts[0] ?? objectText(fixedParams.map(assignmentText))},`,
    ];
  }
  return [
    `autotune: {`,
    `key: [${[...new Set([...keys, ...sizeKeys])].join(", ")}],`,
    `configs: [`,
    ...configTexts.map((each) => `${each},`),
    `],`,
    ...trialLines(params, tuning, context),
    `},`,
  ];
}

/**
 * The parameters that isolate trials, beside those that each launch sets to zero. The caller may have filled the memory
 * of a raw pointer, so trials restore it, also if the original sets it to zero.
 */
function trialLines(
  params: readonly DeclaredParam[],
  { resetToZero, restoreValue, zeroed }: NonNullable<Tuning["autotune"]>,
  { tensors, restoredPointers }: HostContext,
): readonly string[] {
  const roleOf = ({ python }: DeclaredParam): string | undefined => tensors.find(({ param }) => param === python)?.role;
  const isRestored = (param: DeclaredParam): boolean =>
    param.kind === "pointer"
      ? [...restoreValue, ...resetToZero].includes(param.python) || restoredPointers.has(param.name)
      : roleOf(param) === "inout";
  const isZeroed = (param: DeclaredParam): boolean => roleOf(param) === "out" && resetToZero.includes(param.python);
  const tested = params.filter(({ python }) => !zeroed.includes(python));
  return [...listLine("resetToZero", tested.filter(isZeroed)), ...listLine("restoreValue", tested.filter(isRestored))];
}

const listLine = (field: string, params: readonly DeclaredParam[]): readonly string[] =>
  params.length > 0 ? [`${field}: ${JSON.stringify(params.map(({ name }) => name))},`] : [];

/** A remedy that isolates autotuning trials. */
const remedyFor = (mutatedParam: string, params: readonly DeclaredParam[]): string =>
  params.some(({ name, kind }) => name === mutatedParam && kind === "descriptor")
    ? "a descriptor.out whose sizes inputs have"
    : "an argument of every call";

/**
 * The sizes in requirements on tuned constants. They become tuning keys, because they decide which configs are valid.
 */
function sizesRelatedTo(tunedNames: ReadonlySet<string>, { names, inferred }: HostContext): readonly string[] {
  const related =
    inferred?.requires.map(paramNamesOf).filter((each) => each.some((name) => tunedNames.has(name))) ?? [];
  return related.flat().flatMap((python) => {
    const param = tunedNames.has(python) ? undefined : names(python);
    return param && "name" in param ? [JSON.stringify(param.name)] : [];
  });
}

/** Launch options without Triton's defaults. */
function optionTexts(options: LaunchOptionValues): readonly string[] {
  const defaults: LaunchOptionValues = { num_warps: 4, num_stages: 3, num_ctas: 1 };
  return Object.entries(options).flatMap(([name, value]) =>
    value === defaults[name] || value < 1 ? [] : [`${camelCase(name)}: ${value}`],
  );
}

function doNotSpecializeLines(
  params: readonly DeclaredParam[],
  { tuning: { doNotSpecialize }, signatures }: KernelTree,
  { leaveOut }: HostContext,
): readonly string[] {
  // Triton specializes integers and pointers only.
  const specialized = doNotSpecialize.filter((python) =>
    signatures.some((signature) => {
      const argument = signature[python];
      return (
        argument && argument.kind !== "constant" && !(argument.kind === "scalar" && /^(fp|bf)/.test(argument.dtype))
      );
    }),
  );
  const paramNames = params.flatMap(({ python, name, kind, isInteger }) =>
    doNotSpecialize.includes(python) && kind === "scalar" && isInteger ? [JSON.stringify(name)] : [],
  );
  if (paramNames.length < specialized.length)
    leaveOut("option", "do_not_specialize is left out for what is no integer argument of the imported kernel");
  return paramNames.length > 0 ? [`doNotSpecialize: [${paramNames.join(", ")}],`] : [];
}
