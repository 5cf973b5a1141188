/** The report for people: the device, the cases, the errors, and what is left unchecked. */
import type pc from "picocolors";
import { formatSizes, type Tolerance } from "../../compiled/compiled-kernel.js";
import { describeCase } from "../cases/case-text.js";
import { findingText, frameText } from "./finding-text.js";
import type { Device } from "../devices/devices.js";
import type { Outcome, OutputComparison, WorstElement } from "../cases/outcome.js";
import type { CompileCounts } from "../verify/runner.js";
import { headline, larger, summarize, type Summary } from "../verify/summary.js";
import type { Verification } from "../verify/plan-cases.js";

type Colors = ReturnType<typeof pc.createColors>;

/** Failures shown in full; the rest are counted. */
const SHOWN_FAILURES = 3;
const SHOWN_SHAPES = 4;

/** One kernel's report. */
export function textReport(verification: Verification, device: Device, colors: Colors, verbose: boolean): string {
  const summary = summarize(verification, device);
  const { kernel, outcomes, seconds, thorough } = verification;
  const failed = outcomes.filter(({ status }) => status === "failed");
  const shown = verbose ? failed : failed.slice(0, SHOWN_FAILURES);
  const verdict = summary.correct ? colors.green("passed") : colors.red("failed");
  return [
    `${colors.bold(kernel.signature.name)} ${verdict}: ${summary.details} (${seconds.toFixed(1)} s)`,
    ...facts(verification, device, summary).map(([name, text]) => `  ${colors.dim(name.padEnd(11))} ${text}`),
    ...(verbose ? outcomes.map((outcome) => `  ${caseLine(outcome, kernel.configs.length, colors)}`) : []),
    ...shown.flatMap((outcome) => ["", ...indent(failureText(outcome, kernel.configs.length, colors, verbose))]),
    ...(thorough?.replay === undefined ? [] : indent(replayText(thorough.replay, thorough.smallerTried))),
    ...(shown.length < failed.length ? ["", `  … and ${failed.length - shown.length} more; --verbose shows all`] : []),
    ...(summary.notChecked.length > 0
      ? [`  ${colors.yellow("not checked")}`, ...summary.notChecked.map((text) => `    - ${text}`)]
      : []),
  ].join("\n");
}

function facts(
  { kernel, outcomes, thorough, compiling }: Verification,
  device: Device,
  summary: Summary,
): [string, string][] {
  const shapes = [...new Set(outcomes.map(({ at }) => formatSizes(at.sizes)))];
  const dtypes = [...new Set(outcomes.flatMap(({ at }) => Object.entries(at.dtypes).map((pair) => pair.join("="))))];
  const layouts = [...new Set(outcomes.flatMap(({ at }) => Object.values(at.layouts ?? {})))];
  const rows: [string, string][] = [["device", deviceText(device)]];
  if (device.kind !== "eval") {
    const { python, torch, triton, numpy } = device.hello.versions;
    rows.push(["versions", `Python ${python}, torch ${torch}, triton ${triton}, numpy ${numpy}`]);
    rows.push(["python", `${device.environment.python} (${device.environment.source})`]);
  }
  if (outcomes.length === 0) return rows;
  if (compiling) rows.push(["compiled", compilingText(compiling)]);
  rows.push(["shapes", thorough ? drawnText(shapes) : shapes.join(", ")]);
  if (thorough) rows.push(["seed", String(thorough.seed)]);
  if (dtypes.length > 0) rows.push(["dtypes", dtypes.join(", ")]);
  if (layouts.length > 0) rows.push(["layouts", [...new Set(["contiguous", ...layouts])].join(", ")]);
  if (kernel.configs.length > 1)
    rows.push(["configs", `${summary.configsTried.length} of ${kernel.configs.length} tried`]);
  return [...rows, ...errorRows(outcomes)];
}

/** What was compiled, which takes most of the time of a first run on a GPU. */
function compilingText({ ahead, processes, seconds, known, late }: CompileCounts): string {
  const before = ahead > 0 ? `${ahead} ahead in ${processes} processes (${seconds.toFixed(1)} s)` : "none ahead";
  return `${before}, ${late} as cases ran; ${known} were in Triton's cache`;
}

/** The number of drawn shapes, and some of them. */
function drawnText(shapes: readonly string[]): string {
  if (shapes.length <= SHOWN_SHAPES) return shapes.join(", ");
  return `${shapes.length}, such as ${shapes.slice(0, SHOWN_SHAPES).join(", ")}`;
}

/** How the failing case was reduced, and the command to run it again. */
function replayText(replay: string, tried = 0): string {
  return `the smallest of ${tried} tried; run it again with:\n${replay}`;
}

function deviceText(device: Device): string {
  const name = device.kind === "eval" ? "TileScript's evaluator, in-process" : device.hello.deviceName;
  const capability = device.kind === "cuda" ? `, sm_${device.hello.capability?.join("") ?? "?"}` : "";
  const where = device.kind !== "eval" && device.host ? ` on ${device.host.name}` : "";
  const several = device.kind !== "eval" && device.workers.size > 1 ? `, ${device.workers.size} of them` : "";
  return `${device.kind}: ${name}${capability}${several}${where} (${device.why})`;
}

/** The largest errors of each dtype, with their tolerances. */
function errorRows(outcomes: readonly Outcome[]): [string, string][] {
  const groups = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    const dtypes = [...new Set(Object.values(outcome.at.dtypes))].join(", ");
    groups.set(dtypes, [...(groups.get(dtypes) ?? []), outcome]);
  }
  const compared = [...groups].map(
    ([dtypes, group]) => [dtypes, group.flatMap(({ comparisons }) => comparisons)] as const,
  );
  const shown = compared.filter(([, comparisons]) => comparisons.length > 0);
  return shown.map(([dtypes, compared], i) => {
    const abs = compared.map(({ maxAbsDiff }) => maxAbsDiff).reduce(larger, 0);
    const rel = compared.map(({ maxRelDiff }) => maxRelDiff).reduce(larger, 0);
    const limits = compared.flatMap(({ tolerance }) => tolerance ?? []);
    const limit = limitText(limits);
    const own = compared.flatMap(({ referenceDiff }) => referenceDiff ?? []);
    const torch = own.length > 0 ? `; PyTorch in the same dtype abs ${short(own.reduce(larger, 0))}` : "";
    const errors = `abs ${short(abs)}, rel ${short(rel)}${limits.length > 0 ? ` (${limit})` : ""}${torch}`;
    return [i === 0 ? "max error" : "", dtypes ? `${dtypes}: ${errors}` : errors];
  });
}

/** `rtol 1e-3, 2e-3 of the RMS`; `atol` where it is more than the smallest numbers; apart from these, integers that may differ. */
function limitText(limits: readonly Tolerance[]): string {
  const [stepped, others] = [limits.filter(isStepped), limits.filter((limit) => !isStepped(limit))];
  const shown = others.some(({ atol, rms = 0 }) => atol > SMALLEST || rms === 0);
  const scaled = others.some(({ rms = 0 }) => rms > 0);
  return [
    ...(others.length > 0 ? [`rtol ${span(others.map(({ rtol }) => rtol))}`] : []),
    ...(shown ? [`atol ${span(others.map(({ atol }) => atol))}`] : []),
    ...(scaled ? [`${span(others.map(({ rms = 0 }) => rms))} of the RMS`] : []),
    ...(stepped.length > 0 ? [stepsText(stepped)] : []),
  ].join(", ");
}

const isStepped = ({ share }: Tolerance): boolean => share !== undefined;

function stepsText(limits: readonly Tolerance[]): string {
  const share = span(limits.map(({ share = 0 }) => 100 * share));
  return `integers off by ${span(limits.map(({ atol }) => atol))} in ${share} % of the elements`;
}

/** Up to the spacing of float16 near 0, `atol` does not decide. */
const SMALLEST = 2 ** -24;

function span(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? short(low) : `${short(low)} to ${short(high)}`;
}

function caseLine(outcome: Outcome, configs: number, colors: Colors): string {
  const mark = {
    passed: colors.green("ok"),
    failed: colors.red("FAILED"),
    unchecked: colors.yellow("not checked"),
  };
  const largest = outcome.comparisons.map(({ maxAbsDiff }) => short(maxAbsDiff)).join(", ");
  const how = outcome.tuned ? "autotuned" : "";
  return [
    mark[outcome.status],
    describeCase(outcome.at, configs),
    how,
    largest && `max abs ${largest}`,
    `${outcome.ms} ms`,
  ]
    .filter(Boolean)
    .join("  ");
}

/** One failed case: what, where, and the values or the lines around it. */
function failureText(outcome: Outcome, configs: number, colors: Colors, verbose: boolean): string {
  const { failure } = outcome;
  const lines = [`${colors.red("failed")} ${describeCase(outcome.at, configs)}`];
  // Findings include program and lane themselves.
  if (outcome.findings.length === 0 || failure) lines.push(headline(outcome));
  if (failure) {
    lines.push(...failure.message.split("\n").slice(1));
    if (failure.at) lines.push(frameText(failure.at));
    if (failure.python) lines.push(`${failure.python.file}:${failure.python.line}: ${failure.python.text}`);
    if (failure.raw !== undefined && verbose) lines.push("", ...failure.raw.trimEnd().split("\n"));
  }
  for (const finding of outcome.findings.slice(0, SHOWN_FAILURES)) lines.push(findingText(finding));
  if (outcome.at.special?.includes("nan")) lines.push("NaN and infinities were among the inputs, as --special asks");
  lines.push(...outcome.problems.slice(lines.includes(outcome.problems[0] ?? "") ? 1 : 0));
  const wrong = outcome.comparisons.filter((comparison) => comparison.wrong > 0);
  lines.push(...wrong.flatMap(comparisonText).filter((line) => line !== lines[1]));
  return lines.join("\n");
}

function comparisonText(comparison: OutputComparison): string[] {
  const { worst, tolerance } = comparison;
  const limit = tolerance ? ` (${limitText([tolerance])})` : "";
  const difference = `max abs ${short(comparison.maxAbsDiff)}, max rel ${short(comparison.maxRelDiff)}${limit}`;
  if (!worst) return comparison.problem ? [comparison.problem] : [difference];
  const element = `worst element ${worst.output}[${worst.index.join(", ")}]: expected ${worst.expected}, got ${worst.got}`;
  return [element, difference, ...neighborhood(worst)];
}

/** The values around the worst element, expected above got, with their coordinates. */
function neighborhood({ around, index, output }: WorstElement): string[] {
  if (!around) return [];
  const column = around.start.at(-1) ?? 0;
  const row = around.start.at(-2) ?? 0;
  const lead = index.slice(0, -2);
  const table = (values: readonly (readonly number[])[]): string[] =>
    values.map((cells, i) => {
      const at = [...lead, ...(index.length >= 2 ? [row + i] : []), `${column}…${column + cells.length - 1}`];
      return `  ${output}[${at.join(", ")}]  ${cells.map((cell) => cell.toPrecision(6).padStart(12)).join(" ")}`;
    });
  return ["expected around it", ...table(around.expected), "got", ...table(around.got)];
}

function indent(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function short(value: number): string {
  if (!Number.isFinite(value) || value === 0) return String(value);
  return value >= 1e-3 && value < 1e6
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(2).replace(/\.?0+e/, "e");
}
