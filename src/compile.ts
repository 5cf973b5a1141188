/** From what an author wrote to what can be run: trace → check → lower → emit. The file to read first. */
import { checkAccumulation } from "./check/accumulation.js";
import { checkConfigs, unusedParams } from "./check/configs.js";
import { checkHost } from "./check/host.js";
import { checkLimits } from "./check/limits.js";
import { checkOptional } from "./check/optional.js";
import { checkStructure } from "./check/structure.js";
import { checkVersions } from "./check/versions.js";
import { emitModule } from "./codegen/module.js";
import { shapesOf, signatureOf } from "./codegen/signature.js";
import { sourceMap } from "./codegen/source-map.js";
import type { Case, CompiledKernel, Config, EmitOptions, Emitted } from "./compiled.js";
import { type Diagnostic, fail, TileScriptError, warning } from "./diagnostics.js";
import { definitionOf } from "./dsl/kernel.js";
import { trace } from "./dsl/trace.js";
import { checked, evaluateCase, refusal, sizesOf } from "./eval/index.js";
import type { KernelIR } from "./ir/nodes.js";
import { printIR } from "./ir/print.js";
import type { SourceIndex } from "./ir/source.js";
import { lowerViews } from "./ops/lower-views.js";
import { toleranceFor } from "./tolerance.js";

export interface CompileOptions {
  /** Reads the author's source: names, comments, and the rules that only the source shows. */
  readonly source?: SourceIndex | undefined;
  /** Instead of those that the author wrote. */
  readonly configs?: readonly Config[] | undefined;
}

/**
 * Builds a kernel. The same kernel and source give the same bytes.
 *
 * @throws TileScriptError with every error that was found.
 */
export function compile(kernel: unknown, { source, configs }: CompileOptions = {}): CompiledKernel {
  const definition = definitionOf(kernel);
  const files = definition.at ? [definition.at.file] : [];
  const seen = [...(source?.lint(files) ?? [])];
  failOn(seen);
  const traced = trace(definition, definition.at && source?.spec(definition.at));
  const ir = configs ? withConfigs(traced, configs) : traced;
  seen.push(
    ...checkStructure(ir),
    ...checkHost(ir),
    ...checkConfigs(ir),
    ...checkAccumulation(ir),
    ...checkLimits(ir),
    ...checkOptional(ir),
    ...checkVersions(ir),
    ...unusedParams(ir),
  );
  if (!source) seen.push(withoutSource(ir));
  failOn(seen);
  const lowered = lowerViews(ir);
  const signature = signatureOf(lowered);
  const file = `${signature.name}.py`;
  const emit = (options?: EmitOptions): Emitted => {
    const printed = emitModule(lowered, source, options);
    return { python: printed.text, map: sourceMap(file, printed.lines) };
  };
  const evaluate: CompiledKernel["evaluate"] = (at, { tolerance, ...options } = {}) => {
    const toleranceOf = (dtype: string) =>
      toleranceFor(dtype, signature, sizesOf(ir, at), { ...ir.tolerance, ...tolerance });
    return evaluateCase(ir, signature, at, toleranceOf, options);
  };
  return {
    signature,
    configs: ir.tuning.configs,
    ...shapesOf(ir),
    ...emit(),
    file,
    emit,
    ir: printIR(ir),
    warnings: seen,
    reference: ir.reference?.kind ?? "none",
    ...measuringOf(ir, source),
    ...(ir.tolerance && { tolerance: ir.tolerance }),
    sizes: (at) => sizesOf(ir, at),
    refusal: (at) => refusal(lowered, at),
    evaluate,
    check: (at, options) => checked(signature, at, evaluate(at, options)),
  };
}

function withConfigs(ir: KernelIR, configs: readonly Config[]): KernelIR {
  return { ...ir, tuning: { ...ir.tuning, configs } };
}

/** What only measuring and tuning ask for. */
function measuringOf(ir: KernelIR, source: SourceIndex | undefined) {
  const { at, flops, tuning } = ir;
  return {
    providers: Object.keys(ir.providers),
    ...(flops && { flops: (given: Case) => flopsOf(ir, flops, given) }),
    ...(tuning.key && {
      tuning: {
        ...(tuning.space && { space: tuning.space }),
        unfit: (config: Config) => {
          const alone = withConfigs(ir, [config]);
          return [...checkConfigs(alone), ...checkLimits(alone)][0]?.message;
        },
        rewrite: (configs: readonly Config[]) => {
          const found = at && source?.withConfigs(at, configs);
          if (found) return { file: at.file, ...found };
          return fail("configs", `${ir.name}: write autotune.configs as a list in the kernel's spec`, at);
        },
      },
    }),
  };
}

function flopsOf(ir: KernelIR, flops: NonNullable<KernelIR["flops"]>, at: Case): number {
  const count = flops({ ...sizesOf(ir, at), ...at.scalars, ...at.constexprs });
  if (typeof count === "number" && count >= 0) return count;
  return fail("flops", `${ir.name}: flops gives ${String(count)}; it gives a number, as in 2 * M * N * K`, ir.at);
}

function failOn(diagnostics: readonly Diagnostic[]): void {
  if (diagnostics.some(({ severity }) => severity === "error")) throw new TileScriptError(diagnostics);
}

function withoutSource(ir: KernelIR): Diagnostic {
  return warning(
    "no-source",
    `${ir.name}: its source cannot be read, so names come from ops and hidden coercions are not looked for; build from the TypeScript file`,
    ir.at,
  );
}
