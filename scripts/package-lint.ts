/**
 * `npm run package -- lint`: lints the tarball with publint and Are The Types Wrong. Both are downloaded on demand: no
 * test needs them.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pack } from "./pack.js";

const root = resolve(import.meta.dirname, "..");

/**
 * The package has ES modules alone. `require` of one works in every supported Node and is what `cjs-resolves-to-esm`
 * warns of; resolution of before `exports`, `node10`, finds none of the entries.
 */
const ATTW_FLAGS = ["--ignore-rules", "cjs-resolves-to-esm", "--profile", "node16"];

export function lintTarball(tarball: string): boolean {
  const runTool = (...args: readonly string[]): boolean =>
    spawnSync("npx", ["--yes", ...args], { cwd: root, stdio: "inherit" }).status === 0;
  const clean = [
    runTool("publint@0.3", "--strict", tarball),
    runTool("--package=@arethetypeswrong/cli@0.18", "attw", tarball, ...ATTW_FLAGS),
  ];
  return clean.every(Boolean);
}

if (process.argv[1] === import.meta.filename) {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-lint-"));
  try {
    process.exitCode = lintTarball(pack(folder).tarball) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
