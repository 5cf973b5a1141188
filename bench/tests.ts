/**
 * The duration of the tests: `npm run bench -- tests` runs `npm test` and then, in full, the skipped cases; together
 * they are `npm run test:full`. Writes bench/results/tests.json. The figures are valid only if nothing else runs on the
 * machine.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";

interface Times {
  readonly seconds: number;
  /** The sum over all processes. */
  readonly cpuSeconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

const folder = mkdtempSync(join(tmpdir(), "tilescript-bench-tests-"));

/** Runs an npm script, whose output is shown, and times it with its children. */
function time(name: string, script: string): Times {
  const json = join(folder, `${name}.json`);
  const times = join(folder, "times");
  const timedCommand = `TIMEFORMAT="%R %U %S"; { time npm run ${script} --reporter=default --reporter=json --outputFile.json=${json} 2>&3; } 3>&2 2>${times}`;
  spawnSync("bash", ["-c", timedCommand], { stdio: "inherit" });
  const [seconds, user, system] = readFileSync(times, "utf8").trim().split(" ").map(Number) as [number, number, number];
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(json, "utf8")) as Report;
  const counts = { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests };
  return { seconds, cpuSeconds: user + system, ...counts };
}

try {
  const [shortRun, remainderRun] = [time("short", "test --"), time("rest", "test:full -- --rest")];
  const machine = { cores: availableParallelism(), processor: cpus()[0]!.model, node: process.version };
  const report = { date: new Date().toISOString().slice(0, 10), machine, short: shortRun, rest: remainderRun };
  writeFileSync(resolve(import.meta.dirname, "results/tests.json"), `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(report);
} finally {
  rmSync(folder, { recursive: true });
}
