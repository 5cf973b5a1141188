/**
 * Distinguishes incorrect algorithms from rounding errors. Evaluating a kernel with every float in float64 shows its
 * algorithm alone. That result must agree with the reference much more closely than any narrower dtype.
 */
import type { Comparison, GivenTolerance } from "../compiled/compiled-kernel.js";
import { EvaluationTimeout } from "../compiled/timeout.js";
import { ALGORITHM_CHECK } from "../compiled/error-kind.js";
import { declaredToleranceFor } from "../compiled/declared-tolerance.js";
import { algorithmTolerance } from "../compiled/tolerance.js";
import { formatLocation } from "../diagnostics/diagnostic.js";
import type { KernelIR } from "../ir/nodes.js";
import { isFloat } from "../numerics/numeric.js";
import type { ReferenceInputs } from "../torch/node.js";
import type { DTypeName } from "../types/dtype.js";
import { mergeComparisons } from "./compare-outputs.js";
import type { RunResult } from "./evaluate-kernel.js";
import { ReferenceOutputs, type Tolerances } from "./reference-outputs.js";

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
