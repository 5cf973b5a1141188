/** The report of `compile`: diagnostics at the author's lines, a table, and JSON. */
import type pc from "picocolors";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { supportsGpu, formatTargets } from "../../compiled/gpus.js";
import { formatList } from "../../diagnostics/message.js";
import { configAt, formatCase, formatConfig, valuesOf } from "../cases/cases.js";
import { errorDiagnostic, warning, type Diagnostic } from "../../diagnostics/diagnostic.js";
import { compileResources, otherTarget } from "../../diagnostics/catalog/command-codes.js";
import {
  type Compilation,
  type KernelCompilations,
  uncheckedOf,
  problemsOf,
  type CompileMessage,
} from "../target-compile/targets.js";
import type { CompilationReport, CompileReport } from "./reports.js";
import { formatTable } from "./text-blocks.js";

export interface CompileFacts {
  readonly triton: string;
  readonly python: string;
  readonly seconds: number;
}

/** The problems of a kernel. A problem of several targets, configs and dtypes at the same line is reported once. */
export function compileDiagnostics(result: KernelCompilations): Diagnostic[] {
  return [...otherTargets(result), ...problemsAtLines(result)];
}

/** A kernel without any of the targets was not compiled, which is an error. */
function otherTargets({ kernel, compilations, notRun }: KernelCompilations): Diagnostic[] {
  const createDiagnostic = compilations.length === 0 ? errorDiagnostic : warning;
  return (kernel.targets ?? []).flatMap((declared) => {
    const excluded = notRun.filter(({ triton }) => !supportsGpu(declared, triton)).map(({ name }) => name);
    return excluded.length === 0
      ? []
      : [
          createDiagnostic(
            otherTarget(kernel.signature.name, formatList(excluded), formatTargets(declared)),
            declared.at,
          ),
        ];
  });
}

function problemsAtLines({ kernel, compilations }: KernelCompilations): Diagnostic[] {
  const { name } = kernel.signature;
  const callsWithFit = new Set(compilations.filter((each) => !isOverResources(each)).map(callKey));
  const groups = new Map<string, { readonly message: CompileMessage; readonly compilations: Compilation[] }>();
  for (const compilation of compilations) {
    for (const problem of problemsOf(compilation, configOf(kernel, compilation).at)) {
      const isSkipped = problem.rule === compileResources && callsWithFit.has(callKey(compilation));
      const message = isSkipped ? { ...problem, severity: "warning" as const, remedy: SKIPPED_REMEDY } : problem;
      const key = JSON.stringify([message.severity, message.rule.code, message.problem, message.at]);
      const group = groups.get(key) ?? { message, compilations: [] };
      group.compilations.push(compilation);
      groups.set(key, group);
    }
  }
  return [...groups.values()].map(({ message, compilations: affected }) => {
    const createDiagnostic = message.severity === "error" ? errorDiagnostic : warning;
    return createDiagnostic(
      message.rule(name, message.problem, formatCompilations(affected), message.remedy),
      message.at,
    );
  });
}

/** Triton's autotuner skips configs that exceed the resources. */
const SKIPPED_REMEDY = "Triton's autotuner passes over it there and takes another config";

/** True if this config can't run on this target. */
function isOverResources(compilation: Compilation): boolean {
  return problemsOf(compilation, undefined).some(({ severity }) => severity === "error");
}

/** A key for the compilations among which the autotuner chooses: target and arguments of the caller. */
function callKey(compilation: Compilation): string {
  return `${compilation.target.name} ${formatVariant(compilation)}`;
}

/** The compiled config, located in the author's source. */
function configOf(kernel: CompiledKernel, { testCase, specialized, resources }: Compilation): Config {
  if (specialized === undefined) return configAt(kernel, testCase.config);
  return { ...configAt({ configs: kernel.specialized ?? [] }, specialized), ...resources?.specialized };
}

/** `3`, or `specialized 3` for the warp-specialized kernel. */
const configName = ({ testCase, specialized }: Compilation): string =>
  specialized === undefined ? String(testCase.config) : `specialized ${specialized}`;

/** `cuda:90 and cuda:100, configs 0 and 3, T=float16` */
function formatCompilations(compilations: readonly Compilation[]): string {
  const unique = (texts: readonly string[]) => [...new Set(texts)].filter(Boolean);
  const configs = unique(compilations.map(configName));
  return [
    formatList(unique(compilations.map(({ target }) => target.name))),
    `${configs.length > 1 ? "configs" : "config"} ${formatList(configs)}`,
    formatList(unique(compilations.map(formatGiven))),
  ]
    .filter(Boolean)
    .join(", ");
}

/** The caller's choices, and the size or scalar on which Triton specializes. */
const formatGiven = (compilation: Compilation): string =>
  [formatVariant(compilation), compilation.constant].filter(Boolean).join(" ");

/** The caller's choices: `T=float16 causal=true sliced without bias`. */
function formatVariant({ testCase }: Compilation): string {
  const layouts = [...new Set(Object.values(testCase.layouts ?? {}).map(String))];
  const phrases = [
    formatCase({ ...testCase, sizes: {} }),
    ...layouts,
    ...(testCase.absent ?? []).map((name) => `without ${name}`),
  ];
  return phrases.filter(Boolean).join(" ");
}

/** Descriptions of what was not compiled or not checked, with the reason. */
function notChecked({ compilations, skipped, notRun }: KernelCompilations): string[] {
  const notRunTexts = notRun.map(({ name }) => `${name}: not run, the kernel is not for it`);
  return [
    ...notRunTexts,
    ...skipped,
    ...uncheckedOf(compilations.flatMap(({ resources }) => resources?.machineCode ?? [])),
  ];
}

/** The table of one kernel: a row for each target, config and choice of the caller. */
export function compileText(
  result: KernelCompilations,
  { triton, seconds }: CompileFacts,
  colors: ReturnType<typeof pc.createColors>,
): string {
  const { kernel, compilations } = result;
  const unchecked = notChecked(result);
  const cached = compilations.filter((compilation) => compilation.cached).length;
  const head = ["target", "config", "given", "registers", "spilled", "shared", "occupancy", "limited by"];
  const rows = compilations.map((compilation) => {
    const { target, failure, resources, occupancy } = compilation;
    const config = `${configName(compilation)} ${formatConfig(configOf(kernel, compilation))}`;
    const key = [target.name, config, formatGiven(compilation)];
    if (failure || !resources || !occupancy) return [...key, colors.red("does not compile")];
    const { registers, spilled, shared } = resources;
    const fits = shared <= target.limits.sharedOfProgram;
    return [
      ...key,
      String(registers),
      spilled > 0 ? colors.yellow(`${spilled} B`) : "0",
      fits ? formatBytes(shared) : colors.red(formatBytes(shared)),
      fits ? `${Math.round(occupancy.fraction * 100)}%` : colors.red("can't run"),
      fits ? `${occupancy.limit}, ${occupancy.programs} a unit` : "",
    ];
  });
  return [
    `${colors.bold(kernel.signature.name)}: ${compilations.length} compiled with Triton ${triton}, ${cached} of them from the cache (${seconds.toFixed(1)} s)`,
    ...formatTable(
      head.map((text) => colors.dim(text)),
      rows,
    ),
    ...(unchecked.length > 0 ? [`  ${colors.yellow("not checked")}`, ...unchecked.map((text) => `    - ${text}`)] : []),
  ].join("\n");
}

function formatBytes(count: number): string {
  return count < 1024 ? `${count} B` : `${Number((count / 1024).toFixed(1))} KiB`;
}

/** The JSON report of all kernels. */
export function compileJson(
  results: readonly KernelCompilations[],
  diagnostics: readonly (readonly Diagnostic[])[],
  facts: CompileFacts,
): CompileReport {
  return {
    ok: diagnostics.flat().every(({ severity }) => severity !== "error"),
    ...facts,
    kernels: results.map((each, i) => ({
      kernel: each.kernel.signature.name,
      compiled: each.compilations.map((compilation) =>
        compilationJson(compilation, configOf(each.kernel, compilation)),
      ),
      not_run: each.notRun.map(({ name }) => name),
      not_checked: notChecked(each),
      diagnostics: diagnostics[i]!,
    })),
  };
}

function compilationJson(
  { target, testCase, specialized, failure, resources, occupancy, cached }: Compilation,
  config: Config,
) {
  const unwritten = resources?.machineCode.flatMap((code) => code.unwritten ?? []) ?? [];
  return {
    target: target.name,
    config: specialized ?? testCase.config,
    ...(specialized !== undefined && { specialized: true as const }),
    values: valuesOf(config),
    sizes: testCase.sizes,
    dtypes: testCase.dtypes,
    ...(testCase.constexprs && { constexprs: testCase.constexprs }),
    ...(testCase.layouts && { layouts: testCase.layouts }),
    ...(testCase.absent && { absent: testCase.absent }),
    ...(resources && {
      registers: resources.registers,
      spilled_bytes: resources.spilled,
      shared_bytes: resources.shared,
      ...(resources.tensorMemory !== undefined && { tensor_memory: resources.tensorMemory }),
      warps: resources.warps,
      compile_seconds: resources.seconds,
      ...(unwritten.length > 0 && { unwritten_reads: unwritten }),
    }),
    ...(occupancy && { programs: occupancy.programs, occupancy: occupancy.fraction, limited_by: occupancy.limit }),
    cached,
    ...(failure && { error: failure }),
  } satisfies CompilationReport;
}
