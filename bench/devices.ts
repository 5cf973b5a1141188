/**
 * The same work on several devices, in turns: `npm run bench:devices -- cuda:0 cuda:all`, or
 * `-- ray:auto#cpu:1 ray:auto#cpu:2`. Prints the time to the first results and drawn cases per second, and with `--tune`
 * the time of `tilescript tune` as a process, each also as a part of the first device's. `--out NAME` writes them to
 * `bench/results`.
 */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { softmax } from "../examples/softmax.js";
import type { DeviceName } from "../src/compiled/device-names.js";
import { closeDevice, openDevice } from "../src/runtime/devices/devices.js";
import type { TuneReport } from "../src/runtime/report/reports.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { writeReport } from "./write-report.js";

const { values: given, positionals: devices } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "200" },
    rounds: { type: "string", default: "3" },
    tune: { type: "boolean", default: false },
    python: { type: "string" },
    out: { type: "string" },
  },
});
if (devices.length === 0) throw new Error("name the devices to compare: npm run bench:devices -- cuda:0 cuda:all");

const kernel = await build(softmax);
const root = resolve(import.meta.dirname, "..");
const secondsSince = (started: number): number => (performance.now() - started) / 1000;

/** Seconds from nothing until the first cases are done, and the drawn cases in each second after that. */
async function verify(name: string) {
  const opened = performance.now();
  const device = await openDevice({ device: name as DeviceName, python: given.python });
  try {
    const draw = async (runs: number, seed: number) => {
      const started = performance.now();
      const options = { selection: { seed }, runs, timeLimitMs: 600_000 };
      const { outcomes } = await verifyThoroughly(kernel, device, options);
      const failed = outcomes.filter(({ status }) => status === "failed").length;
      return { cases: outcomes.length, failed, seconds: secondsSince(started) };
    };
    // Every worker has imported torch and the module then.
    await draw(16, 1);
    const startSeconds = secondsSince(opened);
    return { startSeconds, ...(await draw(Number(given.runs), 2)) };
  } finally {
    await closeDevice(device);
  }
}

/** Seconds that `tilescript tune` takes, and how many configs it measured. */
function tune(device: string) {
  const args = ["tune", "examples/gemm.ts", "--json", "--shapes", "M=4096,N=4096,K=4096", "--device", device];
  const python = given.python === undefined ? [] : ["--python", given.python];
  const started = performance.now();
  const stdout = execFileSync(process.execPath, [resolve(root, "bin/tilescript.js"), ...args, ...python], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const { tried } = JSON.parse(stdout) as TuneReport;
  return { tried, seconds: secondsSince(started) };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const rounded = (value: number): number => Number(value.toPrecision(3));

const verified = new Map<string, Awaited<ReturnType<typeof verify>>[]>(devices.map((device) => [device, []]));
const tuned = new Map<string, ReturnType<typeof tune>[]>(devices.map((device) => [device, []]));
for (let round = 0; round < Number(given.rounds); round++)
  for (const device of devices) {
    verified.get(device)!.push(await verify(device));
    if (given.tune) tuned.get(device)!.push(tune(device));
  }

const [first] = devices;
const secondsOf = (times: readonly { readonly seconds: number }[]) => median(times.map(({ seconds }) => seconds));
const measured = devices.map((device) => {
  const rounds = verified.get(device)!;
  const seconds = secondsOf(rounds);
  const tunings = tuned.get(device)!;
  return {
    device,
    startSeconds: rounded(median(rounds.map(({ startSeconds }) => startSeconds))),
    cases: rounds[0]!.cases,
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    seconds: rounded(seconds),
    casesPerSecond: rounded(rounds[0]!.cases / seconds),
    partOfFirst: rounded(seconds / secondsOf(verified.get(first!)!)),
    ...(tunings.length > 0 && {
      tune: {
        tried: tunings.map(({ tried }) => tried),
        seconds: rounded(secondsOf(tunings)),
        partOfFirst: rounded(secondsOf(tunings) / secondsOf(tuned.get(first!)!)),
      },
    }),
  };
});
for (const each of measured) console.log(JSON.stringify(each));
if (given.out !== undefined) writeReport(given.out, { kernel: "softmax", rounds: Number(given.rounds), measured });
process.exitCode = measured.some(({ failed }) => failed > 0) ? 1 : 0;
