/** Times the examples on this machine's GPU: `npm run bench:gpu`. Writes bench/results/<device>.json. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "tilescript";
import { gemm } from "../examples/gemm.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { findPython } from "../src/runtime/environment.js";

const { environment } = await findPython();
if (!environment) {
  console.error("no Python with torch and triton was found; run npx tilescript setup");
  process.exit(3);
}
const folder = mkdtempSync(join(tmpdir(), "tilescript-bench-"));
const args = [resolve(import.meta.dirname, "gpu.py")];
for (const kernel of [gemm, softmax, vectorAdd]) {
  const compiled = await build(kernel);
  const path = join(folder, compiled.file);
  writeFileSync(path, compiled.python);
  args.push(`--${compiled.signature.name}`, path);
}
args.push("--twin", resolve(import.meta.dirname, "../tests/twins/gemm.py"));
args.push("--out", resolve(import.meta.dirname, "results", process.argv[2] ?? "gpu.json"));
process.exitCode = spawnSync(environment.python, args, { stdio: "inherit" }).status ?? 1;
