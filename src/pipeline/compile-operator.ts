/** Compiles an operator: its kernels, and the functions that call them. */
import { preconditions } from "../analysis/preconditions.js";
import { constantTileDims } from "../analysis/dtype-bindings.js";
import { emitOperator } from "../codegen/module/module.js";
import { operatorSignature, shapesOf } from "../codegen/module/signature.js";
import type {
  Certificate,
  CompiledKernel,
  Config,
  InvarianceProof,
  ProofCache,
  Signature,
} from "../compiled/compiled-kernel.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { KernelDefinition } from "../dsl/definition.js";
import { type OperatorDefinition, traceOperator } from "../dsl/operator.js";
import { rangesOf, sizesOf } from "../eval/bindings.js";
import { assertCorrect, narrowRoundingsOf, withFindings } from "../eval/compare-reference.js";
import { prefixDifference } from "../analysis/rounding-sites.js";
import { referenceQueries } from "../eval/evaluate-case.js";
import {
  evaluateOperator,
  evaluateOperatorUnrounded,
  operatorInputs,
  operatorRefusal,
  operatorWork,
} from "../eval/evaluate-operator.js";
import type { KernelIR, OperatorIR } from "../ir/nodes.js";
import { printIR } from "../ir/print.js";
import type { SourceIndex } from "../ir/source-index.js";
import { toleranceFor, declaredToleranceFor } from "../compiled/tolerance.js";
import { operatorRoundingSites } from "../analysis/rounding-profile.js";
import { emitters, byLaunch, namedTiles, specializedConfigs, specializedKernels } from "./compiled-parts.js";
import {
  mergeCertificates,
  cachedProof,
  kernelInvariance,
  kernelScripts,
  SEARCH_LIMITS,
  type ComparableSide,
  withSide,
} from "./proof.js";
import { outputProofs } from "../prove/equivalence/output-proofs.js";
import { throwIfErrors, lower, traceAndCheck } from "./trace-and-check.js";

/** Compiles an operator. `compilePart` compiles one of its kernels separately. */
export function compileOperator(
  definition: OperatorDefinition,
  source: SourceIndex | undefined,
  compilePart: (kernel: KernelDefinition) => CompiledKernel,
): CompiledKernel {
  const diagnostics: Diagnostic[] = [];
  const definitions: KernelDefinition[] = [];
  const traceKernel = (kernel: KernelDefinition): KernelIR => {
    const traced = traceAndCheck(kernel, source);
    diagnostics.push(...traced.diagnostics);
    definitions.push(kernel);
    return traced.ir;
  };
  const operator = traceOperator(definition, traceKernel, source);
  throwIfErrors(diagnostics);
  const { signature: face, kernels } = operator;
  const lowered = new Map(kernels.map((kernel) => [kernel, lower(kernel)]));
  const signature = operatorSignature(operator);
  const file = `${signature.name}.py`;
  const { specialized, ...emitting } = operatorEmitters(operator, lowered, file, source);
  const narrowRoundings = narrowRoundingsOf(face, signature.arithmetic, () => operatorRoundingSites(operator));
  const evaluate = operatorEvaluator(operator, signature, lowered, narrowRoundings);
  const emitted = emitting.emit();
  const { proofs, side } = operatorProofs(operator, signature, lowered, evaluate);
  const compiled: Omit<CompiledKernel, "against"> = {
    signature,
    at: face.at,
    configs: configsOf(kernels),
    tileDims: [...new Set(kernels.flatMap(constantTileDims))],
    ...shapesOf(face),
    ...emitted,
    file,
    ...emitting,
    get parts() {
      return definitions.map(compilePart);
    },
    ir: kernels.map(printIR).join("\n"),
    namedTiles: () => kernels.flatMap((kernel) => namedTiles(kernel, source)),
    warnings: [...diagnostics, ...(emitted.warnings ?? [])],
    reference: face.reference?.kind ?? "none",
    ...(face.tolerance && { tolerance: face.tolerance }),
    ...specialized,
    targets: kernels.flatMap(({ targets }) => targets ?? []),
    sizes: (testCase) => sizesOf(face, { ...testCase, config: 0 }),
    constexprs: ({ constexprs = {} }) => constexprs,
    ranges: (testCase) => rangesOf(face, { ...testCase, config: 0 }),
    work: byLaunch((testCase) => operatorWork(operator, testCase)),
    refusal: byLaunch((testCase) => operatorRefusal(operator, testCase)),
    ...proofs,
    narrowRoundings,
    ...prefixDifference(kernels, face),
    ...referenceQueries(face, signature),
    evaluate,
    check: (testCase, options) => assertCorrect(signature, testCase, evaluate(testCase, options)),
  };
  return withSide(compiled, side);
}

function operatorEmitters(
  operator: OperatorIR,
  lowered: ReadonlyMap<KernelIR, KernelIR>,
  file: string,
  source: SourceIndex | undefined,
): ReturnType<typeof emitters> & { readonly specialized: ReturnType<typeof specializedConfigs> } {
  const { form, warnings } = specializedKernels(lowered);
  const kernels = [...lowered.values()];
  const emitting = emitters(
    operator.signature,
    file,
    ({ op = { namespace: NAMESPACE }, ...options } = {}, part) =>
      emitOperator(operator, kernels, source, op, options, form(options.warpSpecialize), part),
    ({ warpSpecialize } = {}) => warnings(warpSpecialize),
  );
  return { ...emitting, specialized: specializedConfigs(...operator.kernels.map(form())) };
}

function operatorProofs(
  operator: OperatorIR,
  signature: Signature,
  lowered: ReadonlyMap<KernelIR, KernelIR>,
  evaluate: CompiledKernel["evaluate"],
): {
  readonly proofs: Pick<CompiledKernel, "proof" | "smt" | "computes" | "declaresInvariance" | "invariance">;
  readonly side: ComparableSide;
} {
  const { signature: face, kernels, forward } = operator;
  const loweredOf = (kernel: KernelIR): KernelIR => lowered.get(kernel) ?? lower(kernel);
  const certificates = new Map<KernelIR, Certificate>();
  const certificateOf = (kernel: KernelIR, cache?: ProofCache): Certificate => {
    const certificate = certificates.get(kernel) ?? cachedProof(cache, kernel, loweredOf(kernel));
    certificates.set(kernel, certificate);
    return certificate;
  };
  let bits: readonly InvarianceProof[] | undefined;
  const proofs = {
    smt: () => kernels.map((kernel) => kernelScripts(kernel, loweredOf(kernel), certificateOf(kernel))),
    proof: (cache) => mergeCertificates(kernels.map((kernel) => certificateOf(kernel, cache))),
    declaresInvariance: kernels.some(({ launch }) => launch.invariant.length > 0),
    invariance: (cache) =>
      (bits ??= kernels.flatMap((kernel) => kernelInvariance(kernel, loweredOf(kernel), certificateOf(kernel, cache)))),
    computes: (cache) =>
      outputProofs(face, operator, {
        checkedOf: (kernel) => preconditions(loweredOf(kernel)),
        certificateOf: (kernel) => certificateOf(kernel, cache),
        overwrites: () => true,
        runner: {
          refusal: (testCase) => operatorRefusal(operator, testCase),
          lanes: (testCase) => operatorWork(operator, testCase).lanes,
          compare: (testCase) => evaluate(testCase, SEARCH_LIMITS).comparison,
        },
      }),
  } satisfies Partial<CompiledKernel>;
  const side: ComparableSide = {
    ir: face,
    forward,
    loweredOf,
    certificateOf,
    inputs: (testCase) => operatorInputs(operator, signature, testCase),
    unrounded: (testCase, inputs) => evaluateOperatorUnrounded(operator, signature, testCase, inputs, SEARCH_LIMITS),
  };
  return { proofs, side };
}

function operatorEvaluator(
  operator: OperatorIR,
  signature: Signature,
  lowered: ReadonlyMap<KernelIR, KernelIR>,
  narrowRoundings: CompiledKernel["narrowRoundings"],
): CompiledKernel["evaluate"] {
  const { signature: face } = operator;
  return (testCase, { tolerance, lowered: isBothStages, ...options } = {}) => {
    const tolerances = { ...face.tolerance, ...tolerance };
    const context = { ...testCase, sizes: sizesOf(face, { ...testCase, config: 0 }) };
    const toleranceOf = (output: string, dtype: string) =>
      toleranceFor(dtype, signature, context, "eval", declaredToleranceFor(tolerances, output));
    const stages = isBothStages && { lowered };
    const evaluation = evaluateOperator(operator, signature, testCase, toleranceOf, {
      ...options,
      tolerance: tolerances,
      ...stages,
    });
    return withFindings(evaluation, narrowRoundings(testCase, tolerance));
  };
}

/** The default namespace of an operator. */
const NAMESPACE = "tilescript";

/** As many configs as the kernel with the most has; each kernel cycles through its own. */
function configsOf(kernels: readonly KernelIR[]): readonly Config[] {
  const length = Math.max(...kernels.map(({ tuning }) => tuning.configs.length));
  return Array.from({ length }, (_, i) => configAt(kernels, i));
}

function configAt(kernels: readonly KernelIR[], index: number): Config {
  const configs = kernels.map(({ tuning: { configs } }) => configs[index % configs.length]!);
  return { values: Object.assign({}, ...configs.map(({ values }) => values)) as Config["values"] };
}
