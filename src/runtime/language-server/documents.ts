/** The documents that are open in the editor, with the analysis of their current text. */
import { existsSync, realpathSync, rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { sourcesOf, createProofFolder } from "../system/files.js";
import type { AnalysisOutcome, AnalysisRequest, Texts } from "./file-analysis.js";
import { text } from "node:stream/consumers";
import { kernelFile } from "../../diagnostics/catalog/command-codes.js";
import { errorDiagnostic } from "../../diagnostics/diagnostic.js";
import { lastLine, loadExeca, ProcessGroup } from "../system/processes.js";

// Child processes that analyze kernel files: `tilescript lsp --analyze`. A kernel file runs when it is imported, so each
// analysis has its own process, which can be killed. The next process starts ahead, because that takes longer than
// most analyses.

/** Limit on an analysis: a loop of the file may never end. */
const DEADLINE_MS = 20_000;

class AnalysisProcesses {
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

/** A pause in typing. */
const DEBOUNCE_MS = 150;

export interface OpenDocument {
  readonly uri: string;
  /** The path without symbolic links, as in stack traces. */
  readonly path: string;
  readonly version: number;
  readonly text: string;
}

interface Analysis {
  readonly document: OpenDocument;
  readonly controller: AbortController;
  /** Undefined if it was aborted, or if the document is no kernel file. */
  readonly outcome: Promise<AnalysisOutcome | undefined>;
}

export class Documents {
  readonly #analyses = new Map<string, Analysis>();
  readonly #proofs = createProofFolder();
  readonly #processes: AnalysisProcesses;

  /** `publish` receives each outcome; undefined for a document that is closed or no kernel file. */
  constructor(
    readonly publish: (document: OpenDocument, outcome: AnalysisOutcome | undefined) => void,
    log: (text: string) => void,
  ) {
    this.#processes = new AnalysisProcesses({ ...process.env, ...this.#proofs.env }, log);
  }

  prepare(): Promise<void> {
    return this.#processes.prepare();
  }

  open(uri: string, version: number, text: string): void {
    if (uri.startsWith("file:")) this.#update({ uri, path: pathOf(uri), version, text }, 0);
  }

  change(uri: string, version: number, text: string): void {
    const analysis = this.#analyses.get(uri);
    if (analysis) this.#update({ ...analysis.document, version, text }, DEBOUNCE_MS);
  }

  close(uri: string): void {
    const analysis = this.#analyses.get(uri);
    if (!analysis) return;
    analysis.controller.abort();
    this.#analyses.delete(uri);
    this.publish(analysis.document, undefined);
  }

  /** The document with the outcome for its newest text. */
  async current(uri: string): Promise<{ document: OpenDocument; outcome: AnalysisOutcome } | undefined> {
    for (;;) {
      const analysis = this.#analyses.get(uri);
      const outcome = await analysis?.outcome;
      if (this.#analyses.get(uri) !== analysis) continue;
      return analysis && outcome && { document: analysis.document, outcome };
    }
  }

  async end(): Promise<void> {
    for (const { controller } of this.#analyses.values()) controller.abort();
    await this.#processes.end();
    rmSync(this.#proofs.folder, { recursive: true, force: true });
  }

  /** Analyzes a new text, and the other open documents that import its file. */
  #update(document: OpenDocument, delayMs: number): void {
    this.#analyze(document, delayMs);
    for (const { document: other } of this.#analyses.values())
      if (other.uri !== document.uri && sourcesOf([other.path], this.#texts()).has(document.path))
        this.#analyze(other, DEBOUNCE_MS);
  }

  #analyze(document: OpenDocument, delayMs: number): void {
    this.#analyses.get(document.uri)?.controller.abort();
    const controller = new AbortController();
    const outcome = isKernelFile(document)
      ? this.#outcome(document, delayMs, controller.signal)
      : Promise.resolve(undefined);
    this.#analyses.set(document.uri, { document, controller, outcome });
    void outcome.then((result) => {
      if (!controller.signal.aborted) this.publish(document, result);
    });
  }

  async #outcome({ path }: OpenDocument, delayMs: number, signal: AbortSignal): Promise<AnalysisOutcome | undefined> {
    await delay(delayMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    const request = { file: path, texts: this.#texts() };
    return this.#processes.analyze(request, signal).catch((error) => ({ ok: false, details: String(error) }));
  }

  #texts(): Texts {
    return Object.fromEntries([...this.#analyses.values()].map(({ document: { path, text } }) => [path, text]));
  }
}

/** The URI of a file: the editor's for its document, which may have symbolic links. */
export const uriIn = (document: OpenDocument, file: string): string =>
  file === document.path ? document.uri : pathToFileURL(file).href;

function pathOf(uri: string): string {
  const path = fileURLToPath(uri);
  return existsSync(path) ? realpathSync(path) : path;
}

/** True for a file that defines a kernel. Other files are not run. */
const isKernelFile = ({ path, text }: OpenDocument): boolean =>
  existsSync(path) && /["']tilescript["']/.test(text) && /\b(?:kernel|op)\s*\(/.test(text);
