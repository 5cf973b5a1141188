/**
 * Draws kernels at random from a folder of repositories, and imports them: `npm run bench -- import-draw FOLDER --seed 1
 * --kernels 300 [--minutes 60] [--lift] [--out OUT] [--log LOG] [--record]`. Each folder in FOLDER is a repository. Nothing is
 * downloaded, and no kernel runs.
 *
 * Each round draws one file of every repository, until Triton compiles this many kernels or the minutes are over. A
 * drawn file contributes every `@triton.jit` function that it defines and launches. `bench/import_draw.py` records the
 * calls of each kernel that tests of its repository make, if the Python environment has pytest. For the other kernels,
 * it finds types for which Triton compiles them. LOG receives a JSON line per kernel.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { seedOf, shuffled, uniform } from "../src/numerics/random.js";
import { thisMachine } from "../src/runtime/devices/devices.js";
import type { ReadKernel } from "../src/runtime/worker/protocol.js";
import { recordDraw } from "./import-record.js";
import { MeteredWorker } from "./import-seconds.js";
import { ImportTally } from "./import-tally.js";

const { values: flags, positionals } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    kernels: { type: "string", default: "300" },
    minutes: { type: "string", default: "600" },
    lift: { type: "boolean", default: false },
    out: { type: "string" },
    log: { type: "string" },
    record: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [folderName] = positionals;
if (folderName === undefined) throw new Error("name a folder: npm run bench -- import-draw FOLDER");
const folder = resolve(folderName);
const seed = Number(flags.seed);

/** A kernel with its recorded calls or the types that were found, or why Triton does not compile it. */
type Found =
  | { readonly recorded: true; readonly read: ReadKernel }
  | { readonly types: string; readonly read: ReadKernel }
  /** `lacks` is true if the kernel uses what this Triton or this machine does not have, with all types. */
  | { readonly refused: string; readonly lacks?: boolean };
/** With `placeholders`, the file imports packages that are not installed. */
type Answer =
  { readonly kernels: Readonly<Record<string, Found>>; readonly placeholders: boolean } | { readonly failed: string };

/** Asks `bench/import_draw.py`. */
class Types {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  constructor(python: string) {
    this.#child = spawn(python, [resolve(import.meta.dirname, "import_draw.py")], { env });
    this.#child.stderr.pipe(process.stderr);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async launchedKernels(): Promise<Readonly<Record<string, readonly string[]>>> {
    const { files } = (await this.#ask({ folder })) as { files: Record<string, readonly string[]> };
    return files;
  }

  async of(file: string, kernels: readonly string[]): Promise<Answer> {
    return (await this.#ask({ file, repository: join(folder, repositoryOf(file)), kernels })) as Answer;
  }

  stop(): void {
    this.#child.stdin.end();
  }

  async #ask(request: object): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("bench/import_draw.py ended");
    return JSON.parse(value);
  }
}

// FlagGems asks the system's tools for its device unless this variable names it.
const env = { ...process.env, GEMS_VENDOR: "nvidia" };

const repositoryOf = (file: string): string => relative(folder, file).split(sep)[0] ?? "";

/** The files in the order in which they are drawn: one of each repository in turn. */
function drawOrder(files: readonly string[]): readonly string[] {
  const queues = [...new Set(files.map(repositoryOf))].map((repository) => {
    const own = files.filter((file) => repositoryOf(file) === repository);
    return [...shuffled(own.length, uniform(seedOf(seed, repository)))].map((i) => own[i] ?? "");
  });
  const rounds = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, i) => queues.flatMap((queue) => queue[i] ?? [])).flat();
}

const log = (entry: object): void => {
  if (flags.log !== undefined) appendFileSync(flags.log, `${JSON.stringify(entry)}\n`);
};

const end = performance.now() + Number(flags.minutes) * 60_000;
const { python } = await thisMachine.python({});
const tally = await ImportTally.open({
  worker: new MeteredWorker({ python, device: "compiler" }),
  lift: flags.lift,
  out: flags.out,
});
const types = new Types(python);
const launchedByFile = await types.launchedKernels();
const counts = { files: 0, launched: 0, unreadable: 0, uncompiled: 0, lacking: 0, placeholders: 0, kernels: 0 };
const repositories = new Set<string>();
const recorded = { kernels: 0, equal: 0, repositories: new Set<string>() };
console.log(`seed ${seed}: ${Object.keys(launchedByFile).length} files that launch a kernel, in ${folder}`);
for (const file of drawOrder(Object.keys(launchedByFile))) {
  if (counts.kernels >= Number(flags.kernels) || performance.now() > end) break;
  const names = launchedByFile[file] ?? [];
  counts.files++;
  counts.launched += names.length;
  const answer = await types.of(file, names);
  if ("failed" in answer) {
    counts.unreadable += names.length;
    log({ file, kernels: names, unreadable: answer.failed });
    continue;
  }
  for (const [name, found] of Object.entries(answer.kernels)) await add(file, name, found, answer.placeholders);
}
types.stop();

async function add(file: string, kernel: string, found: Found, placeholders: boolean): Promise<void> {
  if ("refused" in found || "refused" in found.read) {
    if ("refused" in found && found.lacks === true) counts.lacking++;
    else counts.uncompiled++;
    log({ file, kernel, uncompiled: "refused" in found ? found.refused : found.read });
    return;
  }
  counts.kernels++;
  if (placeholders) counts.placeholders++;
  repositories.add(repositoryOf(file));
  const outcome = await tally.add(relative(folder, file), found.read);
  if ("recorded" in found) {
    recorded.kernels++;
    if (outcome.status === "equal") recorded.equal++;
    recorded.repositories.add(repositoryOf(file));
  }
  const evidence = "recorded" in found ? "recorded calls" : "types";
  log({ file, kernel, evidence, ...("types" in found && { types: found.types }), ...outcome });
}

const fromTests = { ...recorded, repositories: recorded.repositories.size };
console.log(`${repositories.size} repositories: ${JSON.stringify({ ...counts, recorded: fromTests })}`);
const imported = await tally.finish();
if (flags.record)
  await recordDraw({ seed, repositories: [...repositories], ...counts, recorded: fromTests, ...imported }, python);
