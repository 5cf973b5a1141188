/** Code as HTML, colored for light and dark. */
import { createHighlighter, type ShikiTransformer } from "shiki";
import type { Hover } from "./hovers.js";

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: "ts",
  js: "js",
  py: "python",
  python: "python",
  sh: "bash",
  bash: "bash",
  json: "json",
  diff: "diff",
};
const THEMES = { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } as const;

export interface HighlightOptions {
  readonly hovers?: readonly Hover[] | undefined;
  /** The corresponding line of the other language, for each line. */
  readonly origins?: readonly (number | null)[];
}

export type Highlight = (code: string, language: string, options?: HighlightOptions) => string;

export async function createHighlight(): Promise<Highlight> {
  const langs = [...new Set(Object.values(LANGUAGES))];
  const shiki = await createHighlighter({ themes: Object.values(THEMES), langs });
  return (code, language, { hovers = [], origins } = {}) =>
    shiki.codeToHtml(code.trimEnd(), {
      lang: LANGUAGES[language] ?? "text",
      themes: THEMES,
      defaultColor: false,
      decorations: hovers.map(({ start, end, text }) => ({
        start,
        end,
        properties: { class: "hover", "data-words": text },
      })),
      transformers: [focusable, ...(origins ? [linkLines(origins)] : [])],
    });
}

/** Code that scrolls must be reachable by keyboard. */
const focusable: ShikiTransformer = {
  pre(node) {
    node.properties["tabindex"] = "0";
  },
};

function linkLines(origins: readonly (number | null)[]): ShikiTransformer {
  return {
    line(node, line) {
      const origin = origins[line - 1];
      if (origin !== null && origin !== undefined) node.properties["data-line"] = String(origin);
    },
  };
}
