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

const here = import.meta.dirname;
const root = resolve(here, "..");
export const OUT = join(here, "out");

/** The example that the README shows. On the site's first page it is live. */
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
export async function buildSite(out = OUT): Promise<void> {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await bundlePlayground(join(out, "playground"));
  await build({
    entryPoints: { site: join(here, "client.ts"), live: join(here, "live.ts") },
    outdir: out,
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
  const write = (path: string, shown: Omit<Parameters<typeof pageOf>[0], "path">): void => {
    const file = join(out, `${path}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, pageOf({ path, ...shown }));
  };
  const hovering = hoversOf(examples, TYPES);
  const entries = [];
  for (const file of examples) entries.push(await entryOf(file));
  // Proofs are kept. They take seconds, in which the other process finds the hovers.
  for (const { kernel } of entries) kernel.proof();
  const hovers = await hovering;
  const hoversIn = (name: string) => hovers.get(`${name}.ts`) ?? [];
  const live = entries.find(({ name }) => name === LIVE)!;
  const texts = [{ path: "index", title: "TileScript", source: "README.md" }, ...pages];
  for (const { path, title, source } of texts) {
    const text = readFileSync(join(root, source), "utf8");
    const isHome = path === "index";
    const rendered = markdown(isHome ? text.replace(EXAMPLE, PLACE) : text, source, path);
    const html = isHome
      ? rendered.html.replace(PLACE, () => livePair(pairOf(live, highlight, hoversIn(LIVE))))
      : rendered.html;
    write(path, { ...rendered, html, title });
    for (const image of rendered.images) cpSync(join(root, image), join(out, "images", image));
    sections.push(...sectionsOf(text, path, title, sections.length));
  }
  for (const entry of entries) {
    const path = `gallery/${entry.name}`;
    write(path, { html: galleryPage(entry, highlight, hoversIn(entry.name)), title: entry.name, headings: [] });
    sections.push({ id: sections.length, title: entry.name, page: "Gallery", path: `${path}.html`, text: entry.idea });
  }
  write("gallery/index", { html: galleryIndex(entries), title: "Gallery", headings: [] });
  const playground = readFileSync(join(here, "playground/index.html"), "utf8");
  write("playground/index", {
    html: `<h1 class="unseen">Playground</h1>${playground}`,
    title: "Playground",
    headings: [],
    isWide: true,
  });
  const search = new MiniSearch<Section>({ fields: ["title", "text"], storeFields: ["title", "page", "path"] });
  search.addAll(sections);
  writeFileSync(join(out, "search.json"), JSON.stringify(search));
  for (const file of ["style.css", "icon.svg"]) copyFileSync(join(here, file), join(out, file));
  // Their links are those of the repository: the pages as Markdown, under their names there.
  for (const file of ["llms.txt", "docs/tilescript-for-agents.md", ...pages.map(({ source }) => source)])
    cpSync(join(root, file), join(out, file));
}

/** The parts of a page that search finds, each with its heading. */
function sectionsOf(text: string, path: string, page: string, from: number): readonly Section[] {
  return text
    .replaceAll(/<!--.*?-->/g, "")
    .split(/^(?=#{1,3} )/m)
    .map((part, i) => {
      const heading = /^#+ (.*)$/m.exec(part)?.[1]?.replaceAll("`", "");
      const hash = heading === undefined || /^# /.test(part) ? "" : `#${slugOf(heading)}`;
      return { id: from + i, title: heading ?? page, page, path: `${path}.html${hash}`, text: part };
    });
}

if (process.argv[1] === import.meta.filename) {
  const start = performance.now();
  await buildSite();
  console.log(`wrote ${OUT} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
