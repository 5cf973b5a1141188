/** The parts that all pages share: the bar with search, the menu, the theme, the neighbors. */
import { createHash } from "node:crypto";
import { type Addresses, addresses } from "../scripts/addresses.js";
import { groups } from "./pages.js";
import type { Rendered } from "./markdown.js";

interface PageContents extends Pick<Rendered, "html" | "title" | "headings" | "description"> {
  /** The path below the site, without `.html`. */
  readonly path: string;
  /** `wide` fills the window, `landing` has its own sections; both have no menu beside them. */
  readonly layout?: "page" | "wide" | "landing";
  /** The previous and the next page, for pages outside the menu. */
  readonly neighbors?: readonly [previous: Neighbor | undefined, next: Neighbor | undefined];
}

export interface Neighbor {
  readonly path: string;
  readonly title: string;
}

const MENU: readonly Neighbor[] = [
  { title: "Learn", path: "first-kernel" },
  { title: "Ops", path: "ops/index" },
  { title: "Gallery", path: "gallery/index" },
  { title: "Playground", path: "playground/index" },
];

const NOT_FOUND = "404";

/** Runs before the first paint. */
const THEME = `document.documentElement.dataset.theme = (() => { try { return localStorage.theme } catch {} })() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")`;

/** The source expression of a policy that permits an inline script. */
export const hashOf = (script: string): string => `'sha256-${createHash("sha256").update(script).digest("base64")}'`;

/** Pages load only files of the site. The editor sets styles of its elements and has small pictures in its styles. */
const POLICY = [
  "default-src 'none'",
  `script-src 'self' ${hashOf(THEME)}`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** A whole page. Links are relative, so the site works in any folder. */
export function pageOf(contents: PageContents, site: Addresses = addresses): string {
  const { path, html, headings, layout = "page" } = contents;
  const rootPath = rootOf(path, site);
  const link = ({ path: target, title }: Neighbor): string =>
    `<a href="${rootPath}${target}.html"${target === path ? ' aria-current="page"' : ""}>${escape(title)}</a>`;
  const items = (list: readonly Neighbor[]): string =>
    `<ul>${list.map((each) => `<li>${link(each)}</li>`).join("")}</ul>`;
  const menu = groups.map((group) => `<h2>${group.title}</h2>${items(group.pages)}`);
  const onPage =
    headings.length > 1 && layout === "page"
      ? `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${headings.map(({ text, slug }) => `<li><a href="#${slug}">${escape(text)}</a></li>`).join("")}</ul></nav>`
      : "";
  return `<!doctype html>
<html lang="en" data-root="${rootPath}">
<head>
${headOf(contents, rootPath, site)}
</head>
<body class="${layout}">
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<button id="menu-button" type="button" aria-expanded="false" aria-controls="menu">Menu</button>
<a class="brand" href="${rootPath}index.html"><img src="${rootPath}icon.svg" alt="" width="20" height="20">TileScript</a>
<nav aria-label="Main">${MENU.map(link).join("")}</nav>
<div class="search" role="search"><input id="search" type="search" placeholder="Search  /" aria-label="Search the documentation" autocomplete="off"><ul id="found" hidden></ul></div>
<button id="theme" type="button" aria-label="Light or dark">◐</button>
</header>
<nav id="menu" class="menu" aria-label="Pages">${menu.join("")}<h2>Try</h2>${items(MENU.slice(1))}</nav>
<main id="main">
${html}
${layout === "page" ? neighborLinks(contents, rootPath) : ""}
</main>
${onPage}
${layout === "wide" ? "" : footOf(rootPath, site)}
</body>
</html>
`;
}

/** The root of the site as an address relative to a page. A host shows the page of missing addresses anywhere. */
function rootOf(path: string, { homepage }: Addresses): string {
  if (path === NOT_FOUND && homepage) return `${new URL(homepage).pathname.replace(/\/$/, "")}/`;
  return "../".repeat(path.split("/").length - 1) || "./";
}

function headOf({ path, title, description, layout }: PageContents, rootPath: string, { homepage }: Addresses): string {
  const name = layout === "landing" ? title : `${title} · TileScript`;
  const meta = (attribute: string, key: string, content: string): string =>
    `<meta ${attribute}="${key}" content="${escape(content)}">`;
  const address = `${homepage}/${path === "index" ? "" : `${path}.html`}`;
  const shared = homepage
    ? [
        `<link rel="canonical" href="${escape(address)}">`,
        ...Object.entries({ type: "website", title: name, description, url: address }).map(([key, content]) =>
          meta("property", `og:${key}`, content),
        ),
      ]
    : [];
  return [
    `<meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<title>${escape(name)}</title>`,
    meta("name", "description", description),
    ...shared,
    `<link rel="icon" href="${rootPath}icon.svg">`,
    `<link rel="stylesheet" href="${rootPath}style.css">`,
    ...(layout === "wide"
      ? [`<link rel="stylesheet" href="./editors.css">`, `<link rel="modulepreload" href="./editors.js">`]
      : []),
    `<script>${THEME}</script>`,
    `<script type="module" src="${rootPath}site.js"></script>`,
  ].join("\n");
}

/** Links to the pages before and after this one, in the order of the menu. */
function neighborLinks({ path, neighbors }: PageContents, rootPath: string): string {
  const pages = groups.flatMap((group) => group.pages);
  const index = pages.findIndex((page) => page.path === path);
  const [previous, next] = neighbors ?? (index < 0 ? [] : [pages[index - 1], pages[index + 1]]);
  const link = (page: Neighbor | undefined, rel: string, label: string): string =>
    page ? `<a rel="${rel}" href="${rootPath}${page.path}.html"><small>${label}</small>${escape(page.title)}</a>` : "";
  if (!previous && !next) return "";
  return `<nav class="neighbors" aria-label="Previous and next">${link(previous, "prev", "Previous")}${link(next, "next", "Next")}</nav>`;
}

function footOf(rootPath: string, { repository }: Addresses): string {
  const source = repository && `<a href="${escape(repository)}">Source</a> · `;
  return `<footer class="foot">TileScript, MIT license · ${source}<a href="${rootPath}llms.txt">llms.txt</a>, for coding agents</footer>`;
}

/** The page of missing addresses. */
export const notFoundPage = (): string =>
  pageOf({
    path: NOT_FOUND,
    title: "Not found",
    description: "This page does not exist.",
    headings: [],
    html: `<h1>This page does not exist</h1><p>Search above, or start at <a href="${rootOf(NOT_FOUND, addresses)}index.html">the first page</a>.</p>`,
  });

/** The addresses of all pages, or undefined while the address of the site is not known. */
export function sitemap(paths: readonly string[], { homepage }: Addresses = addresses): string | undefined {
  if (!homepage) return undefined;
  const urls = paths.map((path) => `<url><loc>${escape(`${homepage}/${path}.html`)}</loc></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join("\n")}\n</urlset>\n`;
}

export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
