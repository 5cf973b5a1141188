/**
 * The throughput of a Ray cluster against the number of actors: `npm run bench:ray -- --device ray:auto --actors 1,2,4`.
 * Prints drawn cases per second on Triton's interpreter, and with `--out NAME` writes them to `bench/results`.
 */
import { parseArgs } from "node:util";
import { build } from "tilescript";
import type { DeviceName } from "../src/contract/device-names.js";
import { closeDevice, openDevice } from "../src/runtime/devices/devices.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { softmax } from "../examples/softmax.js";
import { writeReport } from "./write-report.js";

const { values: given } = parseArgs({
  options: {
    device: { type: "string", default: "ray:auto" },
    actors: { type: "string", default: "1,2" },
    runs: { type: "string", default: "200" },
    python: { type: "string" },
    out: { type: "string" },
  },
});
const compiled = await build(softmax);
const runs = Number(given.runs);
const measured = [];
for (const actors of given.actors.split(",").map(Number)) {
  const device = await openDevice({ device: `${given.device}#cpu:${actors}` as DeviceName, python: given.python });
  try {
    const draw = async (count: number) => {
      const started = performance.now();
      const { outcomes } = await verifyThoroughly(compiled, device, {
        selection: { seed: 1 },
        runs: count,
        timeLimitMs: 600_000,
      });
      const failed = outcomes.filter(({ status }) => status === "failed").length;
      return { cases: outcomes.length, failed, seconds: (performance.now() - started) / 1000 };
    };
    // Every worker has imported torch and the module then.
    await draw(8 * actors);
    const { cases, failed, seconds } = await draw(runs);
    const round = (value: number) => Number(value.toPrecision(3));
    measured.push({ actors, cases, failed, seconds: round(seconds), casesPerSecond: round(cases / seconds) });
    console.log(JSON.stringify(measured.at(-1)));
  } finally {
    await closeDevice(device);
  }
}
if (given.out !== undefined) writeReport(given.out, { kernel: "softmax", device: "interpreter", measured });
process.exitCode = measured.some(({ failed }) => failed > 0) ? 1 : 0;
