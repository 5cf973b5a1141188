/** Samples of lists: 16 consecutive commits test every case, and the summary of what a run skipped is short. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { skippedSummary } from "../support/global-setup.js";
import { COMMITS, isSelected, partsOf, seedOfCommit } from "../support/sampled-tests.js";

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);
const selected = (count: number, parts: number, seed: number, fileParts = 1) =>
  numbers(count).filter((i) => isSelected(i, parts, seed, fileParts));

test.each([
  [1, {}],
  [1, { minimum: 0 }],
  [1, { perRun: 1 / 3 }],
  [48, { perRun: 14, minimum: 4 }],
  [160, { perRun: 54, maximum: 8 }],
  [700, { minimum: 100 }],
  [802, { perRun: 10 }],
])("full runs of 16 commits test all of %i cases (%o), and contain the short runs", (count, limits) => {
  const { short, full } = partsOf(count, limits);
  for (const first of [0, 7, 881]) {
    const seeds = numbers(COMMITS).map((i) => first + i);
    expect(new Set(seeds.flatMap((seed) => selected(count, full, seed))).size).toBe(count);
    for (const seed of seeds)
      expect(selected(count, full, seed)).toEqual(expect.arrayContaining(selected(count, short, seed)));
  }
});

test.each([
  [2, 4, 1],
  [2, 900, 52],
  [3, 10, 2],
  [3, 48, 1],
])("so they do in a test that every %i. full run makes: %i cases, %i a run", (fullParts, count, perRun) => {
  const parts = { short: COMMITS, full: fullParts };
  const { full } = partsOf(count, { perRun }, parts);
  for (const place of numbers(fullParts)) {
    const seeds = numbers(COMMITS).filter((seed) => isSelected(place, fullParts, 881 + seed));
    expect(new Set(seeds.flatMap((seed) => selected(count, full, 881 + seed, fullParts))).size).toBe(count);
  }
});

test("a list without limits is tested whole in a full run, and by an eighth in a short run", () => {
  expect(partsOf(802, {})).toEqual({ short: 8, full: 1 });
  expect(partsOf(12, { minimum: 4 })).toEqual({ short: 3, full: 1 });
  expect(partsOf(600, { perRun: 60 })).toEqual({ short: 10, full: 10 });
});

test("the seed is the number of commits, the hash in a shallow clone, or 0 without a commit", () => {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-seed-"));
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...args], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    expect(seedOfCommit(folder)).toBe(0);
    git("init", "full");
    expect(seedOfCommit(join(folder, "full"))).toBe(0);
    for (const name of ["one", "two"]) git("-C", "full", "commit", "--allow-empty", "-m", name);
    expect(seedOfCommit(join(folder, "full"))).toBe(2);
    git("clone", "--depth", "1", `file://${join(folder, "full")}`, "shallow");
    expect(seedOfCommit(join(folder, "shallow"))).toBe(
      Number.parseInt(git("-C", "full", "rev-parse", "HEAD").slice(0, 6), 16),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the summary has at most ten lines, the largest lists first", () => {
  const list = { file: "a.test.ts", tested: 1, rest: 0, seed: 1, test: undefined };
  const all = numbers(20).map((i) => ({ ...list, label: `list ${i}`, total: i + 1 }));
  const lines = skippedSummary(all).split("\n");
  expect(lines).toHaveLength(10);
  expect(lines[1]).toBe("      19 of 20     list 19");
  expect(lines.at(-1)).toBe("and 11 more lists: 66 cases");
  expect(skippedSummary(all.slice(0, 1))).toBe("nothing was skipped");
  // A later run that completes this one replaces the counts of the lists that it repeats.
  expect(
    skippedSummary([{ ...all[19]!, tested: 20 }], all.slice(18))
      .split("\n")
      .slice(1),
  ).toEqual(["      18 of 19     list 18"]);
});
