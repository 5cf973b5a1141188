/** Thorough verification: draws random cases from the signature and shrinks one that fails. */
import { jsonText } from "../../compiled/canonical-json.js";
import fc from "fast-check";
import type { TestCase, CompiledKernel, SpecialValue, Tolerance } from "../../compiled/compiled-kernel.js";
import { costOf, declaredCases, specialCases, type Plan, type PlannedCase } from "../cases/cases.js";
import { tmaCompatibleCase } from "../cases/command-cases.js";
import { configsOf, type Selection } from "../cases/selection.js";
import { constexprDims } from "../cases/shapes.js";
import { specializedCases, breadthFirst, featuresOf } from "../cases/features.js";
import { acceptedCase, shrinkAccepted } from "../cases/valid-cases.js";
import { cases, type CaseOptions, drawnConfigs } from "../cases/arbitrary.js";
import type { Outcome } from "../cases/outcome.js";
import { openRunner, type Runner, type RunnerOptions, deviceLimits } from "./runner.js";
import { shellWord } from "../system/processes.js";
import { type Verification, planFirstCall, gpuOf, whyNotRunOn } from "./plan-cases.js";
import type { Device } from "../devices/device.js";

export interface ThoroughOptions {
  readonly selection: Selection;
  /** The number of cases to draw, in addition to those that cover every config. */
  readonly runs: number;
  /** No case starts after this time, which begins once kernels are compiled. Shrinking may take as long again. */
  readonly timeLimitMs: number;
  /** True if compiling and shrinking count as well. */
  readonly limitsAll?: boolean;
  /** Also puts NaN and infinities into the inputs. The kernel and the reference must agree on their positions. */
  readonly special?: boolean;
  readonly tolerance?: Partial<Tolerance>;
  readonly deadlineMs?: number;
  readonly onOutcome?: (done: number, planned: number) => void;
  /** Called after each kernel that was compiled in advance. */
  readonly onCompiled?: ((done: number, planned: number) => void) | undefined;
}

/**
 * The reference materializes several float64 copies of intermediate values that the kernel keeps in registers, such as
 * the scores of attention: 2^34 lanes need a few gigabytes.
 */
const MAX_LANES = 2 ** 34;

const limits: Readonly<Record<Device["kind"], Pick<CaseOptions, "maxSize" | "maxWork" | "maxLanes">>> = {
  eval: { maxSize: 200, maxWork: 2 ** 15 },
  interpreter: { maxSize: 200, maxWork: 2 ** 16 },
  cuda: { maxSize: 1100, maxWork: 2 ** 31, maxLanes: MAX_LANES },
  hip: { maxSize: 1100, maxWork: 2 ** 31, maxLanes: MAX_LANES },
};

/** The number of kernels that a GPU compiles for all configs, at a few seconds each. Each config gets at least two. */
const MAX_SPECIALIZATIONS = 32;

/** A single size may be larger than several that are multiplied. */
const MAX_SINGLE_SIZE = 5000;

/** The number of runs of each case, which must agree. On a GPU, races differ between runs. */
const repeats: Readonly<Record<Device["kind"], number>> = { eval: 2, interpreter: 2, cuda: 4, hip: 4 };

/** Excludes the largest number, because the order of a sum decides whether it overflows. */
const FINITE: readonly SpecialValue[] = ["-0", "subnormal"];
const SPECIAL: readonly SpecialValue[] = ["nan", "infinity", "-infinity", ...FINITE];

/** Draws cases and runs them until one fails, then shrinks that one. */
export async function verifyThoroughly(
  kernel: CompiledKernel,
  device: Device,
  options: ThoroughOptions,
): Promise<Verification> {
  const skipReason = whyNotRunOn(kernel, device);
  if (skipReason !== undefined) return { kernel, outcomes: [], skipped: [skipReason], seconds: 0 };
  return drawAndRun(kernel, device, { ...options, selection: { ...options.selection, on: gpuOf(device) } });
}

async function drawAndRun(kernel: CompiledKernel, device: Device, options: ThoroughOptions): Promise<Verification> {
  const { selection, timeLimitMs, limitsAll = false } = options;
  const start = performance.now();
  const limitFromNow = (): number => (limitsAll ? start : performance.now()) + timeLimitMs;
  const declared = declaredPlan(kernel, device, selection);
  const rounds = roundsOf(kernel, device, options, declared.cases);
  const drawnCases = rounds.flatMap(casesOf);
  const passed: Outcome[] = [];
  const started: TestCase[] = [];
  let [failed, tuned]: (Outcome | undefined)[] = [];
  let [deadline, isFirstCallLate] = [0, false];
  const { tolerance = {}, deadlineMs } = options;
  const runOptions = { tolerance, deadlineMs, repeats: repeats[device.kind], isSanitized: true };
  const runner = await openRunner(kernel, device, runOptions);
  const plannedFor = (testCase: TestCase): PlannedCase =>
    declared.cases.find((each) => each.testCase === testCase) ?? { testCase, label: "drawn", isExtra: false };
  const passes = async (testCase: TestCase): Promise<boolean> => {
    // Out of time: the remaining cases are skipped.
    if (performance.now() > deadline) return true;
    started.push(testCase);
    const outcome = await runner.run(plannedFor(testCase), passed.length);
    if (outcome.status === "failed") {
      // Shrinking is pointless: smaller cases would hang as long, and without a connection none can run.
      const isLast = outcome.failure?.kind === "timeout" || outcome.failure?.kind === "connection";
      if (!failed) deadline = isLast ? 0 : limitFromNow();
      failed = outcome;
    } else if (!failed) passed.push(outcome);
    options.onOutcome?.(started.length, drawnCases.length);
    return outcome.status !== "failed";
  };
  try {
    const firstCall = planFirstCall(kernel, device, runner, drawnCases.map(plannedFor), selection);
    await runner.precompile?.([...drawnCases, ...firstCall.testCases], options.onCompiled);
    deadline = limitFromNow();
    runner.expect?.(timeLimitMs > 0 ? drawnCases.map(plannedFor) : []);
    for (const { arbitrary, ...parameters } of rounds)
      if (!failed) await fc.check(fc.asyncProperty(arbitrary, passes), parameters);
    isFirstCallLate = limitsAll && firstCall.testCases.length > 0 && performance.now() > deadline;
    if (!failed && passed.length > 0 && !isFirstCallLate) tuned = await firstCall.run();
  } finally {
    await runner.close();
  }
  const last = failed ?? tuned;
  return {
    kernel,
    ...(selection.sizes && { hasChosenSizes: true }),
    outcomes: last ? [...passed, last] : passed,
    skipped: [
      ...declared.skipped,
      ...describeSkipped(kernel, options),
      ...(failed ? [] : describeLate(kernel, options, drawnCases, started, isFirstCallLate)),
    ],
    seconds: Math.round(performance.now() - start) / 1000,
    ...costsOf(runner),
    thorough: {
      seed: selection.seed,
      ...(last?.status === "failed" && replayOf(last, failed ? started.length - passed.length - 1 : 0)),
    },
  };
}

/** The durations and the compiled kernels of a run, if its runner counts them. */
function costsOf(runner: Runner): Pick<Verification, "compiling" | "durations"> {
  const [compiling, durations] = [runner.compiling?.(), runner.durations?.()];
  return { ...(compiling && { compiling }), ...(durations && { durations }) };
}

/** How to run a failing case again, after `smallerTried` smaller ones. */
function replayOf({ failure, testCase }: Outcome, smallerTried: number) {
  return failure?.kind === "connection" ? {} : { replay: replayFlag(testCase), smallerTried };
}

/** Descriptions of what the run skips, except declared shapes. */
function describeSkipped(kernel: CompiledKernel, { selection, special }: ThoroughOptions): readonly string[] {
  return [
    ...[...kernel.configs.keys()].flatMap((config) => describeRejectedConfig(kernel, config, selection)),
    ...(special ? [] : ["NaN and infinities among the inputs: --special draws them"]),
  ];
}

/** The number of cases that did not start in time, what no case had that did, and whether the first call was left out. */
function describeLate(
  kernel: CompiledKernel,
  { timeLimitMs }: ThoroughOptions,
  planned: readonly TestCase[],
  started: readonly TestCase[],
  isFirstCallLate: boolean,
): readonly string[] {
  const firstCall = isFirstCallLate ? ["the first call of the wrapper, which tries every config"] : [];
  const count = planned.length - started.length;
  if (count <= 0) return firstCall;
  const reached = new Set(started.flatMap((testCase) => featuresOf(kernel, testCase)));
  const missing = [...new Set(planned.flatMap((testCase) => featuresOf(kernel, testCase)))].filter(
    (feature) => !reached.has(feature),
  );
  const others = missing.length > 0 ? `no case had ${missing.join(", ")}` : "they differ in sizes and values only";
  return [...firstCall, `${count} of ${planned.length} cases, as ${formatSeconds(timeLimitMs)} were over: ${others}`];
}

const formatSeconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

/** The declared shapes, unless the user chose sizes. */
function declaredPlan(kernel: CompiledKernel, device: Device, selection: Selection): Plan {
  if (selection.sizes) return { cases: [], skipped: [] };
  return declaredCases(kernel, { ...deviceLimits[device.kind], exhaustive: false }, selection);
}

interface Round {
  readonly arbitrary: fc.Arbitrary<TestCase>;
  readonly seed: number;
  readonly numRuns: number;
  /** They run in place of drawn cases. */
  readonly examples?: [TestCase][];
}

/**
 * The first declared shape, then cases that together have every layout, dtype and config, then the others. One case is
 * drawn for each config, because the others may miss some.
 */
function roundsOf(
  kernel: CompiledKernel,
  device: Device,
  options: ThoroughOptions,
  declared: readonly PlannedCase[],
): readonly Round[] {
  const { selection, runs } = options;
  const caseOptions = drawOptions(kernel, device, options);
  const round = (config: number | undefined, numRuns: number): Round => ({
    arbitrary: cases(kernel, config === undefined ? caseOptions : { ...caseOptions, config }),
    seed: selection.seed + (config ?? -1) + 1,
    numRuns,
  });
  /** The warp-specialized kernel only supports cases that satisfy the requirements of TMA. */
  const toTmaCompatible = ({ arbitrary, ...parameters }: Round): Round => ({
    ...parameters,
    arbitrary: arbitrary.map((testCase) => tmaCompatibleCase(kernel, testCase)),
  });
  const drawn = [
    ...drawnConfigs(kernel, caseOptions).map((config) => round(config, 1)),
    round(selection.config, runs),
  ].flatMap(casesOf);
  const rows = specialCases(
    kernel,
    drawn.map((testCase) => ({ testCase, label: "drawn", isExtra: false })),
    selection,
  );
  const [first, ...others] = [
    ...[...declared, ...rows].map(({ testCase }) => testCase),
    ...specializationExamples(kernel, device, selection),
    ...drawn,
  ];
  const cost = (testCase: TestCase): number => costOf(kernel, testCase, deviceLimits[device.kind]);
  const examples = first ? [first, ...breadthFirst(kernel, others, cost, [first], isProved(kernel))] : [];
  return [
    { ...round(selection.config, examples.length), examples: examples.map((testCase) => [testCase]) },
    ...(device.kind === "cuda" && kernel.specialized ? [toTmaCompatible(round(selection.config, runs))] : []),
  ];
}

const isProved = (kernel: CompiledKernel): boolean =>
  kernel.proof().obligations.every(({ verdict }) => verdict.kind === "proved");

/** Small cases in which each size and integer scalar is 1, and 16, unless the user chose it. */
function specializationExamples(
  kernel: CompiledKernel,
  { kind }: Device,
  { config, on, sizes = {}, scalars = {} }: Selection,
): readonly TestCase[] {
  const [first = 0] = configsOf(kernel, { config, on });
  const base = acceptedCase(kernel, first, { seed: 0, sizes });
  if ("refusal" in base) return [];
  const { op, work } = deviceLimits[kind];
  const isSmall = (each: TestCase): boolean =>
    costOf(kernel, each, { op }) <= Math.min(work, MAX_LANES) / MAX_SPECIALIZATIONS;
  const fixed = [...Object.keys(sizes), ...Object.keys(scalars), ...constexprDims(kernel)];
  const small = Object.keys(sizes).length > 0 ? base.at : shrinkAccepted(kernel, base.at, isSmall);
  return specializedCases(kernel, small, fixed).filter(isSmall);
}

/** A message for a config that accepts no known sizes and is therefore not drawn. */
function describeRejectedConfig(
  kernel: CompiledKernel,
  config: number,
  { config: selectedConfig, sizes }: Selection,
): readonly string[] {
  if (selectedConfig !== undefined && selectedConfig !== config) return [];
  const base = acceptedCase(kernel, config, { seed: 0, ...(sizes && { sizes }) });
  return "refusal" in base ? [`config ${config}: no sizes were found that it accepts (${base.refusal})`] : [];
}

/** The cases of a round, which are determined by the seed. */
function casesOf({ arbitrary, ...parameters }: Round): readonly TestCase[] {
  const drawnCases: TestCase[] = [];
  fc.check(
    fc.property(arbitrary, (testCase) => void drawnCases.push(testCase)),
    parameters,
  );
  return drawnCases;
}

function drawOptions(kernel: CompiledKernel, device: Device, { selection, special }: ThoroughOptions): CaseOptions {
  const maxPerConfig = Math.max(2, Math.ceil(MAX_SPECIALIZATIONS / kernel.configs.length));
  const { seed, ...fixed } = selection;
  return {
    ...limits[device.kind],
    ...((device.kind === "cuda" || device.kind === "hip") && { specializations: { most: maxPerConfig, seed } }),
    ...(kernel.signature.sizes.length === 1 && { maxSize: MAX_SINGLE_SIZE }),
    ...fixed,
    empty: true,
    special: special ? SPECIAL : FINITE,
  };
}

/** The flag that replays this case. */
function replayFlag(testCase: TestCase): string {
  return `--case ${shellWord(jsonText(testCase))}`;
}

/** Replays one case from the text of a failure. */
export async function reproduceCase(
  kernel: CompiledKernel,
  device: Device,
  testCase: TestCase,
  options: Pick<RunnerOptions, "tolerance" | "deadlineMs">,
): Promise<Verification> {
  const start = performance.now();
  const planned = { testCase, label: "given", isExtra: false };
  const runner = await openRunner(kernel, device, { ...options, repeats: repeats[device.kind], isSanitized: true });
  const outcomes: Outcome[] = [];
  try {
    const outcome = await runner.run(planned, 0);
    const firstCall = planFirstCall(kernel, device, runner, [planned], {});
    const tuned = outcome.status === "passed" ? await firstCall.run() : undefined;
    outcomes.push(outcome, ...(tuned ? [tuned] : []));
  } finally {
    await runner.close();
  }
  return {
    kernel,
    hasChosenSizes: true,
    outcomes,
    skipped: [],
    seconds: Math.round(performance.now() - start) / 1000,
  };
}
