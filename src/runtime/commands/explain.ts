import pc from "picocolors";
import type { Area, DiagnosticCode } from "../../diagnostics/catalog/index.js";
import { didYouMean } from "../../diagnostics/message.js";
import {
  type Explanation,
  exampleExcerpt,
  kernelFileOf,
  type KernelFileParts,
} from "../../diagnostics/explanations/explanation.js";
import { codesByArea, explanations } from "../../diagnostics/explanations/index.js";
import type { PlainCommand, KernelCommand, Runnable } from "../invocation/command.js";
import { type JsonOptions, options } from "../invocation/options.js";
import type { ExplainedCode, ExplainReport, FixReport, Problem } from "../report/reports.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { printJson, progress } from "../system/streams.js";
import { Option } from "commander";
import { readFile } from "node:fs/promises";
import type { Diagnostic, Edit } from "../../diagnostics/diagnostic.js";
import { applyEdits, editsByFile } from "../invocation/edits.js";
import { isBuildError } from "../invocation/kernels.js";
import { printDiagnostic, formatTable } from "../report/text-blocks.js";
import { writeOutput } from "../system/files.js";
import { lastLine, runProgram } from "../system/processes.js";

const areas = Object.entries(codesByArea) as [Area, readonly DiagnosticCode[]][];
const codes = areas.flatMap(([, list]) => list);

export const explain: PlainCommand<JsonOptions> = {
  name: "explain",
  description: "explain the code of a message, with an example that fails and its remedy",
  example: "explain scope-escape",
  argument: { text: "[code]", description: "such as scope-escape; without it, all codes are listed" },
  options: [options.json],
  async run(code, { json }, streams) {
    if (code !== undefined && !isCode(code)) throw new UsageError(whyUnknown(code));
    const selected = code === undefined ? codes : [code];
    if (json) printJson(streams, { ok: true, codes: selected.map(explainCode) } satisfies ExplainReport);
    else streams.out(`${code === undefined ? listText() : text(code, streams.color)}\n`);
    return exitCodes.ok;
  },
};

function isCode(text: string): text is DiagnosticCode {
  return (codes as readonly string[]).includes(text);
}

function whyUnknown(text: string): string {
  const containing = codes.filter((code) => code.includes(text));
  const [only] = containing;
  const remedy =
    only !== undefined && containing.length === 1
      ? `did you mean ${only}?`
      : didYouMean(text, codes, "`tilescript explain` lists all");
  return `there is no code ${text}; ${remedy}`;
}

function listText(): string {
  return areas
    .flatMap(([area, list]) =>
      formatTable(
        [`${area}:`, ""],
        list.map((code) => [code, explanations[code].meaning]),
      ),
    )
    .join("\n");
}

function text(code: DiagnosticCode, color: boolean): string {
  const colors = pc.createColors(color);
  const explanation: Explanation = explanations[code];
  const block = (title: string, lines: string): string[] => [
    "",
    colors.bold(title),
    ...lines.split("\n").map((line) => (line === "" ? "" : `  ${line}`)),
  ];
  const messageBlock = block("It says", `${code}: ${explanation.message}`);
  const blocks =
    "failing" in explanation
      ? [
          ...block("This fails", exampleExcerpt(explanation.failing)),
          ...messageBlock,
          ...block("This works", exampleExcerpt(explanation.passing)),
        ]
      : [
          ...block("Where", explanation.command),
          ...(explanation.file === undefined ? [] : block("With the file", explanation.file.trimEnd())),
          ...messageBlock,
          ...block("Instead", explanation.remedy),
        ];
  return [colors.bold(code), explanation.meaning, ...blocks].join("\n");
}

function explainCode(code: DiagnosticCode): ExplainedCode {
  const explanation: Explanation = explanations[code];
  const { meaning: means, message: says } = explanation;
  const [area] = areas.find(([, list]) => list.includes(code))!;
  if ("command" in explanation) {
    const { command, remedy, file } = explanation;
    return { code, area, means, says, command, remedy, ...(file !== undefined && { file }) };
  }
  const example = (fileParts: KernelFileParts | string) => ({
    excerpt: exampleExcerpt(fileParts),
    file: kernelFileOf(fileParts),
  });
  return { code, area, means, says, fails: example(explanation.failing), passes: example(explanation.passing) };
}

interface FixOptions extends JsonOptions {
  readonly once?: true;
}

/** The most builds of one command. A build may show only mistakes that edits of the one before uncovered. */
const MAX_BUILDS = 20;
const BUILD_DEADLINE_MS = 600_000;

export const fix: KernelCommand<FixOptions> = {
  name: "fix",
  description: "apply the edits of diagnostics, and build again until none is left",
  example: "fix gemm.ts",
  options: [options.kernel, new Option("--once", "apply the edits of one build").hideHelp(), options.json],
  async plan(kernels, { json, once }, streams) {
    let report = await fixOnce(kernels);
    return async () => {
      for (let last = report, builds = 1; !once && last.files.length > 0 && builds < MAX_BUILDS; builds++) {
        progress(streams)(`building ${builds + 1} times …`);
        last = await fixInNewProcess();
        report = combine(report, last);
      }
      for (const diagnostic of report.left) printDiagnostic(diagnostic, streams);
      if (json) printJson(streams, report);
      else streams.out(`${summary(report)}\n`);
      return report.ok ? exitCodes.ok : exitCodes.failed;
    };
  },
};

async function fixOnce(kernels: readonly Runnable[]): Promise<FixReport> {
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
  const left = diagnostics.filter(({ edit, severity }) => !edit && severity === "error");
  return { ok: left.length === 0, files, left };
}

/** Runs the command once more in a new process, because this one keeps the modules that it has read. */
async function fixInNewProcess(): Promise<FixReport> {
  const args = [...process.execArgv, ...process.argv.slice(1), "--once", "--json"];
  const { stdout, stderr } = await runProgram(process.execPath, args, { deadlineMs: BUILD_DEADLINE_MS });
  if (stdout === "") throw new Error(lastLine(stderr) ?? "the build ended without a report");
  const report = JSON.parse(stdout) as FixReport | Problem;
  return "left" in report ? report : { ok: false, files: [], left: report.diagnostics ?? [] };
}

/** The edits of both builds, and the errors of the second. */
function combine({ files: earlier }: FixReport, { ok, files: later, left }: FixReport): FixReport {
  const counts = new Map<string, number>();
  for (const { file, edits } of [...earlier, ...later]) counts.set(file, (counts.get(file) ?? 0) + edits);
  return { ok, files: [...counts].map(([file, edits]) => ({ file, edits })), left };
}

async function editFile(file: string, edits: readonly Edit[]): Promise<FixReport["files"][number]> {
  const { text, applied } = await applyEdits(await readFile(file, "utf8"), edits);
  await writeOutput(file, text);
  return { file, edits: applied };
}

function summary({ files, left }: FixReport): string {
  const lines = files.map(({ file, edits }) => `${file}: ${edits} ${edits === 1 ? "edit" : "edits"}`);
  if (files.length === 0 && left.length === 0) return "nothing to fix";
  return [...lines, left.length > 0 ? `${left.length} left for you` : "the kernels build"].join("\n");
}
