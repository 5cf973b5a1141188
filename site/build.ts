/** Builds the site: `npm run site`. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { build } from "esbuild";
import MiniSearch from "minisearch";
import { bundlePlayground, TYPES } from "./bundle.js";
import { entryOf, galleryIndex, galleryPage, pairOf } from "./gallery.js";
import { createHighlight } from "./highlight.js";
import { hoversOf } from "./hovers.js";
import { createMarkdown, slugOf } from "./markdown.js";
import { groups } from "./pages.js";
import { pageOf } from "./shell.js";

const siteFolder = import.meta.dirname;
const root = resolve(siteFolder, "..");
export const OUT = join(siteFolder, "out");

/** The example of the README. On the site's first page it is live. */
export const LIVE = "softmax";
/** The README's example with its Python. */
const EXAMPLE = /<!-- begin short -->[^]*<!-- begin short_emitted -->[^]*?<!-- end -->/;
const PLACE = '<div id="live"></div>';

function livePair(pair: string): string {
  return `<div id="live" data-example="${LIVE}">${pair}
<p><button id="edit" type="button" class="primary">Edit it</button> <output id="live-state" aria-live="polite">The Python follows what you type.</output> <a href="./playground/index.html#${LIVE}">The playground</a> has types, findings and pictures too.</p></div><script type="module" src="./live.js"></script>`;
}

interface Section {
  readonly id: number;
  readonly title: string;
  readonly page: string;
  readonly path: string;
  readonly text: string;
}

/** Writes the whole site into a folder. */
export async function buildSite(outFolder = OUT): Promise<void> {
  rmSync(outFolder, { recursive: true, force: true });
  mkdirSync(outFolder, { recursive: true });
  await bundlePlayground(join(outFolder, "playground"));
  await build({
    entryPoints: { site: join(siteFolder, "client.ts"), live: join(siteFolder, "live.ts") },
    outdir: outFolder,
    bundle: true,
    minify: true,
    format: "esm",
    tsconfigRaw: {},
    logLevel: "error",
  });
  const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
  const pages = groups.flatMap((group) => group.pages);
  const paths = new Map([
    ...pages.map(({ source, path }) => [source, path] as const),
    ...examples.map((file) => [`examples/${file}`, `gallery/${file.replace(/\.ts$/, "")}`] as const),
    ["README.md", "index"] as const,
    ["examples", "gallery/index"] as const,
    ["site/playground/index.html", "playground/index"] as const,
  ]);
  const highlight = await createHighlight();
  const markdown = createMarkdown(highlight, paths);
  const sections: Section[] = [];
  const write = (path: string, contents: Omit<Parameters<typeof pageOf>[0], "path">): void => {
    const file = join(outFolder, `${path}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, pageOf({ path, ...contents }));
  };
  const pendingHovers = hoversOf(examples, TYPES);
  const entries = [];
  for (const file of examples) entries.push(await entryOf(file));
  // Computes the proofs, which are cached, while the other process computes the hovers.
  for (const { kernel } of entries) kernel.proof();
  const hovers = await pendingHovers;
  const hoversIn = (name: string) => hovers.get(`${name}.ts`) ?? [];
  const live = entries.find(({ name }) => name === LIVE)!;
  const texts = [{ path: "index", title: "TileScript", source: "README.md" }, ...pages];
  for (const { path, title, source } of texts) {
    const text = readFileSync(join(root, source), "utf8");
    const isHome = path === "index";
    const renderedPage = markdown(isHome ? text.replace(EXAMPLE, PLACE) : text, source, path);
    const html = isHome
      ? renderedPage.html.replace(PLACE, () => livePair(pairOf(live, highlight, hoversIn(LIVE))))
      : renderedPage.html;
    write(path, { ...renderedPage, html, title });
    for (const image of renderedPage.images) cpSync(join(root, image), join(outFolder, "images", image));
    sections.push(...sectionsOf(text, path, title, sections.length));
  }
  for (const entry of entries) {
    const path = `gallery/${entry.name}`;
    write(path, { html: galleryPage(entry, highlight, hoversIn(entry.name)), title: entry.name, headings: [] });
    sections.push({ id: sections.length, title: entry.name, page: "Gallery", path: `${path}.html`, text: entry.idea });
  }
  write("gallery/index", { html: galleryIndex(entries), title: "Gallery", headings: [] });
  const playground = readFileSync(join(siteFolder, "playground/index.html"), "utf8");
  write("playground/index", {
    html: `<h1 class="unseen">Playground</h1>${playground}`,
    title: "Playground",
    headings: [],
    isWide: true,
  });
  const search = new MiniSearch<Section>({ fields: ["title", "text"], storeFields: ["title", "page", "path"] });
  search.addAll(sections);
  writeFileSync(join(outFolder, "search.json"), JSON.stringify(search));
  for (const file of ["style.css", "icon.svg"]) copyFileSync(join(siteFolder, file), join(outFolder, file));
  // These files keep the links of the repository, so the Markdown pages are copied with their names.
  for (const file of ["llms.txt", "docs/tilescript-for-agents.md", ...pages.map(({ source }) => source)])
    cpSync(join(root, file), join(outFolder, file));
}

/** The sections of a page for the search index, each with its heading. */
function sectionsOf(text: string, path: string, page: string, firstId: number): readonly Section[] {
  return text
    .replaceAll(/<!--.*?-->/g, "")
    .split(/^(?=#{1,3} )/m)
    .map((part, i) => {
      const heading = /^#+ (.*)$/m.exec(part)?.[1]?.replaceAll("`", "");
      const hash = heading === undefined || /^# /.test(part) ? "" : `#${slugOf(heading)}`;
      return { id: firstId + i, title: heading ?? page, page, path: `${path}.html${hash}`, text: part };
    });
}

if (process.argv[1] === import.meta.filename) {
  const start = performance.now();
  await buildSite();
  console.log(`wrote ${OUT} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
