/** The result of one case. Failure is data: nothing here throws. */
import type { TestCase, Comparison, Finding, Tolerance } from "../../compiled/compiled-kernel.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import type { FailureKind, SpecializedRun } from "../worker/protocol.js";

export interface Neighbors {
  readonly start: readonly number[];
  readonly expected: readonly (readonly number[])[];
  readonly got: readonly (readonly number[])[];
}

export interface WorstElement {
  readonly output: string;
  readonly index: readonly number[];
  readonly expected: number | bigint;
  readonly got: number | bigint;
  readonly around?: Neighbors;
}

/** The comparison of one output (on the evaluator, of all outputs) with the reference. */
export interface OutputComparison {
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  readonly wrong: number;
  readonly total: number;
  readonly worst?: WorstElement;
  readonly problem?: string;
  /** What tells of a wrong result, where the evaluator knows. */
  readonly finds?: Comparison["finds"];
  /** The worst element is an integer; absent if the evaluator did not compare. */
  readonly integers?: true;
  /** Absent if the evaluator used its own. */
  readonly tolerance?: Tolerance;
  /** PyTorch's own error against the float64 reference, in the inputs' dtype. */
  readonly referenceDiff?: number;
}

/** What is wrong where the author wrote torch, and with what a launch or a loop computes in this case. */
export type MistakeKind = "torch" | "inputs" | "reference" | "launch" | "loop";

/** An error during the case, with the author's line if the emitted module was involved. */
export interface CaseFailure {
  readonly kind: FailureKind | MistakeKind | "internal";
  readonly message: string;
  readonly exception?: string;
  readonly at?: Location;
  /** The whole traceback. */
  readonly raw?: string;
  /** The line of emitted Python. */
  readonly python?: { readonly file: string; readonly line: number; readonly text: string };
}

export interface Outcome {
  readonly at: TestCase;
  readonly label: string;
  /** The place of its sizes among the author's shapes. */
  readonly declared?: number | undefined;
  /** Whether Triton's own autotuner chose the config. */
  readonly tuned: boolean;
  readonly by: "python" | "eval";
  /** `unchecked`: the case ran, but there was no trustworthy result to compare with. */
  readonly status: "passed" | "failed" | "unchecked";
  readonly comparisons: readonly OutputComparison[];
  readonly findings: readonly Finding[];
  /** Other problems, such as a changed input. */
  readonly problems: readonly string[];
  readonly failure?: CaseFailure;
  readonly unchecked: readonly string[];
  /** The evaluator held the algorithm against the reference, apart from rounding. */
  readonly judged?: boolean;
  /** Where the evaluator was: see `Evaluation.reached`. */
  readonly reached?: readonly Location[] | undefined;
  /** The warp-specialized kernel ran besides, with this config. */
  readonly specialized?: SpecializedRun;
  /** On a GPU: the number of kernels compiled while the case ran. */
  readonly compiled?: number;
  readonly ms: number;
}

/** Whether elements of the case were compared with the reference, and all were right. An empty tensor shows nothing. */
export function wasCompared({ status, comparisons }: Outcome): boolean {
  return status === "passed" && comparisons.some(({ total }) => total > 0);
}
