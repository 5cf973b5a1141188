/**
 * Correct kernels must pass every drawn case, and seeded mistakes must fail: `npm run bench:draws -- --draws 1000
 * --mistakes 50 --device eval`. Prints the counts as JSON, and exits with 1 if any case gives the wrong verdict.
 */
import { parseArgs } from "node:util";
import { closeDevice, openDevice } from "../src/runtime/devices/devices.js";
import type { DeviceName } from "../src/contract/device-names.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { subjects } from "../tests/kernels/mutants/mutations.js";
import { buildRight, Seeded } from "../tests/kernels/mutants/seed.js";

const { values: given } = parseArgs({
  options: {
    draws: { type: "string", default: "1000" },
    mistakes: { type: "string", default: "0" },
    device: { type: "string", default: "eval" },
    seed: { type: "string", default: "1" },
  },
});
const seed = Number(given.seed);
const device = await openDevice({ device: given.device as DeviceName });
const seeded = new Seeded();
const right: Record<string, { passed: number; failed: number; replay?: string }> = {};
const mistakes: Record<string, boolean> = {};
try {
  const runs = Math.ceil(Number(given.draws) / subjects.length);
  for (const subject of Number(given.draws) > 0 ? subjects : []) {
    const compiled = await buildRight(subject);
    const { outcomes, thorough } = await verifyThoroughly(compiled, device, {
      selection: { seed },
      runs,
      timeLimitMs: 120_000,
    });
    const count = (status: string): number => outcomes.filter((outcome) => outcome.status === status).length;
    const replay = thorough?.replay;
    right[subject.kernel] = { passed: count("passed"), failed: count("failed"), ...(replay && { replay }) };
  }
  const all = subjects.flatMap((subject) => subject.mutations.map((mutation) => ({ subject, mutation })));
  // Distributes the draws over the kernels.
  const step = Math.max(1, all.length / Math.max(1, Number(given.mistakes)));
  for (let i = 0; i < all.length && Number(given.mistakes) > 0; i += step) {
    const { subject, mutation } = all[Math.floor(i)]!;
    const { compiled } = await seeded.build(subject, mutation);
    const { outcomes } = await verifyThoroughly(compiled, device, {
      selection: { seed },
      runs: 60,
      timeLimitMs: 20_000,
    });
    mistakes[`${subject.kernel}: ${mutation.what}`] = outcomes.some(({ status }) => status === "failed");
    process.stderr.write(`${Object.keys(mistakes).at(-1)}: ${Object.values(mistakes).at(-1)}\n`);
  }
} finally {
  seeded.remove();
  await closeDevice(device);
}
const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);
const missed = Object.keys(mistakes).filter((name) => !mistakes[name]);
const report = {
  device: device.kind,
  seed,
  right: {
    passed: sum(Object.values(right).map((each) => each.passed)),
    failed: sum(Object.values(right).map((each) => each.failed)),
    kernels: right,
  },
  mistakes: { seeded: Object.keys(mistakes).length, found: Object.keys(mistakes).length - missed.length, missed },
};
console.log(JSON.stringify(report, null, 2));
process.exitCode = report.right.failed + missed.length > 0 ? 1 : 0;
