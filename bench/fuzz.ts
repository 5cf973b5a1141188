/**
 * Compiles random kernels with both supported versions of Triton: `npm run fuzz -- kernels --kernels 10000 --seed 1`.
 * Triton must accept each kernel that our checks accept: its front end types all of them again (`ttir`), and a fraction
 * is compiled further, to LLVM and to machine code for sm_90. `TILESCRIPT_PYTHON` and `TILESCRIPT_PYTHON36` name the
 * Pythons. A failing kernel is shrunk and printed as TypeScript with the emitted Python.
 *
 * With `--emit-jobs jobs.jsonl`, nothing is compiled here: the jobs are written for `bench/compile_jobs.py`, which
 * needs only Triton.
 */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { TileScriptError } from "tilescript";
import type { Shape } from "../tests/triton/compile/arguments.js";
import { recipeOf, shrunk } from "../tests/kernels/random/draw.js";
import { accept, type Accepted, compileScript, jobOf, type Stage } from "../tests/kernels/random/jobs.js";
import type { Recipe } from "../tests/kernels/random/recipe.js";
import { typescriptOf } from "../tests/kernels/random/typescript.js";
import { distribute, Worker } from "../tests/kernels/random/workers.js";

const { values: flags } = parseArgs({
  options: {
    kernels: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    /** One kernel in this many is compiled to LLVM's IR, or to machine code. */
    llir: { type: "string", default: "10" },
    cubin: { type: "string", default: "50" },
    /** Stops drawing after this many minutes. */
    minutes: { type: "string", default: "1000" },
    /** Processes for each version. */
    processes: { type: "string", default: "1" },
    out: { type: "string" },
    "emit-jobs": { type: "string" },
  },
});
const [count, seed, llir, cubin] = [flags.kernels, flags.seed, flags.llir, flags.cubin].map(Number) as [
  number,
  number,
  number,
  number,
];

/** The deadline, in `performance.now()`'s milliseconds. */
const end = performance.now() + Number(flags.minutes) * 60_000;

const SHAPES: readonly Shape[] = ["aligned", "odd", "strided", "ones"];
const stageOf = (i: number): Stage => (i % cubin === 0 ? "cubin" : i % llir === 0 ? "llir" : "ttir");
const shapeOf = (i: number): Shape => SHAPES[i % 4]!;

interface Failure {
  readonly seed: number;
  readonly triton: string;
  readonly stage: Stage;
  readonly error: string;
  readonly kernel: string;
  readonly python: string;
}
const failures: Failure[] = [];
const refusals = new Map<string, number>();
const counts = { drawn: 0, refused: 0, crashed: 0 };
/** The number of kernels accepted after each stage, by version. */
const acceptedCounts = new Map<string, Record<string, number>>();

function attempt(recipe: Recipe): Accepted | undefined {
  try {
    return accept(recipe);
  } catch (error) {
    if (error instanceof TileScriptError) return undefined;
    throw error;
  }
}

/** Kernels that only one version has compiled so far. */
const pending = new Map<number, Accepted | undefined>();

/** Creates each kernel once for both versions. */
function kernelOf(i: number): Accepted | undefined {
  if (pending.has(i)) {
    const kernel = pending.get(i);
    pending.delete(i);
    return kernel;
  }
  const kernel = drawKernel(seed + i);
  pending.set(i, kernel);
  return kernel;
}

function drawKernel(number: number): Accepted | undefined {
  counts.drawn++;
  try {
    return accept(recipeOf(number));
  } catch (error) {
    if (error instanceof TileScriptError) {
      counts.refused++;
      const { message } = error.diagnostics[0]!;
      refusals.set(message, (refusals.get(message) ?? 0) + 1);
    } else {
      counts.crashed++;
      console.log(`seed ${number}: ${(error as Error).stack}`);
    }
    return undefined;
  }
}

/** Compiles the same kernels with each version, one stream of jobs per version. */
async function runVersion(python: string, isNewest: boolean): Promise<void> {
  let nextIndex = 0;
  const workers = Array.from({ length: Number(flags.processes) }, () => new Worker(python, compileScript));
  await distribute(
    workers,
    () => (nextIndex < count && performance.now() < end ? nextIndex++ : undefined),
    async (worker, i) => {
      const kernel = kernelOf(i);
      if (!kernel || (kernel.since39 && !isNewest)) return;
      const answer = await worker.ask(jobOf(String(i), kernel, stageOf(i), shapeOf(i)));
      const countsByStage = acceptedCounts.get(worker.version) ?? {};
      acceptedCounts.set(worker.version, countsByStage);
      if (answer.error === undefined) countsByStage[stageOf(i)] = (countsByStage[stageOf(i)] ?? 0) + 1;
      else await report(worker, i, answer.error);
      if (i % 500 === 499) console.log(`Triton ${worker.version}: ${i + 1} kernels, ${failures.length} failures`);
    },
  );
  for (const worker of workers) worker.close();
}

async function report(worker: Worker, i: number, error: string): Promise<void> {
  const smallest = await shrunk(seed + i, async (recipe) => {
    const kernel = attempt(recipe);
    if (!kernel || (kernel.since39 && worker.python !== pythons[0])) return false;
    return (await worker.ask(jobOf("shrinking", kernel, stageOf(i), shapeOf(i)))).error !== undefined;
  });
  const kernel = accept(smallest);
  const reply = await worker.ask(jobOf("shrunk", kernel, stageOf(i), shapeOf(i)));
  const failure: Failure = {
    seed: seed + i,
    triton: worker.version,
    stage: stageOf(i),
    error: (reply.error ?? error).slice(0, 2000),
    kernel: typescriptOf(kernel.ir),
    python: jobOf("", kernel, "ttir", shapeOf(i)).source,
  };
  failures.push(failure);
  console.log(
    `seed ${failure.seed} fails on Triton ${failure.triton} (${failure.stage}, ${shapeOf(i)}):\n${failure.error}\n${failure.kernel}\n${failure.python}`,
  );
}

/** The jobs of all kernels, by seed, for another machine. */
function emit(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  for (let i = 0; i < count && performance.now() < end; i++) {
    const kernel = drawKernel(seed + i);
    if (!kernel) continue;
    const job = { ...jobOf(String(seed + i), kernel, stageOf(i), shapeOf(i)), since39: kernel.since39 };
    appendFileSync(file, `${JSON.stringify(job)}\n`);
  }
}

const pythons = [process.env["TILESCRIPT_PYTHON"], process.env["TILESCRIPT_PYTHON36"]];
if (!flags["emit-jobs"] && !(pythons[0] && pythons[1]))
  throw new Error("set TILESCRIPT_PYTHON and TILESCRIPT_PYTHON36 to Pythons with Triton 3.9 and 3.6");
console.log(`${count} kernels from seed ${seed}`);
const start = performance.now();
if (flags["emit-jobs"]) emit(flags["emit-jobs"]);
else await Promise.all(pythons.map((python, i) => runVersion(python!, i === 0)));
const seconds = (performance.now() - start) / 1000;

const result = {
  date: new Date().toISOString().slice(0, 10),
  seed,
  kernels: counts,
  refusals: Object.fromEntries(refusals),
  /** Kernels that Triton accepted, by version and by the last stage that ran. */
  accepted: Object.fromEntries(acceptedCounts),
  failures,
  seconds: Math.round(seconds),
  kernelsPerSecond: Number((counts.drawn / seconds).toFixed(2)),
  target: "sm_90",
};
console.log(JSON.stringify({ ...result, failures: failures.length }, null, 2));
if (flags.out) {
  mkdirSync(dirname(flags.out), { recursive: true });
  writeFileSync(flags.out, `${JSON.stringify(result, null, 2)}\n`);
}
process.exitCode = failures.length + counts.crashed > 0 ? 1 : 0;
