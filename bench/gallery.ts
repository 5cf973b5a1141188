/**
 * Times the examples on this machine's GPU beside what a user would run instead: `npm run bench:gallery -- --out
 * gallery-h200.json`, a file in bench/results. A call measures for about eight minutes what the file lacks or has of other
 * modules; the next one goes on. `--only silu_mul,softmax` times some, also anew, and `--variants` the changes of
 * bench/variants.ts beside them, for a file of its own. For a machine without Node, `--prepare FOLDER` only writes the
 * modules, which `python bench/gallery.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { examples } from "../tests/support/examples.js";
import { resultFile, runOnModules } from "./in-python.js";
import { kernelDigest } from "./kernel-digest.js";
import { buildVariant, variants } from "./variants.js";

const { values: given } = parseArgs({
  options: {
    out: { type: "string", default: "gallery.json" },
    prepare: { type: "string" },
    only: { type: "string" },
    minutes: { type: "string" },
    variants: { type: "boolean", default: false },
  },
});

async function emitInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const digests: Record<string, string> = {};
  const modules = new Map<string, string>();
  for (const { kernel } of examples) {
    const { python, file } = await build(kernel);
    modules.set(file, python);
    digests[kernel.name] = kernelDigest(python);
  }
  writeAll(folder, modules);
  writeFileSync(join(folder, "digests.json"), JSON.stringify(digests));
  for (const variant of given.variants ? variants : []) {
    const { python, file } = await buildVariant(
      variant,
      examples.find(({ name }) => name === variant.example)!,
    );
    const { part, name } = variant;
    // PyTorch has an operator's name once, and the example has it.
    const own = [...modules, [file, python] as const].map(
      ([each, text]) => [each, text.replaceAll("tilescript::", `${name}::`)] as const,
    );
    writeAll(join(folder, "variants", part, name), new Map(own));
  }
}

function writeAll(folder: string, modules: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, python] of modules) writeFileSync(join(folder, file), python);
}

if (given.prepare === undefined) {
  if (given.variants && given.out === "gallery-h200.json")
    throw new Error("a record has no variants; name another --out");
  const passed = (["only", "minutes"] as const).flatMap((name) => (given[name] ? [`--${name}`, given[name]] : []));
  process.exitCode = await runOnModules("gallery.py", emitInto, ["--out", resultFile(given.out), ...passed]);
} else await emitInto(given.prepare);
