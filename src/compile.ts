/** From what an author wrote to what can be run: trace → check → lower → emit. The file to read first. */
import { checkAccumulation } from "./check/accumulation.js";
import { checkConfigs, unusedParams } from "./check/configs.js";
import { checkHost } from "./check/host.js";
import { checkLimits } from "./check/limits.js";
import { checkOptional } from "./check/optional.js";
import { checkStructure } from "./check/structure.js";
import { checkVersions } from "./check/versions.js";
import { emitModule, emitOperator } from "./codegen/module.js";
import { operatorSignature, shapesOf, signatureOf } from "./codegen/signature.js";
import { sourceMap } from "./codegen/source-map.js";
import type { CompiledKernel, Config, EmitOptions, Emitted } from "./compiled.js";
import { type Diagnostic, TileScriptError, warning } from "./diagnostics.js";
import { definitionOf, type KernelDefinition } from "./dsl/kernel.js";
import { OperatorDefinition, traceOperator } from "./dsl/operator.js";
import { trace } from "./dsl/trace.js";
import {
  checked,
  constexprsOf,
  evaluateCase,
  evaluateOperator,
  operatorRefusal,
  refusal,
  sizesOf,
} from "./eval/index.js";
import type { KernelIR } from "./ir/nodes.js";
import { printIR } from "./ir/print.js";
import type { SourceIndex } from "./ir/source.js";
import { measuringOf, withConfigs } from "./measuring.js";
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
  if (kernel instanceof OperatorDefinition) return compileOperator(kernel, source);
  const { ir, seen } = traceAndCheck(definitionOf(kernel), source, configs);
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
    constexprs: (at) => constexprsOf(ir, at),
    refusal: (at) => refusal(lowered, at),
    evaluate,
    check: (at, options) => checked(signature, at, evaluate(at, options)),
  };
}

/** The kernel's program, and everything that is to be said of it. */
function traceAndCheck(definition: KernelDefinition, source: SourceIndex | undefined, configs?: readonly Config[]) {
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
  return { ir, seen };
}

/** An operator: its kernels as above, and the functions that call them. */
function compileOperator(definition: OperatorDefinition, source: SourceIndex | undefined): CompiledKernel {
  const seen: Diagnostic[] = [];
  const definitions: KernelDefinition[] = [];
  const traceKernel = (kernel: KernelDefinition): KernelIR => {
    const part = traceAndCheck(kernel, source);
    seen.push(...part.seen);
    definitions.push(kernel);
    return part.ir;
  };
  const operator = traceOperator(definition, traceKernel, definition.at && source?.spec(definition.at));
  failOn(seen);
  const { face, kernels } = operator;
  const lowered = kernels.map(lowerViews);
  const signature = operatorSignature(operator);
  const file = `${signature.name}.py`;
  const emit = ({ op = { namespace: NAMESPACE }, dtypes }: EmitOptions = {}): Emitted => {
    const printed = emitOperator(operator, lowered, source, op, dtypes);
    return { python: printed.text, map: sourceMap(file, printed.lines) };
  };
  const evaluate: CompiledKernel["evaluate"] = (at, { tolerance, ...options } = {}) => {
    const sizes = sizesOf(face, { ...at, config: 0 });
    const toleranceOf = (dtype: string) => toleranceFor(dtype, signature, sizes, { ...face.tolerance, ...tolerance });
    return evaluateOperator(operator, signature, at, toleranceOf, options);
  };
  const most = Math.max(...kernels.map(({ tuning }) => tuning.configs.length));
  return {
    signature,
    // Each kernel takes its own configs in turn, from the first again where it has fewer.
    configs: Array.from({ length: most }, (_, i) => configAt(kernels, i)),
    ...shapesOf(face),
    ...emit(),
    file,
    emit,
    get parts() {
      return definitions.map((kernel) => compile(kernel, { source }));
    },
    ir: kernels.map(printIR).join("\n"),
    warnings: seen,
    reference: face.reference?.kind ?? "none",
    ...(face.tolerance && { tolerance: face.tolerance }),
    sizes: (at) => sizesOf(face, { ...at, config: 0 }),
    constexprs: ({ constexprs = {} }) => constexprs,
    refusal: (at) => operatorRefusal(operator, at),
    evaluate,
    check: (at, options) => checked(signature, at, evaluate(at, options)),
  };
}

/** The first part of an operator's name where none is asked for. */
const NAMESPACE = "tilescript";

function configAt(kernels: readonly KernelIR[], index: number): Config {
  const chosen = kernels.map(({ tuning: { configs } }) => configs[index % configs.length]!);
  return { values: Object.assign({}, ...chosen.map(({ values }) => values)) as Config["values"] };
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
