/** Compiles a kernel with Triton for any GPU, without having one: every config, dtype, flag and choice. */
import { cacheKey } from "../../compiled/canonical-json.js";
import { join } from "node:path";
import type { TestCase, CompiledKernel, Layout } from "../../compiled/compiled-kernel.js";
import { COMPILE_DEADLINE_MS } from "./precompile.js";
import { cacheFolder } from "../system/cache-folder.js";
import { keyOfText, readCache, withoutConfigs, writeCached } from "../system/json-cache.js";
import { supportsGpu } from "../../compiled/kernel-targets.js";
import { caseText } from "../cases/case-text.js";
import { compileCases } from "../cases/compile-cases.js";
import { tmaCompatibleCase } from "../cases/tma-cases.js";
import { configsOf, type Selection } from "../cases/selection.js";
import type { CompileService } from "../devices/compile-service.js";
import { failureOf } from "../cases/failure.js";
import { ptxasOf } from "./machine-code.js";
import type { CaseFailure } from "../cases/outcome.js";
import { PROTOCOL_VERSION, type CompileResult } from "../worker/protocol.js";
import { compileRequest } from "../devices/request.js";
import { openWorkspace, type Workspace } from "../devices/workspace.js";
import { occupancyOf, type Occupancy, type Target } from "../system/gpu-targets.js";
import type { RequestServer } from "../worker/worker-pool.js";

/** One config with one choice of dtypes and flags, for one target. */
export interface Compilation {
  readonly target: Target;
  readonly at: TestCase;
  /** The config of the warp-specialized kernel that was compiled, in place of the case's of the plain one. */
  readonly specialized?: number | undefined;
  /** Why it does not compile, or the resources that it needs. */
  readonly failure?: CaseFailure;
  readonly resources?: CompileResult;
  readonly occupancy?: Occupancy;
  /** Whether the result comes from an earlier run. */
  readonly cached: boolean;
}

export interface KernelCompilations {
  readonly kernel: CompiledKernel;
  readonly compilations: readonly Compilation[];
  /** What was skipped, and why. */
  readonly left: readonly string[];
  /** The targets that the kernel is not for: nothing was compiled for them. */
  readonly notRun: readonly Target[];
}

export interface CompileOptions {
  /** Who compiles. It is stopped at the end. */
  readonly service: CompileService;
  readonly targets: readonly Target[];
  /** Of each kernel. */
  readonly selections: readonly Selection[];
  /** The layout of all inputs. Default: contiguous. */
  readonly layouts?: readonly Layout[] | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Called after each compilation. */
  readonly onDone?: (done: number, planned: number) => void;
}

interface Job {
  readonly kernel: CompiledKernel;
  readonly workspace: Workspace;
  readonly target: Target;
  readonly at: TestCase;
  readonly specialized?: number;
  /** Where the result is kept. */
  readonly file: string | undefined;
}

/** Compiles with all processes of a service at a time. If a process dies, only its config fails. */
export async function compileForTargets(
  kernels: readonly CompiledKernel[],
  { service, targets, selections, layouts, env = process.env, onDone }: CompileOptions,
): Promise<KernelCompilations[]> {
  const plans = kernels.map((kernel, i) => compileCases(kernel, selections[i]!, layouts));
  const workspaces = await Promise.all(kernels.map((kernel) => openWorkspace(kernel, service.host)));
  const compiler = [PROTOCOL_VERSION, service.versions.triton ?? "", ...ptxasOf(env)];
  const jobs = kernels.flatMap((kernel, i) =>
    targetsOf(kernel, targets).flatMap((target) =>
      launchesFor(kernel, target, plans[i]!.cases, selections[i]!).map((launch): Job => ({
        kernel,
        workspace: workspaces[i]!,
        target,
        ...launch,
        file: service.kept
          ? join(cacheFolder(env), "compiled", `${keyOf(kernel, target, launch, compiler)}.json`)
          : undefined,
      })),
    ),
  );
  const done = new Map<Job, Compilation>();
  const record = (job: Job, compilation: Omit<Compilation, "target" | "at" | "occupancy">): void => {
    const { target, at, specialized } = job;
    const { resources } = compilation;
    const occupancy = resources && { occupancy: occupancyOf(target, resources) };
    done.set(job, { target, at, specialized, ...compilation, ...occupancy });
    onDone?.(done.size, jobs.length);
  };
  const queue: Job[] = [];
  for (const job of jobs) {
    const resources = job.file === undefined ? undefined : await readCache<CompileResult>(job.file);
    if (resources) record(job, { resources, cached: true });
    else queue.push(job);
  }
  try {
    await service.each(queue, async (server, job) =>
      record(job, { ...(await compileJob(server, job)), cached: false }),
    );
  } finally {
    await Promise.all([service.stop(), ...workspaces.map((workspace) => workspace.remove())]);
  }
  return kernels.map((kernel, i) => {
    const compiled = jobs.flatMap((job) => (job.kernel === kernel ? [done.get(job)!] : []));
    const unsuited = compiled.filter(isUnsuited);
    return {
      kernel,
      compilations: compiled.filter((each) => !isUnsuited(each)),
      left: [...plans[i]!.left, ...new Set(unsuited.map(({ at }) => unsuitedText(kernel, at)))],
      notRun: targets.filter((target) => !targetsOf(kernel, targets).includes(target)),
    };
  });
}

/** Those that the kernel is for. */
function targetsOf({ targets: declared = [] }: CompiledKernel, targets: readonly Target[]): readonly Target[] {
  return targets.filter(({ triton }) => declared.every((each) => supportsGpu(each, triton)));
}

interface Launch {
  readonly at: TestCase;
  readonly specialized?: number;
}

/**
 * The cases in configs that the target chooses from, and on a Hopper what else the caller chooses, in each config of the
 * warp-specialized kernel, unless a config of the plain one is asked for.
 */
function launchesFor(
  kernel: CompiledKernel,
  { triton }: Target,
  cases: readonly TestCase[],
  { config, sizes }: Selection,
): readonly Launch[] {
  const configs = configsOf(kernel, { config, on: triton });
  const plain = cases.filter((at) => configs.includes(at.config)).map((at): Launch => ({ at }));
  const isHopper = triton[0] === "cuda" && triton[1] === 90;
  if (!kernel.specialized || !isHopper || config !== undefined) return plain;
  const places = [...kernel.specialized.keys()];
  const first = plain.filter(({ at }) => at.config === plain[0]!.at.config);
  const own = first.flatMap(({ at: given }) => {
    const at = sizes || given.layouts ? given : tmaCompatibleCase(kernel, given);
    return places.map((specialized): Launch => ({ at, specialized }));
  });
  return [...plain, ...own];
}

/** Whether the plain kernel was compiled again, because the case does not suit the specialized one. */
const isUnsuited = ({ specialized, resources }: Compilation): boolean =>
  specialized !== undefined && resources?.specialized === null;

const unsuitedText = (kernel: CompiledKernel, at: TestCase): string =>
  `the warp-specialized kernel, of ${caseText(at)}: Hopper's copy engine does not move such tensors, or heads have other sizes`;

async function compileJob(server: RequestServer, { kernel, workspace, target, at, specialized, file }: Job) {
  const request = compileRequest(kernel, workspace.module, at, target, specialized);
  const reply = await server.request(request, COMPILE_DEADLINE_MS);
  if (!reply.ok) return { failure: failureOf(kernel, reply.error) };
  const isWhole = reply.result.machineCode.every(({ unchecked }) => unchecked === undefined);
  if (file !== undefined && isWhole) await writeCached(file, reply.result);
  return { resources: reply.result };
}

/**
 * Everything that the result depends on: the module without its list of configs, the config, the case, the target,
 * the form of the result, Triton and ptxas. Failures are not cached, because the lines that they name may move.
 */
function keyOf(kernel: CompiledKernel, target: Target, { at, specialized }: Launch, compiler: readonly unknown[]) {
  const source = specialized === undefined ? withoutConfigs(kernel.python) : kernel.python;
  const { at: _, ...config } = kernel.configs[at.config]!;
  const { config: __, seed: ___, ...given } = at;
  const key = cacheKey([source, config, given, specialized ?? null, target.triton, compiler]);
  return keyOfText(key);
}
