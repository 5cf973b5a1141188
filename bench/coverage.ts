/**
 * The number of consecutive commits whose full runs test every case of every list: `npm run bench -- coverage` collects
 * the lists of all tests, without testing their cases, and writes bench/results/coverage.json. It fails beyond 16.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { globSync } from "tinyglobby";
import { readSkipped, root, skippedFile } from "../tests/support/run-records.js";
import { COMMITS, isSelected } from "../tests/support/sampled-tests.js";
import { writeReport } from "./write-report.js";

/** The largest number of commits, over all first seeds, until a full run tested each case of a list in `parts` parts. */
function commitsFor(parts: number, fileParts: number): number {
  let most = 0;
  for (let first = 0; first < parts * fileParts; first++) {
    const left = new Set(Array.from({ length: parts }, (_, i) => i));
    let seed = first;
    for (; left.size > 0; seed++)
      if (isSelected(0, fileParts, seed))
        for (const i of left) if (isSelected(i, parts, seed, fileParts)) left.delete(i);
    most = Math.max(most, seed - first);
  }
  return most;
}

const files = globSync("tests/**/*.test.ts", { cwd: root }).filter((file) =>
  /\b(?:sampleCases|sampled\w*Tests)\(/.test(readFileSync(`${root}/${file}`, "utf8")),
);
const env = { ...process.env, TILESCRIPT_TESTS: "list" };
spawnSync("npx", ["vitest", "run", ...files], { cwd: root, env, stdio: "inherit" });

const lists: Record<string, { cases: number; commits: number }> = {};
for (const { file, label, total, parts, fileParts } of readSkipped(skippedFile)) {
  if (!parts) continue;
  const list = (lists[`${file}: ${label}`] ??= { cases: 0, commits: 0 });
  list.cases += total;
  list.commits = Math.max(list.commits, commitsFor(parts.full, fileParts?.full ?? 1));
}
const entries = Object.entries(lists).toSorted(([, a], [, b]) => b.cases - a.cases);
const commits = Math.max(...entries.map(([, each]) => each.commits));
const cases = entries.reduce((sum, [, each]) => sum + each.cases, 0);
console.log(`${entries.length} lists with ${cases} cases: at most ${commits} commits`);
if (commits <= COMMITS) writeReport("coverage", { commits, cases, lists: Object.fromEntries(entries) });
else process.exitCode = 1;
