/**
 * Vitest's global setup: fixes the seed of the run, makes the project in which processes start and a folder for what
 * tests write, makes the Python environment unless there is one, and at the end says what was left out.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { findPython } from "../../src/runtime/worker/environment.js";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { makeProject } from "./installed.js";
import type { TestModule, TestProject } from "vitest/node";
import { isFullRun, isRest, seedOfRun } from "./sampled-tests.js";
import { type SkippedCases, leftOutFile, type Passed, readLeftOut, root, writePassed } from "./run-records.js";
import { tritonCache } from "./python.js";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Kernels in Triton's cache; beyond these it is made anew. */
const CACHED = 20_000;

export default async function globalSetup({ vitest }: TestProject): Promise<() => void> {
  process.env["TILESCRIPT_SEED"] = String(seedOfRun());
  rmSync(leftOutFile, { force: true });
  const folder = temporaryFolder();
  if (filesIn(tritonCache) > CACHED) rmSync(tritonCache, { recursive: true });
  say(`${isFullRun() ? "full" : "short"} run, seed ${seedOfRun()} (TILESCRIPT_SEED=${seedOfRun()} draws the same)`);
  makeProject();
  const { environment } = await findPython();
  if (!environment) await setup({ say });
  return () => {
    if (!isRest()) writePassed(passedIn(vitest.state.getTestModules()));
    say(leftOutLine(readLeftOut(leftOutFile)));
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
}

const passedIn = (modules: readonly TestModule[]): readonly Passed[] =>
  modules.flatMap(({ moduleId, children }) =>
    Array.from(children.allTests("passed"), ({ fullName }) => ({ file: relative(root, moduleId), test: fullName })),
  );

/** What tests and the processes that they start write to the temporary folder goes when the run ends. */
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

/** `npm test left out 2300 of 2640 op compilations, …` */
export function leftOutLine(parts: readonly SkippedCases[]): string {
  const totals = new Map<string, { left: number; of: number }>();
  for (const { what, tested, of } of parts) {
    const total = totals.get(what) ?? { left: 0, of: 0 };
    totals.set(what, { left: total.left + of - tested, of: total.of + of });
  }
  const words = [...totals].flatMap(([what, { left, of }]) => (left > 0 ? [`${left} of ${of} ${what}`] : []));
  if (words.length === 0) return "nothing was left out";
  const whole = isFullRun() ? "TILESCRIPT_DAYS=1 npm run test:full" : "npm run test:full";
  return `left out: ${words.join(", ")}; ${whole} tests ${isFullRun() ? "everything at once" : "them"}`;
}
