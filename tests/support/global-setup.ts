/**
 * Global setup of every run. It fixes the seed and creates a temporary folder. At the end, it prints what the run
 * skipped.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { TestModule, TestProject } from "vitest/node";
import { isFullRun, runMode, seedOfRun } from "./sampled-tests.js";
import {
  type PassedTest,
  readSkipped,
  remainderFile,
  root,
  type SkippedCases,
  skippedFile,
  writePassed,
} from "./run-records.js";

const log = (line: string): void => void process.stderr.write(`${line}\n`);

export default function globalSetup({ vitest }: TestProject): () => void {
  const seed = String(seedOfRun());
  process.env["TILESCRIPT_SEED"] = seed;
  rmSync(skippedFile, { force: true });
  const folder = temporaryFolder();
  log(`${runMode()} run, seed ${seed} (TILESCRIPT_SEED=${seed} selects the same cases)`);
  return () => {
    const isRest = runMode() === "rest";
    if (!isRest) writePassed(passedIn(vitest.state.getTestModules()));
    log(skippedSummary(readSkipped(skippedFile), isRest ? readSkipped(remainderFile) : []));
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

/** The number of lists that the summary names. */
const NAMED_LISTS = 8;

/** A table of the skipped cases, the largest lists first. `earlier` has the records of the run that this one completes. */
export function skippedSummary(skippedCases: readonly SkippedCases[], earlier: readonly SkippedCases[] = []): string {
  const keyOf = ({ file, label, test }: SkippedCases): string => JSON.stringify([file, label, test]);
  const repeated = new Set(skippedCases.map(keyOf));
  const totals = new Map<string, { skipped: number; total: number }>();
  for (const { label, tested, total } of [...earlier.filter((each) => !repeated.has(keyOf(each))), ...skippedCases]) {
    const counts = totals.get(label) ?? { skipped: 0, total: 0 };
    totals.set(label, { skipped: counts.skipped + total - tested, total: counts.total + total });
  }
  const lists = [...totals].filter(([, { skipped }]) => skipped > 0).toSorted(([, a], [, b]) => b.skipped - a.skipped);
  if (lists.length === 0) return "nothing was skipped";
  const named = lists.slice(0, NAMED_LISTS).map(([label, { skipped, total }]) => {
    return `${String(skipped).padStart(8)} of ${String(total).padEnd(6)} ${label}`;
  });
  const others = lists.slice(NAMED_LISTS);
  const otherCases = others.reduce((sum, [, { skipped }]) => sum + skipped, 0);
  const command = isFullRun() ? "npm run test:full -- --all" : "npm run test:full";
  return [
    `skipped cases (${command} tests ${isFullRun() ? "them, too" : "more"}):`,
    ...named,
    ...(others.length > 0 ? [`and ${others.length} more lists: ${otherCases} cases`] : []),
  ].join("\n");
}
