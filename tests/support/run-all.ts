/**
 * `npm run test:full` compiles and runs the full run: every test file, and every case that belongs to this commit.
 * `-- --all` runs every case. `-- --rest`, after `npm test`, runs only the difference, so that both together are the full
 * run: the files with cases left, except the tests that already passed (`skip-passed.ts`). Further arguments are passed
 * to vitest.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { skippedFile, readSkipped, remainderFile } from "./run-records.js";

const [first = "", ...others] = process.argv.slice(2);
const mode = { "--rest": "rest", "--all": "all" }[first];
const args = mode || first === "" ? others : [first, ...others];
const left = mode === "rest" ? readSkipped(skippedFile).filter(({ rest }) => rest > 0) : [];
if (mode === "rest" && left.length === 0) console.log("the last run left nothing for the full run");
else {
  try {
    if (mode === "rest") copyFileSync(skippedFile, remainderFile);
    else execFileSync("npm", ["run", "pretest"], { stdio: "inherit" });
    const files = [...new Set(left.map(({ file }) => file))];
    // The seed determines the sample; the last run may have had another seed.
    const seed = left[0] && { TILESCRIPT_SEED: String(left[0].seed) };
    const env = { ...process.env, ...seed, TILESCRIPT_TESTS: mode ?? "full" };
    execFileSync("npx", ["vitest", "run", ...files, ...args], { stdio: "inherit", env });
  } catch {
    process.exitCode = 1;
  }
}
