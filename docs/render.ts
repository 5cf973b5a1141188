/**
 * Fills the marked parts of README.md and of the pages in docs with actual source and output: `npm run docs`. A test
 * checks that they are up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { format } from "prettier";
import { gemm } from "../examples/gemm.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { changelogSections } from "../scripts/release-checks.js";
import { compile } from "../src/pipeline/compile-kernel.js";
import { accessPicture } from "../src/visualize/access-picture.js";
import { createSourceIndex } from "../src/source/call-site-index.js";
import { runBinary, runCli } from "../src/runtime/cli/cli.js";
import { AGENTS_PAGE, agentsParts, llmsText } from "./agents.js";
import { specPage } from "./spec-page.js";
import { kernelCommands, plainCommands } from "../src/runtime/commands/index.js";
import type { Streams } from "../src/runtime/system/streams.js";
import { folders } from "./folders.js";
import { diagnosticsPage } from "./diagnostics.js";
import { installParts } from "./install-tables.js";
import { faultTable } from "./fault-table.js";
import { decodeTable } from "./decode-table.js";
import { gradientsTables } from "./gradients-tables.js";
import { galleryTable } from "./gallery-table.js";
import { languagePage } from "./language.js";
import { kernelPart } from "./kernel-part.js";
import { launchTable } from "./launch-table.js";
import { fillMarkedParts } from "./marked-parts.js";
import { tuningTable } from "./tuning-table.js";
import {
  computesFigures,
  identityTable,
  invarianceFigures,
  invarianceOnGpu,
  proofTable,
  proofTimes,
  smallWorldFigures,
  smtFigures,
} from "./proof-table.js";
import { importTable } from "./import-table.js";
import { siteTable } from "./site-table.js";
import { autoTable } from "./auto-table.js";
import { frontierTables } from "./frontier-table.js";
import { sanitizerTable } from "./sanitizer-table.js";
import { specializedTables } from "./specialized-tables.js";
import { speedTable } from "./speed-table.js";
import { tolerancesModule } from "./tolerances.js";

/** Python that is generated from TypeScript, as the pages are. */
const TOLERANCES = "python/tilescript_worker/tolerances.py";
/** The README's picture. */
const PICTURE = "docs/pictures/gemm.svg";
const ROOT = resolve(import.meta.dirname, "..");
export const documents = [
  "README.md",
  "docs/architecture.md",
  "docs/install.md",
  "docs/import.md",
  "docs/language.md",
  "docs/spec.md",
  "docs/cli.md",
  "docs/testing.md",
  "docs/operators.md",
  "docs/proofs.md",
  "docs/performance.md",
  "docs/warp-specialization.md",
  "docs/diagnostics.md",
  AGENTS_PAGE,
  "llms.txt",
  "docs/browser.md",
  TOLERANCES,
  PICTURE,
] as const;

const read = (path: string) => readFileSync(resolve(ROOT, path), "utf8");
const fence = (language: string, text: string) => `\n\`\`\`${language}\n${text.trim()}\n\`\`\`\n`;

/** The text between two lines, both included. */
function linesBetween(text: string, firstLine: RegExp, lastLine: RegExp): string {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => firstLine.test(line));
  const end = lines.findIndex((line, i) => i > start && lastLine.test(line));
  return lines.slice(start, end < 0 ? undefined : end + 1).join("\n");
}

/** The text of every marked part, by the name in its mark. */
type MarkedParts = Readonly<Record<string, string>>;

/** The marked parts of all pages without a separate list. */
async function commonParts(): Promise<MarkedParts> {
  const compiledGemm = compile(gemm, { source: createSourceIndex() });
  const jit = kernelPart(compiledGemm.python, "gemm");
  const compiledSoftmax = compile(softmax, { source: createSourceIndex() });
  return {
    emitted: fence("python", jit),
    ir: fence("", compiledGemm.ir),
    layer_norm: fence("ts", linesBetween(read("examples/layer-norm.ts"), /^export const layerNorm/, /^\);/)),
    install: installLines(),
    first: fence("ts", read("examples/vector-add.ts").replace(/^\/\*\*.*\*\/\n/, "")),
    first_emitted: fence(
      "python",
      kernelPart(compile(vectorAdd, { source: createSourceIndex() }).python, "vector_add"),
    ),
    short: fence("ts", read("examples/softmax.ts").replace(/^\/\*\*.*\*\/\n/, "")),
    short_emitted: fence("python", kernelPart(compiledSoftmax.python, "softmax")),
    speed: speedTable(),
    imports: importTable(),
    site: siteTable(),
    folders: folderTable(),
    faults: faultTable(),
    gallery: galleryTable(),
    launch: launchTable(),
    tuning: tuningTable(),
    decode: decodeTable(),
    ...gradientsTables(),
    ...specializedTables(),
    ...frontierTables(),
    auto: autoTable(),
    sanitizer: sanitizerTable(),
    ...(await commandParts()),
    ...testingParts(),
  };
}

/** How to install the package: from a tarball, until the changelog has a version with a date. */
function installLines(): string {
  const isReleased = [...changelogSections(read("CHANGELOG.md")).keys()].some((heading) => /\(\d{4}-/.test(heading));
  if (isReleased) return fence("sh", "npm install tilescript tsx typescript");
  const { version } = JSON.parse(read("package.json")) as { readonly version: string };
  const lines = [
    `npm ci && npm pack                                        # in a clone of this repository: npm has no release yet`,
    `npm install path/to/tilescript-${version}.tgz tsx typescript   # in your project`,
  ];
  return fence("sh", lines.join("\n"));
}

/** The code between `// begin NAME` and `// end` of a test, which runs it. */
function testingParts(): Record<string, string> {
  const markedBlocks = read("tests/kernels/testing-page.test.ts").matchAll(
    /^( *)\/\/ begin (\w+)\n([\s\S]*?)^ *\/\/ end$/gm,
  );
  return Object.fromEntries(
    Array.from(markedBlocks, ([, indent, name, text]) => [
      name!,
      fence("ts", text!.replaceAll(new RegExp(`^${indent}`, "gm"), "")),
    ]),
  );
}

/** The table of `src` folders, in order. */
function folderTable(): string {
  const rows = Object.entries(folders).map(([folder, sentence]) => `| \`${folder}\` | ${sentence} |`);
  return ["", "| folder | what it holds |", "| --- | --- |", ...rows, ""].join("\n");
}

/** `help`, `help_file`, and for each command `help_NAME` and `json_NAME`: its help, and the types of its report. */
async function commandParts(): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  const help = async (part: string, print: (streams: Streams) => Promise<number>): Promise<void> => {
    let text = "";
    await print({ out: (chunk) => (text += chunk), err: () => undefined, color: false, width: 100 });
    texts[part] = fence("", text);
  };
  await help("help", (streams) => runBinary(["--help"], streams));
  await help("explain", (streams) => runBinary(["explain", "scope-escape"], streams));
  await help("help_file", (streams) => runCli("gemm.ts", ["--help"], [], streams));
  for (const { name } of [...kernelCommands, ...plainCommands])
    await help(`help_${name}`, (streams) => runBinary([name, "--help"], streams));
  const types = read("src/runtime/report/reports.ts")
    .split(/^\/\/ (\w+)$/m)
    .slice(1);
  for (let i = 0; i < types.length; i += 2) texts[`json_${types[i]}`] = fence("ts", types[i + 1]!);
  return texts;
}

/** A picture of the reads and writes of program 5 of a small matrix product, whose blocks extend beyond the edges. */
function gemmPicture(): string {
  const values = { BLOCK_M: 16, BLOCK_N: 16, BLOCK_K: 16, GROUP_M: 2 };
  const smallGemm = compile(gemm, { source: createSourceIndex(), configs: [{ values }] });
  const testCase = { sizes: { M: 40, N: 40, K: 40 }, dtypes: { T: "float16" }, config: 0, seed: 0 };
  return accessPicture(smallGemm.evaluate(testCase, { accesses: [5] }).accesses ?? []);
}

/** Pages that are generated completely. */
const generatedPages: Readonly<Record<string, () => string>> = {
  "docs/language.md": languagePage,
  "docs/diagnostics.md": diagnosticsPage,
  "docs/spec.md": specPage,
  "llms.txt": llmsText,
};

/** The document with every marked part filled in, or the whole document if all of it is generated. */
export async function render(document: string): Promise<string> {
  if (document === TOLERANCES) return tolerancesModule();
  if (document === PICTURE) return gemmPicture();
  const text = generatedPages[document]?.() ?? fillMarkedParts(read(document), await partsOf(document));
  return format(text, { parser: "markdown", printWidth: 120 });
}

async function partsOf(document: string): Promise<MarkedParts> {
  const partsByDocument: Readonly<Record<string, () => MarkedParts | Promise<MarkedParts>>> = {
    "docs/proofs.md": async () => ({
      proofs: await proofTable(),
      identities: identityTable(),
      computes: computesFigures(),
      invariance: invarianceFigures(),
      invariance_gpu: invarianceOnGpu(),
      times: proofTimes(),
      small_world: smallWorldFigures(),
      smt: smtFigures(),
    }),
    [AGENTS_PAGE]: agentsParts,
    "docs/install.md": installParts,
  };
  return (partsByDocument[document] ?? commonParts)();
}

if (process.argv[1] === import.meta.filename)
  for (const name of documents) writeFileSync(resolve(ROOT, name), await render(name));
