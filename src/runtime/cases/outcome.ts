/** The outcome of one test case. Failures are data, not exceptions. */
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

/** The comparison of one output with the reference. The evaluator compares all outputs at once. */
export interface OutputComparison {
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  readonly wrong: number;
  readonly total: number;
  readonly worst?: WorstElement;
  readonly problem?: string;
  /** The kind of error that a wrong result indicates, if the evaluator knows it. */
  readonly finds?: Comparison["finds"];
  /** Present if the worst element is an integer. Absent if the evaluator did not compare. */
  readonly integers?: true;
  /** Absent if the evaluator used its default tolerance. */
  readonly tolerance?: Tolerance;
  /** The error of PyTorch's result in the inputs' dtype, against the float64 reference. */
  readonly referenceDiff?: number;
}

/**
 * The source of a mistake in code outside the kernel: torch code, inputs, the reference, or a launch or loop for these
 * sizes.
 */
export type MistakeKind = "torch" | "inputs" | "reference" | "launch" | "loop";

/** An error during the case, located in the author's source if the emitted module was involved. */
export interface CaseFailure {
  readonly kind: FailureKind | MistakeKind | "internal";
  readonly message: string;
  readonly exception?: string;
  readonly at?: Location;
  /** The whole traceback. */
  readonly raw?: string;
  /** PyTorch refuses a call of the reference, for its shapes. */
  readonly isRefusedReference?: true;
  /** The line of emitted Python. */
  readonly python?: { readonly file: string; readonly line: number; readonly text: string };
}

export interface Outcome {
  readonly testCase: TestCase;
  readonly label: string;
  /** The index of its sizes in the declared shapes. */
  readonly declaredIndex?: number | undefined;
  /** True if Triton's autotuner chose the config. */
  readonly isAutotuned: boolean;
  readonly by: "python" | "eval";
  /** `unchecked`: the case ran, but there was no trustworthy result to compare with. */
  readonly status: "passed" | "failed" | "unchecked";
  readonly comparisons: readonly OutputComparison[];
  readonly findings: readonly Finding[];
  /** Other problems, such as a changed input. */
  readonly problems: readonly string[];
  readonly failure?: CaseFailure;
  readonly unchecked: readonly string[];
  /** True if the evaluator compared the algorithm with the reference, ignoring rounding. */
  readonly isAlgorithmChecked?: boolean;
  /** The locations that the evaluator executed; see `Evaluation.reached`. */
  readonly reached?: readonly Location[] | undefined;
  /** The run of the warp-specialized kernel with this config, in addition to the plain kernel. */
  readonly specialized?: SpecializedRun;
  /** On a GPU: the number of kernels compiled while the case ran. */
  readonly compiled?: number;
  readonly ms: number;
}

/** True if the case compared at least one element with the reference, and all were correct. */
export function wasCompared({ status, comparisons }: Outcome): boolean {
  return status === "passed" && comparisons.some(({ total }) => total > 0);
}
