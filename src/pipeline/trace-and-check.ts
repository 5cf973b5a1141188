/** Traces a kernel and runs all checks on it. */
import { checkAccumulation } from "../check/accumulation.js";
import { checkConfigs, unusedParams } from "../check/configs.js";
import { checkDotPrecision } from "../check/dot-precision.js";
import { checkFaults } from "../check/known-faults.js";
import { checkHost } from "../check/host-blocks.js";
import { checkLimits } from "../check/tile-limits.js";
import { checkOptional } from "../check/optional.js";
import { checkPythonLimits } from "../check/python-limits.js";
import { checkStage } from "../check/stages.js";
import { checkStructure } from "../check/structure.js";
import { checkVersions } from "../check/triton-versions.js";
import { checkUnused } from "../check/unused-values.js";
import type { Config } from "../compiled/compiled-kernel.js";
import { type Diagnostic, TileScriptError, warning } from "../diagnostics/diagnostic.js";
import { noSource } from "../diagnostics/catalog/definition-codes.js";
import type { KernelDefinition } from "../dsl/definition.js";
import { trace } from "../dsl/trace.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { lowerViews } from "../lower/views.js";
import { withConfigs } from "./tuning-interface.js";

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
