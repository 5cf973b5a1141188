/** The code blocks of the pages in `docs` and of the README. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface Block {
  /** The page, from the root of the repository. */
  readonly page: string;
  /** Of the block's first line of code, counted from 1. */
  readonly line: number;
  readonly language: string;
  /** What follows the language, such as `fails`. */
  readonly info: string;
  readonly text: string;
  /** Whether `npm run docs` writes it, from sources that other tests run. */
  readonly isGenerated: boolean;
}

/** Pages that `npm run docs` makes of examples which tests build: `spec-examples.ts` and the explanations of codes. */
const MADE = ["docs/diagnostics.md", "docs/spec.md"];

export const pages: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

export function blocksOf(page: string): readonly Block[] {
  const lines = readFileSync(join(root, page), "utf8").split("\n");
  const blocks: Block[] = [];
  let isGenerated = MADE.includes(page);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (/^<!-- begin \w+ -->$/.test(line)) isGenerated = true;
    if (line === "<!-- end -->") isGenerated = MADE.includes(page);
    const fence = /^(`{3,})(\w*) ?(.*)$/.exec(line);
    if (!fence) continue;
    const [, marks, language = "", info = ""] = fence;
    const end = lines.indexOf(marks!, at + 1);
    const text = `${lines.slice(at + 1, end).join("\n")}\n`;
    blocks.push({ page, line: at + 2, language, info, text, isGenerated });
    at = end;
  }
  return blocks;
}

export const allBlocks = (): readonly Block[] => pages.flatMap(blocksOf);
