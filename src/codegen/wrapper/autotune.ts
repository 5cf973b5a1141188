/** The decorators of a kernel: `@triton.autotune` outermost, then `@triton.heuristics`, then `@triton.jit`. */
import type { Config } from "../../compiled/compiled-kernel.js";
import { type ConfigGpu, formatGpu, isPerGpu } from "../../compiled/gpus.js";
import type { HostBlock, KernelIR, Value } from "../../ir/nodes.js";
import { walkUses } from "../../ir/walk.js";
import { preHook } from "./launch.js";
import { hostExpressions } from "../body/print-op.js";
import { type KernelNames, parameterName } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Argument, Block, Expression, Keyword } from "../syntax/py.js";
import { INTERPRETED } from "./checks.js";

/** A config's options as arguments of `triton.Config`. */
function configOptions(config: Config): readonly Keyword[] {
  return optionsOf(config).map(([name, value]) => py.keyword(name, optionValue(name, py.constant(value))));
}

/** A config's options as arguments of a launch, which refuses `maxnreg=None` on AMD's GPUs. */
export function launchOptions(config: Config): readonly Argument[] {
  return optionsOf(config).map(([name, value]) => {
    if (name !== "maxnreg") return py.keyword(name, py.constant(value));
    const limit = py.dict({ key: py.string(name), value: py.constant(value) });
    return py.starred(py.conditional(py.dict(), py.dotted("torch.version.hip"), limit), "**");
  });
}

/** AMD's compiler takes no limit of registers. */
function optionValue(name: string, value: Expression): Expression {
  return name === "maxnreg" ? py.conditional(py.none, py.dotted("torch.version.hip"), value) : value;
}

/** The launch options of a config, under Triton's names. */
function optionsOf({ numWarps, numStages, numCtas, maxnreg }: Config): readonly [string, number][] {
  return Object.entries({ num_warps: numWarps, num_stages: numStages, num_ctas: numCtas, maxnreg }).flatMap(
    ([name, value]): [string, number][] => (value === undefined ? [] : [[name, value]]),
  );
}

/** Equal times for all configs: Triton's interpreter has no clock. */
const noBenchmark = py.lambda(["*_", "**__"], py.binary(py.list(py.numberLiteral(0, "float")), "*", py.number("3")));

/** The table of configs by GPU, which the kernel's pruner reads. */
export function configLists(ir: KernelIR, names: KernelNames): Block {
  if (!isPerGpu(ir.tuning.configs)) return [];
  const entries = gpusOf(ir).map((gpu) => {
    const configs = ir.tuning.configs.filter((config) => formatGpu(config.gpu) === formatGpu(gpu));
    return { key: gpuKey(gpu), value: configList(ir, names, configs) };
  });
  return [
    py.blank,
    py.comment("The configs of each GPU: NVIDIA's by the oldest compute capability, AMD's by name."),
    py.assign(py.name(names.configs), py.dict(...entries)),
  ];
}

/** The GPUs that have their own list of configs, in the order of the configs. */
function gpusOf({ tuning: { configs } }: KernelIR): readonly (ConfigGpu | undefined)[] {
  return configs.flatMap(({ gpu }, i) =>
    configs.findIndex((config) => formatGpu(config.gpu) === formatGpu(gpu)) === i ? [gpu] : [],
  );
}

function gpuKey(gpu: ConfigGpu | undefined): Expression {
  return gpu && "cuda" in gpu ? py.number(String(gpu.cuda)) : py.string(formatGpu(gpu));
}

/** `[*_configs["default"], *_configs[90]]` */
function allLists(ir: KernelIR, { configs }: KernelNames): Expression {
  return py.list(...gpusOf(ir).map((gpu) => py.starred(py.subscript(py.name(configs), gpuKey(gpu)))));
}

/** `triton.Config({"BLOCK": 64}, num_warps=4)` */
function configOf(ir: KernelIR, names: KernelNames, config: Config): Expression {
  const values = Object.entries(config.values).map(([name, value]) => ({
    key: py.string(parameterName(ir, names, name)),
    value: py.constant(value),
  }));
  return py.withOrigin(
    py.call("triton.Config", py.dict(...values), ...configOptions(config), ...preHook(names)),
    config.at,
  );
}

/** A list of configs: `[triton.Config({}, num_warps=num_warps) for num_warps in (2, 4, 8)]` if they are alike. */
function configList(ir: KernelIR, names: KernelNames, configs: readonly Config[]): Expression {
  return configTable(ir, names, configs) ?? py.list(...configs.map((config) => configOf(ir, names, config)));
}

/** One config for each row of a table of what differs, if there are several of the same form. */
function configTable(ir: KernelIR, names: KernelNames, configs: readonly Config[]): Expression | undefined {
  if (configs.length < 3) return undefined;
  const rows = configs.map((config) => cellsOf(ir, names, config));
  const columns = columnsOf(rows);
  const differing = columns?.filter((column) => rows.some((row) => row.get(column) !== rows[0]!.get(column)));
  if (!columns || !differing || differing.length === 0) return undefined;
  const cell = (column: string): Expression =>
    differing.includes(column) ? py.name(column) : py.constant(rows[0]!.get(column)!);
  const options = columns.filter((column) => OPTIONS.includes(column));
  const config = py.call(
    "triton.Config",
    py.dict(
      ...columns
        .filter((column) => !options.includes(column))
        .map((column) => ({ key: py.string(column), value: cell(column) })),
    ),
    ...options.map((column) => py.keyword(column, optionValue(column, cell(column)))),
    ...preHook(names),
  );
  const items = rows.map((row, i) => {
    const values = differing.map((column) => row.get(column));
    const cells = values.map((value) => (value === undefined ? py.none : py.constant(value)));
    return py.withOrigin(py.tupleOrSingle(cells), configs[i]!.at);
  });
  const target = py.tupleOrSingle(differing.map((column) => py.name(column)));
  return py.comprehension(config, target, differing.length > 1 ? py.list(...items) : py.tuple(...items));
}

type Row = ReadonlyMap<string, number | boolean | string>;

const OPTIONS: readonly string[] = ["num_warps", "num_stages", "num_ctas", "maxnreg"];

/** The values and launch options of a config, by Triton's names. */
function cellsOf(ir: KernelIR, names: KernelNames, config: Config): Row {
  const values = Object.entries(config.values).map(([name, value]) => [parameterName(ir, names, name), value] as const);
  return new Map([...values, ...optionsOf(config)]);
}

/** The columns that all rows have. Only a limit of registers may be absent. */
function columnsOf(rows: readonly Row[]): readonly string[] | undefined {
  const needed = rows.map((row) => [...row.keys()].filter((column) => column !== "maxnreg"));
  if (needed.some((columns) => columns.join() !== needed[0]!.join())) return undefined;
  return [...needed[0]!, ...(rows.some((row) => row.has("maxnreg")) ? ["maxnreg"] : [])];
}

/** `pruner` is the name of the `early_config_prune` function, if the kernel has one. */
export function decorators(ir: KernelIR, names: KernelNames, pruner: string | undefined): readonly Expression[] {
  const inner = [...heuristics(ir, names), jit(ir, names)];
  const { configs, key, resetToZero, restoreValue, cacheResults } = ir.tuning;
  if (!key) return inner;
  const pointers = (tensors: readonly string[]) =>
    tensors.length === 0 ? undefined : py.list(...tensors.map((tensor) => py.string(parameterName(ir, names, tensor))));
  const hasSeveralConfigs = configs.length > 1;
  const autotune = py.call(
    "triton.autotune",
    ...py.keywords({
      configs: isPerGpu(configs) ? allLists(ir, names) : configList(ir, names, configs),
      key: py.list(...key.map((name) => py.string(parameterName(ir, names, name)))),
      prune_configs_by: pruner ? py.dict({ key: py.string("early_config_prune"), value: py.name(pruner) }) : undefined,
      reset_to_zero: pointers(resetToZero),
      restore_value: pointers(restoreValue),
      cache_results: cacheResults ? py.boolean(true) : undefined,
      do_bench: hasSeveralConfigs ? py.conditional(noBenchmark, py.name(INTERPRETED), py.none) : undefined,
    }),
  );
  return [autotune, ...inner];
}

/**
 * `@triton.heuristics({"EVEN_N": lambda args: args["N"] % args["BLOCK_N"] == 0})`, evaluated after a config is chosen.
 */
function heuristics(ir: KernelIR, names: KernelNames): readonly Expression[] {
  const argument = (value: Value) => py.subscript(py.name("args"), py.string(names.parameters.get(value)!));
  const entries = ir.params.flatMap((param) => {
    if (param.kind !== "constexpr" || param.from !== "heuristic" || !param.compute) return [];
    const [value] = hostExpressions(param.compute, argument);
    return [{ key: py.string(names.parameters.get(param.value)!), value: py.lambda(["args"], value!) }];
  });
  return entries.length > 0 ? [py.call("triton.heuristics", py.dict(...entries))] : [];
}

function jit(ir: KernelIR, names: KernelNames): Expression {
  const { doNotSpecialize, doNotSpecializeOnAlignment } = ir.launch;
  const parameterList = (authors: readonly string[]) =>
    authors.length === 0 ? undefined : py.list(...authors.map((name) => py.string(parameterName(ir, names, name))));
  const options = py.keywords({
    do_not_specialize: parameterList([...new Set([...doNotSpecialize, ...invariantParameters(ir, names)])]),
    do_not_specialize_on_alignment: parameterList(doNotSpecializeOnAlignment),
  });
  return options.length > 0 ? py.call("triton.jit", ...options) : py.dotted("triton.jit");
}

/** Arguments that follow the sizes in which the kernel is invariant: one binary serves all of their values. */
function invariantParameters(
  { launch: { invariant }, params }: KernelIR,
  { parameters }: KernelNames,
): readonly string[] {
  const sizes = params.filter(({ name }) => invariant.includes(name)).map(({ value }) => value);
  return params.flatMap((param) => {
    if (param.kind !== "size" || !parameters.has(param.value)) return [];
    const { derived } = param;
    const follows = derived ? sizes.some((size) => usesValue(derived.block, size)) : sizes.includes(param.value);
    return follows ? [param.name] : [];
  });
}

function usesValue(block: HostBlock["block"], sought: Value): boolean {
  let isUsed = false;
  walkUses(block, (value) => (isUsed ||= value === sought));
  return isUsed;
}

/** The options of every launch, under Triton's names. */
export function driverOptions({ launch }: KernelIR): readonly Keyword[] {
  const python = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.entries(launch.options).map(([name, value]) => py.keyword(python(name), py.constant(value)));
}
