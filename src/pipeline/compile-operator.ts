/** Compiles an operator: each of its kernels, and the functions that call them. */
import { constantTileDims } from "../analysis/tile-sizes.js";
import { emitOperator } from "../codegen/module/module.js";
import { operatorSignature, shapesOf } from "../codegen/module/signature.js";
import { sourceMap } from "../codegen/module/source-map.js";
import type { Certificate, CompiledKernel, Config, EmitOptions, Emitted } from "../compiled/compiled-kernel.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { KernelDefinition } from "../dsl/definition.js";
import { type OperatorDefinition, traceOperator } from "../dsl/operator.js";
import { rangesOf, sizesOf } from "../eval/case-launch.js";
import { assertCorrect } from "../eval/assert-correct.js";
import { evaluateOperator, operatorRefusal, operatorWork } from "../eval/evaluate-operator.js";
import type { KernelIR } from "../ir/nodes.js";
import { printIR } from "../ir/print.js";
import type { SourceIndex } from "../ir/source.js";
import { declaredToleranceFor } from "../compiled/declared-tolerance.js";
import { toleranceFor } from "../compiled/tolerance.js";
import { joinedProofs, proofFrom } from "./proof.js";
import { throwIfErrors, loweredOf, traceAndCheck } from "./trace-and-check.js";

/** `compilePart` compiles a kernel by itself. */
export function compileOperator(
  definition: OperatorDefinition,
  source: SourceIndex | undefined,
  compilePart: (kernel: KernelDefinition) => CompiledKernel,
): CompiledKernel {
  const seen: Diagnostic[] = [];
  const definitions: KernelDefinition[] = [];
  const traceKernel = (kernel: KernelDefinition): KernelIR => {
    const part = traceAndCheck(kernel, source);
    seen.push(...part.seen);
    definitions.push(kernel);
    return part.ir;
  };
  const operator = traceOperator(definition, traceKernel, source);
  throwIfErrors(seen);
  const { face, kernels } = operator;
  const lowered = kernels.map(loweredOf);
  const signature = operatorSignature(operator);
  const file = `${signature.name}.py`;
  const emit = ({ op = { namespace: NAMESPACE }, dtypes }: EmitOptions = {}): Emitted => {
    const printed = emitOperator(operator, lowered, source, op, dtypes);
    return { python: printed.text, map: sourceMap(file, printed.lines) };
  };
  const evaluate: CompiledKernel["evaluate"] = (at, { tolerance, lowered: both, ...options } = {}) => {
    const given = { ...face.tolerance, ...tolerance };
    const known = { sizes: sizesOf(face, { ...at, config: 0 }), dtypes: at.dtypes };
    const toleranceOf = (output: string, dtype: string) =>
      toleranceFor(dtype, signature, known, "eval", declaredToleranceFor(given, output));
    const forms = both && { lowered: new Map(kernels.map((kernel, i) => [kernel, lowered[i]!])) };
    return evaluateOperator(operator, signature, at, toleranceOf, { ...options, tolerance: given, ...forms });
  };
  let proof: Certificate | undefined;
  const most = Math.max(...kernels.map(({ tuning }) => tuning.configs.length));
  return {
    signature,
    // Each kernel cycles through its own configs.
    configs: Array.from({ length: most }, (_, i) => configAt(kernels, i)),
    tileDims: [...new Set(kernels.flatMap(constantTileDims))],
    ...shapesOf(face),
    ...emit(),
    file,
    emit,
    get parts() {
      return definitions.map(compilePart);
    },
    ir: kernels.map(printIR).join("\n"),
    warnings: seen,
    reference: face.reference?.kind ?? "none",
    ...(face.tolerance && { tolerance: face.tolerance }),
    targets: kernels.flatMap(({ targets }) => targets ?? []),
    sizes: (at) => sizesOf(face, { ...at, config: 0 }),
    constexprs: ({ constexprs = {} }) => constexprs,
    ranges: (at) => rangesOf(face, { ...at, config: 0 }),
    work: (at) => operatorWork(operator, at),
    refusal: (at) => operatorRefusal(operator, at),
    proof: (cache) => (proof ??= joinedProofs(kernels.map((ir, i) => proofFrom(cache, ir, lowered[i]!)))),
    evaluate,
    check: (at, options) => assertCorrect(signature, at, evaluate(at, options)),
  };
}

/** The default namespace of an operator. */
const NAMESPACE = "tilescript";

function configAt(kernels: readonly KernelIR[], index: number): Config {
  const chosen = kernels.map(({ tuning: { configs } }) => configs[index % configs.length]!);
  return { values: Object.assign({}, ...chosen.map(({ values }) => values)) as Config["values"] };
}
