import pc from "picocolors";
import type { Area, DiagnosticCode } from "../../diagnostics/catalog/index.js";
import { didYouMean } from "../../diagnostics/did-you-mean.js";
import {
  type Explanation,
  exampleExcerpt,
  kernelFileOf,
  type KernelFileParts,
} from "../../diagnostics/explanations/explanation.js";
import { codesByArea, explanations } from "../../diagnostics/explanations/index.js";
import type { PlainCommand } from "../invocation/command.js";
import { type JsonOptions, options } from "../invocation/options.js";
import type { ExplainedCode, ExplainReport } from "../report/reports.js";
import { formatTable } from "../report/text-table.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { printJson } from "../system/streams.js";

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
