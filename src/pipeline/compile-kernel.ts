/** From the author's function to a runnable kernel: trace → check → lower → emit. Read this file first. */
import { compileOperator } from "./compile-operator.js";
import { constantTileDims } from "../analysis/tile-sizes.js";
import { emitModule } from "../codegen/module/module.js";
import { kernelArguments, shapesOf, signatureOf } from "../codegen/module/signature.js";
import { sourceMap } from "../codegen/module/source-map.js";
import type { Certificate, CompiledKernel, Config, EmitOptions, Emitted } from "../compiled/compiled-kernel.js";
import { definitionOf } from "../dsl/definition.js";
import { OperatorDefinition } from "../dsl/operator.js";
import { constexprsOf, rangesOf, sizesOf } from "../eval/case-launch.js";
import { assertCorrect } from "../eval/assert-correct.js";
import { evaluateCase } from "../eval/evaluate-case.js";
import { refusal } from "../eval/refusal.js";
import { estimateWork } from "../eval/cost-estimate.js";
import { helpersOf } from "../ir/helpers.js";
import { printIR } from "../ir/print.js";
import type { SourceIndex } from "../ir/source.js";
import { measuringOf } from "./tuning-interface.js";
import { proofFrom } from "./proof.js";
import { obligationsWithPreconditions } from "./missing-preconditions.js";
import { specializedConfigs, specializedFor } from "./warp-specialization.js";
import { declaredToleranceFor } from "../compiled/declared-tolerance.js";
import { toleranceFor } from "../compiled/tolerance.js";
import { throwIfErrors, loweredOf, traceAndCheck } from "./trace-and-check.js";

export interface CompileOptions {
  /** Reads the author's source: names, comments, and errors that only the source shows. */
  readonly source?: SourceIndex | undefined;
  /** Replace the author's configs. */
  readonly configs?: readonly Config[] | undefined;
}

/**
 * Builds a kernel. The same kernel and source give the same bytes.
 *
 * @throws TileScriptError with every error.
 */
export function compile(kernel: unknown, { source, configs }: CompileOptions = {}): CompiledKernel {
  if (kernel instanceof OperatorDefinition) return compileOperator(kernel, source, (part) => compile(part, { source }));
  const definition = definitionOf(kernel);
  const { ir, seen } = traceAndCheck(definition, source, configs);
  throwIfErrors(seen);
  const lowered = loweredOf(ir);
  const signature = signatureOf(lowered);
  const file = `${signature.name}.py`;
  const specialized = specializedFor(ir, lowered);
  const emit = (options?: EmitOptions): Emitted => {
    const printed = emitModule(lowered, source, options, specialized.form(options?.specialize));
    const warnings = specialized.warnings(options?.specialize);
    return { python: printed.text, map: sourceMap(file, printed.lines), ...(warnings.length > 0 && { warnings }) };
  };
  const evaluate: CompiledKernel["evaluate"] = (at, { tolerance, lowered: both, ...options } = {}) => {
    const given = { ...ir.tolerance, ...tolerance };
    const known = { sizes: sizesOf(ir, at), dtypes: at.dtypes };
    const toleranceOf = (output: string, dtype: string) =>
      toleranceFor(dtype, signature, known, "eval", declaredToleranceFor(given, output));
    return evaluateCase(ir, signature, at, toleranceOf, { ...options, tolerance: given, ...(both && { lowered }) });
  };
  let proof: Certificate | undefined;
  return {
    signature,
    configs: ir.tuning.configs,
    tileDims: constantTileDims(ir),
    ...shapesOf(ir),
    ...emit(),
    file,
    emit,
    ir: printIR(ir),
    kernelArguments: kernelArguments(lowered),
    helpers: helpersOf(ir),
    warnings: [...seen, ...specialized.warnings()],
    ...specializedConfigs(specialized.form()),
    reference: ir.reference?.kind ?? "none",
    ...measuringOf(ir, source),
    ...(ir.tolerance && { tolerance: ir.tolerance }),
    ...(ir.targets && { targets: [ir.targets] }),
    sizes: (at) => sizesOf(ir, at),
    constexprs: (at) => constexprsOf(ir, at),
    ranges: (at) => rangesOf(ir, at),
    work: (at) => estimateWork(ir, at),
    refusal: (at) => refusal(lowered, at),
    proof: (cache) => (proof ??= proofFrom(cache, ir, lowered)),
    suggestPreconditions: (requires = []) => obligationsWithPreconditions(definition, source, requires),
    evaluate,
    check: (at, options) => assertCorrect(signature, at, evaluate(at, options)),
  };
}
