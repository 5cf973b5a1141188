/**
 * Time of `verify` on a GPU from an empty Triton cache, with and without kernels compiled ahead: `npm run bench --
 * ahead --kernels gemm,softmax --runs 100`. Prints JSON: seconds, cases, and compile counts. Exits with 1 if a case
 * failed, or if more than one launch in twenty did not find its kernel compiled.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { closeDevice, openGpus } from "../src/runtime/devices/devices.js";
import { summarize } from "../src/runtime/verify/plan-cases.js";
import { verifyThoroughly } from "../src/runtime/verify/thorough.js";
import { examples } from "../tests/support/examples.js";

const { values: flags } = parseArgs({
  options: {
    kernels: { type: "string", default: examples.map(({ name }) => name).join(",") },
    runs: { type: "string", default: "100" },
    modes: { type: "string", default: "ahead,as-they-run" },
    seed: { type: "string", default: "0" },
  },
});
const names = flags.kernels.split(",");
const selected = examples.filter(({ name }) => names.includes(name));
const compiledKernels = await Promise.all(selected.map(({ kernel }) => build(kernel)));

async function measureMode(mode: string) {
  const cache = mkdtempSync(join(tmpdir(), "tilescript-triton-"));
  const [device] = await openGpus(
    { what: "this benchmark", instead: "nothing of it can be measured" },
    {
      device: "auto",
      env: { ...process.env, TRITON_CACHE_DIR: cache },
      ...(mode === "as-they-run" && { processes: 0 }),
    },
  );
  const start = Date.now();
  try {
    const kernels = [];
    for (const kernel of compiledKernels) {
      const verification = await verifyThoroughly(kernel, device, {
        selection: { seed: Number(flags.seed) },
        runs: Number(flags.runs),
        timeLimitMs: 120_000,
      });
      const { outcomes, seconds, compiling, thorough } = verification;
      const failedCount = outcomes.filter(({ status }) => status === "failed").length;
      const replay = thorough?.replay;
      const cases = outcomes.length;
      const name = kernel.signature.name;
      kernels.push({
        name,
        configs: kernel.configs.length,
        cases,
        failed: failedCount,
        seconds,
        compiling,
        ...(replay && { why: summarize(verification, device).details, replay }),
      });
      process.stderr.write(`${mode} ${JSON.stringify(kernels.at(-1))}\n`);
    }
    const { deviceName, versions } = device.hello;
    return { mode, device: deviceName, versions, seconds: (Date.now() - start) / 1000, kernels };
  } finally {
    await closeDevice(device);
    rmSync(cache, { recursive: true, force: true });
  }
}

const reports = [];
for (const mode of flags.modes.split(",")) reports.push(await measureMode(mode));
const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);
const totals = reports.map(({ mode, seconds, kernels }) => {
  const countOf = (kind: "ahead" | "late") => sum(kernels.map(({ compiling }) => compiling?.[kind] ?? 0));
  const [ahead, late] = [countOf("ahead"), countOf("late")];
  return {
    mode,
    seconds,
    configs: sum(kernels.map(({ configs }) => configs)),
    cases: sum(kernels.map(({ cases }) => cases)),
    failed: sum(kernels.map(({ failed }) => failed)),
    ahead,
    late,
    hitRate: ahead / (ahead + late),
  };
});
console.log(JSON.stringify({ totals, reports }, null, 2));
process.exitCode = totals.some(({ mode, failed, hitRate }) => failed > 0 || (mode === "ahead" && hitRate < 0.95))
  ? 1
  : 0;
