/**
 * `npm run test:full` runs every case of every test. `npm run test:rest`, after `npm test`, runs the files with skipped
 * cases, except the tests that already passed completely (`skip-passed.ts`), so that both together are the full run.
 * Further arguments are passed to vitest.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { skippedFile, readSkipped, remainderFile } from "./run-records.js";

const [first, ...others] = process.argv.slice(2);
const isRemainder = first === "--rest";
const skippedCases = isRemainder ? readSkipped(skippedFile).filter(({ tested, total }) => tested < total) : [];
const files = [...new Set(skippedCases.map(({ file }) => file))];
if (isRemainder && files.length === 0) console.log("the last run left nothing out");
else {
  const args = isRemainder || first === undefined ? others : [first, ...others];
  if (isRemainder) copyFileSync(skippedFile, remainderFile);
  try {
    // The seed determines the sample; the last run may have used the seed of another day.
    const seed = skippedCases[0] && { TILESCRIPT_SEED: String(skippedCases[0].seed) };
    const env = { ...process.env, ...seed, TILESCRIPT_TESTS: isRemainder ? "rest" : "full" };
    execFileSync("npx", ["vitest", "run", ...files, ...args], { stdio: "inherit", env });
  } catch {
    process.exitCode = 1;
  }
}
