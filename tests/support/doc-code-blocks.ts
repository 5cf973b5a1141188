/** The code blocks of the pages in `docs` and of the README. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface Block {
  /** The page, relative to the root of the repository. */
  readonly page: string;
  /** The line of the block's first line of code, starting at 1. */
  readonly line: number;
  readonly language: string;
  /** The text after the language, such as `fails`. */
  readonly info: string;
  readonly text: string;
  /** True if `npm run docs` generates the block, from sources with their own tests. */
  readonly isGenerated: boolean;
}

/** Pages that `npm run docs` generates from tested examples: `spec-examples.ts` and the explanations of codes. */
const GENERATED_PAGES = ["docs/diagnostics.md", "docs/spec.md"];

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
  let isGenerated = GENERATED_PAGES.includes(page);
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    if (/^<!-- begin \w+ -->$/.test(line)) isGenerated = true;
    if (line === "<!-- end -->") isGenerated = GENERATED_PAGES.includes(page);
    const fence = /^(`{3,})(\w*) ?(.*)$/.exec(line);
    if (!fence) continue;
    const [, marks, language = "", info = ""] = fence;
    const end = lines.indexOf(marks!, index + 1);
    const text = `${lines.slice(index + 1, end).join("\n")}\n`;
    blocks.push({ page, line: index + 2, language, info, text, isGenerated });
    index = end;
  }
  return blocks;
}

export const allBlocks = (): readonly Block[] => pages.flatMap(blocksOf);
