/** The compiler's pipeline: trace → check → lower → emit. Read this file first. */
import { compileOperator } from "./compile-operator.js";
import { constantTileDims } from "../analysis/dtype-bindings.js";
import { emitModule } from "../codegen/module/module.js";
import { kernelArguments, shapesOf, signatureOf } from "../codegen/module/signature.js";
import type { CompiledKernel, Config, HelperSignature, Signature } from "../compiled/compiled-kernel.js";
import { definitionOf } from "../dsl/definition.js";
import { OperatorDefinition } from "../dsl/operator.js";
import { constexprsOf, rangesOf, sizesOf } from "../eval/bindings.js";
import { assertCorrect, narrowRoundingsOf, withFindings } from "../eval/compare-reference.js";
import { evaluateCase, referenceQueries } from "../eval/evaluate-case.js";
import { refusal } from "../eval/refusal.js";
import { estimateWork } from "../eval/cost-estimate.js";
import type { KernelIR } from "../ir/nodes.js";
import { printIR } from "../ir/print.js";
import type { SourceIndex } from "../ir/source-index.js";
import {
  emitters,
  byLaunch,
  namedTiles,
  authorType,
  specializedConfigs,
  warpSpecializedKernel,
} from "./compiled-parts.js";
import { proofsOf, kernelSide, withSide } from "./proof.js";
import { certificateWith, obligationsWithPreconditions, remedyEdit } from "./remedies.js";
import { roundingSites, prefixDifference } from "../analysis/rounding-sites.js";
import { toleranceFor, declaredToleranceFor } from "../compiled/tolerance.js";
import { throwIfErrors, lower, traceAndCheck, tuningInterface } from "./trace-and-check.js";

export interface CompileOptions {
  /** The author's source: names, comments, and errors that only the source shows. */
  readonly source?: SourceIndex | undefined;
  /** Configs that replace the author's. */
  readonly configs?: readonly Config[] | undefined;
}

/**
 * Compiles a kernel. The output is deterministic: the same kernel and source give the same bytes.
 *
 * @throws TileScriptError with every error.
 */
export function compile(kernel: unknown, { source, configs }: CompileOptions = {}): CompiledKernel {
  if (kernel instanceof OperatorDefinition) return compileOperator(kernel, source, (part) => compile(part, { source }));
  const definition = definitionOf(kernel);
  const { ir, diagnostics } = traceAndCheck(definition, source, configs);
  throwIfErrors(diagnostics);
  const lowered = lower(ir);
  const signature = signatureOf(lowered);
  const file = `${signature.name}.py`;
  const specialized = warpSpecializedKernel(ir, lowered);
  const emitting = emitters(
    ir,
    file,
    (options, part) => emitModule(lowered, source, options, specialized.form(options?.warpSpecialize), part),
    (options) => specialized.warnings(options?.warpSpecialize),
  );
  const narrowRoundings = narrowRoundingsOf(ir, signature.arithmetic, () => roundingSites(ir));
  const evaluate = evaluator(ir, lowered, signature, narrowRoundings);
  const emitted = emitting.emit();
  const proofs = proofsOf(ir, lowered, evaluate);
  const compiled: Omit<CompiledKernel, "against"> = {
    signature,
    at: ir.at,
    configs: ir.tuning.configs,
    tileDims: constantTileDims(ir),
    ...shapesOf(ir),
    ...emitted,
    file,
    ...emitting,
    ir: printIR(ir),
    kernelArguments: kernelArguments(lowered),
    helpers: helpersOf(ir),
    namedTiles: () => namedTiles(ir, source),
    warnings: [...diagnostics, ...(emitted.warnings ?? [])],
    ...specializedConfigs(specialized.form()),
    reference: ir.reference?.kind ?? "none",
    ...tuningInterface(ir, source),
    ...(ir.tolerance && { tolerance: ir.tolerance }),
    ...(ir.targets && { targets: [ir.targets] }),
    sizes: (testCase) => sizesOf(ir, testCase),
    constexprs: (testCase) => constexprsOf(ir, testCase),
    ranges: (testCase) => rangesOf(ir, testCase),
    work: byLaunch((testCase) => estimateWork(ir, testCase)),
    refusal: byLaunch((testCase) => refusal(lowered, testCase)),
    ...proofs,
    suggestPreconditions: (requires = []) => obligationsWithPreconditions(definition, source, requires),
    proofWith: (remedy, trial) => certificateWith(definition, source, remedy, trial),
    fixFor: (location, fix) => remedyEdit(ir, source, location, fix),
    narrowRoundings,
    ...prefixDifference([ir], ir),
    ...referenceQueries(ir, signature),
    evaluate,
    check: (testCase, options) => assertCorrect(signature, testCase, evaluate(testCase, options)),
  };
  return withSide(
    compiled,
    kernelSide(ir, lowered, signature, () => proofs.proof()),
  );
}

function evaluator(
  ir: KernelIR,
  lowered: KernelIR,
  signature: Signature,
  narrowRoundings: CompiledKernel["narrowRoundings"],
): CompiledKernel["evaluate"] {
  return (testCase, { tolerance, lowered: isBothStages, ...options } = {}) => {
    const tolerances = { ...ir.tolerance, ...tolerance };
    const context = { ...testCase, sizes: sizesOf(ir, testCase) };
    const toleranceOf = (output: string, dtype: string) =>
      toleranceFor(dtype, signature, context, "eval", declaredToleranceFor(tolerances, output));
    const evaluation = evaluateCase(ir, signature, testCase, toleranceOf, {
      ...options,
      tolerance: tolerances,
      ...(isBothStages && { lowered }),
    });
    return withFindings(evaluation, narrowRoundings(testCase, tolerance));
  };
}

/** The signatures of a kernel's helper functions, in the author's types. */
function helpersOf({ functions }: KernelIR): readonly HelperSignature[] {
  return functions.map(({ at: location, params }) => ({
    at: location,
    params: params.map(({ parameter = "", type }) => ({ name: parameter, type: authorType(type) })),
  }));
}
