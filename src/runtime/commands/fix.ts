import { readFile } from "node:fs/promises";
import type { Diagnostic, Edit } from "../../diagnostics/diagnostic.js";
import { applyEdits } from "../invocation/apply-edits.js";
import type { KernelCommand } from "../invocation/command.js";
import { isBuildError } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { printDiagnostic } from "../report/code-frame.js";
import type { FixReport } from "../report/reports.js";
import { writeOutput } from "../system/files.js";
import { exitCodes } from "../system/errors.js";
import { printJson } from "../system/streams.js";

export const fix: KernelCommand<JsonOptions> = {
  name: "fix",
  description: "build, and apply the edits that messages have",
  example: "fix gemm.ts",
  options: [options.kernel, options.json],
  async plan(kernels, { json }, streams) {
    const diagnostics: Diagnostic[] = [];
    for (const kernel of kernels) {
      try {
        diagnostics.push(...(await kernel.compile()).warnings);
      } catch (error) {
        if (!isBuildError(error)) throw error;
        diagnostics.push(...error.diagnostics);
      }
    }
    const files = await Promise.all([...editsByFile(diagnostics)].map(([file, edits]) => editFile(file, edits)));
    const remaining = diagnostics.filter(({ edit, severity }) => !edit && severity === "error");
    for (const diagnostic of remaining) printDiagnostic(diagnostic, streams);
    const report: FixReport = { ok: remaining.length === 0, files, left: remaining };
    if (json) printJson(streams, report);
    else streams.out(`${summary(report)}\n`);
    return async () => (report.ok ? exitCodes.ok : exitCodes.failed);
  },
};

/** Groups the edits by file, without the duplicates that several kernels of a file may report. */
function editsByFile(diagnostics: readonly Diagnostic[]): ReadonlyMap<string, readonly Edit[]> {
  const files = new Map<string, Map<string, Edit>>();
  for (const { edit } of diagnostics) {
    if (!edit) continue;
    const { file } = edit.at;
    const edits = files.get(file) ?? new Map<string, Edit>();
    files.set(file, edits.set(JSON.stringify(edit), edit));
  }
  return new Map([...files].map(([file, edits]) => [file, [...edits.values()]]));
}

async function editFile(file: string, edits: readonly Edit[]): Promise<FixReport["files"][number]> {
  const { text, applied } = await applyEdits(await readFile(file, "utf8"), edits);
  await writeOutput(file, text);
  return { file, edits: applied };
}

function summary({ files, left }: FixReport): string {
  const lines = files.map(({ file, edits }) => `${file}: ${edits} ${edits === 1 ? "edit" : "edits"}`);
  const lastLine = left.length > 0 ? `${left.length} left for you` : "run check again for problems that were hidden";
  return files.length === 0 && left.length === 0 ? "nothing to fix" : [...lines, lastLine].join("\n");
}
