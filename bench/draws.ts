/**
 * Correct kernels must pass every drawn case, and seeded mistakes must fail. `npm run bench:draws` writes both as
 * bench/results/draws.json; `-- --draws 1000 --mistakes 0 --device eval` prints one part only. It exits with 1 if any case
 * gives the wrong verdict.
 */
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { closeDevice, type Device, openDevice } from "../src/runtime/devices/devices.js";
import type { DeviceName } from "../src/compiled/device-names.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { faulty } from "../tests/kernels/mutants/faults.js";
import { subjects } from "../tests/kernels/mutants/mutations.js";
import { buildRight, Seeded, type Source } from "../tests/kernels/mutants/seed.js";
import { writeReport } from "./write-report.js";

const { values: given } = parseArgs({
  options: {
    draws: { type: "string" },
    mistakes: { type: "string" },
    device: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
const seed = Number(given.seed);

/** The kernels with seeded mistakes, and every example besides. */
const kernels: readonly Source[] = [
  ...subjects,
  ...faulty
    .map(({ example, kernel }) => ({ file: `../../../examples/${example}.ts`, kernel, anywhere: true }))
    .filter(({ file, kernel }) => !subjects.some((each) => each.file === file && each.kernel === kernel)),
];

async function on<T>(device: DeviceName, work: (device: Device) => Promise<T>): Promise<T> {
  const opened = await openDevice({ device });
  try {
    return await work(opened);
  } finally {
    await closeDevice(opened);
  }
}

async function drawRight(device: Device, draws: number) {
  const runs = Math.ceil(draws / kernels.length);
  const found: Record<string, { passed: number; failed: number; replay?: string }> = {};
  for (const source of kernels) {
    const compiled = await buildRight(source);
    const { outcomes, thorough } = await verifyThoroughly(compiled, device, {
      selection: { seed },
      runs,
      timeLimitMs: 120_000,
    });
    const count = (status: string): number => outcomes.filter((outcome) => outcome.status === status).length;
    const replay = thorough?.replay;
    const name = source.kernel in found ? `${source.kernel} of ${basename(source.file)}` : source.kernel;
    found[name] = { passed: count("passed"), failed: count("failed"), ...(replay && { replay }) };
    process.stderr.write(`${name}: ${JSON.stringify(found[name])}\n`);
  }
  const total = (of: "passed" | "failed") => Object.values(found).reduce((sum, each) => sum + each[of], 0);
  return { device: device.kind, seed, passed: total("passed"), failed: total("failed"), kernels: found };
}

async function drawMistakes(device: Device, most: number) {
  const all = subjects.flatMap((subject) => subject.mutations.map((mutation) => ({ subject, mutation })));
  const seeded = new Seeded();
  const found: Record<string, boolean> = {};
  try {
    // Distributes the mistakes over the kernels.
    const step = Math.max(1, all.length / most);
    for (let i = 0; i < all.length; i += step) {
      const { subject, mutation } = all[Math.floor(i)]!;
      const { compiled } = await seeded.build(subject, mutation);
      const { outcomes } = await verifyThoroughly(compiled, device, {
        selection: { seed },
        runs: 60,
        timeLimitMs: 20_000,
      });
      const name = `${subject.kernel}: ${mutation.what}`;
      found[name] = outcomes.some(({ status }) => status === "failed");
      process.stderr.write(`${name}: ${found[name]}\n`);
    }
  } finally {
    seeded.remove();
  }
  const missed = Object.keys(found).filter((name) => !found[name]);
  const seededCount = Object.keys(found).length;
  return { device: device.kind, seed, seeded: seededCount, found: seededCount - missed.length, missed };
}

const isWhole = given.draws === undefined && given.mistakes === undefined;
const [draws, mistakes] = [Number(given.draws ?? (isWhole ? 1500 : 0)), Number(given.mistakes ?? (isWhole ? 50 : 0))];
const name = given.device as DeviceName | undefined;
const report = {
  ...(draws > 0 && { right: await on(name ?? "eval", (device) => drawRight(device, draws)) }),
  ...(mistakes > 0 && { mistakes: await on(name ?? "interpreter", (device) => drawMistakes(device, mistakes)) }),
};
console.log(JSON.stringify(report, null, 2));
const wrong = (report.right?.failed ?? 0) + (report.mistakes?.missed.length ?? 0);
if (isWhole && wrong === 0) writeReport("draws", report);
process.exitCode = wrong > 0 ? 1 : 0;
