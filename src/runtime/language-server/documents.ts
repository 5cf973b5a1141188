/** The documents that are open in the editor, with the analysis of their current text. */
import { existsSync, realpathSync, rmSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createProofFolder } from "../system/proof-cache.js";
import { sourcesOf } from "../invocation/source-files.js";
import { AnalysisProcesses } from "./analysis-processes.js";
import type { AnalysisOutcome } from "./file-analysis.js";
import type { Texts } from "./unsaved-texts.js";

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
    await setTimeout(delayMs, undefined, { signal }).catch(() => undefined);
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
