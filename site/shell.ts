/** The parts that all pages share: the bar with search, the menu, the theme. */
import { type Addresses, addresses } from "../scripts/addresses.js";
import { groups } from "./pages.js";
import type { Rendered } from "./markdown.js";

interface PageContents extends Pick<Rendered, "html" | "title" | "headings"> {
  /** The path below the site, without `.html`. */
  readonly path: string;
  /** True for a page that fills the window, without a menu. */
  readonly isWide?: boolean;
}

const MENU = [
  ["Playground", "playground/index"],
  ["Gallery", "gallery/index"],
] as const;

/** A whole page. Links are relative, so the site works in any folder. */
export function pageOf(
  { path, title, html, headings, isWide }: PageContents,
  { repository }: Addresses = addresses,
): string {
  const source = repository && `<a href="${escape(repository)}">Source</a> · `;
  const rootPath = "../".repeat(path.split("/").length - 1) || "./";
  const link = (target: string, words: string): string =>
    `<a href="${rootPath}${target}.html"${target === path ? ' aria-current="page"' : ""}>${escape(words)}</a>`;
  const menu = groups.map(
    (group) =>
      `<h2>${group.title}</h2><ul>${group.pages.map((each) => `<li>${link(each.path, each.title)}</li>`).join("")}</ul>`,
  );
  const contents =
    headings.length > 1 && !isWide
      ? `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${headings.map(({ text, slug }) => `<li><a href="#${slug}">${escape(text)}</a></li>`).join("")}</ul></nav>`
      : "";
  return `<!doctype html>
<html lang="en" data-root="${rootPath}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}${title === "TileScript" ? "" : " · TileScript"}</title>
<link rel="icon" href="${rootPath}icon.svg">
<link rel="stylesheet" href="${rootPath}style.css">
${isWide ? `<link rel="stylesheet" href="./editors.css">\n<link rel="modulepreload" href="./editors.js">` : ""}
<script>document.documentElement.dataset.theme = (() => { try { return localStorage.theme } catch {} })() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")</script>
<script type="module" src="${rootPath}site.js"></script>
</head>
<body class="${isWide ? "wide" : "page"}">
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<button id="menu-button" type="button" aria-expanded="false" aria-controls="menu">Menu</button>
<a class="brand" href="${rootPath}index.html">TileScript</a>
<nav aria-label="Main">${MENU.map(([words, target]) => link(target, words)).join("")}${link("first-kernel", "Learn")}</nav>
<div class="search" role="search"><input id="search" type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off"><ul id="found" hidden></ul></div>
<button id="theme" type="button" aria-label="Light or dark">◐</button>
</header>
<nav id="menu" class="menu" aria-label="Pages">${menu.join("")}<h2>Try</h2><ul>${MENU.map(([words, target]) => `<li>${link(target, words)}</li>`).join("")}</ul></nav>
<main id="main">
${html}
</main>
${contents}
${isWide ? "" : `<footer class="foot">TileScript, MIT license · ${source}<a href="${rootPath}llms.txt">llms.txt</a>, for coding agents</footer>`}
</body>
</html>
`;
}

export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
