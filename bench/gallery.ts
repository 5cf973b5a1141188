/**
 * Times the examples on this machine's GPU beside what a user would run instead: `npm run bench:gallery -- --out
 * gallery-h200.json`, a file in bench/results. `--only silu_mul,softmax` times some, and keeps the figures of the others
 * if device, versions and modules are those of the file. For a machine without Node, `--prepare FOLDER` only writes the
 * modules, which `python bench/gallery.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { examples } from "../tests/support/examples.js";
import { resultFile, runOnModules } from "./in-python.js";
import { kernelDigest } from "./kernel-digest.js";

const { values: given } = parseArgs({
  options: {
    out: { type: "string", default: "gallery.json" },
    prepare: { type: "string" },
    only: { type: "string" },
  },
});

async function emitInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const digests: Record<string, string> = {};
  for (const { kernel } of examples) {
    const { python, file } = await build(kernel);
    writeFileSync(join(folder, file), python);
    digests[kernel.name] = kernelDigest(python);
  }
  writeFileSync(join(folder, "digests.json"), JSON.stringify(digests));
}

if (given.prepare === undefined) {
  const only = given.only === undefined ? [] : ["--only", given.only];
  process.exitCode = await runOnModules("gallery.py", emitInto, ["--out", resultFile(given.out), ...only]);
} else await emitInto(given.prepare);
