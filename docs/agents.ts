/** The generated parts of docs/tilescript-for-agents.md, and llms.txt: what a coding agent reads. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { DiagnosticCode } from "../src/diagnostics/catalog/index.js";
import { exampleExcerpt, type KernelFileParts } from "../src/diagnostics/explanations/explanation.js";
import { explanations } from "../src/diagnostics/explanations/index.js";
import { torchFunctions } from "../src/torch/functions.js";
import { groups } from "../site/pages.js";
import { type Entry, isMethod, sections, written } from "./language.js";
import { specGroups } from "./spec-page.js";

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, "..", path), "utf8");
const fence = (language: string, text: string): string => `\`\`\`${language}\n${text.trim()}\n\`\`\``;

/** The page that lets a model write a kernel. */
export const AGENTS_PAGE = "docs/tilescript-for-agents.md";

/** The most tokens that it may have. */
export const MOST_TOKENS = 12_000;

/**
 * The number of tokens of a text, counted as a third of its bytes in UTF-8. Tokenizers of today's models make fewer of
 * this page: a token of code has between three and four bytes.
 */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text, "utf8") / 3);

/** What those who write a first kernel get wrong, the commonest first. */
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

/** As authors write it: `any` only lets the example compile. */
const shownOf = (parts: KernelFileParts | string): string => exampleExcerpt(parts).replaceAll("(tl as any)", "tl");

function mistakes(): string {
  return MISTAKES.map((code, i) => {
    const explanation = explanations[code];
    if (!("fails" in explanation)) throw new Error(`${code} has no example`);
    const { fails, says, passes } = explanation;
    const right = `Instead:\n\n${fence("ts part", shownOf(passes))}`;
    return `${i + 1}. \`${code}\`: ${says}.\n\n${fence("ts part", shownOf(fails))}\n\n${right}`;
  }).join("\n\n");
}

/** An example without what every kernel of the page has: the lines of its parts, each as code. */
function short({ params, before, grid, config, spec, body, after }: KernelFileParts): string {
  const own = params
    ?.replace(/^x: tensor\(tl\.float32, \["N"\]\)(, )?/, "")
    .replace(/(, )?y: tensor\.out\(tl\.float32, \["N"\]\)/, "")
    .replace(/(^|, )BLOCK: constexpr\(\)$/, "")
    .replace(/^, /, "");
  const codes = [before, own, grid && `grid: ${grid}`, config?.replace(/,$/, ""), spec?.replace(/,$/, ""), body, after];
  return codes
    .filter((code) => code !== undefined && code !== "")
    .map((code) => `\`${code!.replaceAll(/\s*\n\s*/g, " ")}\``)
    .join(" · ");
}

/** Parts of a spec that a first kernel does not need; the page on the spec has them. */
const RARE_PARTS = [
  ...["constexpr.launch.bool", "offsets", "params", "launch", "triton", "specialize", "sameStrides", "flops"],
  ...["doNotSpecialize", "doNotSpecializeOnAlignment", "providers", "numCtas", "maxnreg", "cacheResults"],
  ...["launchPdl", "launchCooperativeGrid", "enableFpFusion"],
];

function spec(): string {
  const groups = specGroups().map(({ title, entries }) => ({
    title,
    entries: entries.filter(({ name }) => !RARE_PARTS.includes(name)),
  }));
  const shown = groups
    .filter(({ entries }) => entries.length > 0)
    .map(({ title, entries }) => {
      const lines = entries.map(({ name, text, example: parts }) => {
        const code = parts ? short(parts) : "";
        return `- \`${name}\`: ${text}${code ? ` ${code}` : ""}`;
      });
      return `**${title}**\n\n${lines.join("\n")}`;
    });
  const others = RARE_PARTS.filter((name) => name !== "params").map((name) => `\`${name}\``);
  return [...shown, `There are also ${others.join(", ")}; their types have comments.`].join("\n\n");
}

/** Files of ops that a first kernel does not need; the page on the language has them. */
const RARE = ["dot-scaled", "escape", "extra", "target", "descriptor-methods", "narrow", "pointer"];
/** Ops that few kernels need. */
const RARE_OPS = [
  ...["mapElementwise", "bitonicMerge", "swizzle2d", "randint4x", "rand4x", "randn4x", "philox", "atomicPoll"],
  ...["uintToUniformFloat", "pairUniformToNormal", "maxConstancy", "staticPrint", "expectZero"],
];
/** Files whose ops say more than their names do to those who know Triton. */
const TOLD = ["view", "memory", "combine", "select", "dot", "branches", "loops", "state"];

function ops(): string {
  const stem = (file: string): string => /([\w-]+)\.ts$/.exec(file)![1]!;
  const call = (entry: Entry): string => `\`${written(entry)}\`${isMethod(entry) ? "†" : ""}`;
  const isShown = ({ name }: Entry): boolean => !RARE_OPS.includes(name.replace(/^tl\./, ""));
  const shown = sections()
    .filter(({ file }) => !RARE.includes(stem(file)))
    .map((section) => ({ ...section, entries: section.entries.filter(isShown) }));
  const told = shown.filter(({ file }) => TOLD.includes(stem(file)));
  const listed = shown.filter(({ file }) => !TOLD.includes(stem(file)));
  return [
    ...told.flatMap(({ entries }) => entries.map((entry) => `- ${call(entry)}: ${entry.text}`)),
    ...listed.map(({ title, entries }) => `- ${title}: ${entries.map(call).join(", ")}`),
    `- There are also ${RARE_OPS.map((name) => `\`tl.${name}\``).join(", ")}; their types have comments.`,
  ].join("\n");
}

/** What references may call, by the place in torch. */
function torch(): string {
  const titles: Readonly<Record<string, string>> = {
    "torch method": "`torch.f(x)` and `x.f()`",
    torch: "`torch.f`",
    "torch functional method": "also in `torch.nn.functional`",
    method: "`x.f()`",
    functional: "`torch.nn.functional.f`",
  };
  const all = Object.entries(torchFunctions).map(([name, { places }]) => ({ name, places: places.join(" ") }));
  const unknown = all.find(({ places }) => !(places in titles));
  if (unknown) throw new Error(`say in docs/agents.ts what the places ${unknown.places} are called`);
  return Object.entries(titles)
    .map(([places, title]) => {
      const names = all.filter((each) => each.places === places).map(({ name }) => name);
      return `- ${title}: ${names.join(", ")}`;
    })
    .join("\n");
}

/** The first kernel of a page. */
function kernelOf(page: string): string {
  const found = Array.from(read(page).matchAll(/^```ts\n([^]*?)^```$/gm), ([, text]) => text!);
  return fence(
    "ts",
    found.find((text) => text.startsWith("import"))!,
  );
}

const example = (name: string): string => fence("ts", read(`examples/${name}.ts`).replace(/^\/\*\*.*\*\/\n/, ""));

/** Of many configs the first two: what they are is clear from these. */
function withoutConfigs(text: string): string {
  let seen = 0;
  return text.replaceAll(/^ {8}\{ BLOCK_M: .*\n/gm, (line) => (++seen <= 2 ? line : ""));
}

/** The text of every marked part of the page, by the name in its mark. */
export function agentsParts(): Readonly<Record<string, string>> {
  const parts = {
    softmax: example("softmax"),
    rows: kernelOf("docs/types-and-masks.md"),
    gemm: withoutConfigs(example("gemm")),
    mistakes: mistakes(),
    spec: spec(),
    torch: torch(),
    ops: ops(),
  };
  return Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, `\n${text}\n`]));
}

/** `llms.txt`: what there is to read, in the form of llmstxt.org. */
export function llmsText(): string {
  const { description } = JSON.parse(read("package.json")) as { readonly description: string };
  const menu = groups.map(({ title, pages }) => {
    const lines = pages.map(({ title: name, source }) => `- [${name}](${source})`);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  return [
    "# TileScript",
    `> ${description}`,
    `Read [TileScript for coding agents](${AGENTS_PAGE}) first: in at most ${MOST_TOKENS.toLocaleString("en")} tokens it has the rules, the spec, the ops, the commonest mistakes and the commands. It lies in the package \`tilescript\` of npm, beside this file, as does the skill \`skills/tilescript/SKILL.md\`.`,
    ...menu,
  ].join("\n\n");
}
