import { Option } from "commander";
import { computesLine } from "../report/computes-text.js";
import { formatWithFrame, explainHint } from "../report/code-frame.js";
import { proofDiagnostics, proofSummary } from "../report/proof-text.js";
import { isBuildError } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import type { CheckReport } from "../report/reports.js";
import { openProofCache } from "../system/proof-cache.js";
import { printJson } from "../system/streams.js";
import { suggestRequires } from "../report/suggest-requires.js";
import type { KernelCommand } from "../invocation/command.js";

interface CheckOptions extends JsonOptions {
  readonly computes?: true;
}

export const check: KernelCommand<CheckOptions> = {
  name: "check",
  description: "build, check and prove; write nothing and run nothing",
  options: [
    new Option("--computes", "also compare each output with the reference, as real numbers for all shapes").implies({
      check: true,
    }),
    options.kernel,
    options.watch,
    options.json,
  ],
  async plan(kernels, { json, computes }, streams) {
    const cache = openProofCache();
    const results: CheckReport["kernels"][number][] = [];
    const lines = new Map<object, readonly string[]>();
    for (const kernel of kernels) {
      try {
        const compiled = await kernel.compile();
        const { signature, configs, warnings } = compiled;
        const proof = compiled.proof(cache);
        const diagnostics = [...warnings, ...proofDiagnostics(proof, suggestRequires(compiled, proof))];
        const outputs = computes && compiled.computes(cache);
        const isRefuted = outputs?.some(({ verdict }) => verdict.kind === "refuted") === true;
        const isOk = !isRefuted && diagnostics.every(({ severity }) => severity !== "error");
        const result = { kernel: signature.name, ok: isOk, configs: configs.length, diagnostics, proof };
        results.push(outputs ? { ...result, computes: outputs } : result);
        lines.set(proof, outputs?.map((each) => computesLine(compiled, each)) ?? []);
      } catch (error) {
        // Continue with the other kernels.
        if (!isBuildError(error)) throw error;
        results.push({ kernel: kernel.name, ok: false, configs: 0, diagnostics: error.diagnostics });
      }
    }
    const ok = results.every((kernel) => kernel.ok);
    for (const { kernel, ok: isOk, diagnostics, proof } of results) {
      for (const diagnostic of diagnostics) streams.err(`${formatWithFrame(diagnostic)}\n`);
      if (json || !proof) continue;
      streams.out(`${kernel}: ${isOk ? "ok" : "wrong"}, ${proofSummary(proof)}\n`);
      for (const line of lines.get(proof) ?? []) streams.out(`${line}\n`);
    }
    const firstError = results.flatMap(({ diagnostics }) => diagnostics).find(({ severity }) => severity === "error");
    if (firstError) streams.err(`${explainHint(firstError.code)}\n`);
    if (json) printJson(streams, { ok, kernels: results } satisfies CheckReport);
    return async () => (ok ? exitCodes.ok : exitCodes.failed);
  },
};
