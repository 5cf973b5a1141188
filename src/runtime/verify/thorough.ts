/** Thorough verification: draws random cases from the signature, and reduces one that fails. */
import { jsonText } from "../../compiled/canonical-json.js";
import fc from "fast-check";
import type { TestCase, CompiledKernel, SpecialValue, Tolerance } from "../../compiled/compiled-kernel.js";
import { declaredCases, type Plan, type PlannedCase } from "../cases/cases.js";
import { tmaCompatibleCase } from "../cases/tma-cases.js";
import type { Selection } from "../cases/selection.js";
import type { Device } from "../devices/devices.js";
import { acceptedCase } from "../cases/valid-cases.js";
import { cases, type CaseOptions, drawnConfigs } from "../cases/arbitrary.js";
import type { Outcome } from "../cases/outcome.js";
import { deviceLimits } from "./device-limits.js";
import { gpuOf, whyNotRunOn } from "./other-gpu.js";
import { openRunner, type RunnerOptions, verifyCase } from "./runner.js";
import { shellWord } from "../system/shell.js";
import type { Verification } from "./plan-cases.js";

export interface ThoroughOptions {
  readonly selection: Selection;
  /** The number of cases to draw, besides those that cover every config. */
  readonly runs: number;
  /** No case starts after this time; the search for a smaller failing case may take as long again. */
  readonly timeLimitMs: number;
  /** Also puts NaN and infinities into the inputs; kernel and reference must have them in the same places. */
  readonly special?: boolean;
  readonly tolerance?: Partial<Tolerance>;
  readonly deadlineMs?: number;
  readonly onOutcome?: (done: number, planned: number) => void;
  /** Called after each kernel that was compiled ahead. */
  readonly onCompiled?: ((done: number, planned: number) => void) | undefined;
}

/**
 * The reference holds in float64, several times over, what the kernel computes lane by lane and keeps to itself, such as
 * the scores of attention: 2^34 lanes are a few gigabytes of those.
 */
const LANES = 2 ** 34;

const limits: Readonly<Record<Device["kind"], Pick<CaseOptions, "maxSize" | "maxWork" | "maxLanes">>> = {
  eval: { maxSize: 200, maxWork: 2 ** 15 },
  interpreter: { maxSize: 200, maxWork: 2 ** 16 },
  cuda: { maxSize: 1100, maxWork: 2 ** 31, maxLanes: LANES },
  hip: { maxSize: 1100, maxWork: 2 ** 31, maxLanes: LANES },
};

/** How many kernels a GPU compiles for all configs, at seconds each. Each config gets at least two. */
const SPECIALISATIONS = 32;

/** A single size may be larger than several that multiply. */
const LONG = 5000;

/** The number of runs of each case, which must agree: on a GPU, programs race differently each time. */
const repeats: Readonly<Record<Device["kind"], number>> = { eval: 2, interpreter: 2, cuda: 4, hip: 4 };

/** Without the largest number, because the order of a sum decides whether it overflows. */
const FINITE: readonly SpecialValue[] = ["-0", "subnormal"];
const SPECIAL: readonly SpecialValue[] = ["nan", "infinity", "-infinity", ...FINITE];

/** Draws cases and runs them until one fails, then shrinks that one. */
export async function verifyThoroughly(
  kernel: CompiledKernel,
  device: Device,
  options: ThoroughOptions,
): Promise<Verification> {
  const notHere = whyNotRunOn(kernel, device);
  if (notHere !== undefined) return { kernel, outcomes: [], left: [notHere], seconds: 0 };
  return drawAndRun(kernel, device, { ...options, selection: { ...options.selection, on: gpuOf(device) } });
}

async function drawAndRun(kernel: CompiledKernel, device: Device, options: ThoroughOptions): Promise<Verification> {
  const { selection, timeLimitMs } = options;
  const started = performance.now();
  const declared = declaredPlan(kernel, device, selection);
  const rounds = roundsOf(kernel, device, options, declared.cases);
  const planned = rounds.reduce((sum, { numRuns }) => sum + numRuns, 0);
  const passed: Outcome[] = [];
  let failed: Outcome | undefined;
  let [tries, deadline] = [0, 0];
  const runner = await openRunner(kernel, device, {
    tolerance: options.tolerance ?? {},
    deadlineMs: options.deadlineMs,
    repeats: repeats[device.kind],
    sanitized: true,
  });
  const plannedFor = (at: TestCase): PlannedCase =>
    declared.cases.find((each) => each.at === at) ?? { at, label: "drawn", extra: false };
  const holds = async (at: TestCase): Promise<boolean> => {
    // Out of time: the remaining cases are skipped.
    if (performance.now() > deadline) return true;
    const outcome = await runner.run(plannedFor(at), passed.length);
    if (outcome.status === "failed") {
      // Smaller cases of a hanging one would hang as long, and without a connection none can run.
      const isLast = outcome.failure?.kind === "timeout" || outcome.failure?.kind === "connection";
      if (!failed) deadline = performance.now() + (isLast ? 0 : timeLimitMs);
      failed = outcome;
    } else if (!failed) passed.push(outcome);
    tries++;
    options.onOutcome?.(tries, planned);
    return outcome.status !== "failed";
  };
  try {
    const drawn = rounds.flatMap(casesOf);
    await runner.ahead?.(drawn, options.onCompiled);
    deadline = performance.now() + timeLimitMs;
    runner.expect?.(timeLimitMs > 0 ? drawn.map(plannedFor) : []);
    for (const { drawn, ...how } of rounds) if (!failed) await fc.check(fc.asyncProperty(drawn, holds), how);
  } finally {
    await runner.close();
  }
  const compiling = runner.compiling?.();
  return {
    kernel,
    ...(selection.sizes && { chosen: true }),
    outcomes: failed ? [...passed, failed] : passed,
    left: [...declared.left, ...leftOf(kernel, options, failed ? 0 : planned - passed.length, planned)],
    seconds: Math.round(performance.now() - started) / 1000,
    ...(compiling && { compiling }),
    thorough: {
      seed: selection.seed,
      ...(failed &&
        failed.failure?.kind !== "connection" && {
          replay: replayOf(failed.at),
          smallerTried: tries - passed.length - 1,
        }),
    },
  };
}

/** What the run leaves out, besides shapes of the author's. */
function leftOf(
  kernel: CompiledKernel,
  { selection, special, timeLimitMs }: ThoroughOptions,
  skipped: number,
  planned: number,
): readonly string[] {
  const late = `${skipped} of ${planned} cases: the time limit of ${timeLimitMs / 1000} s was reached`;
  return [
    ...[...kernel.configs.keys()].flatMap((config) => refusedText(kernel, config, selection)),
    ...(special ? [] : ["NaN and infinities among the inputs: --special draws them"]),
    ...(skipped > 0 ? [late] : []),
  ];
}

/** The author's shapes, unless the user chose sizes. */
function declaredPlan(kernel: CompiledKernel, device: Device, selection: Selection): Plan {
  if (selection.sizes) return { cases: [], left: [] };
  return declaredCases(kernel, { ...deviceLimits[device.kind], exhaustive: false }, selection);
}

interface Round {
  readonly drawn: fc.Arbitrary<TestCase>;
  readonly seed: number;
  readonly numRuns: number;
  /** They come before what is drawn, and count among the runs. */
  readonly examples?: [TestCase][];
}

/** The author's shapes come first, then one case of every config, because drawn cases may miss some. */
function roundsOf(
  kernel: CompiledKernel,
  device: Device,
  options: ThoroughOptions,
  declared: readonly PlannedCase[],
): readonly Round[] {
  const { selection, runs } = options;
  const draws = drawOptions(kernel, device, options);
  const round = (config: number | undefined, numRuns: number): Round => ({
    drawn: cases(kernel, config === undefined ? draws : { ...draws, config }),
    seed: selection.seed + (config ?? -1) + 1,
    numRuns,
  });
  /** The warp-specialized kernel takes such cases alone. */
  const movable = ({ drawn, ...how }: Round): Round => ({
    ...how,
    drawn: drawn.map((at) => tmaCompatibleCase(kernel, at)),
  });
  const configs = drawnConfigs(kernel, draws);
  const examples = declared.map(({ at }): [TestCase] => [at]);
  const own = { ...round(selection.config, examples.length), examples };
  return [
    ...(examples.length > 0 ? [own] : []),
    ...configs.map((config) => round(config, 1)),
    round(selection.config, runs),
    ...(device.kind === "cuda" && kernel.specialized ? [movable(round(selection.config, runs))] : []),
  ];
}

/** A config that no sizes fit is not drawn. */
function refusedText(kernel: CompiledKernel, config: number, { config: only, sizes }: Selection): readonly string[] {
  if (only !== undefined && only !== config) return [];
  const base = acceptedCase(kernel, config, { seed: 0, ...(sizes && { sizes }) });
  return "refusal" in base ? [`config ${config}: no sizes were found that it accepts (${base.refusal})`] : [];
}

/** The cases of a round, which the seed decides. */
function casesOf({ drawn, ...how }: Round): readonly TestCase[] {
  const found: TestCase[] = [];
  fc.check(
    fc.property(drawn, (at) => void found.push(at)),
    how,
  );
  return found;
}

function drawOptions(kernel: CompiledKernel, device: Device, { selection, special }: ThoroughOptions): CaseOptions {
  const most = Math.max(2, Math.ceil(SPECIALISATIONS / kernel.configs.length));
  const { seed, ...chosen } = selection;
  return {
    ...limits[device.kind],
    ...((device.kind === "cuda" || device.kind === "hip") && { specializations: { most, seed } }),
    ...(kernel.signature.sizes.length === 1 && { maxSize: LONG }),
    ...chosen,
    empty: true,
    special: special ? SPECIAL : FINITE,
  };
}

/** The flag that runs this case again. */
function replayOf(at: TestCase): string {
  return `--case ${shellWord(jsonText(at))}`;
}

/** Runs one case again from the text of a failure. */
export async function reproduceCase(
  kernel: CompiledKernel,
  device: Device,
  at: TestCase,
  options: Pick<RunnerOptions, "tolerance" | "deadlineMs">,
): Promise<Verification> {
  const started = performance.now();
  const outcome = await verifyCase(kernel, device, at, {
    ...options,
    repeats: repeats[device.kind],
    sanitized: true,
  });
  return {
    kernel,
    chosen: true,
    outcomes: [outcome],
    left: [],
    seconds: Math.round(performance.now() - started) / 1000,
  };
}
