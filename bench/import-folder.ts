/**
 * Imports every Triton kernel of a folder of Python files, and prints the number of equal ones and the reasons for the
 * others, the most frequent first: `npm run bench -- import-folder FOLDER [--part 2/8] [--kernel NAME]… [--out OUT]
 * [--lift] [--record NAME]`. Nothing is downloaded.
 *
 * A file `NAME.types` next to `NAME.py` has a line per kernel: its name and the value of `--types`. A file
 * `NAME.call.py` launches the kernels, with launches recorded. Without either, the file is run as its own driver. A
 * part, such as 2/8, is every eighth file, starting with the second. OUT receives the kernel files that build; the
 * TypeScript compiler and `tilescript check` then check each of them. With `--record`, the counts of the part are
 * recorded in `bench/results/imports.json` under the name of the collection.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseTypes } from "../src/import/given-types.js";
import { thisMachine } from "../src/runtime/devices/devices.js";
import type { ImportRequest } from "../src/runtime/worker/protocol.js";
import { recordPart } from "./import-record.js";
import { MeteredWorker } from "./import-seconds.js";
import { ImportTally, READ_MS } from "./import-tally.js";

const { values: flags, positionals } = parseArgs({
  options: {
    part: { type: "string", default: "1/1" },
    kernel: { type: "string", multiple: true, default: [] },
    out: { type: "string" },
    lift: { type: "boolean", default: false },
    record: { type: "string" },
  },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) throw new Error("name a folder: npm run bench -- import-folder FOLDER");
const [firstIndex = 1, step = 1] = flags.part.split("/").map(Number);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".py") && !name.endsWith(".call.py"))
  .sort()
  .filter((_, i) => i % step === firstIndex - 1)
  .map((name) => resolve(join(folder, name)));
const { python } = await thisMachine.python({});
const worker = new MeteredWorker({ python, device: "compiler" });
const tally = await ImportTally.open({ worker, lift: flags.lift, out: flags.out });

/** The import requests for the kernels of a file. */
function requestsOf(file: string): readonly ImportRequest[] {
  const types = file.replace(/\.py$/, ".types");
  if (existsSync(types))
    return readFileSync(types, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [name = "", text = ""] = line.split(/ (.*)/s);
        return { type: "import" as const, file, kernels: [name], types: parseTypes(text) };
      })
      .filter(({ kernels: [name] }) => flags.kernel.length === 0 || flags.kernel.includes(name!));
  const driver = file.replace(/\.py$/, ".call.py");
  return [{ type: "import", file, kernels: flags.kernel, call: existsSync(driver) ? driver : file }];
}

for (const file of files) {
  for (const request of requestsOf(file)) {
    const reply = await worker.request(request, READ_MS);
    if (!reply.ok) {
      tally.count("files without a launch");
      console.log(`${file}: ${reply.error.message}`);
      continue;
    }
    for (const read of reply.result.kernels) await tally.add(relative(resolve(folder), file), read);
  }
}
const imported = await tally.finish();
if (flags.record !== undefined) await recordPart(flags.record, flags.part, imported, python);
