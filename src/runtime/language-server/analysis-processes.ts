/**
 * Child processes that analyze kernel files: `tilescript lsp --analyze`. A kernel file runs when it is imported, so each
 * analysis has its own process, which can be killed. The next process starts ahead, because that takes longer than
 * most analyses.
 */
import { text } from "node:stream/consumers";
import { kernelFile } from "../../diagnostics/catalog/command-codes.js";
import { errorDiagnostic } from "../../diagnostics/diagnostic.js";
import { loadExeca, ProcessGroup } from "../system/process-group.js";
import { lastLine } from "../system/run-program.js";
import type { AnalysisOutcome, AnalysisRequest } from "./file-analysis.js";

/** Limit on an analysis: a loop of the file may never end. */
const DEADLINE_MS = 20_000;

export class AnalysisProcesses {
  #next: ProcessGroup | undefined;
  #hasEnded = false;

  /** `log` receives the output of kernel files. */
  constructor(
    readonly env: NodeJS.ProcessEnv,
    readonly log: (text: string) => void,
  ) {}

  /** Starts the next process. */
  async prepare(): Promise<void> {
    await loadExeca();
    this.#next ??= this.#start();
  }

  /** Analyzes a file; undefined if the signal aborts it. */
  async analyze(request: AnalysisRequest, signal: AbortSignal): Promise<AnalysisOutcome | undefined> {
    const group = this.#next ?? this.#start();
    this.#next = undefined;
    const { stdin, stdout, stderr } = group.child;
    if (!stdin || !stdout) throw new Error("the process has no pipes");
    let isLate = false;
    let errors = "";
    stderr?.on("data", (chunk: string) => void (errors += chunk));
    const abort = (): void => void group.kill();
    const timer = setTimeout(() => {
      isLate = true;
      abort();
    }, DEADLINE_MS);
    signal.addEventListener("abort", abort);
    try {
      stdin.on("error", () => undefined).end(JSON.stringify(request));
      const output = await text(stdout).catch(() => "");
      await group.completion;
      if (signal.aborted) return undefined;
      if (isLate)
        return { ok: false, details: "", diagnostics: [errorDiagnostic(kernelFile.endless(DEADLINE_MS / 1000))] };
      if (output === "") return { ok: false, details: lastLine(errors) ?? "the analysis ended without a result" };
      return JSON.parse(output) as AnalysisOutcome;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      if (!this.#hasEnded) this.#next ??= this.#start();
    }
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#next?.kill();
  }

  #start(): ProcessGroup {
    const args = [...process.execArgv, ...process.argv.slice(1, 2), "lsp", "--analyze", "--json"];
    const group = new ProcessGroup(process.execPath, args, { env: this.env, stdio: ["pipe", "pipe", "pipe"] });
    group.child.stderr?.setEncoding("utf8").on("data", (chunk: string) => this.log(chunk));
    return group;
  }
}
