import { diagnosticText, explainHint } from "../report/code-frame.js";
import { proofDiagnostics, proofSummary } from "../report/proof-text.js";
import { isBuildError } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import { splitRemedy } from "../report/remedy.js";
import type { CheckReport } from "../report/reports.js";
import { keptProofs } from "../system/proof-cache.js";
import { printJson } from "../system/streams.js";
import { suggestRequires } from "../report/suggest-requires.js";
import type { KernelCommand } from "../invocation/command.js";

export const check: KernelCommand<JsonOptions> = {
  name: "check",
  description: "build, check and prove; write nothing and run nothing",
  options: [options.kernel, options.watch, options.json],
  async plan(kernels, { json }, streams) {
    const cache = keptProofs();
    const found: CheckReport["kernels"][number][] = [];
    for (const kernel of kernels) {
      try {
        const compiled = await kernel.compile();
        const { signature, configs, warnings } = compiled;
        const proof = compiled.proof(cache);
        const diagnostics = [...warnings, ...proofDiagnostics(proof, suggestRequires(compiled, proof))];
        const right = diagnostics.every(({ severity }) => severity !== "error");
        found.push({ kernel: signature.name, ok: right, configs: configs.length, diagnostics, proof });
      } catch (error) {
        // Check the other kernels, too.
        if (!isBuildError(error)) throw error;
        found.push({ kernel: kernel.name, ok: false, configs: 0, diagnostics: error.diagnostics });
      }
    }
    const ok = found.every((kernel) => kernel.ok);
    for (const { kernel, ok: right, diagnostics, proof } of found) {
      for (const diagnostic of diagnostics) streams.err(`${diagnosticText(diagnostic)}\n`);
      if (!json && proof) streams.out(`${kernel}: ${right ? "ok" : "wrong"}, ${proofSummary(proof)}\n`);
    }
    const wrong = found.flatMap(({ diagnostics }) => diagnostics).find(({ severity }) => severity === "error");
    if (wrong) streams.err(`${explainHint(wrong.code)}\n`);
    const told = found.map((each) => ({ ...each, diagnostics: each.diagnostics.map(splitRemedy) }));
    if (json) printJson(streams, { ok, kernels: told } satisfies CheckReport);
    return async () => (ok ? exitCodes.ok : exitCodes.failed);
  },
};
