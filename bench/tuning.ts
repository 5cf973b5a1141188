/**
 * Tunes four kernels on this machine's GPU: once like `tilescript tune` without a space, and once over a whole space
 * that an expert might declare. `npm run bench -- tuning --out tuning-h200.json` writes a file in bench/results, and
 * `--only gemm` tunes one of them. On a machine without tsx, `--cli FILE --files FOLDER` names the script of the
 * command, and the folder with the kernels' files as JavaScript.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { TuneReport } from "../src/runtime/report/reports.js";

const { values: flags } = parseArgs({
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
  /** The whole space is measured. */
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
const cli = flags.cli === undefined ? [resolve(root, "bin/tilescript.js")] : [resolve(flags.cli)];

/** One run of `tilescript tune`, with separate caches. */
function tune({ file, shape, dtype }: Tuned, caches: string, ...extraArgs: readonly string[]): TuneReport {
  const path = flags.files === undefined ? join(root, `${file}.ts`) : join(flags.files, `${file}.js`);
  const dtypeArgs = dtype === "" ? [] : ["--dtype", dtype];
  const args = [...cli, "tune", path, "--json", "--shapes", shape, ...dtypeArgs, ...extraArgs];
  const env = { ...process.env, XDG_CACHE_HOME: caches, TRITON_CACHE_DIR: join(caches, "triton") };
  const { stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8", maxBuffer: 2 ** 28 });
  const missingReport = () =>
    new Error(`tilescript ${args.slice(cli.length).join(" ")} gave no report:\n${stdout}\n${stderr}`);
  if (!stdout.startsWith("{")) throw missingReport();
  const report = JSON.parse(stdout) as Partial<TuneReport>;
  if (!report.cases) throw missingReport();
  return report as TuneReport;
}

function summarizeTuning({ candidates, tried, seconds, pruned, rejected, cases }: TuneReport) {
  const [best] = cases;
  if (!best) throw new Error("nothing was measured");
  const { median, low, high } = best.time;
  const counts = { candidates, pruned: pruned.length, tried, rejected: rejected.length, seconds };
  return { ...counts, ms: median, low, high, config: best.best };
}

/** The space derived with a cold cache, then the declared one, which finds some of its configs compiled. */
function tuneBoth(kernel: Tuned) {
  const caches = mkdtempSync(join(tmpdir(), "tilescript-tuning-"));
  try {
    const derived = tune(kernel, caches);
    // Discards the cached times, so that all are measured in one run.
    rmSync(join(caches, "tilescript"), { recursive: true, force: true });
    const exhaustive = tune(kernel, caches, "--budget", "all", "--space", ...kernel.space);
    const { name, shape, dtype, space } = kernel;
    console.log(
      `${name}: ${summarizeTuning(derived).ms} ms derived in ${derived.seconds} s, ${summarizeTuning(exhaustive).ms} ms of all`,
    );
    return {
      device: derived.device_name,
      row: {
        kernel: name,
        shape,
        dtype,
        space,
        derived: summarizeTuning(derived),
        exhaustive: summarizeTuning(exhaustive),
      },
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
  const pythonFact = (JSON.parse(stdout) as Facts).facts.find(({ name }) => name === "python")?.found ?? "unknown";
  return pythonFact.slice(pythonFact.indexOf(": ") + 2);
}

const out = flags.cli === undefined ? resolve(import.meta.dirname, "results", flags.out) : resolve(flags.out);

/**
 * Writes the report after each kernel. With `--only`, the other rows of the file are retained if the machine is the
 * same.
 */
function write(device: string | undefined, python: string, rows: readonly Row[]): void {
  const previous = existsSync(out) ? (JSON.parse(readFileSync(out, "utf8")) as Report) : undefined;
  const isSame = previous?.device === device && previous?.python === python;
  const otherCases = isSame ? previous.cases.filter(({ kernel }) => !rows.some((row) => row.kernel === kernel)) : [];
  const cases = kernels.flatMap(({ name }) => [...otherCases, ...rows].filter(({ kernel }) => kernel === name));
  const report: Report = { device, python, date: new Date().toISOString().slice(0, 10), cases };
  writeFileSync(out, `${JSON.stringify(report, undefined, 2)}\n`);
}

type Row = ReturnType<typeof tuneBoth>["row"];
interface Report {
  readonly device: string | undefined;
  readonly python: string;
  readonly date: string;
  readonly cases: readonly Row[];
}

const python = pythonFacts();
for (const kernel of kernels) {
  if (flags.only !== undefined && flags.only !== kernel.name) continue;
  const { device, row } = tuneBoth(kernel);
  write(device, python, [row]);
}
