/**
 * Vitest's global setup. It fixes the seed of the run, and creates the project for child processes, a temporary folder,
 * and the Python environment if there is none. At the end, it prints how many cases were skipped.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { findPython } from "../../src/runtime/worker/environment.js";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { makeProject } from "./installed.js";
import type { TestModule, TestProject } from "vitest/node";
import { isFullRun, isRemainderRun, seedOfRun } from "./sampled-tests.js";
import { type SkippedCases, skippedFile, type PassedTest, readSkipped, root, writePassed } from "./run-records.js";
import { tritonCache } from "./python.js";

const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** Limit on the kernels in Triton's cache, which is deleted beyond this limit. */
const MAX_CACHED_KERNELS = 20_000;

export default async function globalSetup({ vitest }: TestProject): Promise<() => void> {
  process.env["TILESCRIPT_SEED"] = String(seedOfRun());
  rmSync(skippedFile, { force: true });
  const folder = temporaryFolder();
  if (filesIn(tritonCache) > MAX_CACHED_KERNELS) rmSync(tritonCache, { recursive: true });
  log(`${isFullRun() ? "full" : "short"} run, seed ${seedOfRun()} (TILESCRIPT_SEED=${seedOfRun()} draws the same)`);
  makeProject();
  const { environment } = await findPython();
  if (!environment) await setup({ onProgress: log });
  return () => {
    if (!isRemainderRun()) writePassed(passedIn(vitest.state.getTestModules()));
    log(skippedSummary(readSkipped(skippedFile)));
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
}

const passedIn = (modules: readonly TestModule[]): readonly PassedTest[] =>
  modules.flatMap(({ moduleId, children }) =>
    Array.from(children.allTests("passed"), ({ fullName }) => ({ file: relative(root, moduleId), test: fullName })),
  );

/** A temporary folder for the tests and their child processes. It is deleted when the run ends. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-tests-"));
  process.env["TMPDIR"] = folder;
  return folder;
}

function filesIn(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

/** Formats the skipped cases: `left out: 2300 of 2640 op compilations, …` */
export function skippedSummary(skippedCases: readonly SkippedCases[]): string {
  const totals = new Map<string, { skipped: number; total: number }>();
  for (const { label: what, tested, total: of } of skippedCases) {
    const counts = totals.get(what) ?? { skipped: 0, total: 0 };
    totals.set(what, { skipped: counts.skipped + of - tested, total: counts.total + of });
  }
  const phrases = [...totals].flatMap(([what, { skipped, total }]) =>
    skipped > 0 ? [`${skipped} of ${total} ${what}`] : [],
  );
  if (phrases.length === 0) return "nothing was left out";
  const command = isFullRun() ? "TILESCRIPT_DAYS=1 npm run test:full" : "npm run test:full";
  return `left out: ${phrases.join(", ")}; ${command} tests ${isFullRun() ? "everything at once" : "them"}`;
}
