/**
 * Tunes four kernels on this machine's GPU: once as `tilescript tune` does without a space, and once over all of a space
 * that an expert might declare. `npm run bench:tuning -- --out tuning-h200.json` writes a file in bench/results, and
 * `--only gemm` tunes one of them. On a machine without tsx, `--cli FILE --files FOLDER` names what runs the command, and
 * where the kernels' files lie as JavaScript.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { TuneReport } from "../src/runtime/report/reports.js";

const { values: given } = parseArgs({
  options: {
    out: { type: "string", default: "tuning.json" },
    only: { type: "string" },
    cli: { type: "string" },
    files: { type: "string" },
  },
});

interface Tuned {
  readonly name: string;
  readonly file: string;
  readonly shape: string;
  readonly dtype: string;
  /** All of it is measured. */
  readonly space: readonly string[];
}

const WARPS = "numWarps=1,2,4,8,16,32";
const kernels: readonly Tuned[] = [
  {
    name: "gemm",
    file: "examples/gemm",
    shape: "M=4096,N=4096,K=4096",
    dtype: "T=bfloat16",
    space: ["BLOCK_M=64,128,256", "BLOCK_N=64,128,256", "BLOCK_K=32,64", "numWarps=4,8", "numStages=3,4,5"],
  },
  {
    name: "attention",
    file: "examples/flash-attention",
    shape: "H=16,S=4096,HEAD_DIM=64,CAUSAL=true",
    dtype: "T=float16",
    space: ["BLOCK_M=64,128,256", "BLOCK_N=32,64,128", "numWarps=4,8", "numStages=2,3,4"],
  },
  { name: "softmax", file: "examples/softmax", shape: "M=4096,N=12672", dtype: "", space: [WARPS] },
  {
    name: "layer_norm_rows",
    file: "bench/layer-norm-rows",
    shape: "M=4096,N=8192",
    dtype: "T=float16",
    space: [WARPS, "numStages=1,2,3"],
  },
];

const root = resolve(import.meta.dirname, "..");
const cli = given.cli === undefined ? [resolve(root, "bin/tilescript.js")] : [resolve(given.cli)];

/** One run of `tilescript tune`, with caches of its own. */
function tune({ file, shape, dtype }: Tuned, caches: string, ...more: readonly string[]): TuneReport {
  const path = given.files === undefined ? join(root, `${file}.ts`) : join(given.files, `${file}.js`);
  const chosen = dtype === "" ? [] : ["--dtype", dtype];
  const args = [...cli, "tune", path, "--json", "--shapes", shape, ...chosen, ...more];
  const env = { ...process.env, XDG_CACHE_HOME: caches, TRITON_CACHE_DIR: join(caches, "triton") };
  const { stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8", maxBuffer: 2 ** 28 });
  const lost = () => new Error(`tilescript ${args.slice(cli.length).join(" ")} gave no report:\n${stdout}\n${stderr}`);
  if (!stdout.startsWith("{")) throw lost();
  const report = JSON.parse(stdout) as Partial<TuneReport>;
  if (!report.cases) throw lost();
  return report as TuneReport;
}

function found({ candidates, tried, seconds, pruned, rejected, cases }: TuneReport) {
  const [best] = cases;
  if (!best) throw new Error("nothing was measured");
  const { median, low, high } = best.time;
  const counts = { candidates, pruned: pruned.length, tried, rejected: rejected.length, seconds };
  return { ...counts, ms: median, low, high, config: best.best };
}

/** The space derived with a cold cache, then the declared one, which finds some of its configs compiled. */
function both(kernel: Tuned) {
  const caches = mkdtempSync(join(tmpdir(), "tilescript-tuning-"));
  try {
    const without = tune(kernel, caches);
    // Times are measured again, in one run with those of all others.
    rmSync(join(caches, "tilescript"), { recursive: true, force: true });
    const whole = tune(kernel, caches, "--budget", "all", "--space", ...kernel.space);
    const { name, shape, dtype, space } = kernel;
    console.log(`${name}: ${found(without).ms} ms derived in ${without.seconds} s, ${found(whole).ms} ms of all`);
    return {
      device: without.device_name,
      row: { kernel: name, shape, dtype, space, derived: found(without), exhaustive: found(whole) },
    };
  } finally {
    rmSync(caches, { recursive: true, force: true });
  }
}

interface Facts {
  readonly facts: readonly { readonly name: string; readonly found: string }[];
}

function pythonFacts(): string {
  const { stdout } = spawnSync(process.execPath, [...cli, "doctor", "--json"], { encoding: "utf8" });
  const found = (JSON.parse(stdout) as Facts).facts.find(({ name }) => name === "python")?.found ?? "unknown";
  return found.slice(found.indexOf(": ") + 2);
}

const out = given.cli === undefined ? resolve(import.meta.dirname, "results", given.out) : resolve(given.out);

/** Written after each kernel. With `--only`, the others stay as the file has them, if the machine is the same. */
function write(device: string | undefined, python: string, rows: readonly Row[]): void {
  const before = existsSync(out) ? (JSON.parse(readFileSync(out, "utf8")) as Report) : undefined;
  const isSame = before?.device === device && before?.python === python;
  const others = isSame ? before.cases.filter(({ kernel }) => !rows.some((row) => row.kernel === kernel)) : [];
  const cases = kernels.flatMap(({ name }) => [...others, ...rows].filter(({ kernel }) => kernel === name));
  const report: Report = { device, python, date: new Date().toISOString().slice(0, 10), cases };
  writeFileSync(out, `${JSON.stringify(report, undefined, 2)}\n`);
}

type Row = ReturnType<typeof both>["row"];
interface Report {
  readonly device: string | undefined;
  readonly python: string;
  readonly date: string;
  readonly cases: readonly Row[];
}

const python = pythonFacts();
for (const kernel of kernels) {
  if (given.only !== undefined && given.only !== kernel.name) continue;
  const { device, row } = both(kernel);
  write(device, python, [row]);
}
