/**
 * Imports every Triton kernel of a folder of Python files and prints how many are equal, and why others are not:
 * `npm run import:folder -- FOLDER [PART]`. Each file is run as its own driver, with launches noted; a file `NAME.call.py`
 * beside `NAME.py` is run in its place. Nothing is fetched, and nothing is written. PART, such as 2/8, takes every eighth
 * file from the second on.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { importKernel, type ImportedKernel, isEqual } from "../src/runtime/importing/imported-kernel.js";
import { openScratch } from "../src/runtime/importing/scratch.js";
import { thisMachine } from "../src/runtime/devices/machine.js";
import type { ReadKernel } from "../src/runtime/python/protocol.js";
import { Worker } from "../src/runtime/python/worker.js";

const READ_MS = 60_000;
const [folder, part = "1/1"] = process.argv.slice(2);
if (folder === undefined) throw new Error("name a folder: npm run import:folder -- FOLDER");
const [first = 1, step = 1] = part.split("/").map(Number);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".py") && !name.endsWith(".call.py"))
  .sort()
  .filter((_, i) => i % step === first - 1)
  .map((name) => resolve(join(folder, name)));

const { python } = await thisMachine.python({});
const worker = new Worker({ python, device: "compiler" });
const scratch = await openScratch();
const tools = { worker, scratch, language: () => import("../src/index.js"), deadlineMs: READ_MS };

/** Untouched, and else with every condition that Triton knows decided as in the first call. */
async function imported(read: ReadKernel): Promise<ImportedKernel> {
  const plain = await importKernel(read, tools);
  if (isEqual(plain) || "refused" in read) return plain;
  const fixed = await importKernel(read, { ...tools, specialise: new Set() });
  if (!isEqual(fixed) && whyOf(fixed) !== whyOf(plain)) console.log(`${read.name}, flags fixed: ${whyOf(fixed)}`);
  return isEqual(fixed) ? fixed : plain;
}

/** Why a kernel is not equal. */
function whyOf(result: ImportedKernel): string {
  if (result.status === "differs") return `${result.original} | ${result.imported}`;
  return result.status === "not imported" ? result.reason : "";
}

const counts = new Map<string, number>();
const reasons = new Map<string, string[]>();
const count = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);

for (const file of files) {
  const driver = file.replace(/\.py$/, ".call.py");
  const call = existsSync(driver) ? driver : file;
  const reply = await worker.request({ type: "import", file, kernels: [], call }, READ_MS);
  if (!reply.ok) {
    count("files without a launch");
    console.log(`${file}: ${reply.error.message}`);
    continue;
  }
  for (const read of reply.result.kernels) {
    const uncompiled = "refused" in read;
    const result = await imported(read);
    count(uncompiled ? "not compiled by Triton" : result.status);
    if (isEqual(result)) continue;
    const why =
      result.status === "differs" ? `${result.original} | ${result.imported}` : "reason" in result ? result.reason : "";
    console.log(`${file}: ${read.name}: ${result.status}: ${why}`);
    if (!uncompiled) reasons.set(kindOf(why), [...(reasons.get(kindOf(why)) ?? []), read.name]);
  }
}
await worker.stop();
await scratch.remove();

/** The reason without what belongs to one kernel. */
function kindOf(why: string): string {
  return why
    .replace(/\(at ".*/s, "")
    .replace(/\b[\w.]*\d[\w.]*\b|"[^"]*"/g, "…")
    .slice(0, 120);
}

for (const [name, number] of counts) console.log(`${String(number).padStart(5)}  ${name}`);
const ranked = [...reasons].sort(([, a], [, b]) => b.length - a.length);
for (const [why, names] of ranked)
  console.log(`${String(names.length).padStart(5)}  ${why}: ${names.slice(0, 4).join(", ")}`);
