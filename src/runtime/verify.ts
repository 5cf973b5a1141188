/** Runs cases of a kernel on a device and gathers what they showed: planned ones, or one that is given. */
import type { Case, CompiledKernel, Evaluation, ProgramOrder, Tolerance } from "../compiled.js";
import { compileAhead, inEveryConfig } from "./ahead.js";
import { planCases, type Limits, type PlannedCase, type Selection, workOf } from "./cases.js";
import type { Device, PythonDevice } from "./devices.js";
import type { Outcome, OutputComparison } from "./outcome.js";
import { evaluatorFailure, failureOf } from "./failure.js";
import { faultsOfCase } from "./machine-code.js";
import { fromWire, type WireComparison } from "./protocol.js";
import { openWorkspace, verifyRequest, type Workspace } from "./request.js";

export interface VerifyOptions {
  readonly selection: Selection;
  readonly tolerance?: Partial<Tolerance>;
  /** In which order the evaluator runs programs. */
  readonly order?: ProgramOrder | undefined;
  /** How long a case may take in the worker. Default two minutes. */
  readonly deadlineMs?: number | undefined;
  /** Called after each case. */
  readonly onOutcome?: (outcome: Outcome, done: number, planned: number) => void;
  /** Called after each kernel that was compiled ahead. */
  readonly onCompiled?: ((done: number, planned: number) => void) | undefined;
}

export interface Verification {
  readonly kernel: CompiledKernel;
  readonly outcomes: readonly Outcome[];
  /** Cases that were not run, and why. */
  readonly left: readonly string[];
  readonly seconds: number;
  /** Of a GPU. */
  readonly compiling?: Compiling;
  /** Of a thorough verification. */
  readonly thorough?: {
    readonly seed: number;
    /** The flag that runs the failing case again. */
    readonly replay?: string;
    /** Cases tried to find a smaller one that fails. */
    readonly smallerTried?: number;
  };
}

/** What Triton compiled. */
export interface Compiling {
  /** Kernels compiled before cases ran, by how many processes, and in how many seconds. */
  readonly ahead: number;
  readonly processes: number;
  readonly seconds: number;
  /** Kernels that Triton's cache had. */
  readonly known: number;
  /** Kernels compiled as cases ran. */
  readonly late: number;
}

const limits: Readonly<Record<Device["kind"], Limits>> = {
  eval: { elements: 2 ** 17, work: 2 ** 22, exhaustive: false },
  interpreter: { elements: 2 ** 17, work: 2 ** 23, exhaustive: false },
  cuda: { elements: 2 ** 31, work: Infinity, exhaustive: true },
  hip: { elements: 2 ** 31, work: Infinity, exhaustive: true },
};

/** Extra cases stop after this long; those of the first shape, which meets every config, always run. */
const budgetMs: Readonly<Record<Device["kind"], number>> = {
  eval: 3_000,
  interpreter: 7_000,
  cuda: Infinity,
  hip: Infinity,
};

/** A GPU compiles each config once; the interpreter may be slow. Beyond this a case hangs. */
export const defaultDeadlineMs = 120_000;

/** The largest product of a case's sizes that the evaluator sanitises: it takes about as long as the interpreter's. */
const SANITISED_WORK = 2 ** 16;

/** So many cases may hang before the rest is left: each takes as long as its deadline. */
const MOST_HANGS = 3;

/** Runs of each case, which must agree. Where they are slow, `verify` has more. */
const repeats: Readonly<Record<Device["kind"], number>> = { eval: 1, interpreter: 1, cuda: 2, hip: 2 };

/** Verifies a kernel on an open device. */
export async function verify(kernel: CompiledKernel, device: Device, options: VerifyOptions): Promise<Verification> {
  const started = Date.now();
  const plan = planCases(kernel, limits[device.kind], options.selection);
  const left = [...plan.left];
  const { tolerance = {}, order, deadlineMs } = options;
  const runner = await openRunner(kernel, device, { tolerance, order, deadlineMs, repeats: repeats[device.kind] });
  const outcomes: Outcome[] = [];
  const record = (outcome: Outcome): void => {
    outcomes.push(outcome);
    options.onOutcome?.(outcome, outcomes.length, plan.cases.length);
  };
  const last = plan.cases.at(-1);
  const tunes = runner.tune && kernel.configs.length > 1 && options.selection.config === undefined;
  try {
    const tried = tunes && last ? inEveryConfig(kernel, last.at) : [];
    await runner.ahead?.([...plan.cases.map(({ at }) => at), ...tried], options.onCompiled);
    for (const planned of plan.cases) {
      if (outcomes.filter(({ failure }) => failure?.kind === "timeout").length >= MOST_HANGS) {
        left.push(`${plan.cases.length - outcomes.length} further cases: ${MOST_HANGS} did not end`);
        break;
      }
      if (planned.extra && Date.now() - started > budgetMs[device.kind]) {
        left.push(`${plan.cases.length - outcomes.length} further cases: out of time on this device`);
        break;
      }
      record(await runner.run(planned, outcomes.length));
    }
    if (tunes && last && outcomes.length === plan.cases.length) record(await runner.tune!(last));
  } finally {
    await runner.close();
  }
  const compiling = runner.compiling?.();
  return { kernel, outcomes, left, seconds: (Date.now() - started) / 1000, ...(compiling && { compiling }) };
}

/** Runs one case on an open device: what a property test asks for. */
export async function verifyCase(
  kernel: CompiledKernel,
  device: Device,
  at: Case,
  options: Partial<RunnerOptions> = {},
): Promise<Outcome> {
  const runner = await openRunner(kernel, device, { tolerance: {}, ...options });
  try {
    return await runner.run({ at, label: "given", extra: false }, 0);
  } finally {
    await runner.close();
  }
}

export interface Runner {
  run(planned: PlannedCase, place: number): Promise<Outcome>;
  /** Runs a case with the config that Triton's autotuner chooses. */
  tune?: (planned: PlannedCase) => Promise<Outcome>;
  /** Compiles what cases will launch. */
  ahead?: (cases: readonly Case[], onDone?: (done: number, planned: number) => void) => Promise<void>;
  compiling?: () => Compiling;
  close(): Promise<void>;
}

export interface RunnerOptions {
  readonly tolerance: Partial<Tolerance>;
  readonly order?: ProgramOrder | undefined;
  /** A case that takes longer in Python has failed. Default `defaultDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
  /** Runs of each case, which must agree; the evaluator and the interpreter change the order of programs. Default 1. */
  readonly repeats?: number | undefined;
  /** Whether the evaluator looks at each small case that passes too: it sees accesses that no number shows. */
  readonly sanitised?: boolean;
}

/** What runs cases of one kernel until it is closed. */
export async function openRunner(kernel: CompiledKernel, device: Device, options: RunnerOptions): Promise<Runner> {
  return device.kind === "eval" ? evalRunner(kernel, options) : pythonRunner(kernel, device, options);
}

function evalRunner(kernel: CompiledKernel, options: RunnerOptions): Runner {
  return {
    run: async (planned) => {
      const outcome = evaluate(kernel, planned, options);
      return (options.sanitised && outcome.status === "passed" && overflow(kernel, outcome)) || outcome;
    },
    close: async () => undefined,
  };
}

async function pythonRunner(
  kernel: CompiledKernel,
  device: PythonDevice,
  { tolerance, repeats = 1, deadlineMs, sanitised = false }: RunnerOptions,
): Promise<Runner> {
  const workspace = await openWorkspace(kernel);
  let compiling: Compiling = { ahead: 0, processes: 0, seconds: 0, known: 0, late: 0 };
  const ask = async (planned: PlannedCase, passOut: boolean, tuned: boolean): Promise<Outcome> => {
    const outcome = await askWorker(kernel, device, workspace, planned, {
      passOut,
      tuned,
      tolerance,
      repeats,
      deadlineMs,
    });
    compiling = { ...compiling, late: compiling.late + (outcome.compiled ?? 0) };
    return outcome;
  };
  const ahead: Runner["ahead"] = async (cases, onDone) => {
    const requests = cases.map((at) => verifyRequest(kernel, workspace.module, at, { passOut: false, tolerance }));
    const { compiled, known, processes, seconds } = await compileAhead(device, requests, onDone);
    compiling = {
      ...compiling,
      ahead: compiling.ahead + compiled.reduce((sum, count) => sum + count, 0),
      processes,
      seconds: compiling.seconds + seconds,
      known: compiling.known + known,
    };
  };
  return {
    // Both ways to get an output in turn: allocated by the wrapper, and passed as `out=`.
    run: async (planned, place) => {
      const outcome = await ask(planned, place % 2 === 1, false);
      if (!sanitised || outcome.status !== "passed" || outcome.by === "eval") return outcome;
      if (workOf(planned.at) > SANITISED_WORK) return outcome;
      const { findings } = evaluate(kernel, planned, { tolerance });
      if (findings.length > 0) return { ...outcome, status: "failed", findings };
      return overflow(kernel, outcome) ?? outcome;
    },
    ...(device.kind !== "interpreter" &&
      !needsPointer(kernel) && {
        tune: (planned: PlannedCase) => ask(planned, false, true),
        ahead,
        compiling: () => compiling,
      }),
    close: () => workspace.remove(),
  };
}

interface AskOptions extends Pick<RunnerOptions, "tolerance" | "repeats" | "deadlineMs"> {
  readonly passOut: boolean;
  readonly tuned: boolean;
}

/** Runs one case in the worker, with the case's config or with the one that the autotuner chooses. */
export async function askWorker(
  kernel: CompiledKernel,
  device: PythonDevice,
  workspace: Workspace,
  planned: PlannedCase,
  options: AskOptions,
): Promise<Outcome> {
  const started = Date.now();
  // Nothing is known of what a raw pointer reaches: the evaluator says so.
  if (needsPointer(kernel)) return evaluateInstead(kernel, planned, [], options);
  const request = verifyRequest(kernel, workspace.module, planned.at, options);
  const reply = await device.worker.request(request, options.deadlineMs ?? defaultDeadlineMs);
  const base = {
    at: planned.at,
    label: planned.label,
    tuned: options.tuned,
    by: "python" as const,
    comparisons: [],
    findings: [],
    problems: [],
    unchecked: [],
    ms: Date.now() - started,
  };
  // Which config the autotuner chose is not known here.
  const faults = async () => (options.tuned ? [] : faultsOfCase(device, request));
  if (!reply.ok && reply.error.kind === "unsupported")
    return evaluateInstead(kernel, planned, [reply.error.message], options);
  if (!reply.ok) {
    const failure = failureOf(kernel, reply.error);
    // Triton's autotuner passes over such a config, as long as another one is left.
    const isPassedOver = failure.kind === "out-of-resources" && kernel.configs.length > 1 && !options.tuned;
    if (!isPassedOver)
      return { ...base, status: "failed", failure, problems: failure.kind === "device-error" ? await faults() : [] };
    const why = `config ${planned.at.config} does not fit this GPU, and Triton's autotuner passes it over: ${failure.message}`;
    return { ...base, status: "unchecked", failure, unchecked: [why] };
  }
  const { comparisons, problems, corrupted, unreliable, compiled } = reply.result;
  // The next case must not pay for what this one overwrote.
  if (corrupted) await device.worker.stop();
  if (unreliable.length > 0) return evaluateInstead(kernel, planned, unreliable, options);
  const compared = comparisons.map((comparison) => comparisonOf(comparison, request.tolerances[comparison.output]));
  const passed = compared.every(({ wrong }) => wrong === 0) && problems.length === 0;
  if (passed && compared.length === 0) return { ...base, compiled, status: "unchecked", unchecked: [NO_REFERENCE] };
  if (passed) return { ...base, compiled, status: "passed", comparisons: compared, problems };
  return { ...base, compiled, status: "failed", comparisons: compared, problems: [...problems, ...(await faults())] };
}

function needsPointer({ signature }: CompiledKernel): boolean {
  return signature.pointers.some(({ optional }) => !optional);
}

const NO_REFERENCE = "the outputs were compared with nothing: the kernel has no reference";

/** Where this device's numbers can't be trusted, the evaluator gives them, and the report says so. */
function evaluateInstead(
  kernel: CompiledKernel,
  planned: PlannedCase,
  reasons: readonly string[],
  { tolerance, repeats }: AskOptions,
): Outcome {
  const outcome = evaluate(kernel, planned, { tolerance, repeats });
  return {
    ...outcome,
    unchecked: [...reasons.map((reason) => `${reason}; the evaluator ran instead`), ...outcome.unchecked],
  };
}

function evaluate(
  kernel: CompiledKernel,
  { at, label }: PlannedCase,
  { tolerance, order, repeats = 1 }: RunnerOptions,
): Outcome {
  const started = Date.now();
  const base = { at, label, tuned: false, by: "eval" as const };
  try {
    const { outputs, comparison, findings, unchecked } = kernel.evaluate(at, { tolerance, order });
    let wrong = findings.length > 0 || (comparison !== undefined && !comparison.correct);
    // What a kernel that waits computes in another order is for its own findings to say.
    const again =
      repeats > 1 && !wrong && !kernel.signature.waits && kernel.evaluate(at, { tolerance, order: "reversed" });
    const problems = again ? orderProblems(kernel, outputs, again) : [];
    wrong ||= problems.length > 0;
    return {
      ...base,
      problems,
      status: wrong ? "failed" : comparison ? "passed" : "unchecked",
      comparisons: comparison ? [comparison] : [],
      findings,
      unchecked: comparison
        ? unchecked
        : [...unchecked, "the outputs were compared with nothing: no reference that the evaluator can compute"],
      ms: Date.now() - started,
    };
  } catch (error) {
    return {
      ...base,
      status: "failed",
      comparisons: [],
      findings: [],
      problems: [],
      failure: evaluatorFailure(error),
      unchecked: [],
      ms: Date.now() - started,
    };
  }
}

/**
 * The failure where 100 among the inputs makes NaN or an infinity of what the reference has finite, as a softmax does that
 * takes no maximum off. How far other elements are off says nothing: they may cancel.
 */
function overflow(kernel: CompiledKernel, outcome: Outcome): Outcome | undefined {
  if (outcome.at.special?.some((kind) => kind !== "large")) return undefined;
  const at: Case = { ...outcome.at, special: ["large"] };
  try {
    const { comparison } = kernel.evaluate(at, { tolerance: { rtol: 0, atol: Number.MAX_VALUE } });
    if (!comparison || comparison.correct) return undefined;
    const problems = ["with 100 and -100 among the inputs, elements are not finite that the reference has finite"];
    return { ...outcome, at, status: "failed", comparisons: [comparison], problems };
  } catch {
    // What the evaluator cannot run has been reported.
    return undefined;
  }
}

/** What another order of programs changed. */
function orderProblems(
  { signature }: CompiledKernel,
  outputs: Evaluation["outputs"],
  { outputs: reversed, findings, comparison }: Evaluation,
): string[] {
  const when = "when programs run in reverse";
  if (findings[0]) return [`${when}, ${findings[0].message}`];
  if (comparison && !comparison.correct)
    return [`${comparison.wrong} of ${comparison.total} elements are wrong ${when}`];
  if (signature.unordered) return [];
  return Object.entries(outputs).flatMap(([name, { data }]) => {
    const other = reversed[name]!.data;
    const differing = Array.from<unknown>(data).filter((value, i) => !Object.is(value, other[i])).length;
    return differing > 0 ? [`${name} differs ${when}, in ${differing} of ${data.length} elements: programs race`] : [];
  });
}

function comparisonOf(wire: WireComparison, tolerance: Tolerance | undefined): OutputComparison {
  const rows = (values: readonly (readonly Parameters<typeof fromWire>[0][])[]): number[][] =>
    values.map((row) => row.map(fromWire));
  const { worst } = wire;
  return {
    maxAbsDiff: fromWire(wire.maxAbsDiff),
    maxRelDiff: fromWire(wire.maxRelDiff),
    wrong: wire.wrong,
    total: wire.total,
    ...(worst && {
      worst: {
        output: wire.output,
        index: worst.index,
        expected: fromWire(worst.expected),
        got: fromWire(worst.got),
        around: { start: worst.around.start, expected: rows(worst.around.expected), got: rows(worst.around.got) },
      },
    }),
    ...(wire.problem !== undefined && { problem: `${wire.output} ${wire.problem}` }),
    ...(tolerance && { tolerance }),
    ...(wire.referenceDiff !== undefined && { referenceDiff: fromWire(wire.referenceDiff) }),
  };
}

/** Whether every case passed, and at least one was compared with a reference. */
export function isCorrect(outcomes: readonly Outcome[]): boolean {
  return outcomes.some(({ status }) => status === "passed") && outcomes.every(({ status }) => status !== "failed");
}

/** The sizes and dtypes of a case on one line. */
export function describeCase(at: Case, configs: number): string {
  const parts = [
    ...Object.entries(at.sizes).map(([name, value]) => `${name}=${value}`),
    ...Object.entries(at.dtypes).map(([name, value]) => `${name}=${value}`),
    ...Object.entries({ ...at.scalars, ...at.constexprs }).map(([name, value]) => `${name}=${value}`),
    ...Object.entries(at.layouts ?? {}).flatMap(([name, layout]) =>
      layout === "contiguous" ? [] : [`${name} ${layout}`],
    ),
    ...(at.absent ?? []).map((name) => `without ${name}`),
    ...(at.special?.length ? [`special values (${at.special.join(", ")})`] : []),
    ...(configs > 1 ? [`config ${at.config}`] : []),
  ];
  return parts.join(" ");
}
