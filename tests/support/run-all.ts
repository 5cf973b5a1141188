/**
 * `npm run test:full`: every case of every test. `npm run test:rest`, after `npm test`: the files that left something out,
 * but for the tests of theirs that it passed whole (`once.ts`), so that both together are the full run. Further arguments
 * go to vitest.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { leftOutFile, readLeftOut, restFile } from "./run-records.js";

const [first, ...others] = process.argv.slice(2);
const rest = first === "--rest";
const left = rest ? readLeftOut(leftOutFile).filter(({ tested, of }) => tested < of) : [];
const files = [...new Set(left.map(({ file }) => file))];
if (rest && files.length === 0) console.log("the last run left nothing out");
else {
  const given = rest || first === undefined ? others : [first, ...others];
  if (rest) copyFileSync(leftOutFile, restFile);
  try {
    // What was drawn is known by the seed, which may be that of yesterday.
    const seed = left[0] && { TILESCRIPT_SEED: String(left[0].seed) };
    const env = { ...process.env, ...seed, TILESCRIPT_TESTS: rest ? "rest" : "full" };
    execFileSync("npx", ["vitest", "run", ...files, ...given], { stdio: "inherit", env });
  } catch {
    process.exitCode = 1;
  }
}
