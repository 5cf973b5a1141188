/**
 * CPU time of proofs, each in a process of its own: `npm run bench:prove` for the examples, `-- --tests` for the kernels of the
 * seeded mistakes, `-- --file examples/gemm.ts` for one file. Building is not part of it. `-- --write` takes the least of
 * three processes for each example, since other work on the machine costs a process time, and writes
 * bench/results/proofs.json, of which docs/proofs.md has the figures.
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
import { rounded, writeReport } from "./write-report.js";

const { values: flags } = parseArgs({
  options: {
    file: { type: "string" },
    tests: { type: "boolean" },
    kernel: { type: "string" },
    write: { type: "boolean" },
  },
});
const root = fileURLToPath(new URL("..", import.meta.url));
/** Seconds of CPU: for each kernel of a file, and at the mean. */
const GOALS = { most: flags.tests ? 2 : 1, mean: 0.3 };

export interface Row {
  readonly file: string;
  readonly kernel: string;
  readonly seconds: number;
}

/** Proves what a file exports, and prints a row for each. */
async function proveFile(file: string): Promise<void> {
  const module = (await import(pathToFileURL(resolve(root, file)).href)) as Record<string, unknown>;
  for (const [name, exported] of Object.entries(module)) {
    const isKernel = exported instanceof KernelDefinition || exported instanceof OperatorDefinition;
    if (!isKernel || (flags.kernel && name !== flags.kernel)) continue;
    const compiled = await build(exported);
    console.log(JSON.stringify({ file: basename(file), kernel: name, seconds: await cpuOf(compiled) } satisfies Row));
  }
}

/** Seconds of CPU of all threads. Node goes on compiling what a build ran often, which is no part of the proof. */
async function cpuOf(compiled: CompiledKernel): Promise<number> {
  await settled();
  const start = process.cpuUsage();
  compiled.proof();
  return secondsSince(start);
}

function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** Waits until this process does nothing. */
async function settled(): Promise<void> {
  for (let idle = 0; idle < 3;) {
    const start = process.cpuUsage();
    await sleep(20);
    idle = secondsSince(start) < 0.004 ? idle + 1 : 0;
  }
}

const listed = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));

/** The kernels of a file, each with the least time of a few processes. */
function rowsOf(file: string, processes: number): readonly Row[] {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), "--file", file];
  const found = new Map<string, Row>();
  for (let i = 0; i < processes; i++) {
    const { stdout, status } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) throw new Error(`${file} cannot be proved`);
    for (const line of stdout.split("\n").filter((each) => each.startsWith("{"))) {
      const row = JSON.parse(line) as Row;
      const before = found.get(row.kernel);
      if (!before || row.seconds < before.seconds) found.set(row.kernel, row);
    }
  }
  return [...found.values()];
}

/** What `--write` records. */
export interface ProofTimes {
  readonly date: string;
  readonly machine: { readonly cores: number; readonly processor: string; readonly node: string };
  /** How many processes wanted a core in the minute before, on average. */
  readonly loadBefore: number;
  readonly processes: number;
  readonly rows: readonly Row[];
}

function main(): void {
  const [loadBefore = 0] = loadavg();
  const processes = flags.write ? 3 : 1;
  const files = listed(flags.tests ? "tests/kernels/mutants/sources" : "examples");
  const rows = files.flatMap((file) => rowsOf(file, processes)).toSorted((x, y) => y.seconds - x.seconds);
  for (const { file, kernel, seconds } of rows) console.log(`${seconds.toFixed(2).padStart(6)} s  ${file} ${kernel}`);
  const mean = rows.reduce((sum, { seconds }) => sum + seconds, 0) / rows.length;
  console.log(
    `${rows.length} kernels: ${mean.toFixed(2)} s at the mean (goal ${GOALS.mean}), ${rows[0]!.seconds.toFixed(2)} s at most (goal ${GOALS.most})`,
  );
  if (flags.write)
    writeReport("proofs", {
      loadBefore: rounded(loadBefore),
      processes,
      rows,
    } satisfies Omit<ProofTimes, "date" | "machine">);
}

if (flags.file) await proveFile(flags.file);
else if (process.argv[1] === import.meta.filename) main();
