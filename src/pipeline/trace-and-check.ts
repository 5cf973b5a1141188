/** Traces a kernel and runs all checks on it. */
import { checkConfigs, unusedParams, checkAccumulation, checkDotPrecision } from "../check/configs.js";
import { checkFaults, checkVersions } from "../check/known-faults.js";
import { checkHost } from "../check/host-blocks.js";
import { checkLimits, checkPythonLimits } from "../check/limits.js";
import { checkStage } from "../check/stages.js";
import { checkStructure, checkOptional, checkUnused } from "../check/structure.js";
import type { Config, TestCase, CompiledKernel, FoundConfigs } from "../compiled/compiled-kernel.js";
import { type Diagnostic, TileScriptError, warning, fail } from "../diagnostics/diagnostic.js";
import { noSource, specValue } from "../diagnostics/catalog/definition-codes.js";
import type { KernelDefinition } from "../dsl/definition.js";
import { trace } from "../dsl/trace.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { lowerViews } from "../lower/views.js";
import { isPipelined, tileRoles } from "../analysis/dtype-bindings.js";
import { configsInSource } from "../diagnostics/catalog/config-codes.js";
import { sizesOf } from "../eval/bindings.js";
import { estimateWork } from "../eval/cost-estimate.js";

export interface CheckedTrace {
  readonly ir: KernelIR;
  readonly diagnostics: readonly Diagnostic[];
}

/** Traces and checks a kernel. `configs` replace the author's. */
export function traceAndCheck(
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  configs?: readonly Config[],
): CheckedTrace {
  const files = definition.at ? [definition.at.file] : [];
  const diagnostics = [...(source?.lint(files) ?? [])];
  throwIfErrors(diagnostics);
  const traced = trace(definition, source);
  const ir = configs ? withConfigs(traced, configs) : traced;
  diagnostics.push(
    ...checkStructure(ir),
    ...checkHost(ir),
    ...checkConfigs(ir),
    ...checkAccumulation(ir),
    ...checkLimits(ir),
    ...checkOptional(ir),
    ...checkVersions(ir),
    ...unusedParams(ir),
    ...checkUnused(ir),
    ...checkPythonLimits(ir),
    ...checkDotPrecision(ir),
  );
  // Lowering expects a kernel without errors.
  if (!diagnostics.some(({ severity }) => severity === "error")) diagnostics.push(...checkFaults(ir));
  if (!source) diagnostics.push(noSourceWarning(ir));
  return { ir, diagnostics };
}

/** Lowers views to pointers and masks, the form for emission. */
export function lower(ir: KernelIR): KernelIR {
  const lowered = lowerViews(ir);
  // A flag of tests, not documented for users. Browsers have no environment variables.
  if (typeof process !== "undefined" && process.env["TILESCRIPT_STAGES"] !== undefined) {
    checkStage(ir, "traced");
    checkStage(lowered, "lowered");
  }
  return lowered;
}

/** @throws TileScriptError with all diagnostics, if one is an error. */
export function throwIfErrors(diagnostics: readonly Diagnostic[]): void {
  if (diagnostics.some(({ severity }) => severity === "error")) throw new TileScriptError(diagnostics);
}

function noSourceWarning(ir: KernelIR): Diagnostic {
  return warning(noSource(ir.name), ir.at);
}

// The parts of a compiled kernel that only benchmarks and tuning use.

function withConfigs(ir: KernelIR, configs: readonly Config[]): KernelIR {
  return { ...ir, tuning: { ...ir.tuning, configs } };
}

export function tuningInterface(
  ir: KernelIR,
  source: SourceIndex | undefined,
): Pick<CompiledKernel, "providers" | "flops" | "tuning"> {
  const { at, flops, tuning } = ir;
  return {
    providers: Object.keys(ir.providers),
    ...(flops && { flops: (testCase: TestCase) => flopsOf(ir, flops, testCase) }),
    ...(tuning.key && {
      tuning: {
        ...(tuning.byGpu && { byGpu: true as const }),
        ...(tuning.space && { space: tuning.space }),
        roles: tileRoles(ir),
        pipelined: isPipelined(ir),
        traffic: (config: Config, testCase: TestCase) =>
          estimateWork(withConfigs(ir, [config]), { ...testCase, config: 0 }),
        unfit: (config: Config) => {
          const singleConfig = withConfigs(ir, [config]);
          return [...checkConfigs(singleConfig), ...checkLimits(singleConfig)][0]?.message;
        },
        rewrite: async (configs: readonly FoundConfigs[]) => {
          const rewritten = at && (await source?.withConfigs(at, configs));
          if (rewritten) return { file: at.file, ...rewritten };
          return fail(configsInSource(ir.name), at);
        },
      },
    }),
  };
}

function flopsOf(ir: KernelIR, flops: NonNullable<KernelIR["flops"]>, testCase: TestCase): number {
  const count = flops({ ...sizesOf(ir, testCase), ...testCase.scalars, ...testCase.constexprs });
  if (typeof count === "number" && count >= 0) return count;
  return fail(specValue.flops(ir.name, count), ir.at);
}
