/** docs/diagnostics.md, made from the catalog of messages. */
import type { Area, DiagnosticCode } from "../src/diagnostics/catalog/index.js";
import { type Explanation, exampleExcerpt, kernelFileOf } from "../src/diagnostics/explanations/explanation.js";
import { codesByArea, explanations } from "../src/diagnostics/explanations/index.js";

const titles: Readonly<Record<Area, string>> = {
  definitions: "Kernels and their specs",
  params: "Params",
  configs: "Configs and autotuning",
  host: "What is computed before a launch",
  source: "JavaScript in a kernel",
  control: "Loops, branches, state and helper functions",
  operands: "Calls of ops",
  rules: "Operands of ops",
  externs: "Functions that are Python",
  references: "References and inputs",
  operators: "Operators of PyTorch",
  calls: "Kernels called from TypeScript",
  findings: "Findings of the evaluator",
  proofs: "Proofs",
  commands: "Files, commands and the machine",
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
          ...(explanation.file === undefined ? [] : ["with `kernel.ts`", fence("ts", explanation.file)]),
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
    "# Messages",
    "Every message of TileScript has a code: `gemm.ts:12:5 - error scope-escape: …`. `npx tilescript explain scope-escape` prints what this page says of it, and with `--json` what a program needs. Made from the catalog in `src/diagnostics` by `npm run docs`; a test runs each example, and the mended one.",
    "An example shows the lines that matter. They replace those of this file, in which `i` is defined where a body uses it:",
    fence("ts", kernelFileOf({})),
    ...areas.map(([area, codes]) => [`## ${titles[area]}`, ...codes.map(entry)].join("\n\n")),
  ].join("\n\n");
}
