/** The result of a verification in numbers and sentences, for both forms of the report. */
import type { Device } from "../devices/devices.js";
import { isCorrect, type Outcome } from "../cases/outcome.js";
import type { Verification } from "./verify-cases.js";

export interface Summary {
  readonly correct: boolean;
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  readonly passed: number;
  readonly failed: number;
  readonly unchecked: number;
  /** Indices of the configs that ran. */
  readonly configsTried: readonly number[];
  /** What this run leaves unchecked, as phrases. */
  readonly notChecked: readonly string[];
  /** One sentence for `details`. */
  readonly details: string;
}

/** The results of a run, and what it leaves unchecked. */
export function summarize({ kernel, outcomes, left }: Verification, device: Device): Summary {
  const compared = outcomes.flatMap((outcome) => outcome.comparisons);
  const count = (status: Outcome["status"]): number => outcomes.filter((outcome) => outcome.status === status).length;
  const configsTried = [...new Set(outcomes.map(({ at }) => at.config))].sort((a, b) => a - b);
  const untried = kernel.configs.length - configsTried.length;
  const notChecked = [
    ...device.unchecked,
    ...(device.kind !== "cuda" && device.kind !== "hip" && kernel.signature.dot && hasFloat32(outcomes, kernel)
      ? ["float32 products of matrices: they ran in full float32 here, in TF32 on the GPU"]
      : []),
    ...(untried > 0 ? [`${untried} of ${kernel.configs.length} configs`] : []),
    ...new Set(outcomes.flatMap((outcome) => outcome.unchecked)),
    ...left,
  ];
  const correct = isCorrect(outcomes);
  const passed = count("passed");
  return {
    correct,
    maxAbsDiff: compared.map(({ maxAbsDiff }) => maxAbsDiff).reduce(larger, 0),
    maxRelDiff: compared.map(({ maxRelDiff }) => maxRelDiff).reduce(larger, 0),
    passed,
    failed: count("failed"),
    unchecked: count("unchecked"),
    configsTried,
    notChecked,
    details: detailsOf(outcomes, correct, device.kind, left),
  };
}

/** The larger of two errors, where NaN is the largest of all. */
export function larger(a: number, b: number): number {
  return Number.isNaN(a) || a > b ? a : b;
}

function hasFloat32(outcomes: readonly Outcome[], { signature }: Verification["kernel"]): boolean {
  return (
    signature.tensors.some((tensor) => tensor.dtype === "float32") ||
    outcomes.some(({ at }) => Object.values(at.dtypes).includes("float32"))
  );
}

function detailsOf(outcomes: readonly Outcome[], correct: boolean, device: string, left: readonly string[]): string {
  if (outcomes.length === 0) return ["no case could be run", ...left.slice(-1)].join(": ");
  const passed = outcomes.filter(({ status }) => status === "passed").length;
  if (correct) return `${passed} of ${outcomes.length} cases passed on ${device}`;
  const failed = outcomes.filter(({ status }) => status === "failed");
  if (failed.length === 0) {
    const [why] = outcomes[0]!.unchecked;
    return [
      "no case could be compared with a reference",
      ...(why ? [why.replace(/^.* were not compared: /, "")] : []),
    ].join(": ");
  }
  return `${failed.length} of ${outcomes.length} cases failed on ${device}: ${headline(failed[0]!)}`;
}

/** The first problem of a case, in one line. */
export function headline(outcome: Outcome): string {
  if (outcome.failure) return `${outcome.failure.kind}: ${outcome.failure.message.split("\n")[0]}`;
  const wrong = outcome.comparisons.find((comparison) => comparison.wrong > 0);
  const finding = outcome.findings[0];
  if (finding) return `${finding.code}: ${finding.message}`;
  if (outcome.problems[0]) return outcome.problems[0];
  if (!wrong) return outcome.status;
  const { worst } = wrong;
  if (!worst) return wrong.problem ?? `${wrong.wrong} of ${wrong.total} elements differ`;
  const where = `${worst.output}[${worst.index.join(", ")}]`;
  return `${where} is ${worst.got}, expected ${worst.expected}; ${wrong.wrong} of ${wrong.total} elements differ`;
}
