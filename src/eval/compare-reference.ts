/**
 * Distinguishes incorrect algorithms from rounding errors. Evaluating a kernel with every float in float64 shows its
 * algorithm alone. That result must agree with the reference much more closely than any narrower dtype.
 */
import {
  type Comparison,
  type GivenTolerance,
  type TensorData,
  type Tolerance,
  type TestCase,
  type Evaluation,
  formatSizes,
  type Signature,
  type CompiledKernel,
  type Finding,
  type RoundingProfile,
} from "../compiled/compiled-kernel.js";
import { ALGORITHM_CHECK, describeErrorKind, EvaluationTimeout } from "../compiled/errors.js";
import {
  algorithmTolerance,
  declaredToleranceFor,
  isDeclaredRounding,
  roundoffOf,
  widestDeclared,
} from "../compiled/tolerance.js";
import { formatLocation, fail, TileScriptError } from "../diagnostics/diagnostic.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import { isFloat, bitsOf } from "../numerics/numeric-int.js";
import type { ReferenceInputs, TorchNode } from "../torch/node.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import { mergeComparisons, compareOutput } from "./compare-outputs.js";
import type { RunResult } from "./evaluate-kernel.js";
import { referenceResult, torchCall } from "../diagnostics/catalog/reference-codes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { type TorchArray, torchArray, UnsupportedByEvaluator, TorchError } from "../torch/array.js";
import { kindOf, kindOfDType, type TorchKind } from "../torch/functions.js";
import { narrowRounding, type RoundedOutputs } from "../diagnostics/catalog/finding-codes.js";
import { isExactlyRepresentable } from "../numerics/numeric-float.js";
import type { RoundingSite } from "../analysis/rounding-sites.js";
import { Bindings, launchOf } from "./bindings.js";
import { constantsAt } from "./refusal.js";
import { reachedStatements } from "../analysis/dtype-bindings.js";

/** The comparison with the reference, if possible, and the reasons for omitted comparisons. */
export interface ReferenceComparison {
  readonly comparison?: Comparison;
  readonly unchecked: readonly string[];
}

/**
 * Compares the outputs of a run, and its algorithm, with the reference. `rerun` evaluates the kernel again, unrounded.
 * The author's `declaredTolerance` also applies to the algorithm.
 */
export function compareWithReference(
  face: KernelIR,
  { outputs, findings }: Pick<RunResult, "outputs" | "findings">,
  referenceInputs: ReferenceInputs,
  tolerance: Tolerances | undefined,
  declaredTolerance: GivenTolerance,
  rerun: () => Pick<RunResult, "outputs" | "rounded">,
): ReferenceComparison {
  if (!tolerance) return { unchecked: ["no tolerance was given, so the numbers were not compared with the reference"] };
  const reference = new ReferenceOutputs(face, referenceInputs);
  const comparisons = reference.compare(outputs, tolerance);
  if (typeof comparisons === "string") return { unchecked: [comparisons] };
  if (comparisons.length === 0) return { unchecked: [] };
  const comparison = mergeComparisons(comparisons);
  if (findings.length > 0) return { comparison, unchecked: [] };
  const incorrectOutputs = new Set(
    comparisons.flatMap(({ correct, worst }) => (correct || !worst ? [] : [worst.output])),
  );
  const algorithmResult = compareAlgorithm(reference, declaredTolerance, rerun, incorrectOutputs);
  if (algorithmResult === "agrees")
    return { comparison: comparison.correct ? comparison : { ...comparison, finds: "rounding" }, unchecked: [] };
  return typeof algorithmResult === "string"
    ? { comparison, unchecked: [algorithmResult] }
    : { comparison: algorithmResult, unchecked: [] };
}

/**
 * Compares an unrounded run with the reference: "agrees", the failed comparison, or the reason why there is none. If an
 * op rounded nevertheless, a difference need not be a mistake. Correct integer outputs are excluded, because a
 * difference in the last bit of a float64 can change an integer. `incorrectOutputs` names the outputs that failed the
 * rounded comparison.
 */
function compareAlgorithm(
  reference: ReferenceOutputs,
  declaredTolerance: GivenTolerance,
  rerun: () => Pick<RunResult, "outputs" | "rounded">,
  incorrectOutputs: ReadonlySet<string>,
): Comparison | "agrees" | string {
  let run: ReturnType<typeof rerun>;
  try {
    run = rerun();
  } catch (error) {
    if (error instanceof EvaluationTimeout) throw error;
    return `${ALGORITHM_CHECK}: in float64, ${error instanceof Error ? error.message : String(error)}`;
  }
  const comparedOutputs = Object.entries(run.outputs).filter(
    ([name, { dtype }]) => isFloat(dtype as DTypeName) || incorrectOutputs.has(name),
  );
  const limits = (output: string) => algorithmTolerance(declaredToleranceFor(declaredTolerance, output));
  const comparisons = reference.compare(Object.fromEntries(comparedOutputs), limits, true);
  if (typeof comparisons === "string") return `${ALGORITHM_CHECK}: ${comparisons}`;
  const wrong = comparisons.filter(({ correct }) => !correct);
  if (wrong.length === 0) return "agrees";
  const [roundingOp] = run.rounded;
  if (!roundingOp) return { ...mergeComparisons(wrong), finds: "mistake" };
  const names = wrong.flatMap(({ worst }) => worst?.output ?? []).join(", ");
  const locationText = roundingOp.location ? ` at ${formatLocation(roundingOp.location)}` : "";
  return `${ALGORITHM_CHECK}, of ${names}: tl.${roundingOp.op.name}${locationText} computes in its own dtype`;
}

// Compares the outputs of a test case with those of the kernel's reference.

/** One tolerance for all outputs, or a function of the output and its dtype. */
export type Tolerances = Tolerance | ((output: string, dtype: string) => Tolerance);

/** The outputs of the reference in one test case. */
class ReferenceOutputs {
  readonly #face: KernelIR;
  readonly #inputs: ReferenceInputs;
  /** The outputs, if computing them did not round: then the unrounded outputs are the same. */
  #exact: readonly TorchArray[] | undefined;

  constructor(face: KernelIR, inputs: ReferenceInputs) {
    this.#face = face;
    this.#inputs = inputs;
  }

  /**
   * Returns one comparison per output, the reason why there is none, or an empty list if there is no reference. In an
   * unrounded reference, casts to floats have no effect.
   *
   * @throws TileScriptError at the reference if its outputs have another shape or kind of elements.
   */
  compare(
    outputs: Readonly<Record<string, TensorData>>,
    tolerance: Tolerances,
    unrounded = false,
  ): readonly Comparison[] | string {
    const { reference } = this.#face;
    if (!reference) return [];
    if (reference.kind === "python") return "the reference is Python source, which cannot be evaluated here";
    // The reference does not compute memory of raw pointers.
    const compared = tensorsOf(this.#face, "out", "inout").flatMap(({ name }, i) =>
      outputs[name] ? [[name, outputs[name], i] as const] : [],
    );
    const toleranceOf = typeof tolerance === "function" ? tolerance : () => tolerance;
    try {
      const expected = (unrounded && this.#exact) || this.#evaluate(reference.outputs, unrounded);
      return compared.map(([name, output, i]) => {
        const [node, value] = [reference.outputs[i]!, expected[i]!];
        if (!unrounded) checkKind(name, output, this.#kindOf(node, value));
        return compareOutput(name, output, value, toleranceOf(name, output.dtype));
      });
    } catch (error) {
      if (error instanceof UnsupportedByEvaluator) return error.message;
      // PyTorch rejects some calls with empty tensors, such as pooling. An empty output is then correct.
      if (isRefusedCall(error) && compared.every(([, { data }]) => data.length === 0))
        return compared.map(([name, output]) =>
          compareOutput(name, output, torchArray(output.shape, new Float64Array()), toleranceOf(name, output.dtype)),
        );
      if (error instanceof TorchError) fail(referenceResult.rejected(error.message), reference.at);
      throw error;
    }
  }

  /** The kind of a reference output. If PyTorch's type promotion decides it, only fractions show that it is floats. */
  #kindOf(node: TorchNode, { data }: TorchArray): TorchKind | undefined {
    return kindOf(node, this.#inputs) ?? (data.some((x) => !Number.isInteger(x)) ? "floats" : undefined);
  }

  #evaluate(nodes: Parameters<typeof evaluateReference>[0], unrounded: boolean): readonly TorchArray[] {
    let hasRounded = false;
    const outputs = evaluateReference(nodes, this.#inputs, { unrounded, onRounding: () => (hasRounded = true) });
    if (!hasRounded) this.#exact = outputs;
    return outputs;
  }
}

const isRefusedCall = (error: unknown): boolean =>
  error instanceof TileScriptError && error.diagnostics.some(({ code }) => code === torchCall.code);

/**
 * Checks the kind of an output's elements. Floats of different widths are compatible, and so are integers. Integers in
 * place of floats, or booleans in place of integers, are not.
 *
 * @throws TorchError
 */
function checkKind(name: string, { dtype }: TensorData, referenceKind: TorchKind | undefined): void {
  const outputKind = kindOfDType(dtype as DTypeName);
  if (referenceKind === undefined || referenceKind === outputKind) return;
  throw new TorchError(
    `${name} holds ${outputKind} (${dtype}), its reference gives ${referenceKind}; convert its result, such as with .to(tl.${dtype})`,
  );
}

// The verdict of `check`.

/**
 * Returns the evaluation if it agrees with the reference and has no findings.
 *
 * @throws Error that names the test case, and the incorrect element or the location of the finding.
 */
export function assertCorrect(
  { name }: Pick<Signature, "name">,
  testCase: TestCase,
  evaluation: Evaluation,
): Evaluation {
  const { comparison, findings, unchecked } = evaluation;
  const subject = `${name} at ${formatSizes(testCase.sizes)}, config ${testCase.config}`;
  const [first, ...others] = findings;
  if (first) {
    const prefix = first.at ? `${formatLocation(first.at)}: ` : "";
    const more = others.length > 0 ? ` (and ${others.length} more findings)` : "";
    throw new Error(`${subject}: ${prefix}${first.message}${more}`);
  }
  if (!comparison) {
    const reason = unchecked.length > 0 ? unchecked.join("; ") : "the kernel has no reference; give it one";
    throw new Error(`${subject}: nothing was compared: ${reason}`);
  }
  if (!comparison.correct) {
    const { wrong, total, worst } = comparison;
    const element = worst
      ? `; ${worst.output}[${worst.index.join(", ")}] is ${worst.got}, expected ${worst.expected}`
      : "";
    throw new Error(`${subject}: ${wrong} of ${total} elements are wrong${element}${describeErrorKind(comparison)}`);
  }
  return evaluation;
}

// Roundings that a kernel's author did not declare: lower than the inputs, the outputs and the reference.

/**
 * The findings of a case, which its dtypes, its constexprs and the declared tolerances determine. Without a reference
 * there are none, because nothing claims that the outputs are right.
 */
export function narrowRoundingsOf(
  face: KernelIR,
  profile: RoundingProfile,
  listSites: () => readonly RoundingSite[],
): CompiledKernel["narrowRoundings"] {
  let sites: readonly RoundingSite[] | undefined;
  return (testCase, override = {}) => {
    if (!face.reference) return [];
    sites ??= listSites();
    const { dtypes } = testCase;
    const tolerances = { ...face.tolerance, ...override };
    const bind = (elem: Elem): DTypeName =>
      typeof elem === "string" ? elem : ((dtypes[elem.name] ?? elem.members[0]) as DTypeName);
    const all = tensorsOf(face, "out", "inout").map(({ name, dtype }) => ({ name, dtype: bind(dtype) }));
    const floats = all.filter(({ dtype }) => isFloat(dtype));
    // Integers are compared exactly, so that they show by themselves what rounding does to them.
    const judged = floats.length > 0 ? floats : all;
    const outputs = judged.filter(({ name }) => !isToleranceDeclared(tolerances, name));
    const limits = floats.length > 0 ? "{ rtol: …, rms: … }" : "{ atol: 1 }";
    const found = sites.flatMap((site) => {
      const [dtype, { kind, from }] = [bind(site.elem), site];
      const source = typeof from === "object" || typeof from === "string" ? bind(from) : from;
      if (!isFloat(dtype) || (source !== undefined && isExactIn(source, dtype))) return [];
      const sort = kind === "sum" || kind === "carried" ? "sum" : "value";
      const affected = outputs.filter((output) => !isDeclaredRounding(sort, dtype, output.dtype, profile, dtypes));
      return affected.length === 0 ? [] : [{ site, dtype, names: affected.map(({ name }) => name) }];
    });
    if (found.length === 0) return [];
    const isReached = reachedBy(face, testCase);
    const findings = new Map<string, Finding>();
    for (const { site, dtype, names } of found) {
      const key = site.at ? formatLocation(site.at) : `${site.kind} ${site.subject}`;
      if (isReached(site) && !findings.has(key))
        findings.set(key, findingOf(site, dtype, widestDeclared(profile, dtypes), { names, limits }));
    }
    return [...findings.values()];
  };
}

/**
 * Triton compiles only the branch of a constexpr that the case takes. Which ones the kernels of an operator take, whose
 * own body is empty, is not known here.
 */
function reachedBy(face: KernelIR, testCase: TestCase): (site: RoundingSite) => boolean {
  if (face.body.statements.length === 0) return () => true;
  const bindings = new Bindings(face, launchOf(face, testCase));
  const constants = constantsAt({ ir: face, testCase, bindings }, (elem) => bindings.dtype(elem));
  const reached = new Set(reachedStatements(face, constants));
  return ({ statement }) => statement === undefined || reached.has(statement);
}

/** Findings of a comparison. Without one, the case says what is missing. */
export function withFindings(evaluation: Evaluation, findings: readonly Finding[]): Evaluation {
  if (findings.length === 0 || !evaluation.comparison) return evaluation;
  return { ...evaluation, findings: [...evaluation.findings, ...findings] };
}

function findingOf({ kind, subject, at }: RoundingSite, dtype: string, wide: string, outputs: RoundedOutputs): Finding {
  const [narrow, wanted] = [`tl.${dtype}`, `tl.${wide}`];
  const message =
    kind === "carried"
      ? narrowRounding.carried(narrow, wanted, outputs)
      : narrowRounding[kind](subject, narrow, wanted, outputs);
  return { code: message.code, message: message.text, remedy: message.remedy, at, program: [], lane: [] };
}

/** True if the author or the caller states how far this output may be off. */
function isToleranceDeclared(tolerances: GivenTolerance, output: string): boolean {
  const { rtol, atol, rms } = declaredToleranceFor(tolerances, output);
  return [rtol, atol, rms].some((limit) => limit !== undefined);
}

/** True if every number of a dtype, or this number, is one of `dtype` too. */
function isExactIn(from: DTypeName | number, dtype: DTypeName): boolean {
  if (typeof from === "number") return isExactlyRepresentable(dtype, from);
  if (from === dtype) return true;
  if (!isFloat(from)) return bitsOf(from) <= 8 && bitsOf(dtype) >= 16;
  if (bitsOf(from) === 8) return bitsOf(dtype) >= 16;
  return bitsOf(dtype) > bitsOf(from) && roundoffOf(dtype) <= roundoffOf(from);
}
