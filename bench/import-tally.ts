/** Imports kernels one after the other, and counts the equal ones and the reasons for the others. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { CompiledKernel } from "../src/compiled/compiled-kernel.js";
import { proofDiagnostics } from "../src/runtime/report/proof-text.js";
import { importKernel, type ImportedKernel, isEqual } from "../src/runtime/import-check/imported-kernel.js";
import { openScratch, type Scratch } from "../src/runtime/import-check/scratch.js";
import type { ReadKernel } from "../src/runtime/worker/protocol.js";
import type { ImportPart } from "./import-record.js";
import { columns, type ImportSeconds, type MeteredWorker, secondsText } from "./import-seconds.js";

/** The time limit of a request to the worker. */
export const READ_MS = 60_000;

const root = resolve(import.meta.dirname, "..");

export interface TallyOptions {
  readonly worker: MeteredWorker;
  readonly lift: boolean;
  /** Receives the kernel files that build; absent for a temporary folder. */
  readonly out?: string | undefined;
}

/** What became of a kernel. */
export interface Outcome {
  readonly status: ImportedKernel["status"] | "not compiled by Triton";
  readonly reason: string;
}

export class ImportTally {
  readonly #counts = new Map<string, number>();
  readonly #reasons = new Map<string, string[]>();
  readonly #writtenFiles: string[] = [];
  /** Durations of an import without options, and with `--lift`. */
  readonly #times: ImportSeconds[] = [];
  readonly #liftTimes: ImportSeconds[] = [];
  readonly #outFolder: string;

  private constructor(
    private readonly options: TallyOptions,
    private readonly scratch: Scratch,
  ) {
    this.#outFolder = options.out ?? mkdtempSync(join(tmpdir(), "tilescript-import-"));
    mkdirSync(this.#outFolder, { recursive: true });
  }

  static async open(options: TallyOptions): Promise<ImportTally> {
    return new ImportTally(options, await openScratch());
  }

  count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Imports a kernel. `file` names its Python file. */
  async add(file: string, read: ReadKernel): Promise<Outcome> {
    const result = await this.#importRead(read);
    const status = "refused" in read ? "not compiled by Triton" : result.status;
    this.count(status);
    if (status !== "not compiled by Triton" && result.built && result.text !== undefined) {
      this.count("builds");
      const name = `${file.replaceAll(/\W/g, "_")}_${read.name}.ts`;
      writeFileSync(join(this.#outFolder, name), result.text);
      this.#writtenFiles.push(name);
      this.#countCheck(name, result.built);
    }
    for (const { line, of: access, why: reason } of result.accesses ?? []) {
      this.count("accesses");
      if (reason === undefined) this.count("accesses that are views");
      else this.#recordReason("not lifted", `${read.name}:${line}`, `${access}: ${reason}`);
    }
    if (!isEqual(result)) console.log(`${file}: ${read.name}: ${result.status}: ${whyOf(result)}`);
    return { status, reason: whyOf(result) };
  }

  /** Checks the types of the written files, prints the counts, and returns them. */
  async finish(): Promise<ImportPart> {
    await this.options.worker.stop();
    await this.scratch.remove();
    this.#countTypeErrors();
    if (this.options.out === undefined) rmSync(this.#outFolder, { recursive: true });
    for (const [name, number] of this.#counts) console.log(`${String(number).padStart(5)}  ${name}`);
    const rankedReasons = [...this.#reasons].sort(([, a], [, b]) => b.length - a.length);
    for (const [reason, names] of rankedReasons)
      console.log(`${String(names.length).padStart(5)}  ${reason}: ${names.slice(0, 4).join(", ")}`);
    console.log(secondsText("a kernel", this.#times));
    if (this.#liftTimes.length > 0) console.log(secondsText("a kernel with --lift", this.#liftTimes));
    return {
      counts: Object.fromEntries(this.#counts),
      reasons: Object.fromEntries(rankedReasons.slice(0, 20).map(([reason, names]) => [reason, names.length])),
      seconds: {
        plain: columns(this.#times),
        ...(this.#liftTimes.length > 0 && { lift: columns(this.#liftTimes) }),
      },
    };
  }

  /**
   * Imports a kernel unchanged. If the file leaves out a part of the original or is not equal, imports it again with
   * every compile-time condition specialized to the first call.
   */
  async #importRead(read: ReadKernel): Promise<ImportedKernel> {
    const { worker, lift } = this.options;
    const tools = {
      worker,
      scratch: this.scratch,
      language: () => import("../src/index.js"),
      deadlineMs: READ_MS,
      lift,
    };
    const [plain, secondsSpent] = await worker.seconds(read.spent, () => importKernel(read, { ...tools, lift: false }));
    if ("refused" in read) return plain;
    this.#times.push(secondsSpent);
    if (plain.status !== "equal") {
      this.#recordReason("untouched", read.name, whyOf(plain));
      const specialized = await importKernel(read, { ...tools, specialize: new Set() });
      // A decorator's option, such as a function that drops configs, depends on no flag.
      const lacksOption = specialized.leftOut?.some(({ what }) => what === "option") === true;
      if (isEqual(specialized) && !lacksOption) return specialized;
      this.#recordReason("specialized", read.name, whyOf(specialized));
    }
    if (!lift || !isEqual(plain)) return plain;
    const [result, liftSeconds] = await worker.seconds(read.spent, () => importKernel(read, tools));
    this.#liftTimes.push(liftSeconds);
    return result;
  }

  #recordReason(variant: string, name: string, reason: string): void {
    console.log(`${name}, ${variant}: ${reason}`);
    const kind = `${variant}: ${kindOf(reason)}`;
    this.#reasons.set(kind, [...(this.#reasons.get(kind) ?? []), name]);
  }

  /** Counts the result of `tilescript check`: errors, or unproved obligations. */
  #countCheck(name: string, built: CompiledKernel): void {
    const proof = built.proof();
    const diagnostics = [...built.warnings, ...proofDiagnostics(proof)];
    const errorDiagnostics = diagnostics.filter(({ severity }) => severity === "error");
    for (const { message } of errorDiagnostics) console.log(`${name}: check: ${message}`);
    const unprovedCount = proof.obligations.filter(({ verdict }) => verdict.kind === "unknown").length;
    this.count(
      errorDiagnostics.length > 0
        ? "check finds a mistake"
        : unprovedCount > 0
          ? "check leaves questions"
          : "check proves everything",
    );
  }

  /** Runs the compiler once for all files. */
  #countTypeErrors(): void {
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
      files: this.#writtenFiles,
    };
    const file = join(this.#outFolder, "tsconfig.json");
    writeFileSync(file, JSON.stringify(project));
    writeFileSync(join(this.#outFolder, "package.json"), '{ "type": "module" }');
    const { stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", file], {
      cwd: this.#outFolder,
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
    for (const line of errors) console.log(line.slice(0, 300));
    const withErrors = this.#writtenFiles.filter((name) => errors.some((line) => line.startsWith(name)));
    const otherErrors = errors.filter((line) => !this.#writtenFiles.some((name) => line.startsWith(name)));
    if (otherErrors.length > 0) throw new Error(`the compiler did not run: ${otherErrors[0]}`);
    this.#counts.set("clean under tsc", this.#writtenFiles.length - withErrors.length);
  }
}

/** The reason why a kernel is not equal, or what its file leaves out. */
function whyOf(result: ImportedKernel): string {
  if (result.status === "differs") return `${result.original} | ${result.imported}`;
  if (result.status === "not imported") return result.reason;
  return (result.leftOut ?? []).map(({ text }) => text).join("; ");
}

/** The reason without details of one kernel. */
function kindOf(reason: string): string {
  return reason
    .replace(/\(at ".*/s, "")
    .replace(/^(load of|store to) \w+/, "$1 …")
    .replace(/\b[\w.]*\d[\w.]*\b|"[^"]*"/g, "…")
    .slice(0, 120);
}
