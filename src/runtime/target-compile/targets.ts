/** Compiles a kernel with Triton for any GPU, without needing the GPU: every config, dtype, flag and choice. */
import { cacheKey } from "../../compiled/canonical-json.js";
import { join } from "node:path";
import { type TestCase, type CompiledKernel, formatSizes, type Layout } from "../../compiled/compiled-kernel.js";
import { COMPILE_DEADLINE_MS } from "./precompile.js";
import { cacheFolder, keyOfText, readCache, withoutConfigs, writeCached } from "../system/files.js";
import { supportsGpu } from "../../compiled/gpus.js";
import { configAt, formatCase } from "../cases/cases.js";
import { compileCases, tmaCompatibleCase } from "../cases/command-cases.js";
import { constexprDims } from "../cases/shapes.js";
import { specializedCases } from "../cases/features.js";
import { configsOf, type Selection } from "../cases/selection.js";
import type { CompileService } from "../devices/devices.js";
import { type CaseFailure, failureOf } from "../cases/outcome.js";
import {
  PROTOCOL_VERSION,
  type CompileResult,
  type MachineCode,
  type RunRequest,
  type VerifyRequest,
} from "../worker/protocol.js";
import { compileRequest } from "../devices/request.js";
import { occupancyOf, type Occupancy, type Target } from "../system/gpu-targets.js";
import type { RequestServer } from "../worker/worker.js";
import { statSync } from "node:fs";
import { formatMessage, formatList } from "../../diagnostics/message.js";
import { type PythonDevice, openWorkspace, type Workspace } from "../devices/device.js";
import {
  compileError,
  compileMiscompiled,
  compileResources,
  compileSpill,
} from "../../diagnostics/catalog/command-codes.js";
import type { Location } from "../../diagnostics/diagnostic.js";

/** One config with one choice of dtypes and flags, for one target. */
export interface Compilation {
  readonly target: Target;
  readonly testCase: TestCase;
  /** The compiled config of the warp-specialized kernel, instead of the case's config of the plain kernel. */
  readonly specialized?: number | undefined;
  /** The size or integer scalar on which Triton specializes in addition to the case's config: `N=1`. */
  readonly constant?: string | undefined;
  /** The compile error; otherwise the required resources. */
  readonly failure?: CaseFailure;
  readonly resources?: CompileResult;
  readonly occupancy?: Occupancy;
  /** True if the result comes from an earlier run. */
  readonly cached: boolean;
}

export interface KernelCompilations {
  readonly kernel: CompiledKernel;
  readonly compilations: readonly Compilation[];
  /** Descriptions of what was skipped, with the reason. */
  readonly skipped: readonly string[];
  /** Targets that the kernel does not support. Nothing was compiled for them. */
  readonly notRun: readonly Target[];
}

export interface CompileOptions {
  /** The service that compiles. It is stopped at the end. */
  readonly service: CompileService;
  readonly targets: readonly Target[];
  /** One per kernel. */
  readonly selections: readonly Selection[];
  /** The layout of all inputs. Default: contiguous. */
  readonly layouts?: readonly Layout[] | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Also compiles one config with each size and integer scalar at 1 and at 16. */
  readonly withConstants?: boolean;
  /** Called after each compilation. */
  readonly onDone?: (done: number, planned: number) => void;
}

interface Job {
  readonly kernel: CompiledKernel;
  readonly workspace: Workspace;
  readonly target: Target;
  readonly testCase: TestCase;
  readonly specialized?: number;
  readonly constant?: string;
  /** The cache file of the result. */
  readonly file: string | undefined;
}

/** Compiles with all processes of a service in parallel. If a process dies, only its config fails. */
export async function compileForTargets(
  kernels: readonly CompiledKernel[],
  { service, targets, selections, layouts, env = process.env, withConstants = false, onDone }: CompileOptions,
): Promise<KernelCompilations[]> {
  const planned = kernels.map((kernel, i) => {
    const selection = selections[i]!;
    return { kernel, selection, ...compileCases(kernel, selection, layouts) };
  });
  const plans = await Promise.all(
    planned.map(async (plan) => ({ ...plan, workspace: await openWorkspace(plan.kernel, service.host) })),
  );
  const compiler = [PROTOCOL_VERSION, service.versions.triton ?? "", ...ptxasKey(env)];
  const jobs = plans.flatMap(({ kernel, selection, cases, workspace }) =>
    supportedTargets(kernel, targets).flatMap((target) =>
      launchesFor(kernel, target, cases, selection, withConstants).map((launch): Job => ({
        kernel,
        workspace,
        target,
        ...launch,
        file: service.isCacheable
          ? join(cacheFolder(env), "compiled", `${compilationKey(kernel, target, launch, compiler)}.json`)
          : undefined,
      })),
    ),
  );
  const results = new Map<Job, Compilation>();
  const record = (job: Job, compilation: Omit<Compilation, "target" | "testCase" | "occupancy">): void => {
    const { target, testCase, specialized, constant } = job;
    const { resources } = compilation;
    const occupancy = resources && { occupancy: occupancyOf(target, resources) };
    results.set(job, { target, testCase, specialized, constant, ...compilation, ...occupancy });
    onDone?.(results.size, jobs.length);
  };
  const queue: Job[] = [];
  for (const job of jobs) {
    const resources = job.file === undefined ? undefined : await readCache<CompileResult>(job.file);
    if (resources) record(job, { resources, cached: true });
    else queue.push(job);
  }
  try {
    await service.forEach(queue, async (server, job) =>
      record(job, { ...(await compileJob(server, job)), cached: false }),
    );
  } finally {
    await Promise.all([service.stop(), ...plans.map(({ workspace }) => workspace.remove())]);
  }
  return plans.map(({ kernel, skipped }) => {
    const compilations = jobs.flatMap((job) => (job.kernel === kernel ? [results.get(job)!] : []));
    const unsupported = compilations.filter(isUnsupported);
    return {
      kernel,
      compilations: compilations.filter((each) => !isUnsupported(each)),
      skipped: [...skipped, ...new Set(unsupported.map(({ testCase }) => describeUnsupported(kernel, testCase)))],
      notRun: targets.filter((target) => !supportedTargets(kernel, targets).includes(target)),
    };
  });
}

/** The targets that the kernel supports. */
function supportedTargets({ targets: declared = [] }: CompiledKernel, targets: readonly Target[]): readonly Target[] {
  return targets.filter(({ triton }) => declared.every((each) => supportsGpu(each, triton)));
}

interface Launch {
  readonly testCase: TestCase;
  readonly specialized?: number;
  readonly constant?: string;
}

/**
 * The cases in the configs of the target. On Hopper, also the caller's choices with each config of the warp-specialized
 * kernel, unless the user chose a config of the plain one.
 */
function launchesFor(
  kernel: CompiledKernel,
  { triton }: Target,
  cases: readonly TestCase[],
  { config, sizes = {}, scalars = {} }: Selection,
  withConstants: boolean,
): readonly Launch[] {
  const configs = configsOf(kernel, { config, on: triton });
  const plain = cases.filter((testCase) => configs.includes(testCase.config)).map((testCase): Launch => ({ testCase }));
  const chosen = [...Object.keys(sizes), ...Object.keys(scalars), ...constexprDims(kernel)];
  const constants = withConstants && plain[0] ? constantLaunches(kernel, plain[0].testCase, chosen) : [];
  const isHopper = triton[0] === "cuda" && triton[1] === 90;
  if (!kernel.specialized || !isHopper || config !== undefined) return [...plain, ...constants];
  const hasChosenSizes = Object.keys(sizes).length > 0;
  const specializedIndices = [...kernel.specialized.keys()];
  const [first] = plain;
  const inFirstConfig = plain.filter(({ testCase }) => testCase.config === first?.testCase.config);
  const specializedLaunches = inFirstConfig.flatMap(({ testCase: plainCase }) => {
    const testCase = hasChosenSizes || plainCase.layouts ? plainCase : tmaCompatibleCase(kernel, plainCase);
    return specializedIndices.map((specialized): Launch => ({ testCase, specialized }));
  });
  return [...plain, ...constants, ...specializedLaunches];
}

/** The case with each size and integer scalar at 1 and at 16, except the chosen ones. */
function constantLaunches(kernel: CompiledKernel, testCase: TestCase, chosen: readonly string[]): readonly Launch[] {
  const numbersOf = ({ sizes, scalars }: TestCase) => Object.entries({ ...sizes, ...scalars });
  const usual = new Map(numbersOf(testCase));
  return specializedCases(kernel, testCase, chosen).map((each) => {
    const changed = numbersOf(each).filter(([name, value]) => usual.get(name) !== value);
    return { testCase: each, constant: formatSizes(Object.fromEntries(changed)) };
  });
}

/** True if Triton compiled the plain kernel instead, because the specialized one does not support the case. */
const isUnsupported = ({ specialized, resources }: Compilation): boolean =>
  specialized !== undefined && resources?.specialized === null;

const describeUnsupported = (kernel: CompiledKernel, testCase: TestCase): string =>
  `the warp-specialized kernel, of ${formatCase(testCase)}: Hopper's copy engine does not move such tensors, or heads have other sizes`;

async function compileJob(server: RequestServer, { kernel, workspace, target, testCase, specialized, file }: Job) {
  const request = compileRequest(kernel, workspace.module, testCase, target, specialized);
  const reply = await server.request(request, COMPILE_DEADLINE_MS);
  if (!reply.ok) return { failure: failureOf(kernel, reply.error) };
  const isFullyChecked = reply.result.machineCode.every(({ unchecked }) => unchecked === undefined);
  if (file !== undefined && isFullyChecked) await writeCached(file, reply.result);
  return { resources: reply.result };
}

/**
 * A key for everything that affects the result: the module without its list of configs, the config, the case, the
 * target, the protocol version, Triton and ptxas. Failures are not cached, because their line numbers may change.
 */
function compilationKey(
  kernel: CompiledKernel,
  target: Target,
  { testCase, specialized }: Launch,
  compiler: readonly unknown[],
) {
  const source = specialized === undefined ? withoutConfigs(kernel.python) : kernel.python;
  const { at: _, ...config } = configAt(kernel, testCase.config);
  const { config: __, seed: ___, ...inputs } = testCase;
  const key = cacheKey([source, config, inputs, specialized ?? null, target.triton, compiler]);
  return keyOfText(key);
}

// Faults that `python/tilescript_worker/machine_code.py` finds in the machine code of ptxas.

interface Fault {
  readonly problem: string;
  readonly remedy: string;
}

/** The faults of ptxas, one sentence per affected kernel. */
function faultsOf(machineCode: readonly MachineCode[]): Fault[] {
  return machineCode.flatMap(({ compiler, variable, unwritten = [] }) => {
    if (unwritten.length === 0) return [];
    const problem = `${compiler} made machine code that reads ${formatList(unwritten.map(({ register }) => register))}`;
    const pronoun = unwritten.length > 1 ? "them" : "it";
    return [
      {
        problem: `${problem} before anything writes ${pronoun}: results would be wrong`,
        remedy: `set ${variable} to a newer ptxas, or change the config`,
      },
    ];
  });
}

/** The distinct reasons why machine code was not checked. */
export function uncheckedOf(machineCode: readonly MachineCode[]): string[] {
  return [
    ...new Set(machineCode.flatMap(({ unchecked }) => (unchecked === undefined ? [] : `machine code: ${unchecked}`))),
  ];
}

/**
 * The faults in the kernels that a case launches on a GPU, one line each. The kernels are in Triton's cache, because
 * the case has run.
 */
export async function faultsOfCase(
  { compilers, hello: { target } }: Pick<PythonDevice, "compilers" | "hello">,
  request: RunRequest & Partial<Pick<VerifyRequest, "specialized">>,
): Promise<string[]> {
  if (!compilers || target?.[0] !== "cuda") return [];
  const faults: Fault[] = [];
  // A case may run both the plain and the warp-specialized kernel.
  await compilers.forEach([...new Set([null, request.specialized ?? null])], async (worker, specialized) => {
    const reply = await worker.request({ ...request, type: "compile", target, specialized }, COMPILE_DEADLINE_MS);
    if (reply.ok) faults.push(...faultsOf(reply.result.machineCode));
  });
  return [...new Set(faults.map(formatMessage))];
}

/** The ptxas that the environment selects instead of Triton's own, with its modification time. */
function ptxasKey(env: NodeJS.ProcessEnv): readonly (string | number)[] {
  return ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"].flatMap((name) => {
    const path = env[name];
    if (!path) return [name];
    return [name, path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? ""];
  });
}

// Problems of a config on a target, from its compilation and its resources.

export interface CompileMessage {
  readonly severity: "error" | "warning";
  readonly rule: typeof compileError | typeof compileResources | typeof compileMiscompiled | typeof compileSpill;
  readonly problem: string;
  readonly remedy: string;
  readonly at: Location | undefined;
}

/** The errors and warnings of a config on a target. */
export function problemsOf(
  { target, failure, resources, occupancy }: Compilation,
  config: Location | undefined,
): CompileMessage[] {
  if (failure?.kind === "out-of-resources") {
    const problem = `it needs more registers than a thread may have: ${failure.message}`;
    const remedy = "raise maxnreg or leave it out, make the blocks smaller or raise numWarps";
    return [{ severity: "error", rule: compileResources, problem, remedy, at: config }];
  }
  if (failure) {
    const problem = `it does not compile: ${failure.message}`;
    return [{ severity: "error", rule: compileError, problem, remedy: "", at: failure.at ?? config }];
  }
  if (!resources) return [];
  const { limits } = target;
  const messages: CompileMessage[] = [];
  const addError = (problem: string, remedy: string) =>
    messages.push({ severity: "error", rule: compileResources, problem, remedy, at: config });
  if (resources.shared > limits.sharedOfProgram)
    addError(
      `it needs ${resources.shared} bytes of shared memory; the limit is ${limits.sharedOfProgram} for a program`,
      "make the blocks smaller or lower numStages",
    );
  else if (limits.tensorMemory !== undefined && (resources.tensorMemory ?? 0) > limits.tensorMemory)
    addError(
      `it needs ${resources.tensorMemory} columns of tensor memory; the limit is ${limits.tensorMemory} for a program`,
      "make the accumulator smaller",
    );
  else if (occupancy?.programs === 0)
    addError(`no program fits: a multiprocessor has too few ${occupancy.limit}`, "make the blocks or numWarps smaller");
  for (const fault of faultsOf(resources.machineCode))
    messages.push({ severity: "error", rule: compileMiscompiled, ...fault, at: config });
  if (resources.spilled > 0)
    messages.push({
      severity: "warning",
      rule: compileSpill,
      problem: `registers spill: each thread keeps ${resources.spilled} bytes in memory`,
      remedy: "make the blocks smaller, raise numWarps or lower numStages",
      at: config,
    });
  return messages;
}
