/**
 * Times the examples on this machine's GPU and the alternatives that a user would otherwise run: `npm run bench --
 * gallery --out gallery-h200.json`, a file in bench/results. A call measures, for about eight minutes, cases that are
 * missing in the file or whose modules changed; the next call continues. `--only silu_mul,softmax` times some again,
 * and `--variants` also the changes of bench/variants.ts, into a separate file. For a machine without Node, `--prepare
 * FOLDER` only writes the modules, which `python bench/gallery.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { examples } from "../tests/support/examples.js";
import { resultFile, runOrPrepare } from "./in-python.js";
import { kernelDigest } from "./kernel-digest.js";
import { buildVariant, variants } from "./variants.js";

const { values: flags } = parseArgs({
  options: {
    out: { type: "string", default: "gallery.json" },
    prepare: { type: "string" },
    only: { type: "string" },
    minutes: { type: "string" },
    variants: { type: "boolean", default: false },
  },
});

async function emitInto(folder: string): Promise<void> {
  const digests: Record<string, string> = {};
  const modules = new Map<string, string>();
  const chosen = new Map<string, string>();
  for (const { kernel } of examples) {
    const compiled = await build(kernel);
    const { python, file } = compiled;
    modules.set(file, python);
    digests[kernel.name] = kernelDigest(python);
    const auto = compiled.emit({ warpSpecialize: "auto" }).python;
    // An operator's name can be registered only once.
    if (auto.includes("_specialized_kernel") && !auto.includes("torch.library")) chosen.set(file, auto);
  }
  writeAll(folder, modules);
  writeAll(join(folder, "auto"), chosen);
  writeFileSync(join(folder, "digests.json"), JSON.stringify(digests));
  for (const variant of flags.variants ? variants : []) {
    const { python, file } = await buildVariant(
      variant,
      examples.find(({ name }) => name === variant.example)!,
    );
    const { part, name } = variant;
    // PyTorch registers an operator's name only once, and the example already uses it.
    const namespacedModules = [...modules, [file, python] as const].map(
      ([module, text]) => [module, text.replaceAll("tilescript::", `${name}::`)] as const,
    );
    writeAll(join(folder, "variants", part, name), new Map(namespacedModules));
  }
}

function writeAll(folder: string, modules: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, python] of modules) writeFileSync(join(folder, file), python);
}

if (flags.prepare === undefined && flags.variants && flags.out === "gallery-h200.json")
  throw new Error("a record has no variants; name another --out");
const forwardedFlags = (["only", "minutes"] as const).flatMap((name) =>
  flags[name] ? [`--${name}`, flags[name]] : [],
);
await runOrPrepare(flags.prepare, "gallery.py", emitInto, ["--out", resultFile(flags.out), ...forwardedFlags]);
