/** The report of `compile`: diagnostics at the author's lines, a table, and JSON. */
import type pc from "picocolors";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { supportsGpu, targetsText } from "../../compiled/kernel-targets.js";
import { formatList } from "../../diagnostics/format-list.js";
import { caseText, configText, valuesOf } from "../cases/case-text.js";
import { errorDiagnostic, warning, type Diagnostic } from "../../diagnostics/diagnostic.js";
import { compileResources, otherTarget } from "../../diagnostics/catalog/command-codes.js";
import type { Compilation, KernelCompilations } from "../target-compile/targets.js";
import { problemsOf, type CompileMessage } from "../target-compile/diagnostics.js";
import { uncheckedOf } from "../target-compile/machine-code.js";
import type { CompilationReport, CompileReport } from "./reports.js";
import { table } from "./text-table.js";

export interface CompileFacts {
  readonly triton: string;
  readonly python: string;
  readonly seconds: number;
}

/** The problems; one that occurs for several targets, configs and dtypes at a line is reported once. */
export function compileDiagnostics(found: KernelCompilations): Diagnostic[] {
  return [...otherTargets(found), ...problemsAtLines(found)];
}

/** A kernel that is for none of the targets was not compiled, which is no success. */
function otherTargets({ kernel, compilations, notRun }: KernelCompilations): Diagnostic[] {
  const make = compilations.length === 0 ? errorDiagnostic : warning;
  return (kernel.targets ?? []).flatMap((declared) => {
    const left = notRun.filter(({ triton }) => !supportsGpu(declared, triton)).map(({ name }) => name);
    return left.length === 0
      ? []
      : [make(otherTarget(kernel.signature.name, formatList(left), targetsText(declared)), declared.at)];
  });
}

function problemsAtLines({ kernel, compilations }: KernelCompilations): Diagnostic[] {
  const { name } = kernel.signature;
  const served = new Set(compilations.filter((each) => !misfitOf(each)).map(callOf));
  const groups = new Map<string, { readonly say: CompileMessage; readonly where: Compilation[] }>();
  for (const compilation of compilations) {
    for (const found of problemsOf(compilation, configOf(kernel, compilation).at)) {
      const isPassedOver = found.rule === compileResources && served.has(callOf(compilation));
      const say = isPassedOver ? { ...found, severity: "warning" as const, remedy: PASSED_OVER } : found;
      const key = JSON.stringify([say.severity, say.rule.code, say.what, say.at]);
      const group = groups.get(key) ?? { say, where: [] };
      group.where.push(compilation);
      groups.set(key, group);
    }
  }
  return [...groups.values()].map(({ say, where }) => {
    const make = say.severity === "error" ? errorDiagnostic : warning;
    return make(say.rule(name, say.what, placesOf(where), say.remedy), say.at);
  });
}

/** Triton's autotuner goes on to the next config where one has no room. */
const PASSED_OVER = "; Triton's autotuner passes over it there and takes another config";

/** Whether this config can't run on this target. */
function misfitOf(compilation: Compilation): boolean {
  return problemsOf(compilation, undefined).some(({ severity }) => severity === "error");
}

/** What the autotuner has one choice of a config for: a target, and what the caller gives. */
function callOf(compilation: Compilation): string {
  return `${compilation.target.name} ${variantText(compilation)}`;
}

/** The config that was compiled, at the author's line. */
function configOf({ configs, specialized: own }: CompiledKernel, { at, specialized, resources }: Compilation): Config {
  if (specialized === undefined) return configs[at.config]!;
  return { ...own![specialized]!, ...resources?.specialized };
}

/** `3`, or `specialized 3` of the warp-specialized kernel. */
const nameOf = ({ at, specialized }: Compilation): string =>
  specialized === undefined ? String(at.config) : `specialized ${specialized}`;

/** `cuda:90 and cuda:100, configs 0 and 3, T=float16` */
function placesOf(where: readonly Compilation[]): string {
  const unique = (texts: readonly string[]) => [...new Set(texts)].filter(Boolean);
  const configs = unique(where.map(nameOf));
  return [
    formatList(unique(where.map(({ target }) => target.name))),
    `${configs.length > 1 ? "configs" : "config"} ${formatList(configs)}`,
    formatList(unique(where.map(variantText))),
  ]
    .filter(Boolean)
    .join(", ");
}

/** What the caller chooses: `T=float16 causal=true sliced without bias`. */
function variantText({ at }: Compilation): string {
  const layouts = [...new Set(Object.values(at.layouts ?? {}).map(String))];
  const chosen = [caseText({ ...at, sizes: {} }), ...layouts, ...(at.absent ?? []).map((name) => `without ${name}`)];
  return chosen.filter(Boolean).join(" ");
}

/** What was not compiled, or compiled but not checked, and why. */
function notChecked({ compilations, left, notRun }: KernelCompilations): string[] {
  const others = notRun.map(({ name }) => `${name}: not run, the kernel is not for it`);
  return [...others, ...left, ...uncheckedOf(compilations.flatMap(({ resources }) => resources?.machineCode ?? []))];
}

/** One kernel's table: a row for each target, config and choice of the caller. */
export function compileText(
  found: KernelCompilations,
  { triton, seconds }: CompileFacts,
  colors: ReturnType<typeof pc.createColors>,
): string {
  const { kernel, compilations } = found;
  const left = notChecked(found);
  const cached = compilations.filter((compilation) => compilation.cached).length;
  const head = ["target", "config", "given", "registers", "spilled", "shared", "occupancy", "limited by"];
  const rows = compilations.map((compilation) => {
    const { target, failure, resources, occupancy } = compilation;
    const config = `${nameOf(compilation)} ${configText(configOf(kernel, compilation))}`;
    const place = [target.name, config, variantText(compilation)];
    if (failure || !resources || !occupancy) return [...place, colors.red("does not compile")];
    const { registers, spilled, shared } = resources;
    const fits = shared <= target.limits.sharedOfProgram;
    return [
      ...place,
      String(registers),
      spilled > 0 ? colors.yellow(`${spilled} B`) : "0",
      fits ? bytes(shared) : colors.red(bytes(shared)),
      fits ? `${Math.round(occupancy.fraction * 100)}%` : colors.red("can't run"),
      fits ? `${occupancy.limit}, ${occupancy.programs} a unit` : "",
    ];
  });
  return [
    `${colors.bold(kernel.signature.name)}: ${compilations.length} compiled with Triton ${triton}, ${cached} of them from the cache (${seconds.toFixed(1)} s)`,
    ...table(
      head.map((text) => colors.dim(text)),
      rows,
    ),
    ...(left.length > 0 ? [`  ${colors.yellow("not checked")}`, ...left.map((text) => `    - ${text}`)] : []),
  ].join("\n");
}

function bytes(count: number): string {
  return count < 1024 ? `${count} B` : `${Number((count / 1024).toFixed(1))} KiB`;
}

/** All kernels' report for programs. */
export function compileJson(
  found: readonly KernelCompilations[],
  diagnostics: readonly (readonly Diagnostic[])[],
  facts: CompileFacts,
): CompileReport {
  return {
    ok: diagnostics.flat().every(({ severity }) => severity !== "error"),
    ...facts,
    kernels: found.map((each, i) => ({
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
  { target, at, specialized, failure, resources, occupancy, cached }: Compilation,
  config: Config,
) {
  const unwritten = resources?.machineCode.flatMap((code) => code.unwritten ?? []) ?? [];
  return {
    target: target.name,
    config: specialized ?? at.config,
    ...(specialized !== undefined && { specialized: true as const }),
    values: valuesOf(config),
    sizes: at.sizes,
    dtypes: at.dtypes,
    ...(at.constexprs && { constexprs: at.constexprs }),
    ...(at.layouts && { layouts: at.layouts }),
    ...(at.absent && { absent: at.absent }),
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
