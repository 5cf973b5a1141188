/**
 * Times the examples on this machine's GPU: `npm run bench:gpu -- --out nvidia-h200.json`, a file in bench/results. For a
 * machine without Node, `--prepare FOLDER` only writes the modules, which `python bench/gpu.py FOLDER` times there.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { gemm } from "../examples/gemm.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { findPython } from "../src/runtime/python/environment.js";

const { values: given } = parseArgs({
  options: { out: { type: "string", default: "gpu.json" }, prepare: { type: "string" } },
});

async function emitInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const kernel of [gemm, softmax, vectorAdd]) {
    const compiled = await build(kernel);
    const { python } = compiled.emit({ op: { namespace: "bench", form: "custom_op" } });
    writeFileSync(join(folder, compiled.file), python);
  }
}

async function time(out: string): Promise<number> {
  const { environment } = await findPython();
  if (!environment) {
    console.error("no Python with torch and triton was found; run npx tilescript setup");
    return 3;
  }
  const folder = mkdtempSync(join(tmpdir(), "tilescript-bench-"));
  try {
    await emitInto(folder);
    const args = [resolve(import.meta.dirname, "gpu.py"), folder, "--out", out];
    return spawnSync(environment.python, args, { stdio: "inherit" }).status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (given.prepare === undefined) process.exitCode = await time(resolve(import.meta.dirname, "results", given.out));
else await emitInto(given.prepare);
