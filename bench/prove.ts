/**
 * CPU time of proofs, each in a process of its own: `npm run bench:prove` for the examples, `-- --tests` for the kernels of the
 * seeded mistakes, `-- --file examples/gemm.ts` for one file. Building is not part of it.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { build, type CompiledKernel } from "tilescript";
import { KernelDefinition } from "../src/dsl/definition.js";
import { OperatorDefinition } from "../src/dsl/operator.js";

const { values: flags } = parseArgs({
  options: { file: { type: "string" }, tests: { type: "boolean" }, kernel: { type: "string" } },
});
const root = fileURLToPath(new URL("..", import.meta.url));
/** Seconds of CPU: for each kernel of a file, and at the mean. */
const GOALS = { most: flags.tests ? 2 : 1, mean: 0.3 };

interface Row {
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

if (flags.file) await proveFile(flags.file);
else {
  const files = listed(flags.tests ? "tests/kernels/mutants/sources" : "examples");
  const rows = files.flatMap((file): readonly Row[] => {
    const args = [...process.execArgv, fileURLToPath(import.meta.url), "--file", file];
    const { stdout, status } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) throw new Error(`${file} cannot be proved`);
    return stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Row] : []));
  });
  for (const { file, kernel, seconds } of rows.toSorted((x, y) => y.seconds - x.seconds))
    console.log(`${seconds.toFixed(2).padStart(6)} s  ${file} ${kernel}`);
  const mean = rows.reduce((sum, { seconds }) => sum + seconds, 0) / rows.length;
  const most = Math.max(...rows.map(({ seconds }) => seconds));
  console.log(
    `${rows.length} kernels: ${mean.toFixed(2)} s at the mean (goal ${GOALS.mean}), ${most.toFixed(2)} s at most (goal ${GOALS.most})`,
  );
}
