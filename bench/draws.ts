/**
 * Correct kernels must pass every drawn case, and seeded mistakes must fail. `npm run bench -- draws` writes both as
 * bench/results/draws.json; `-- --draws 1000 --mistakes 0 --device eval` prints one part only. It exits with 1 if any
 * case gives the wrong verdict.
 */
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { closeDevice, openDevice } from "../src/runtime/devices/devices.js";
import type { DeviceName } from "../src/compiled/gpus.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { faulty } from "../tests/kernels/mutants/faults.js";
import { subjects } from "../tests/kernels/mutants/mutations.js";
import { buildRight, Seeded, type Source } from "../tests/kernels/mutants/seed.js";
import { writeReport } from "./write-report.js";
import type { Device } from "../src/runtime/devices/device.js";

const { values: flags } = parseArgs({
  options: {
    draws: { type: "string" },
    mistakes: { type: "string" },
    device: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
const seed = Number(flags.seed);

/** The kernels with seeded mistakes, and all other examples. */
const kernels: readonly Source[] = [
  ...subjects,
  ...faulty
    .map(({ example, kernel }) => ({ file: `../../../examples/${example}.ts`, kernel, anywhere: true }))
    .filter(({ file, kernel }) => !subjects.some((each) => each.file === file && each.kernel === kernel)),
];

async function withDevice<T>(device: DeviceName, work: (device: Device) => Promise<T>): Promise<T> {
  const openedDevice = await openDevice({ device });
  try {
    return await work(openedDevice);
  } finally {
    await closeDevice(openedDevice);
  }
}

async function drawRight(device: Device, draws: number) {
  const runs = Math.ceil(draws / kernels.length);
  const resultsByKernel: Record<string, { passed: number; failed: number; replay?: string }> = {};
  for (const source of kernels) {
    const compiledKernel = await buildRight(source);
    const { outcomes, thorough } = await verifyThoroughly(compiledKernel, device, {
      selection: { seed },
      runs,
      timeLimitMs: 120_000,
    });
    const count = (status: string): number => outcomes.filter((outcome) => outcome.status === status).length;
    const replay = thorough?.replay;
    const name = source.kernel in resultsByKernel ? `${source.kernel} of ${basename(source.file)}` : source.kernel;
    resultsByKernel[name] = { passed: count("passed"), failed: count("failed"), ...(replay && { replay }) };
    process.stderr.write(`${name}: ${JSON.stringify(resultsByKernel[name])}\n`);
  }
  const total = (verdict: "passed" | "failed") =>
    Object.values(resultsByKernel).reduce((sum, each) => sum + each[verdict], 0);
  return { device: device.kind, seed, passed: total("passed"), failed: total("failed"), kernels: resultsByKernel };
}

async function drawMistakes(device: Device, limit: number) {
  const mutants = subjects.flatMap((subject) => subject.mutations.map((mutation) => ({ subject, mutation })));
  const mutantBuilder = new Seeded();
  const detected: Record<string, boolean> = {};
  try {
    // Distributes the mistakes over the kernels.
    const step = Math.max(1, mutants.length / limit);
    for (let i = 0; i < mutants.length; i += step) {
      const { subject, mutation } = mutants[Math.floor(i)]!;
      const { compiled: compiledKernel } = await mutantBuilder.build(subject, mutation);
      const { outcomes } = await verifyThoroughly(compiledKernel, device, {
        selection: { seed },
        runs: 60,
        timeLimitMs: 20_000,
      });
      const name = `${subject.kernel}: ${mutation.what}`;
      detected[name] = outcomes.some(({ status }) => status === "failed");
      process.stderr.write(`${name}: ${detected[name]}\n`);
    }
  } finally {
    mutantBuilder.remove();
  }
  const undetected = Object.keys(detected).filter((name) => !detected[name]);
  const seededCount = Object.keys(detected).length;
  return { device: device.kind, seed, seeded: seededCount, found: seededCount - undetected.length, missed: undetected };
}

const isWhole = flags.draws === undefined && flags.mistakes === undefined;
const [draws, mistakes] = [Number(flags.draws ?? (isWhole ? 1500 : 0)), Number(flags.mistakes ?? (isWhole ? 50 : 0))];
const name = flags.device as DeviceName | undefined;
const report = {
  ...(draws > 0 && { right: await withDevice(name ?? "eval", (device) => drawRight(device, draws)) }),
  ...(mistakes > 0 && {
    mistakes: await withDevice(name ?? "interpreter", (device) => drawMistakes(device, mistakes)),
  }),
};
console.log(JSON.stringify(report, null, 2));
const wrongVerdicts = (report.right?.failed ?? 0) + (report.mistakes?.missed.length ?? 0);
if (isWhole && wrongVerdicts === 0) writeReport("draws", report);
process.exitCode = wrongVerdicts > 0 ? 1 : 0;
