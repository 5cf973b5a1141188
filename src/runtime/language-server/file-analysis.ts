/** The facts about a kernel file that an editor shows, as plain data. A child process computes them. */
import type { Certificate, CompiledKernel, NamedTile, ProofCache } from "../../compiled/compiled-kernel.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import type { Runnable } from "../invocation/command.js";
import { isBuildError } from "../invocation/kernels.js";
import { kernelDiagnostics } from "../report/proof-text.js";
import type { Problem } from "../report/reports.js";
import { once } from "node:events";
import fs from "node:fs";
import module from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel } from "node:worker_threads";

export interface AnalysisRequest {
  readonly file: string;
  readonly texts: Texts;
}

export interface FileAnalysis {
  readonly diagnostics: readonly Diagnostic[];
  /** The diagnostics of the build. `tilescript fix` applies their edits. An edit of a proof is the author's decision. */
  readonly build: readonly Diagnostic[];
  /** The kernels that build. */
  readonly kernels: readonly KernelAnalysis[];
}

export interface KernelAnalysis extends Pick<CompiledKernel, "file" | "python" | "map"> {
  readonly kernel: string;
  readonly proof: Certificate;
  readonly tiles: readonly NamedTile[];
}

/** A file without kernels, or one that cannot be imported, has a problem instead. */
export type AnalysisOutcome = FileAnalysis | Problem;

/** Builds and proves kernels. Their errors are part of the result. */
export async function analyze(runnables: readonly Runnable[], cache: ProofCache | undefined): Promise<FileAnalysis> {
  const diagnostics: Diagnostic[] = [];
  const build: Diagnostic[] = [];
  const kernels: KernelAnalysis[] = [];
  for (const runnable of runnables) {
    try {
      const compiled = await runnable.compile();
      const proof = compiled.proof(cache);
      const { file, python, map } = compiled;
      kernels.push({ kernel: runnable.name, file, python, map, proof, tiles: compiled.namedTiles?.() ?? [] });
      build.push(...compiled.warnings);
      diagnostics.push(...kernelDiagnostics(compiled, proof, cache));
    } catch (error) {
      if (!isBuildError(error)) throw error;
      build.push(...error.diagnostics);
      diagnostics.push(...error.diagnostics);
    }
  }
  return { diagnostics, build, kernels };
}

// Unsaved texts of an editor, which a process reads in place of the files on disk.

/** Texts by absolute path. */
export type Texts = Readonly<Record<string, string>>;

/**
 * Hooks of Node's module loader, as a separate module, because older versions of Node run them in another thread, which
 * receives the texts by a port. Node itself reads CommonJS modules, which have no source here, with `readFileSync`.
 */
const HOOKS = `
let texts = {};
export const setTexts = (data) => void (texts = data);
export const initialize = ({ port }) => {
  port.on("message", (data) => (setTexts(data), port.postMessage("received")));
  port.unref();
};
export function load(url, context, nextLoad) {
  const text = texts[url.replace(/[?#].*/, "")];
  const withText = (loaded) => (text === undefined || loaded.source == null ? loaded : { ...loaded, source: text });
  const loaded = nextLoad(url, context);
  return loaded instanceof Promise ? loaded.then(withText) : withText(loaded);
}`;

/** Sets the texts that the process reads from then on. */
type SetTexts = (texts: Texts) => Promise<void>;

/** Must precede the registration of tsx, whose hooks call earlier ones. */
export async function replaceReads(): Promise<SetTexts> {
  const setTexts = await hookLoader();
  const { readFileSync } = fs;
  let current: Texts = {};
  // TypeScript's parser, tsx and Node's CommonJS loader read files with it.
  const readTextOrFile = (...[path, options]: Parameters<typeof readFileSync>): string | Buffer => {
    const text = current[path instanceof URL ? fileURLToPath(path) : String(path)];
    if (text === undefined) return readFileSync(path, options);
    const encoding = typeof options === "string" ? options : options?.encoding;
    return encoding ? text : Buffer.from(text);
  };
  Object.assign(fs, { readFileSync: readTextOrFile });
  module.syncBuiltinESMExports();
  return async (texts) => {
    current = texts;
    await setTexts(Object.fromEntries(Object.entries(texts).map(([path, text]) => [pathToFileURL(path).href, text])));
  };
}

/** Registers the hooks. Returns the function that sets their texts, by URL. */
async function hookLoader(): Promise<SetTexts> {
  const url = `data:text/javascript,${encodeURIComponent(HOOKS)}`;
  if ("registerHooks" in module && typeof module.registerHooks === "function") {
    const { setTexts, load } = await import(url);
    module.registerHooks({ load });
    return setTexts;
  }
  const { port1: port, port2: hookPort } = new MessageChannel();
  module.register(url, { data: { port: hookPort }, transferList: [hookPort] });
  return async (texts) => {
    port.postMessage(texts);
    await once(port, "message");
    port.close();
  };
}
