/**
 * The same work on several devices, alternately: `npm run bench -- devices cuda:0 cuda:all`, or `-- ray:auto#cpu:1
 * ray:auto#cpu:2`. Prints the time to the first results and drawn cases per second, and with `--tune` the time of
 * `tilescript tune` as a process, each also as a fraction of the first device's. `--out NAME` writes them to
 * `bench/results`.
 */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { softmax } from "../examples/softmax.js";
import type { DeviceName } from "../src/compiled/gpus.js";
import { closeDevice, openDevice } from "../src/runtime/devices/devices.js";
import type { TuneReport } from "../src/runtime/report/reports.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { writeReport } from "./write-report.js";

const { values: flags, positionals: devices } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "200" },
    rounds: { type: "string", default: "3" },
    tune: { type: "boolean", default: false },
    python: { type: "string" },
    out: { type: "string" },
  },
});
if (devices.length === 0) throw new Error("name the devices to compare: npm run bench -- devices cuda:0 cuda:all");

const kernel = await build(softmax);
const root = resolve(import.meta.dirname, "..");
const secondsSince = (start: number): number => (performance.now() - start) / 1000;

/** Seconds from the start until the first cases are done, and the drawn cases per second after that. */
async function verify(name: string) {
  const openTime = performance.now();
  const device = await openDevice({ device: name as DeviceName, python: flags.python });
  try {
    const draw = async (runs: number, seed: number) => {
      const start = performance.now();
      const options = { selection: { seed }, runs, timeLimitMs: 600_000 };
      const { outcomes } = await verifyThoroughly(kernel, device, options);
      const failedCount = outcomes.filter(({ status }) => status === "failed").length;
      return { cases: outcomes.length, failed: failedCount, seconds: secondsSince(start) };
    };
    // After this, every worker has imported torch and the module.
    await draw(16, 1);
    const startSeconds = secondsSince(openTime);
    return { startSeconds, ...(await draw(Number(flags.runs), 2)) };
  } finally {
    await closeDevice(device);
  }
}

/** The seconds of `tilescript tune`, and the number of configs that it measured. */
function tune(device: string) {
  const args = ["tune", "examples/gemm.ts", "--json", "--shapes", "M=4096,N=4096,K=4096", "--device", device];
  const python = flags.python === undefined ? [] : ["--python", flags.python];
  const start = performance.now();
  const stdout = execFileSync(process.execPath, [resolve(root, "bin/tilescript.js"), ...args, ...python], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const { tried } = JSON.parse(stdout) as TuneReport;
  return { tried, seconds: secondsSince(start) };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const rounded = (value: number): number => Number(value.toPrecision(3));

const verificationsByDevice = new Map<string, Awaited<ReturnType<typeof verify>>[]>(
  devices.map((device) => [device, []]),
);
const tuningsByDevice = new Map<string, ReturnType<typeof tune>[]>(devices.map((device) => [device, []]));
for (let round = 0; round < Number(flags.rounds); round++)
  for (const device of devices) {
    verificationsByDevice.get(device)!.push(await verify(device));
    if (flags.tune) tuningsByDevice.get(device)!.push(tune(device));
  }

const [baseline] = devices;
const secondsOf = (times: readonly { readonly seconds: number }[]) => median(times.map(({ seconds }) => seconds));
const rows = devices.map((device) => {
  const rounds = verificationsByDevice.get(device)!;
  const seconds = secondsOf(rounds);
  const tunings = tuningsByDevice.get(device)!;
  return {
    device,
    startSeconds: rounded(median(rounds.map(({ startSeconds }) => startSeconds))),
    cases: rounds[0]!.cases,
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    seconds: rounded(seconds),
    casesPerSecond: rounded(rounds[0]!.cases / seconds),
    partOfFirst: rounded(seconds / secondsOf(verificationsByDevice.get(baseline!)!)),
    ...(tunings.length > 0 && {
      tune: {
        tried: tunings.map(({ tried }) => tried),
        seconds: rounded(secondsOf(tunings)),
        partOfFirst: rounded(secondsOf(tunings) / secondsOf(tuningsByDevice.get(baseline!)!)),
      },
    }),
  };
});
for (const row of rows) console.log(JSON.stringify(row));
if (flags.out !== undefined)
  writeReport(flags.out, { kernel: "softmax", rounds: Number(flags.rounds), measured: rows });
process.exitCode = rows.some(({ failed }) => failed > 0) ? 1 : 0;
