/** The generated parts of docs/tilescript-for-agents.md, and llms.txt, both for coding agents. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { DiagnosticCode } from "../src/diagnostics/catalog/index.js";
import { exampleExcerpt, type KernelFileParts } from "../src/diagnostics/explanations/explanation.js";
import { explanations } from "../src/diagnostics/explanations/index.js";
import { torchFunctions } from "../src/torch/functions.js";
import { groups } from "../site/pages.js";
import { type Entry, isMethod, sections, formatCall } from "./language.js";
import { specGroups } from "./spec-page.js";

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, "..", path), "utf8");
const fence = (language: string, text: string): string => `\`\`\`${language}\n${text.trim()}\n\`\`\``;

/** The page with which a model can write a kernel. */
export const AGENTS_PAGE = "docs/tilescript-for-agents.md";

/** The limit on the page's length, in tokens. */
export const MAX_TOKENS = 12_000;

/**
 * The number of tokens of a text, estimated as a third of its UTF-8 bytes. Current models need fewer for this page: a
 * token of code has three to four bytes.
 */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text, "utf8") / 3);

/** Common mistakes in a first kernel, the most frequent first. */
const MISTAKES: readonly DiagnosticCode[] = [
  "hidden-coercion",
  "traced-condition",
  "outer-assignment",
  "unknown-name",
  "state-as-value",
  "dtype-unsupported",
  "needs-constexpr",
  "shape-mismatch",
  "false-in-bounds",
  "race",
];

/** The excerpt as authors write it: `any` only lets the example compile. */
const excerptOf = (fileParts: KernelFileParts | string): string =>
  exampleExcerpt(fileParts).replaceAll("(tl as any)", "tl");

function mistakes(): string {
  return MISTAKES.map((code, i) => {
    const explanation = explanations[code];
    if (!("failing" in explanation)) throw new Error(`${code} has no example`);
    const { failing, message, passing } = explanation;
    const right = `Instead:\n\n${fence("ts part", excerptOf(passing))}`;
    return `${i + 1}. \`${code}\`: ${message}.\n\n${fence("ts part", excerptOf(failing))}\n\n${right}`;
  }).join("\n\n");
}

/** A short form of an example, without the parts that every kernel of the page has: each remaining part as code. */
function summarize({
  params,
  before: statementsBefore,
  grid,
  config,
  spec,
  body,
  after: statementsAfter,
}: KernelFileParts): string {
  const ownParams = params
    ?.replace(/^x: tensor\(tl\.float32, \["N"\]\)(, )?/, "")
    .replace(/(, )?y: tensor\.out\(tl\.float32, \["N"\]\)/, "")
    .replace(/(^|, )BLOCK: constexpr\(\)$/, "")
    .replace(/^, /, "");
  const codes = [
    statementsBefore,
    ownParams,
    grid && `grid: ${grid}`,
    config?.replace(/,$/, ""),
    spec?.replace(/,$/, ""),
    body,
    statementsAfter,
  ];
  return codes
    .filter((code) => code !== undefined && code !== "")
    .map((code) => `\`${code!.replaceAll(/\s*\n\s*/g, " ")}\``)
    .join(" · ");
}

/** Parts of a spec that a first kernel does not need; the page on the spec has them. */
const RARE_PARTS = [
  ...["constexpr.launch.bool", "offsets", "params", "launch", "triton", "warpSpecialize", "sameStrides", "flops"],
  ...["doNotSpecialize", "doNotSpecializeOnAlignment", "providers", "numCtas", "maxnreg", "cacheResults"],
  ...["launchPdl", "launchCooperativeGrid", "enableFpFusion", "invariant", "targets", "space"],
];

function spec(): string {
  const groups = specGroups().map(({ title, entries }) => ({
    title,
    entries: entries.filter(({ name }) => !RARE_PARTS.includes(name)),
  }));
  const groupTexts = groups
    .filter(({ entries }) => entries.length > 0)
    .map(({ title, entries }) => {
      const lines = entries.map(({ name, text, example: fileParts }) => {
        const code = fileParts ? summarize(fileParts) : "";
        return `- \`${name}\`: ${text}${code ? ` ${code}` : ""}`;
      });
      return `**${title}**\n\n${lines.join("\n")}`;
    });
  const rareNames = RARE_PARTS.filter((name) => name !== "params").map((name) => `\`${name}\``);
  return [...groupTexts, `Also ${rareNames.join(", ")}; their types have comments.`].join("\n\n");
}

/** Files of ops that a first kernel does not need; the page on the language has them. */
const RARE_FILES = ["target", "descriptor-methods", "pointer"];
/** Ops that few kernels need. */
const RARE_OPS = [
  ...["mapElementwise", "bitonicMerge", "swizzle2d", "randint4x", "rand4x", "randn4x", "philox", "atomicPoll", "exit"],
  ...["uintToUniformFloat", "pairUniformToNormal", "maxConstancy", "staticPrint", "expectZero", "dotScaled"],
];
/** Files whose ops need a description, even for readers who know Triton. */
const DESCRIBED_FILES = ["view", "memory", "combine", "select", "dot", "branches", "loops"];
/** Ops of these files that have no description. */
const UNDESCRIBED_OPS = /^(atomic|choose)/;

function ops(): string {
  const stemOf = (file: string): string => /([\w-]+)\.ts$/.exec(file)![1]!;
  const call = (entry: Entry): string => `\`${formatCall(entry)}\`${isMethod(entry) ? "†" : ""}`;
  const isShown = ({ name }: Entry): boolean => !RARE_OPS.includes(name.replace(/^tl\./, ""));
  const shownSections = sections()
    .filter(({ file }) => !RARE_FILES.includes(stemOf(file)))
    .map((section) => ({ ...section, entries: section.entries.filter(isShown) }));
  const partOf = (isDescribed: boolean) =>
    shownSections.flatMap(({ file, title, entries }) => {
      const ofFile = DESCRIBED_FILES.includes(stemOf(file));
      const part = entries.filter(({ name }) => (ofFile && !UNDESCRIBED_OPS.test(name)) === isDescribed);
      return part.length === 0 ? [] : [{ title, entries: part }];
    });
  return [
    ...partOf(true).flatMap(({ entries }) => entries.map((entry) => `- ${call(entry)}: ${entry.text}`)),
    ...partOf(false).map(({ title, entries }) => `- ${title}: ${entries.map(call).join(", ")}`),
    `- Also ${RARE_OPS.map((name) => `\`tl.${name}\``).join(", ")}; their types have comments.`,
  ].join("\n");
}

/** Functions that references may call, by their location in torch. */
function torch(): string {
  const titles: Readonly<Record<string, string>> = {
    "torch method": "`torch.f(x)` and `x.f()`",
    torch: "`torch.f`",
    "torch functional method": "also in `torch.nn.functional`",
    method: "`x.f()`",
    functional: "`torch.nn.functional.f`",
  };
  const functions = Object.entries(torchFunctions).map(([name, { places: spellings }]) => ({
    name,
    places: spellings.join(" "),
  }));
  const untitled = functions.find(({ places: spellings }) => !(spellings in titles));
  if (untitled) throw new Error(`say in docs/agents.ts what the places ${untitled.places} are called`);
  return Object.entries(titles)
    .map(([spellings, title]) => {
      const names = functions.filter((each) => each.places === spellings).map(({ name }) => name);
      return `- ${title}: ${names.join(", ")}`;
    })
    .join("\n");
}

/** The first kernel of a page. */
function kernelOf(page: string): string {
  const codeBlocks = Array.from(read(page).matchAll(/^```ts\n([^]*?)^```$/gm), ([, text]) => text!);
  return fence(
    "ts",
    codeBlocks.find((text) => text.startsWith("import"))!,
  );
}

const example = (name: string): string => fence("ts", read(`examples/${name}.ts`).replace(/^\/\*\*.*\*\/\n/, ""));

/** Keeps only the first two configs of a list, which are enough to show the form. */
function withoutConfigs(text: string): string {
  let configCount = 0;
  return text.replaceAll(/^ {8}\{ BLOCK_M: .*\n/gm, (line) => (++configCount <= 2 ? line : ""));
}

/** The text of every marked part of the page, by the name in its mark. */
export function agentsParts(): Readonly<Record<string, string>> {
  const texts = {
    softmax: example("softmax"),
    rows: kernelOf("docs/types-and-masks.md"),
    gemm: withoutConfigs(example("gemm")),
    mistakes: mistakes(),
    spec: spec(),
    torch: torch(),
    ops: ops(),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, `\n${text}\n`]));
}

/** `llms.txt`: a list of the pages, in the form of llmstxt.org. */
export function llmsText(): string {
  const { description } = JSON.parse(read("package.json")) as { readonly description: string };
  const menu = groups.map(({ title, pages }) => {
    const lines = pages.map(({ title: name, source }) => `- [${name}](${source})`);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  return [
    "# TileScript",
    `> ${description}`,
    `Read [TileScript for coding agents](${AGENTS_PAGE}) first: it has the rules, the spec, the ops, the commonest mistakes and the commands, in at most ${MAX_TOKENS.toLocaleString("en")} tokens. The npm package \`tilescript\` contains it, this file and the skill \`skills/tilescript/SKILL.md\`.`,
    ...menu,
  ].join("\n\n");
}
