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
const root = resolve(import.meta.dirname, "..");
const outFolder = flags.out ?? mkdtempSync(join(tmpdir(), "tilescript-import-"));
mkdirSync(outFolder, { recursive: true });

const { python } = await thisMachine.python({});
const worker = new MeteredWorker({ python, device: "compiler" });
const scratch = await openScratch();
const tools = { worker, scratch, language: () => import("../src/index.js"), deadlineMs: READ_MS, lift: flags.lift };

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

/**
 * Imports a kernel unchanged. If it is not equal, imports it again with every compile-time condition specialized to the
 * first call.
 */
async function importRead(read: ReadKernel): Promise<ImportedKernel> {
  const [plain, secondsSpent] = await worker.seconds(read.spent, () => importKernel(read, { ...tools, lift: false }));
  if ("refused" in read) return plain;
  times.push(secondsSpent);
  if (isEqual(plain)) return flags.lift ? await withViews(read) : plain;
  recordReason("untouched", read.name, whyOf(plain));
  const specialized = await importKernel(read, { ...tools, specialize: new Set() });
  if (!isEqual(specialized)) recordReason("specialized", read.name, whyOf(specialized));
  return isEqual(specialized) ? specialized : plain;
}

async function withViews(read: ReadKernel): Promise<ImportedKernel> {
  const [result, secondsSpent] = await worker.seconds(read.spent, () => importKernel(read, tools));
  liftTimes.push(secondsSpent);
  return result;
}

function recordReason(variant: string, name: string, reason: string): void {
  console.log(`${name}, ${variant}: ${reason}`);
  const kind = `${variant}: ${kindOf(reason)}`;
  reasons.set(kind, [...(reasons.get(kind) ?? []), name]);
}

/** The reason why a kernel is not equal. */
function whyOf(result: ImportedKernel): string {
  if (result.status === "differs") return `${result.original} | ${result.imported}`;
  return result.status === "not imported" ? result.reason : "";
}

const counts = new Map<string, number>();
const reasons = new Map<string, string[]>();
const count = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);

const writtenFiles: string[] = [];
/** Durations of an import without options, and with `--lift`. */
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
if (flags.out === undefined) rmSync(outFolder, { recursive: true });

async function add(file: string, read: ReadKernel): Promise<void> {
  const isUncompiled = "refused" in read;
  const result = await importRead(read);
  count(isUncompiled ? "not compiled by Triton" : result.status);
  if (!isUncompiled && result.built && result.text !== undefined) {
    count("builds");
    const name = `${relative(resolve(folder!), file).replaceAll(/\W/g, "_")}_${read.name}.ts`;
    writeFileSync(join(outFolder, name), result.text);
    writtenFiles.push(name);
    countCheck(name, result.built);
  }
  for (const { line, of: access, why: reason } of result.accesses ?? []) {
    count("accesses");
    if (reason === undefined) count("accesses that are views");
    else recordReason("not lifted", `${read.name}:${line}`, `${access}: ${reason}`);
  }
  if (!isEqual(result)) console.log(`${file}: ${read.name}: ${result.status}: ${whyOf(result)}`);
}

/** Counts the result of `tilescript check`: errors, or unproved obligations. */
function countCheck(name: string, built: CompiledKernel): void {
  const proof = built.proof();
  const diagnostics = [...built.warnings, ...proofDiagnostics(proof)];
  const errorDiagnostics = diagnostics.filter(({ severity }) => severity === "error");
  for (const { message } of errorDiagnostics) console.log(`${name}: check: ${message}`);
  const unprovedCount = proof.obligations.filter(({ verdict }) => verdict.kind === "unknown").length;
  count(
    errorDiagnostics.length > 0
      ? "check finds a mistake"
      : unprovedCount > 0
        ? "check leaves questions"
        : "check proves everything",
  );
}

/** Runs the compiler once for all files. */
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
    files: writtenFiles,
  };
  const file = join(outFolder, "tsconfig.json");
  writeFileSync(file, JSON.stringify(project));
  writeFileSync(join(outFolder, "package.json"), '{ "type": "module" }');
  const { stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", file], {
    cwd: outFolder,
    encoding: "utf8",
  });
  const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
  for (const line of errors) console.log(line.slice(0, 300));
  const errorDiagnostics = writtenFiles.filter((name) => errors.some((line) => line.startsWith(name)));
  const otherErrors = errors.filter((line) => !writtenFiles.some((name) => line.startsWith(name)));
  if (otherErrors.length > 0) throw new Error(`the compiler did not run: ${otherErrors[0]}`);
  counts.set("clean under tsc", writtenFiles.length - errorDiagnostics.length);
}

/** The reason without details of one kernel. */
function kindOf(reason: string): string {
  return reason
    .replace(/\(at ".*/s, "")
    .replace(/^(load of|store to) \w+/, "$1 …")
    .replace(/\b[\w.]*\d[\w.]*\b|"[^"]*"/g, "…")
    .slice(0, 120);
}

for (const [name, number] of counts) console.log(`${String(number).padStart(5)}  ${name}`);
const rankedReasons = [...reasons].sort(([, a], [, b]) => b.length - a.length);
for (const [reason, names] of rankedReasons)
  console.log(`${String(names.length).padStart(5)}  ${reason}: ${names.slice(0, 4).join(", ")}`);
console.log(secondsText("a kernel", times));
if (liftTimes.length > 0) console.log(secondsText("a kernel with --lift", liftTimes));
if (flags.record !== undefined) {
  const numbers = Object.fromEntries(rankedReasons.slice(0, 20).map(([reason, names]) => [reason, names.length]));
  const seconds = { plain: columns(times), ...(liftTimes.length > 0 && { lift: columns(liftTimes) }) };
  await recordPart(flags.record, flags.part, { counts: Object.fromEntries(counts), reasons: numbers, seconds }, python);
}
