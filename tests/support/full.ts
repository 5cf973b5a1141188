/**
 * `npm run test:full`: every case of every test. `npm run test:rest`, after `npm test`: the files that left something out,
 * in full, so that both together are the full run. Further arguments go to vitest.
 */
import { execFileSync } from "node:child_process";
import { leftOut } from "./global-setup.js";

const [first, ...others] = process.argv.slice(2);
const rest = first === "--rest";
const files = rest ? [...new Set(leftOut().flatMap(({ file, tested, of }) => (tested < of ? [file] : [])))] : [];
if (rest && files.length === 0) console.log("the last run left nothing out");
else {
  const given = rest || first === undefined ? others : [first, ...others];
  try {
    const env = { ...process.env, TILESCRIPT_TESTS: "full" };
    execFileSync("npx", ["vitest", "run", ...files, ...given], { stdio: "inherit", env });
  } catch {
    process.exitCode = 1;
  }
}
