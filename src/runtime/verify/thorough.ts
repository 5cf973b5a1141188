/** Thorough verification: draws random cases from the signature and shrinks one that fails. */
import { jsonText } from "../../compiled/canonical-json.js";
import fc from "fast-check";
import type { TestCase, CompiledKernel, SpecialValue, Tolerance } from "../../compiled/compiled-kernel.js";
import { declaredCases, type Plan, type PlannedCase } from "../cases/cases.js";
import { tmaCompatibleCase } from "../cases/tma-cases.js";
import type { Selection } from "../cases/selection.js";
import { acceptedCase } from "../cases/valid-cases.js";
import { cases, type CaseOptions, drawnConfigs } from "../cases/arbitrary.js";
import type { Outcome } from "../cases/outcome.js";
import { deviceLimits } from "./device-limits.js";
import { planFirstCall } from "./first-call.js";
import { gpuOf, whyNotRunOn } from "./other-gpu.js";
import { openRunner, type RunnerOptions } from "./runner.js";
import { shellWord } from "../system/run-program.js";
import type { Verification } from "./plan-cases.js";
import type { Device } from "../devices/device.js";

export interface ThoroughOptions {
  readonly selection: Selection;
  /** The number of cases to draw, in addition to those that cover every config. */
  readonly runs: number;
  /** No case starts after this time. Shrinking may take as long again. */
  readonly timeLimitMs: number;
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
  const { selection, timeLimitMs } = options;
  const start = performance.now();
  const declared = declaredPlan(kernel, device, selection);
  const rounds = roundsOf(kernel, device, options, declared.cases);
  const planned = rounds.reduce((sum, { numRuns }) => sum + numRuns, 0);
  const passed: Outcome[] = [];
  let failed: Outcome | undefined;
  let tuned: Outcome | undefined;
  let [tries, deadline] = [0, 0];
  const runner = await openRunner(kernel, device, {
    tolerance: options.tolerance ?? {},
    deadlineMs: options.deadlineMs,
    repeats: repeats[device.kind],
    isSanitized: true,
  });
  const plannedFor = (testCase: TestCase): PlannedCase =>
    declared.cases.find((each) => each.testCase === testCase) ?? { testCase, label: "drawn", isExtra: false };
  const passes = async (testCase: TestCase): Promise<boolean> => {
    // Out of time: the remaining cases are skipped.
    if (performance.now() > deadline) return true;
    const outcome = await runner.run(plannedFor(testCase), passed.length);
    if (outcome.status === "failed") {
      // Shrinking is pointless: smaller cases would hang as long, and without a connection none can run.
      const isLast = outcome.failure?.kind === "timeout" || outcome.failure?.kind === "connection";
      if (!failed) deadline = performance.now() + (isLast ? 0 : timeLimitMs);
      failed = outcome;
    } else if (!failed) passed.push(outcome);
    tries++;
    options.onOutcome?.(tries, planned);
    return outcome.status !== "failed";
  };
  try {
    const drawnCases = rounds.flatMap(casesOf);
    const firstCall = planFirstCall(kernel, device, runner, drawnCases.map(plannedFor), selection);
    await runner.precompile?.([...drawnCases, ...firstCall.testCases], options.onCompiled);
    deadline = performance.now() + timeLimitMs;
    runner.expect?.(timeLimitMs > 0 ? drawnCases.map(plannedFor) : []);
    for (const { arbitrary, ...parameters } of rounds)
      if (!failed) await fc.check(fc.asyncProperty(arbitrary, passes), parameters);
    if (!failed && passed.length > 0) tuned = await firstCall.run();
  } finally {
    await runner.close();
  }
  const compiling = runner.compiling?.();
  const durations = runner.durations?.();
  const last = failed ?? tuned;
  return {
    kernel,
    ...(selection.sizes && { hasChosenSizes: true }),
    outcomes: last ? [...passed, last] : passed,
    skipped: [...declared.skipped, ...describeSkipped(kernel, options, failed ? 0 : planned - tries, planned)],
    seconds: Math.round(performance.now() - start) / 1000,
    ...(compiling && { compiling }),
    ...(durations && { durations }),
    thorough: {
      seed: selection.seed,
      ...(failed && replayOf(failed, tries - passed.length - 1)),
      ...(tuned?.status === "failed" && replayOf(tuned, 0)),
    },
  };
}

/** How to run a failing case again, after `smallerTried` smaller ones. */
function replayOf({ failure, testCase }: Outcome, smallerTried: number) {
  return failure?.kind === "connection" ? {} : { replay: replayFlag(testCase), smallerTried };
}

/** Descriptions of what the run skips, except declared shapes. */
function describeSkipped(
  kernel: CompiledKernel,
  { selection, special, timeLimitMs }: ThoroughOptions,
  skipped: number,
  planned: number,
): readonly string[] {
  const timeout = `${skipped} of ${planned} cases: the time limit of ${timeLimitMs / 1000} s was reached`;
  return [
    ...[...kernel.configs.keys()].flatMap((config) => describeRejectedConfig(kernel, config, selection)),
    ...(special ? [] : ["NaN and infinities among the inputs: --special draws them"]),
    ...(skipped > 0 ? [timeout] : []),
  ];
}

/** The declared shapes, unless the user chose sizes. */
function declaredPlan(kernel: CompiledKernel, device: Device, selection: Selection): Plan {
  if (selection.sizes) return { cases: [], skipped: [] };
  return declaredCases(kernel, { ...deviceLimits[device.kind], exhaustive: false }, selection);
}

interface Round {
  readonly arbitrary: fc.Arbitrary<TestCase>;
  readonly seed: number;
  readonly numRuns: number;
  /** They run before the drawn cases and count as runs. */
  readonly examples?: [TestCase][];
}

/** Declared shapes come first, then one case per config, because drawn cases may miss some. */
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
  const configs = drawnConfigs(kernel, caseOptions);
  const examples = declared.map(({ testCase }): [TestCase] => [testCase]);
  const declaredRound = { ...round(selection.config, examples.length), examples };
  return [
    ...(examples.length > 0 ? [declaredRound] : []),
    ...configs.map((config) => round(config, 1)),
    round(selection.config, runs),
    ...(device.kind === "cuda" && kernel.specialized ? [toTmaCompatible(round(selection.config, runs))] : []),
  ];
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
