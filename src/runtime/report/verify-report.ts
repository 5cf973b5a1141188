/** The text report: device, cases, errors, and unchecked aspects. */
import type pc from "picocolors";
import { formatSizes, type Tolerance, type Finding } from "../../compiled/compiled-kernel.js";
import { describeCase } from "../cases/cases.js";
import { formatLocation, type Location } from "../../diagnostics/diagnostic.js";
import type { Outcome, OutputComparison, WorstElement } from "../cases/outcome.js";
import type { CompileCounts } from "../verify/case-steps.js";
import type { Durations } from "../verify/runner.js";
import { type Verification, headline, maxError, summarize, type Summary } from "../verify/plan-cases.js";
import type { Device } from "../devices/device.js";
import { codeFrame } from "./text-blocks.js";
import type { CaseReport, OutputReport, RunReport } from "./reports.js";

type Colors = ReturnType<typeof pc.createColors>;

/** The number of failures to show in full; the others are only counted. */
const MAX_SHOWN_FAILURES = 3;
const MAX_SHOWN_SHAPES = 4;

/** The report of one kernel. */
export function textReport(verification: Verification, device: Device, colors: Colors, verbose: boolean): string {
  const summary = summarize(verification, device);
  const { kernel, outcomes, seconds, thorough } = verification;
  const failed = outcomes.filter(({ status }) => status === "failed");
  const shown = verbose
    ? failed.map((outcome) => ({ outcome, others: 0 }))
    : byCause(failed).slice(0, MAX_SHOWN_FAILURES);
  const hiddenCount = failed.length - shown.reduce((count, { others }) => count + 1 + others, 0);
  const verdict = summary.correct ? colors.green("passed") : colors.red("failed");
  // The cause stands with its case.
  const details =
    failed.length > 0 ? `${failed.length} of ${outcomes.length} cases failed on ${device.kind}` : summary.details;
  return [
    `${colors.bold(kernel.signature.name)} ${verdict}: ${details} (${seconds.toFixed(1)} s)`,
    ...factRows(verification, device, summary).map(([name, text]) => `  ${colors.dim(name.padEnd(11))} ${text}`),
    ...(verbose ? outcomes.map((outcome) => `  ${formatOutcome(outcome, kernel.configs.length, colors)}`) : []),
    ...shown.flatMap(({ outcome, others }) => [
      "",
      ...indent(formatFailure(outcome, kernel.configs.length, colors, verbose)),
      ...(others > 0 ? [`  the same in ${others} other case${others === 1 ? "" : "s"}; --verbose shows all`] : []),
    ]),
    ...(thorough?.replay === undefined ? [] : indent(formatReplay(thorough.replay, thorough.smallerTried))),
    ...(hiddenCount > 0 ? ["", `  … and ${hiddenCount} more; --verbose shows all`] : []),
    ...(summary.notChecked.length > 0
      ? [`  ${colors.yellow("not checked")}`, ...summary.notChecked.map((text) => `    - ${text}`)]
      : []),
  ].join("\n");
}

function factRows(
  { kernel, outcomes, thorough, compiling, durations }: Verification,
  device: Device,
  summary: Summary,
): [string, string][] {
  const shapes = [...new Set(outcomes.map(({ testCase }) => formatSizes(testCase.sizes)))];
  const dtypes = [
    ...new Set(outcomes.flatMap(({ testCase }) => Object.entries(testCase.dtypes).map((pair) => pair.join("=")))),
  ];
  const layouts = [...new Set(outcomes.flatMap(({ testCase }) => Object.values(testCase.layouts ?? {})))];
  const rows: [string, string][] = [["device", formatDevice(device)]];
  if (device.kind !== "eval") {
    const { python, torch, triton, numpy } = device.hello.versions;
    rows.push(["versions", `Python ${python}, torch ${torch}, triton ${triton}, numpy ${numpy}`]);
    rows.push(["python", `${device.environment.python} (${device.environment.source})`]);
  }
  if (outcomes.length === 0) return rows;
  if (compiling) rows.push(["compiled", formatCompileCounts(compiling)]);
  if (durations) rows.push(["time", formatDurations(durations)]);
  rows.push(["shapes", thorough ? formatDrawnShapes(shapes) : shapes.join(", ")]);
  if (thorough) rows.push(["seed", String(thorough.seed)]);
  if (dtypes.length > 0) rows.push(["dtypes", dtypes.join(", ")]);
  if (layouts.length > 0) rows.push(["layouts", [...new Set(["contiguous", ...layouts])].join(", ")]);
  if (kernel.configs.length > 1)
    rows.push(["configs", `${summary.configsTried.length} of ${kernel.configs.length} tried`]);
  return [...rows, ...errorRows(outcomes)];
}

/** Compile counts; compilation takes most of the time of a first run on a GPU. */
function formatCompileCounts({ ahead, processes, seconds, known: cachedCount, late }: CompileCounts): string {
  const inAdvance = ahead > 0 ? `${ahead} ahead in ${processes} processes (${seconds.toFixed(1)} s)` : "none ahead";
  return `${inAdvance}, ${late} as cases ran; ${cachedCount} were in Triton's cache`;
}

/** Durations of the parts of a run, in order. */
function formatDurations({ waiting, device, evaluator, firstCall }: Durations): string {
  const parts = [
    ["waiting for compilers", waiting],
    ["on the device", device],
    ["on the evaluator", evaluator],
    ["in the first call of the wrapper", firstCall],
  ] as const;
  return parts
    .filter(([, seconds]) => seconds >= 0.05)
    .map(([name, seconds]) => `${seconds.toFixed(1)} s ${name}`)
    .join(", ");
}

/** The number of drawn shapes, with a few examples. */
function formatDrawnShapes(shapes: readonly string[]): string {
  if (shapes.length <= MAX_SHOWN_SHAPES) return shapes.join(", ");
  return `${shapes.length}, such as ${shapes.slice(0, MAX_SHOWN_SHAPES).join(", ")}`;
}

/** A summary of shrinking, and the command that replays the case. */
function formatReplay(replay: string, triedCount = 0): string {
  return `the smallest of ${triedCount} tried; run it again with:\n${replay}`;
}

function formatDevice(device: Device): string {
  const name = device.kind === "eval" ? "TileScript's evaluator, in-process" : device.hello.deviceName;
  const capability = device.kind === "cuda" ? `, sm_${device.hello.capability?.join("") ?? "?"}` : "";
  const hostSuffix = device.kind !== "eval" && device.host ? ` on ${device.host.name}` : "";
  const countSuffix = device.kind !== "eval" && device.workers.size > 1 ? `, ${device.workers.size} of them` : "";
  return `${device.kind}: ${name}${capability}${countSuffix}${hostSuffix} (${device.reason})`;
}

/** The largest errors per dtype, with their tolerances. */
function errorRows(outcomes: readonly Outcome[]): [string, string][] {
  const groups = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    const dtypes = [...new Set(Object.values(outcome.testCase.dtypes))].join(", ");
    groups.set(dtypes, [...(groups.get(dtypes) ?? []), outcome]);
  }
  const comparisonsByDtypes = [...groups].map(
    ([dtypes, group]) => [dtypes, group.flatMap(({ comparisons }) => comparisons)] as const,
  );
  const nonEmpty = comparisonsByDtypes.filter(([, comparisons]) => comparisons.length > 0);
  return nonEmpty.map(([dtypes, comparisons], i) => {
    const abs = comparisons.map(({ maxAbsDiff }) => maxAbsDiff).reduce(maxError, 0);
    const rel = comparisons.map(({ maxRelDiff }) => maxRelDiff).reduce(maxError, 0);
    const limits = comparisons.flatMap(({ tolerance }) => tolerance ?? []);
    const tolerance = formatTolerances(limits);
    const referenceDiffs = comparisons.flatMap(({ referenceDiff }) => referenceDiff ?? []);
    const torch =
      referenceDiffs.length > 0
        ? `; PyTorch in the same dtype abs ${formatShort(referenceDiffs.reduce(maxError, 0))}`
        : "";
    const errors = `abs ${formatShort(abs)}, rel ${formatShort(rel)}${limits.length > 0 ? ` (${tolerance})` : ""}${torch}`;
    return [i === 0 ? "max error" : "", dtypes ? `${dtypes}: ${errors}` : errors];
  });
}

/**
 * `rtol 1e-3, 2e-3 of the RMS`. Includes `atol` if it exceeds the smallest numbers. Integer tolerances follow
 * separately.
 */
function formatTolerances(limits: readonly Tolerance[]): string {
  const [integerTolerances, others] = [
    limits.filter(isIntegerTolerance),
    limits.filter((limit) => !isIntegerTolerance(limit)),
  ];
  const showAtol = others.some(({ atol, rms = 0 }) => atol > SMALLEST || rms === 0);
  const hasRms = others.some(({ rms = 0 }) => rms > 0);
  return [
    ...(others.length > 0 ? [`rtol ${formatRange(others.map(({ rtol }) => rtol))}`] : []),
    ...(showAtol ? [`atol ${formatRange(others.map(({ atol }) => atol))}`] : []),
    ...(hasRms ? [`${formatRange(others.map(({ rms = 0 }) => rms))} of the RMS`] : []),
    ...(integerTolerances.length > 0 ? [formatIntegerTolerances(integerTolerances)] : []),
  ].join(", ");
}

const isIntegerTolerance = ({ share }: Tolerance): boolean => share !== undefined;

function formatIntegerTolerances(limits: readonly Tolerance[]): string {
  const share = formatRange(limits.map(({ share = 0 }) => 100 * share));
  return `integers off by ${formatRange(limits.map(({ atol }) => atol))} in ${share} % of the elements`;
}

/** The spacing of float16 near 0. A smaller `atol` is negligible. */
const SMALLEST = 2 ** -24;

function formatRange(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? formatShort(low) : `${formatShort(low)} to ${formatShort(high)}`;
}

function formatOutcome(outcome: Outcome, configs: number, colors: Colors): string {
  const statusText = {
    passed: colors.green("ok"),
    failed: colors.red("FAILED"),
    unchecked: colors.yellow("not checked"),
  };
  const largest = outcome.comparisons.map(({ maxAbsDiff }) => formatShort(maxAbsDiff)).join(", ");
  const mode = outcome.isAutotuned ? "autotuned" : "";
  return [
    statusText[outcome.status],
    describeCase(outcome.testCase, configs),
    mode,
    largest && `max abs ${largest}`,
    `${outcome.ms} ms`,
  ]
    .filter(Boolean)
    .join("  ");
}

/** What failed cases share: the place of a finding or an error, or the outputs that differ. */
function causeOf({ findings: [finding], failure, problems, comparisons }: Outcome): string {
  const place = finding?.at ?? failure?.at;
  const differing = comparisons.flatMap(({ worst, wrong }) => (wrong > 0 ? [worst?.output] : []));
  const what = finding?.code ?? failure?.kind ?? problems[0] ?? differing.join();
  return `${what} ${place ? formatLocation(place) : failure?.message}`;
}

/** The first case of each cause, and the number of the others. */
function byCause(failed: readonly Outcome[]): readonly { readonly outcome: Outcome; readonly others: number }[] {
  const groups = new Map<string, { readonly outcome: Outcome; readonly others: number }>();
  for (const outcome of failed) {
    const cause = causeOf(outcome);
    const group = groups.get(cause);
    groups.set(cause, group ? { ...group, others: group.others + 1 } : { outcome, others: 0 });
  }
  return [...groups.values()];
}

/** One failed case: the problem, its location, and the surrounding values or lines. */
function formatFailure(outcome: Outcome, configs: number, colors: Colors, verbose: boolean): string {
  const { failure } = outcome;
  const lines = [`${colors.red("failed")} ${describeCase(outcome.testCase, configs)}`];
  // Findings include program and lane themselves.
  if (outcome.findings.length === 0 || failure) lines.push(headline(outcome));
  if (failure) {
    lines.push(...failure.message.split("\n").slice(1));
    if (failure.at) lines.push(formatFrame(failure.at));
    if (failure.python) lines.push(`${failure.python.file}:${failure.python.line}: ${failure.python.text}`);
    if (failure.raw !== undefined && verbose) lines.push("", ...failure.raw.trimEnd().split("\n"));
  }
  for (const finding of outcome.findings.slice(0, MAX_SHOWN_FAILURES)) lines.push(formatFinding(finding));
  const nonFinite = outcome.testCase.special?.filter((kind) => kind === "nan" || kind === "-infinity rows") ?? [];
  if (nonFinite.length > 0)
    lines.push(`${nonFinite.join(", ")} among the inputs; a range of the tensor keeps callers from passing them`);
  lines.push(...outcome.problems.slice(lines.includes(outcome.problems[0] ?? "") ? 1 : 0));
  const incorrect = outcome.comparisons.filter((comparison) => comparison.wrong > 0);
  lines.push(...incorrect.flatMap(formatComparison).filter((line) => line !== lines[1]));
  return lines.join("\n");
}

function formatComparison(comparison: OutputComparison): string[] {
  const { worst, tolerance } = comparison;
  const tolerances = tolerance ? ` (${formatTolerances([tolerance])})` : "";
  const difference = `max abs ${formatShort(comparison.maxAbsDiff)}, max rel ${formatShort(comparison.maxRelDiff)}${tolerances}`;
  if (!worst) return comparison.problem ? [comparison.problem] : [difference];
  const element = `worst element ${worst.output}[${worst.index.join(", ")}]: expected ${worst.expected}, got ${worst.got}`;
  return [element, difference, ...formatNeighborhood(worst)];
}

/** The values around the worst element with their coordinates: expected, then actual ones. */
function formatNeighborhood({ around, index, output }: WorstElement): string[] {
  if (!around) return [];
  const column = around.start.at(-1) ?? 0;
  const row = around.start.at(-2) ?? 0;
  const lead = index.slice(0, -2);
  const formatRows = (values: readonly (readonly number[])[]): string[] =>
    values.map((cells, i) => {
      const coordinates = [...lead, ...(index.length >= 2 ? [row + i] : []), `${column}…${column + cells.length - 1}`];
      return `  ${output}[${coordinates.join(", ")}]  ${cells.map((cell) => cell.toPrecision(6).padStart(12)).join(" ")}`;
    });
  return ["expected around it", ...formatRows(around.expected), "got", ...formatRows(around.got)];
}

function indent(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function formatShort(value: number): string {
  if (!Number.isFinite(value) || value === 0) return String(value);
  return value >= 1e-3 && value < 1e6
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(2).replace(/\.?0+e/, "e");
}

// Formats findings with the author's lines.

export function formatFinding(finding: Finding): string {
  const text = `${finding.code}${formatProgram(finding)}: ${finding.message}`;
  return finding.at ? `${text}\n${formatFrame(finding.at)}` : text;
}

/** The program and lane of a finding. Empty for an element that was never written. */
function formatProgram({ program, lane }: Finding): string {
  return program.length > 0 ? ` in program (${program.join(", ")}), lane [${lane.join(", ")}]` : "";
}

/** A location and the author's lines around it, if the file is readable. */
function formatFrame(location: Location): string {
  return [formatLocation(location), codeFrame(location)].filter(Boolean).join("\n");
}

// The JSON report of `run`. `correct`, `max_abs_diff`, `max_rel_diff` and `details` are fixed; other fields may be
// added.

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
