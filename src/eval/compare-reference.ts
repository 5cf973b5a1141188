/**
 * Tells mistakes from rounding. A kernel that is evaluated with every float in float64 shows its algorithm alone, which
 * must agree with the reference much more closely than any narrower dtype does.
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

/** The comparison with the reference, if there is one, and what could not be compared. */
export interface ReferenceComparison {
  readonly comparison?: Comparison;
  readonly unchecked: readonly string[];
}

/**
 * Compares the outputs of a run, and its algorithm, with the reference. `rerun` runs the kernel again, unrounded.
 * `given` is the author's tolerance, which holds for the algorithm too.
 */
export function compareWithReference(
  face: KernelIR,
  { outputs, findings }: Pick<RunResult, "outputs" | "findings">,
  known: ReferenceInputs,
  tolerance: Tolerances | undefined,
  given: GivenTolerance,
  rerun: () => Pick<RunResult, "outputs" | "rounded">,
): ReferenceComparison {
  if (!tolerance) return { unchecked: ["no tolerance was given, so the numbers were not compared with the reference"] };
  const reference = new ReferenceOutputs(face, known);
  const found = reference.compare(outputs, tolerance);
  if (typeof found === "string") return { unchecked: [found] };
  if (found.length === 0) return { unchecked: [] };
  const comparison = mergeComparisons(found);
  if (findings.length > 0) return { comparison, unchecked: [] };
  const doubtful = new Set(found.flatMap(({ correct, worst }) => (correct || !worst ? [] : [worst.output])));
  const apart = algorithm(reference, given, rerun, doubtful);
  if (apart === "agrees")
    return { comparison: comparison.correct ? comparison : { ...comparison, finds: "rounding" }, unchecked: [] };
  return typeof apart === "string" ? { comparison, unchecked: [apart] } : { comparison: apart, unchecked: [] };
}

/**
 * The comparison of an unrounded run that disagrees with the reference, or why there is none. If an op rounded
 * nevertheless, the difference need not be a mistake. Integers that are right as they are stay out of it: a difference in
 * the last bit of a float64 can make one of them another. `doubtful` names the outputs that are not right.
 */
function algorithm(
  reference: ReferenceOutputs,
  given: GivenTolerance,
  rerun: () => Pick<RunResult, "outputs" | "rounded">,
  doubtful: ReadonlySet<string>,
): Comparison | "agrees" | string {
  let run: ReturnType<typeof rerun>;
  try {
    run = rerun();
  } catch (error) {
    if (error instanceof EvaluationTimeout) throw error;
    return `${ALGORITHM_CHECK}: in float64, ${error instanceof Error ? error.message : String(error)}`;
  }
  const judged = Object.entries(run.outputs).filter(
    ([name, { dtype }]) => isFloat(dtype as DTypeName) || doubtful.has(name),
  );
  const limits = (output: string) => algorithmTolerance(declaredToleranceFor(given, output));
  const found = reference.compare(Object.fromEntries(judged), limits, true);
  if (typeof found === "string") return `${ALGORITHM_CHECK}: ${found}`;
  const wrong = found.filter(({ correct }) => !correct);
  if (wrong.length === 0) return "agrees";
  const [rounds] = run.rounded;
  if (!rounds) return { ...mergeComparisons(wrong), finds: "mistake" };
  const names = wrong.flatMap(({ worst }) => worst?.output ?? []).join(", ");
  const where = rounds.at ? ` at ${formatLocation(rounds.at)}` : "";
  return `${ALGORITHM_CHECK}, of ${names}: tl.${rounds.op.name}${where} computes in its own dtype`;
}
