/** Runs cases of one kernel on a device sequentially: in the worker, or on the evaluator. */
import { ALGORITHM_CHECK } from "../../compiled/errors.js";
import { type TestCase, type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import { missingRequirement } from "../cases/command-cases.js";
import {
  runInWorker,
  needsPointer,
  CaseCompiler,
  type CompileCounts,
  evaluate,
  type EvaluatorOptions,
  checkOverflow,
} from "./case-steps.js";
import { costOf, type PlannedCase, type Limits } from "../cases/cases.js";
import { QUEUE_DEPTH, type Member } from "../worker/worker.js";
import { wasCompared, type Outcome } from "../cases/outcome.js";
import { verifyRequest } from "../devices/request.js";
import { formatLocation } from "../../diagnostics/diagnostic.js";
import { isCancelling } from "../../compiled/tolerance.js";
import { type Device, type PythonDevice, checkedKernel, openWorkspace } from "../devices/device.js";
import { cacheKey } from "../../compiled/canonical-json.js";
import { withDeadline } from "../system/processes.js";

export interface Runner {
  /** Announces the cases that will run, in this order, so that several workers can prefetch them. */
  expect?: (cases: readonly PlannedCase[]) => void;
  run(planned: PlannedCase, index: number): Promise<Outcome>;
  /** Calls the wrapper twice as a user does: with an empty cache, and with the autotuner's choice of the config. */
  tune?: (planned: PlannedCase) => Promise<Outcome>;
  /**
   * Compiles the kernels that the cases will launch. A case runs as soon as its own are compiled; the promise resolves
   * when all are.
   */
  precompile?: (cases: readonly TestCase[], onDone?: (done: number, planned: number) => void) => Promise<void>;
  compiling?: () => CompileCounts;
  /** The durations of the cases so far. */
  durations?: () => Durations;
  close(): Promise<void>;
}

export interface RunnerOptions extends EvaluatorOptions {
  /**
   * True if the evaluator also runs each small case that passes, to find wrong accesses that do not change results.
   * Otherwise it runs one case per choice of dtypes.
   */
  readonly isSanitized?: boolean;
}

/** The cost limit for additional runs on the evaluator, which takes about as long as the interpreter. */
const MAX_SANITIZED_WORK = 2 ** 22;

/** A config of the warp-specialized kernel. Derived from the case alone, so that a failing one can be replayed. */
const specializedConfig = ({ testCase }: PlannedCase): number => testCase.config + testCase.seed;

/** Adds the evaluator's findings to a case that passed on a device: wrong accesses, and a wrong algorithm. */
function withEvaluation(outcome: Outcome, evaluation: Outcome): Outcome {
  const { findings, comparisons, failure, reached, isAlgorithmChecked = false } = evaluation;
  if (findings.length > 0) return { ...outcome, status: "failed", findings };
  // Rounding errors depend on the device, so only mistakes count.
  if (comparisons.some(({ finds }) => finds === "mistake")) return { ...outcome, status: "failed", comparisons };
  const reason = failure?.message ?? evaluation.unchecked.at(-1);
  const unchecked = isAlgorithmChecked
    ? evaluation.unchecked.filter((reason) => reason.startsWith(ALGORITHM_CHECK))
    : [`${ALGORITHM_CHECK}: ${reason ?? "the evaluator did not compare it"}`];
  return {
    ...outcome,
    isAlgorithmChecked,
    reached,
    unchecked: [...outcome.unchecked, ...unchecked],
  };
}

/** Runs one case on an open device, for property tests. */
export async function verifyCase(
  kernel: CompiledKernel,
  device: Device,
  testCase: TestCase,
  options: Partial<RunnerOptions> = {},
): Promise<Outcome> {
  const runner = await openRunner(kernel, device, { tolerance: {}, ...options });
  try {
    return await runner.run({ testCase, label: "given", isExtra: false }, 0);
  } finally {
    await runner.close();
  }
}

/** A runner for cases of one kernel, until it is closed. */
export async function openRunner(kernel: CompiledKernel, device: Device, options: RunnerOptions): Promise<Runner> {
  const runner = await (device.kind === "eval" ? evalRunner(kernel, options) : pythonRunner(kernel, device, options));
  const excuse = excuseRefusals(kernel);
  return {
    ...runner,
    run: async (planned, index) => explainCancellation(kernel, excuse(await runner.run(planned, index))),
  };
}

/** Adds the difference of prefix sums to a case in which it lost the small elements. */
function explainCancellation({ prefixDifference }: CompiledKernel, outcome: Outcome): Outcome {
  const { testCase, comparisons, problems } = outcome;
  const isLost = outcome.status === "failed" && comparisons.some(({ wrong }) => wrong > 0);
  if (!isLost || !prefixDifference || !testCase.special?.some(isCancelling)) return outcome;
  const { location } = prefixDifference;
  const locationText = location ? ` at ${formatLocation(location)}` : "";
  const problem = `the difference of sums${locationText} loses elements that are small beside what both sums contain; add up the elements that remain, such as with tl.cumsum(x, 0, { reverse: true }), or declare a tolerance`;
  return { ...outcome, problems: [...problems, problem] };
}

/** Labels of cases whose sizes somebody chose. */
const CHOSEN_LABELS: ReadonlySet<string> = new Set(["given", "measured", "tuned"]);

/**
 * A case that nobody asked for, and whose sizes the reference refuses, has not failed: the kernel lacks a requirement.
 * Each one is said once.
 */
function excuseRefusals(kernel: CompiledKernel): (outcome: Outcome) => Outcome {
  const said = new Map<string, string>();
  /** The dtypes in which the reference has been taken. */
  const taken = new Set<string>();
  return (outcome) => {
    const { failure, testCase, declaredIndex, label } = outcome;
    const dtypes = JSON.stringify(testCase.dtypes);
    if (outcome.status === "passed") taken.add(dtypes);
    const isChosen = declaredIndex !== undefined || CHOSEN_LABELS.has(label);
    if (!failure?.isRefusedReference || isChosen || !taken.has(dtypes)) return outcome;
    const refusal = failure.message.replace(/\.$/, "");
    const requirement = missingRequirement(kernel, testCase);
    const { sizes } = testCase;
    // An operator has the requirements of its kernels.
    const part = kernel.signature.kernels ? "requires of one of its kernels" : "requires";
    const remedy =
      requirement === undefined
        ? `state in ${part} what ${Object.keys(sizes).join(", ")} must be, or let the reference take these sizes`
        : `add ${part}: ${requirement}`;
    const reason = said.get(remedy) ?? `the reference refuses ${formatSizes(sizes)} (${refusal}); ${remedy}`;
    said.set(remedy, reason);
    return { ...outcome, status: "unchecked", unchecked: [reason] };
  };
}

function evalRunner(kernel: CompiledKernel, options: RunnerOptions): Runner {
  return {
    run: async (planned) => {
      const outcome = evaluate(kernel, planned, options);
      return (options.isSanitized && outcome.status === "passed" && checkOverflow(kernel, outcome)) || outcome;
    },
    close: async () => undefined,
  };
}

async function pythonRunner(
  plainKernel: CompiledKernel,
  device: PythonDevice,
  { tolerance, repeats = 1, deadlineMs, isSanitized: sanitized = false }: RunnerOptions,
): Promise<Runner> {
  const kernel = checkedKernel(plainKernel);
  const workspace = await openWorkspace(kernel, device.host);
  /** The choices of dtypes in which the evaluator has checked the algorithm. */
  const checkedDtypes = new Set<string>();
  const clock = new Stopwatch();
  const compiler = new CaseCompiler(device);
  const runCase = async (planned: PlannedCase, index?: number): Promise<Outcome> => {
    const isAutotuned = index === undefined;
    // Alternates between outputs that the wrapper allocates and outputs passed as `out=`.
    const passOut = index !== undefined && index % 2 === 1;
    const specialized =
      device.kind === "cuda" && kernel.specialized && !isAutotuned ? specializedConfig(planned) : undefined;
    const options = { passOut, isAutotuned, specialized, tolerance, repeats, deadlineMs };
    await (isAutotuned ? compiler.allReady() : compiler.ready(planned.testCase));
    const run = ({ worker }: Member) => runInWorker(kernel, device, worker, workspace, planned, options);
    // The autotuner measures, so it needs the GPU for itself.
    const outcome = await (isAutotuned ? device.workers.lease(run) : device.workers.share(run));
    compiler.countLate(outcome.compiled ?? 0);
    return outcome;
  };
  const { size } = device.workers;
  const lookahead = new Lookahead(size > 1 ? size * QUEUE_DEPTH : 1, runCase);
  const requestOf = (testCase: TestCase) =>
    verifyRequest(kernel, workspace.module, testCase, { passOut: false, tolerance, mode: device.kind });
  return {
    expect: (cases) => lookahead.expect(cases),
    run: async (planned, index) => {
      await clock.measure("waiting", compiler.ready(planned.testCase));
      const outcome = await clock.measure("device", lookahead.take(planned, index));
      if (outcome.status !== "passed" || outcome.by === "eval") return outcome;
      const dtypes = JSON.stringify(planned.testCase.dtypes);
      if (!sanitized && (checkedDtypes.has(dtypes) || kernel.reference !== "recorded")) return outcome;
      if (costOf(kernel, planned.testCase, deviceLimits.eval) > MAX_SANITIZED_WORK) return outcome;
      const evaluation = clock.measureSync("evaluator", () => evaluate(kernel, planned, { tolerance, deadlineMs }));
      const merged = withEvaluation(outcome, evaluation);
      if (wasCompared(merged) && merged.isAlgorithmChecked) checkedDtypes.add(dtypes);
      return (sanitized && merged.status === "passed" && checkOverflow(kernel, merged)) || merged;
    },
    ...(!needsPointer(kernel) && { tune: (planned: PlannedCase) => clock.measure("firstCall", runCase(planned)) }),
    ...(device.kind !== "interpreter" &&
      !needsPointer(kernel) && {
        precompile: (cases, onDone) => compiler.compile(cases, requestOf, onDone),
        compiling: () => compiler.counts,
      }),
    durations: () => clock.seconds,
    close: async () => {
      compiler.stop();
      await lookahead.drop(() => device.workers.stop());
      await workspace.remove();
    },
  };
}

// The amount of work that each device computes in a few seconds.

/**
 * An op of Triton's interpreter takes tens of microseconds, independent of its lanes; an op of the evaluator takes a
 * few.
 */
export const deviceLimits: Readonly<Record<Device["kind"], Limits>> = {
  eval: { elements: 2 ** 17, work: 2 ** 25, op: 2 ** 8, exhaustive: false },
  interpreter: { elements: 2 ** 17, work: 2 ** 25, op: 2 ** 12, exhaustive: false },
  cuda: { elements: 2 ** 31, work: Infinity, op: 0, exhaustive: true },
  hip: { elements: 2 ** 31, work: Infinity, op: 0, exhaustive: true },
};

// Prefetches results for a consumer that takes them in order, so that several workers are busy. The order of results
// does not depend on the number of workers.

/** The time that unneeded work in progress has to finish before it is stopped. */
const DRAIN_MS = 2_000;

export class Lookahead<Item, Result> {
  readonly #start: (item: Item, index: number) => Promise<Result>;
  readonly #concurrency: number;
  #items: readonly Item[] = [];
  #started: { readonly item: Item; readonly result: Promise<Result>; isDone: boolean }[] = [];
  #takenCount = 0;

  /** `concurrency` is the number of items in progress at a time. If it is 1, nothing starts before it is taken. */
  constructor(concurrency: number, start: (item: Item, index: number) => Promise<Result>) {
    this.#concurrency = concurrency;
    this.#start = start;
  }

  /** Announces the items that `take` will request, in this order. */
  expect(items: readonly Item[]): void {
    this.#items = items;
    this.#started = [];
    this.#takenCount = 0;
    this.#fill();
  }

  /** Returns the result of an item. Starts it now if it was not expected at this index. */
  async take(item: Item, index: number): Promise<Result> {
    const entry = this.#started[index];
    this.#takenCount = Math.max(this.#takenCount, index + 1);
    this.#fill();
    return entry && isSame(entry.item, item) ? entry.result : this.#start(item, index);
  }

  /** Waits for work in progress. If that takes too long, calls `end`, which must stop the work. */
  async drop(end: () => Promise<void>): Promise<void> {
    this.#items = [];
    const pending = this.#started.filter(({ isDone }) => !isDone).map(({ result }) => result);
    if (pending.length > 0 && (await withDeadline(Promise.allSettled(pending), DRAIN_MS)) === "late") await end();
  }

  /** Starts work until all workers are busy. Results may be at most that far ahead of the consumer again. */
  #fill(): void {
    if (this.#concurrency < 2) return;
    const limit = Math.min(this.#items.length, this.#takenCount + 2 * this.#concurrency);
    while (this.#started.length < limit && this.#started.filter(({ isDone }) => !isDone).length < this.#concurrency) {
      const item = this.#items[this.#started.length]!;
      const entry = { item, result: this.#start(item, this.#started.length), isDone: false };
      this.#started.push(entry);
      const onSettled = (): void => {
        entry.isDone = true;
        this.#fill();
      };
      entry.result.then(onSettled, onSettled);
    }
  }
}

/** Compares by value, because fast-check generates equal cases again. */
function isSame(lhs: unknown, rhs: unknown): boolean {
  return lhs === rhs || cacheKey(lhs) === cacheKey(rhs);
}

// The durations of the parts of a run.

/** Seconds of the cases of a kernel. */
export interface Durations {
  /** Waiting until the kernels of the next case are compiled. */
  readonly waiting: number;
  /** Running the kernel and the reference on the device. */
  readonly device: number;
  /** Checking the algorithm on the evaluator. */
  readonly evaluator: number;
  /** Calling the wrapper with an empty cache and the autotuner. */
  readonly firstCall: number;
}

/** Sums the time of each kind of work. */
class Stopwatch {
  readonly #ms = { waiting: 0, device: 0, evaluator: 0, firstCall: 0 };

  async measure<Result>(name: keyof Durations, work: Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await work;
    } finally {
      this.#ms[name] += performance.now() - start;
    }
  }

  measureSync<Result>(name: keyof Durations, work: () => Result): Result {
    const start = performance.now();
    const result = work();
    this.#ms[name] += performance.now() - start;
    return result;
  }

  get seconds(): Durations {
    const { waiting, device, evaluator, firstCall } = this.#ms;
    const rounded = (ms: number): number => Math.round(ms) / 1000;
    return {
      waiting: rounded(waiting),
      device: rounded(device),
      evaluator: rounded(evaluator),
      firstCall: rounded(firstCall),
    };
  }
}
