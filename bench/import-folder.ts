/**
 * Imports every Triton kernel of a folder of Python files and prints how many are equal, and why others are not, the most
 * frequent reason first: `npm run import:folder -- FOLDER [--part 2/8] [--kernel NAME]… [--out OUT]
 * [--lift] [--record NAME]`. Nothing is fetched.
 *
 * A file `NAME.types` beside `NAME.py` has a line for each kernel, its name and what `--types` takes. A file
 * `NAME.call.py` launches the kernels, with launches noted; without either, the file is run as its own driver. A part,
 * such as 2/8, is every eighth file from the second on. OUT gets the kernel files that build. Each of them is given to
 * the TypeScript compiler, and to what `tilescript check` does. With `--record`, the counts of the part are kept in
 * `bench/results/imports.json` by the name of the collection.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { CompiledKernel } from "../src/compiled/compiled-kernel.js";
import { parseTypes } from "../src/import/given-types.js";
import { importKernel, type ImportedKernel, isEqual } from "../src/runtime/import-check/imported-kernel.js";
import { openScratch } from "../src/runtime/import-check/scratch.js";
import { thisMachine } from "../src/runtime/devices/machine.js";
import type { ImportRequest, ReadKernel } from "../src/runtime/worker/protocol.js";
import { proofDiagnostics } from "../src/runtime/report/proof-text.js";
import { recordPart } from "./import-record.js";
import { columns, type ImportSeconds, MeteredWorker, secondsText } from "./import-seconds.js";

const READ_MS = 60_000;
const { values: given, positionals } = parseArgs({
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
if (folder === undefined) throw new Error("name a folder: npm run import:folder -- FOLDER");
const [first = 1, step = 1] = given.part.split("/").map(Number);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".py") && !name.endsWith(".call.py"))
  .sort()
  .filter((_, i) => i % step === first - 1)
  .map((name) => resolve(join(folder, name)));
const root = resolve(import.meta.dirname, "..");
const out = given.out ?? mkdtempSync(join(tmpdir(), "tilescript-import-"));
mkdirSync(out, { recursive: true });

const { python } = await thisMachine.python({});
const worker = new MeteredWorker({ python, device: "compiler" });
const scratch = await openScratch();
const tools = { worker, scratch, language: () => import("../src/index.js"), deadlineMs: READ_MS, lift: given.lift };

/** What asks for the kernels of a file. */
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
      .filter(({ kernels: [name] }) => given.kernel.length === 0 || given.kernel.includes(name!));
  const driver = file.replace(/\.py$/, ".call.py");
  return [{ type: "import", file, kernels: given.kernel, call: existsSync(driver) ? driver : file }];
}

/** Untouched, and else with every condition that Triton knows decided as in the first call. */
async function imported(read: ReadKernel): Promise<ImportedKernel> {
  const [plain, spent] = await worker.seconds(read.spent, () => importKernel(read, { ...tools, lift: false }));
  if ("refused" in read) return plain;
  times.push(spent);
  if (isEqual(plain)) return given.lift ? await withViews(read) : plain;
  note("untouched", read.name, whyOf(plain));
  const fixed = await importKernel(read, { ...tools, specialize: new Set() });
  if (!isEqual(fixed)) note("specialized", read.name, whyOf(fixed));
  return isEqual(fixed) ? fixed : plain;
}

async function withViews(read: ReadKernel): Promise<ImportedKernel> {
  const [result, spent] = await worker.seconds(read.spent, () => importKernel(read, tools));
  liftTimes.push(spent);
  return result;
}

function note(how: string, name: string, why: string): void {
  console.log(`${name}, ${how}: ${why}`);
  const kind = `${how}: ${kindOf(why)}`;
  reasons.set(kind, [...(reasons.get(kind) ?? []), name]);
}

/** Why a kernel is not equal. */
function whyOf(result: ImportedKernel): string {
  if (result.status === "differs") return `${result.original} | ${result.imported}`;
  return result.status === "not imported" ? result.reason : "";
}

const counts = new Map<string, number>();
const reasons = new Map<string, string[]>();
const count = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);

const written: string[] = [];
/** As an import without options takes, and with `--lift`. */
const times: ImportSeconds[] = [];
const liftTimes: ImportSeconds[] = [];

for (const file of files) {
  for (const request of requestsOf(file)) {
    const reply = await worker.request(request, READ_MS);
    if (!reply.ok) {
      count("files without a launch");
      console.log(`${file}: ${reply.error.message}`);
      continue;
    }
    for (const read of reply.result.kernels) await add(file, read);
  }
}
await worker.stop();
await scratch.remove();
countTypeErrors();
if (given.out === undefined) rmSync(out, { recursive: true });

async function add(file: string, read: ReadKernel): Promise<void> {
  const uncompiled = "refused" in read;
  const result = await imported(read);
  count(uncompiled ? "not compiled by Triton" : result.status);
  if (!uncompiled && result.built && result.text !== undefined) {
    count("builds");
    const name = `${relative(resolve(folder!), file).replaceAll(/\W/g, "_")}_${read.name}.ts`;
    writeFileSync(join(out, name), result.text);
    written.push(name);
    countCheck(name, result.built);
  }
  for (const { line, of, why } of result.accesses ?? []) {
    count("accesses");
    if (why === undefined) count("accesses that are views");
    else note("not lifted", `${read.name}:${line}`, `${of}: ${why}`);
  }
  if (!isEqual(result)) console.log(`${file}: ${read.name}: ${result.status}: ${whyOf(result)}`);
}

/** What `tilescript check` says: errors, or what is left to prove. */
function countCheck(name: string, built: CompiledKernel): void {
  const proof = built.proof();
  const diagnostics = [...built.warnings, ...proofDiagnostics(proof)];
  const wrong = diagnostics.filter(({ severity }) => severity === "error");
  for (const { message } of wrong) console.log(`${name}: check: ${message}`);
  const open = proof.obligations.filter(({ verdict }) => verdict.kind === "unknown").length;
  count(wrong.length > 0 ? "check finds a mistake" : open > 0 ? "check leaves questions" : "check proves everything");
}

/** One run of the compiler for all files. */
function countTypeErrors(): void {
  const project = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: true,
      incremental: false,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
      rootDir: "/",
      paths: { tilescript: [join(root, "src/index.ts")] },
    },
    include: [],
    exclude: [],
    files: written,
  };
  const file = join(out, "tsconfig.json");
  writeFileSync(file, JSON.stringify(project));
  writeFileSync(join(out, "package.json"), '{ "type": "module" }');
  const { stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", file], {
    cwd: out,
    encoding: "utf8",
  });
  const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
  for (const line of errors) console.log(line.slice(0, 300));
  const wrong = written.filter((name) => errors.some((line) => line.startsWith(name)));
  const others = errors.filter((line) => !written.some((name) => line.startsWith(name)));
  if (others.length > 0) throw new Error(`the compiler did not run: ${others[0]}`);
  counts.set("clean under tsc", written.length - wrong.length);
}

/** The reason without what belongs to one kernel. */
function kindOf(why: string): string {
  return why
    .replace(/\(at ".*/s, "")
    .replace(/^(load of|store to) \w+/, "$1 …")
    .replace(/\b[\w.]*\d[\w.]*\b|"[^"]*"/g, "…")
    .slice(0, 120);
}

for (const [name, number] of counts) console.log(`${String(number).padStart(5)}  ${name}`);
const ranked = [...reasons].sort(([, a], [, b]) => b.length - a.length);
for (const [why, names] of ranked)
  console.log(`${String(names.length).padStart(5)}  ${why}: ${names.slice(0, 4).join(", ")}`);
console.log(secondsText("a kernel", times));
if (liftTimes.length > 0) console.log(secondsText("a kernel with --lift", liftTimes));
if (given.record !== undefined) {
  const numbers = Object.fromEntries(ranked.slice(0, 20).map(([why, names]) => [why, names.length]));
  const seconds = { plain: columns(times), ...(liftTimes.length > 0 && { lift: columns(liftTimes) }) };
  await recordPart(given.record, given.part, { counts: Object.fromEntries(counts), reasons: numbers, seconds }, python);
}
