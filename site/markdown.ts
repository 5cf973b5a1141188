/** Markdown to HTML: code is colored, and links to pages of the repository become links of the site. */
import anchor from "markdown-it-anchor";
import MarkdownIt from "markdown-it";
import { posix } from "node:path";
import type { Highlight } from "./highlight.js";

export interface Rendered {
  readonly html: string;
  readonly title: string;
  /** The start of the first paragraph, for lists of search results. */
  readonly description: string;
  /** Headings of the second level, with their anchors. */
  readonly headings: readonly { readonly text: string; readonly slug: string }[];
  /**
   * Image files, relative to the root of the repository. Each is copied to the folder `images` of the site, with its
   * path.
   */
  readonly images: readonly string[];
}

/** `paths` maps each Markdown file and example, relative to the root of the repository, to its page. */
export function createMarkdown(highlight: Highlight, paths: ReadonlyMap<string, string>) {
  const markdown = new MarkdownIt({ html: true }).use(anchor, {
    slugify: slugOf,
    permalink: anchor.permalink.headerLink({ safariReaderFix: true }),
  });
  markdown.renderer.rules.fence = (tokens, i) => {
    const { info, content } = tokens[i]!;
    return highlight(content, info.trim().split(/\s+/)[0] ?? "");
  };
  markdown.renderer.rules.code_block = (tokens, i) => highlight(tokens[i]!.content, "");
  return (text: string, source: string, page: string): Rendered => {
    const rootPath = "../".repeat(page.split("/").length - 1);
    const linkOf = (href: string): string | undefined => {
      if (/^[a-z]+:|^#/.test(href)) return href;
      const [file = "", hash] = href.split("#");
      const target = paths.get(posix.normalize(posix.join(posix.dirname(source), file)));
      return target && `${rootPath}${target}.html${hash ? `#${hash}` : ""}`;
    };
    const tokens = markdown.parse(text.replace(/^<!-- (begin \w+|end) -->$/gm, ""), {});
    const headings: { text: string; slug: string }[] = [];
    const images: string[] = [];
    tokens.forEach((token, i) => {
      if (token.type === "heading_open" && token.tag === "h2")
        headings.push({ text: plain(tokens[i + 1]!.content), slug: String(token.attrGet("id") ?? "") });
      for (const child of token.children ?? []) {
        if (child.type === "image") {
          const file = posix.normalize(posix.join(posix.dirname(source), String(child.attrGet("src") ?? "")));
          images.push(file);
          child.attrSet("src", `${rootPath}images/${file}`);
        }
        if (child.type !== "link_open") continue;
        const link = linkOf(String(child.attrGet("href") ?? ""));
        if (link !== undefined) child.attrSet("href", link);
        // For a file of the repository that is not a page, the text stays, without a link.
        else [child.tag, child.attrs] = ["span", null];
      }
    });
    for (const token of tokens)
      for (const [j, child] of (token.children ?? []).entries())
        if (child.type === "link_close" && opening(token.children!, j)?.tag === "span") child.tag = "span";
    const title = plain(tokens[tokens.findIndex(({ tag }) => tag === "h1") + 1]?.content ?? page);
    const firstParagraph = tokens.findIndex(({ type }) => type === "paragraph_open");
    const description = descriptionOf(plain(tokens[firstParagraph + 1]?.content ?? title));
    const html = markdown.renderer.render(tokens, markdown.options, {});
    return {
      html: html
        .replaceAll("<table>", '<div class="table" tabindex="0"><table>')
        .replaceAll("</table>", "</table></div>"),
      title,
      description,
      headings,
      images,
    };
  };
}

/** The sentences that fit into a line of search results, or the start of the first. */
export function descriptionOf(text: string): string {
  const [first = "", ...sentences] = text.split(/(?<=[.:]) /);
  let description = first;
  for (const sentence of sentences) {
    if (description.length + sentence.length >= 160) break;
    description += ` ${sentence}`;
  }
  return description.length > 160 ? `${description.slice(0, 157).replace(/\s\S*$/, "")}…` : description;
}

type Tokens = NonNullable<ReturnType<InstanceType<typeof MarkdownIt>["parse"]>[number]["children"]>;

function opening(children: Tokens, close: number): Tokens[number] | undefined {
  let depth = 0;
  for (let i = close; i >= 0; i--) {
    const child = children[i]!;
    if (child.type === "link_close") depth++;
    if (child.type === "link_open" && --depth === 0) return child;
  }
  return undefined;
}

/** The same slugs as GitHub's, so that links within the repository work on the site too. */
export const slugOf = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

const plain = (text: string): string => text.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1");
