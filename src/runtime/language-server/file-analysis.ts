/** The facts about a kernel file that an editor shows, as plain data. A child process computes them. */
import type { Certificate, CompiledKernel, NamedTile, ProofCache } from "../../compiled/compiled-kernel.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import type { Runnable } from "../invocation/command.js";
import { isBuildError } from "../invocation/kernels.js";
import { kernelDiagnostics } from "../report/kernel-diagnostics.js";
import type { Problem } from "../report/reports.js";
import type { Texts } from "./unsaved-texts.js";

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
