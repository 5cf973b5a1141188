/** docs/diagnostics.md, made from the catalog of messages. */
import type { Area, DiagnosticCode } from "../src/diagnostics/catalog/index.js";
import { type Explanation, exampleExcerpt, kernelFileOf } from "../src/diagnostics/explanations/explanation.js";
import { codesByArea, explanations } from "../src/diagnostics/explanations/index.js";

const titles: Readonly<Record<Area, string>> = {
  definitions: "Kernels and their specs",
  params: "Params",
  configs: "Configs and autotuning",
  host: "Host expressions",
  source: "JavaScript in a kernel",
  control: "Loops, branches, variables and helper functions",
  operands: "Arguments of ops",
  rules: "Types of operands",
  externs: "Functions written in Python",
  references: "References and inputs",
  operators: "PyTorch operators",
  calls: "Kernels called from TypeScript",
  findings: "Findings of the evaluator",
  proofs: "Proofs",
  commands: "Files, commands and the environment",
};

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text.trim()}\n\`\`\``;

function entry(code: DiagnosticCode): string {
  const explanation: Explanation = explanations[code];
  const { meaning, message } = explanation;
  const messageBlock = fence("text", `${code}: ${message}`);
  const blocks =
    "failing" in explanation
      ? [
          fence("ts", exampleExcerpt(explanation.failing)),
          messageBlock,
          "Instead:",
          fence("ts", exampleExcerpt(explanation.passing)),
        ]
      : [
          fence("sh", explanation.command),
          ...(explanation.file === undefined ? [] : ["With this `kernel.ts`:", fence("ts", explanation.file)]),
          messageBlock,
          "Instead:",
          fence("text", explanation.remedy),
        ];
  return [`### ${code}`, meaning, ...blocks].join("\n\n");
}

/** The whole page. */
export function diagnosticsPage(): string {
  const areas = Object.entries(codesByArea) as [Area, readonly DiagnosticCode[]][];
  return [
    "# Diagnostics",
    "Every diagnostic of TileScript has a code, as in `gemm.ts:12:5 - error scope-escape: …`. This page explains each code, with an example that fails, its message and a corrected example. `npx tilescript explain scope-escape` prints the same text, and `--json` prints it for programs.",
    "An example shows only the relevant lines. They replace the corresponding lines of this file, and `i` is defined in each body that uses it:",
    fence("ts", kernelFileOf({})),
    ...areas.map(([area, codes]) => [`## ${titles[area]}`, ...codes.map(entry)].join("\n\n")),
  ].join("\n\n");
}
