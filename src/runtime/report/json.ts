/**
 * The JSON report of `run`. `correct`, `max_abs_diff`, `max_rel_diff` and `details` are fixed; other fields may be
 * added.
 */

import type { CaseReport, OutputReport, RunReport } from "./reports.js";
import type { Outcome, OutputComparison } from "../cases/outcome.js";
import { summarize } from "../verify/summary.js";
import type { Durations } from "../verify/runner.js";
import type { Verification } from "../verify/plan-cases.js";
import type { Device } from "../devices/device.js";

/** The report of one kernel. */
export function jsonReport(verification: Verification, device: Device): RunReport {
  const { kernel, thorough } = verification;
  const summary = summarize(verification, device);
  return {
    correct: summary.correct,
    max_abs_diff: finiteOrNull(summary.maxAbsDiff),
    max_rel_diff: finiteOrNull(summary.maxRelDiff),
    details: summary.details,
    kernel: kernel.signature.name,
    device: device.kind,
    device_why: device.reason,
    ...(device.kind !== "eval" && {
      device_name: device.hello.deviceName,
      ...(device.host && { host: device.host.name }),
      ...(device.workers.deviceNames.length > 0 && { workers: device.workers.deviceNames }),
      capability: device.hello.capability,
      versions: device.hello.versions,
      python: device.environment.python,
    }),
    configs: { total: kernel.configs.length, tried: summary.configsTried },
    declared_shapes: { total: kernel.shapes.length, compared: summary.declaredCompared },
    not_checked: summary.notChecked,
    warnings: kernel.warnings,
    seconds: verification.seconds,
    ...(verification.compiling && { compiled: verification.compiling }),
    ...(verification.durations && { durations: durationsOf(verification.durations) }),
    ...(thorough && { seed: thorough.seed, ...(thorough.replay !== undefined && { replay: thorough.replay }) }),
    cases: verification.outcomes.map(jsonCase),
  };
}

const durationsOf = ({ firstCall, ...durations }: Durations): NonNullable<RunReport["durations"]> => ({
  ...durations,
  first_call: firstCall,
});

/** A difference; null if it is not finite. */
const finiteOrNull = (difference: number | null): number | null =>
  difference !== null && Number.isFinite(difference) ? difference : null;

/** The report of a run that ended before any case. */
export function jsonProblem(details: string): RunReport {
  return { correct: false, max_abs_diff: null, max_rel_diff: null, details };
}

/** Merges the reports of several kernels. Correct if all of them are. */
export function mergeReports(reports: readonly RunReport[]): RunReport {
  const [single, ...others] = reports;
  if (single && others.length === 0) return single;
  const largest = (key: "max_abs_diff" | "max_rel_diff"): number | null => {
    const values = reports.map((report) => report[key]);
    return values.every((value) => value !== null) ? Math.max(...values) : null;
  };
  return {
    correct: reports.every(({ correct }) => correct),
    max_abs_diff: largest("max_abs_diff"),
    max_rel_diff: largest("max_rel_diff"),
    details: reports.map((report) => `${nameOf(report, reports)}: ${report.details}`).join("; "),
    kernels: reports,
  };
}

/** The kernel's name, with its GPU if there are several kinds. */
function nameOf({ kernel, device_name: device }: RunReport, reports: readonly RunReport[]): string {
  const hasOneGpu = reports.every((other) => other.device_name === device);
  return hasOneGpu ? String(kernel) : `${kernel} on ${device}`;
}

function jsonCase(outcome: Outcome): CaseReport {
  const { testCase, failure } = outcome;
  return {
    label: outcome.label,
    sizes: testCase.sizes,
    dtypes: testCase.dtypes,
    ...(testCase.layouts && { layouts: testCase.layouts }),
    ...(testCase.scalars && { scalars: testCase.scalars }),
    ...(testCase.constexprs && { constexprs: testCase.constexprs }),
    ...(testCase.absent && { absent: testCase.absent }),
    ...(testCase.gpu && { gpu: testCase.gpu }),
    ...(testCase.special && { special: testCase.special }),
    config: outcome.isAutotuned ? "autotuned" : testCase.config,
    seed: testCase.seed,
    by: outcome.by,
    status: outcome.status,
    ms: outcome.ms,
    outputs: outcome.comparisons.map(jsonComparison),
    ...(outcome.findings.length > 0 && { findings: outcome.findings }),
    ...(outcome.problems.length > 0 && { problems: outcome.problems }),
    ...(failure && { error: failure }),
  };
}

function jsonComparison(comparison: OutputComparison): OutputReport {
  return {
    max_abs_diff: finiteOrNull(comparison.maxAbsDiff),
    max_rel_diff: finiteOrNull(comparison.maxRelDiff),
    wrong: comparison.wrong,
    total: comparison.total,
    ...(comparison.finds && { finds: comparison.finds }),
    ...(comparison.tolerance && { tolerance: comparison.tolerance }),
    ...(comparison.referenceDiff !== undefined && { reference_diff: comparison.referenceDiff }),
    ...(comparison.problem !== undefined && { problem: comparison.problem }),
    ...(comparison.worst && { worst: comparison.worst }),
  };
}
