/**
 * Counts the instructions of imported kernels and of their originals, compiled for sm_90: `npm run bench -- import-sass
 * FOLDER [--lift] [--largest 40]` prints those of the largest kernels, and their loops'. The folder is one of
 * `import-folder`. No GPU is needed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { thisMachine } from "../src/runtime/devices/devices.js";
import { importKernel, isEqual } from "../src/runtime/import-check/imported-kernel.js";
import { openScratch } from "../src/runtime/import-check/scratch.js";
import type { LaunchOptionValues, LaunchSignature } from "../src/import/tree.js";
import type { MatchRequest, ReadKernel, Reply, WorkerRequest } from "../src/runtime/worker/protocol.js";
import { Worker } from "../src/runtime/worker/worker.js";
import { readSass } from "../tests/triton/twins/sass.js";

const deadlineMs = 60_000;
const { values: flags, positionals } = parseArgs({
  options: { lift: { type: "boolean", default: false }, largest: { type: "string", default: "40" } },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) throw new Error("name a folder: npm run bench -- import-sass FOLDER");

/** Keeps the comparisons by module: they contain how arguments of the emitted kernel follow from the original's. */
class RecordingWorker extends Worker {
  readonly comparisons = new Map<string, MatchRequest>();

  override async request<Request extends WorkerRequest>(request: Request, ms: number): Promise<Reply<Request["type"]>> {
    if (request.type === "match") this.comparisons.set(readFileSync(request.module, "utf8"), request);
    return super.request(request, ms);
  }
}

interface Pair {
  readonly kernel: string;
  readonly file: string;
  readonly module: string;
  readonly jit: string;
  readonly options: LaunchOptionValues;
  readonly arguments: LaunchSignature;
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly lines: number;
}

const { python } = await thisMachine.python({});
const worker = new RecordingWorker({ python, device: "compiler" });
const scratch = await openScratch();
const modules = mkdtempSync(join(tmpdir(), "tilescript-bench-"));
const tools = { worker, scratch, language: () => import("../src/index.js"), deadlineMs, lift: flags.lift };

/** An equal import with the first of its calls. */
async function pairOf(file: string, read: ReadKernel): Promise<Pair | undefined> {
  const result = await importKernel(read, tools);
  const comparison = result.built && worker.comparisons.get(result.built.python);
  const call = comparison?.calls[0];
  if (!result.built || !comparison || !call || !isEqual(result)) return undefined;
  const module = join(modules, `${read.name}_${comparison.jit}_${worker.comparisons.size}.py`);
  writeFileSync(module, result.built.python);
  const options = "launch" in read ? (read.launch?.options ?? {}) : {};
  const { jit } = comparison;
  return { kernel: read.name, file, module, jit, options, ...call, lines: call.ttir.split("\n").length };
}

const pairs: Pair[] = [];
for (const name of readdirSync(folder).sort()) {
  if (!name.endsWith(".py")) continue;
  const file = resolve(join(folder, name));
  const reply = await worker.request({ type: "import", file, kernels: [], call: file }, deadlineMs);
  for (const read of reply.ok ? reply.result.kernels : [])
    pairs.push(...[await pairOf(file, read)].flatMap((each) => each ?? []));
}
await worker.stop();
await scratch.remove();

const largest = pairs.toSorted((a, b) => b.lines - a.lines).slice(0, Number(flags.largest));
const input = JSON.stringify({ pairs: largest });
const script = resolve(import.meta.dirname, "import_sass.py");
const { stdout } = spawnSync(python, [script], {
  input,
  encoding: "utf8",
  maxBuffer: 1 << 30,
  stdio: ["pipe", "pipe", "ignore"],
});
rmSync(modules, { recursive: true });

interface Row {
  readonly kernel: string;
  readonly file: string;
  readonly aligned: boolean;
  readonly error?: string;
  readonly original?: string;
  readonly emitted?: string;
}

for (const line of stdout.trim().split("\n")) {
  const { kernel, file, aligned, error, original = "", emitted = "" } = JSON.parse(line) as Row;
  const [before, after] = [readSass(original), readSass(emitted)];
  const ratio = after.instructions / before.instructions;
  console.log(
    `${file}: ${kernel}, ${aligned ? "aligned" : "odd"}: ` +
      (error ??
        `${ratio.toFixed(3)}, ${after.instructions} of ${before.instructions}, loops ${after.loop} of ${before.loop}`),
  );
}
