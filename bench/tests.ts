/**
 * How long the tests take: `npm run bench:tests` runs `npm test` and then, in full, what it left out; together they are
 * `npm run test:full`. Writes bench/results/tests.json. Figures count only where nothing else runs on the machine.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";

interface Times {
  readonly seconds: number;
  /** Of all processes together. */
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
function time(script: string): Times {
  const json = join(folder, `${script.replace(":", "-")}.json`);
  const times = join(folder, "times");
  const run = `TIMEFORMAT="%R %U %S"; { time npm run ${script} -- --reporter=default --reporter=json --outputFile.json=${json} 2>&3; } 3>&2 2>${times}`;
  spawnSync("bash", ["-c", run], { stdio: "inherit" });
  const [seconds, user, system] = readFileSync(times, "utf8").trim().split(" ").map(Number) as [number, number, number];
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(json, "utf8")) as Report;
  const counts = { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests };
  return { seconds, cpuSeconds: user + system, ...counts };
}

try {
  const [short, rest] = [time("test"), time("test:rest")];
  const machine = { cores: availableParallelism(), processor: cpus()[0]!.model, node: process.version };
  const report = { date: new Date().toISOString().slice(0, 10), machine, short, rest };
  writeFileSync(resolve(import.meta.dirname, "results/tests.json"), `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(report);
} finally {
  rmSync(folder, { recursive: true });
}
