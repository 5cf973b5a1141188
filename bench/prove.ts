/**
 * CPU time of proofs, each in a separate process: `npm run bench -- prove` for the examples, `-- --tests` for the
 * kernels of the seeded mistakes, `-- --file examples/gemm.ts` for one file. Building is not included. `-- --write`
 * takes the minimum of three processes for each example, since other work on the machine slows a process down, and
 * writes bench/results/proofs.json, the source of the figures in docs/proofs.md.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { loadavg } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { build, type CompiledKernel } from "tilescript";
import { KernelDefinition } from "../src/dsl/definition.js";
import { OperatorDefinition } from "../src/dsl/operator.js";
import { roundToTenth, writeReport } from "./write-report.js";

const { values: flags } = parseArgs({
  options: {
    file: { type: "string" },
    tests: { type: "boolean" },
    kernel: { type: "string" },
    write: { type: "boolean" },
  },
});
const root = fileURLToPath(new URL("..", import.meta.url));
/** Goals, in seconds of CPU: the maximum per kernel, and the mean. */
const GOALS = { most: flags.tests ? 2 : 1, mean: 0.3 };

export interface Row {
  readonly file: string;
  readonly kernel: string;
  readonly seconds: number;
}

/** Proves the kernels that a file exports, and prints a row for each. */
async function proveFile(file: string): Promise<void> {
  const module = (await import(pathToFileURL(resolve(root, file)).href)) as Record<string, unknown>;
  for (const [name, exported] of Object.entries(module)) {
    const isKernel = exported instanceof KernelDefinition || exported instanceof OperatorDefinition;
    if (!isKernel || (flags.kernel && name !== flags.kernel)) continue;
    const compiled = await build(exported);
    console.log(JSON.stringify({ file: basename(file), kernel: name, seconds: await cpuOf(compiled) } satisfies Row));
  }
}

/**
 * Seconds of CPU of all threads. Node keeps optimizing code that the build ran often, which is not part of the proof.
 */
async function cpuOf(compiled: CompiledKernel): Promise<number> {
  await waitUntilIdle();
  const start = process.cpuUsage();
  compiled.proof();
  return secondsSince(start);
}

function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** Waits until this process is idle. */
async function waitUntilIdle(): Promise<void> {
  for (let idle = 0; idle < 3;) {
    const start = process.cpuUsage();
    await sleep(20);
    idle = secondsSince(start) < 0.004 ? idle + 1 : 0;
  }
}

const sourceFilesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));

/** The kernels of a file, each with the minimum time of several processes. */
function rowsOf(file: string, processes: number): readonly Row[] {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), "--file", file];
  const fastestRows = new Map<string, Row>();
  for (let i = 0; i < processes; i++) {
    const { stdout, status } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) throw new Error(`${file} cannot be proved`);
    for (const line of stdout.split("\n").filter((each) => each.startsWith("{"))) {
      const row = JSON.parse(line) as Row;
      const fastest = fastestRows.get(row.kernel);
      if (!fastest || row.seconds < fastest.seconds) fastestRows.set(row.kernel, row);
    }
  }
  return [...fastestRows.values()];
}

/** The record of `--write`. */
export interface ProofTimes {
  readonly date: string;
  readonly machine: { readonly cores: number; readonly processor: string; readonly node: string };
  /** The average number of processes that wanted a core in the minute before. */
  readonly loadBefore: number;
  readonly processes: number;
  readonly rows: readonly Row[];
}

function main(): void {
  const [loadBefore = 0] = loadavg();
  const processes = flags.write ? 3 : 1;
  const files = sourceFilesIn(flags.tests ? "tests/kernels/mutants/sources" : "examples");
  const rows = files.flatMap((file) => rowsOf(file, processes)).toSorted((x, y) => y.seconds - x.seconds);
  for (const { file, kernel, seconds } of rows) console.log(`${seconds.toFixed(2).padStart(6)} s  ${file} ${kernel}`);
  const mean = rows.reduce((sum, { seconds }) => sum + seconds, 0) / rows.length;
  console.log(
    `${rows.length} kernels: ${mean.toFixed(2)} s at the mean (goal ${GOALS.mean}), ${rows[0]!.seconds.toFixed(2)} s at most (goal ${GOALS.most})`,
  );
  if (flags.write)
    writeReport("proofs", {
      loadBefore: roundToTenth(loadBefore),
      processes,
      rows,
    } satisfies Omit<ProofTimes, "date" | "machine">);
}

if (flags.file) await proveFile(flags.file);
else if (process.argv[1] === import.meta.filename) main();
