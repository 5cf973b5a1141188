/** Builds the site: `npm run site`. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { build } from "esbuild";
import MiniSearch from "minisearch";
import { bundlePlayground, TYPES } from "./bundle.js";
import { type Entry, entryOf, galleryIndex, galleryPage, thumbnailOf } from "./gallery.js";
import { createHighlight, type Highlight } from "./highlight.js";
import { hoversOf } from "./hovers.js";
import { DESCRIPTION, landingPage, TITLE } from "./landing.js";
import { createMarkdown, descriptionOf, slugOf } from "./markdown.js";
import { type RenderedOp, renderOps } from "./op-pages.js";
import { dtypesPage, headingsOf, opPages, opsIndex } from "./ops.js";
import { groups } from "./pages.js";
import { notFoundPage, pageOf, sitemap } from "./shell.js";
import { formatCall } from "../docs/language.js";
import { dtypeNames } from "../src/types/dtype.js";

const siteFolder = import.meta.dirname;
const root = resolve(siteFolder, "..");
export const OUT = join(siteFolder, "out");

interface Section {
  readonly id: number;
  readonly title: string;
  readonly page: string;
  readonly path: string;
  readonly text: string;
  /** Other names, which count as much as the title. */
  readonly keywords: string;
}

type PageContents = Omit<Parameters<typeof pageOf>[0], "path">;

/** The pages and the search index, collected while parts of the site are written. */
class Site {
  readonly paths: string[] = [];
  readonly #sections: Section[] = [];

  constructor(
    readonly folder: string,
    readonly highlight: Highlight,
  ) {}

  write(path: string, contents: PageContents): void {
    this.paths.push(path);
    this.file(`${path}.html`, pageOf({ path, ...contents }));
  }

  file(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  find(section: Omit<Section, "id" | "keywords"> & Partial<Pick<Section, "keywords">>): void {
    this.#sections.push({ id: this.#sections.length, keywords: "", ...section });
  }

  searchIndex(): string {
    const search = new MiniSearch<Section>({
      fields: ["title", "text", "keywords"],
      storeFields: ["title", "page", "path"],
    });
    search.addAll(this.#sections);
    return JSON.stringify(search);
  }
}

const exampleFiles = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
const pages = groups.flatMap((group) => group.pages);

/** Writes the whole site into a folder. `report` gets a line for each part. */
export async function buildSite(outFolder = OUT, report: (part: string) => void = () => undefined): Promise<void> {
  rmSync(outFolder, { recursive: true, force: true });
  mkdirSync(outFolder, { recursive: true });
  report("bundling the playground and the types of the package");
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
  const site = new Site(outFolder, await createHighlight());
  // Other processes compute the hovers and the pages of ops meanwhile, one after the other.
  const pendingHovers = hoversOf(exampleFiles, TYPES);
  const pendingOps = pendingHovers.then(renderOps);
  report(`building, drawing and proving ${exampleFiles.length} examples`);
  const entries = new Map<string, Entry>();
  for (const file of exampleFiles) {
    const entry = await entryOf(file);
    entry.kernel.proof();
    entries.set(entry.name, entry);
  }
  report("computing the types of names in the examples");
  const hovers = await pendingHovers;
  report("writing the pages, one for each op");
  site.write("index", {
    html: await landingPage(entries, site.highlight),
    title: TITLE,
    description: DESCRIPTION,
    headings: [],
    layout: "landing",
  });
  writeTexts(site);
  writeGallery(site, [...entries.values()], (name) => hovers.get(`${name}.ts`) ?? []);
  writeOps(site, await pendingOps);
  writePlayground(site);
  site.file("404.html", notFoundPage());
  site.file("search.json", site.searchIndex());
  const addressList = sitemap(site.paths);
  if (addressList !== undefined) site.file("sitemap.xml", addressList);
  for (const file of ["style.css", "icon.svg"]) copyFileSync(join(siteFolder, file), join(outFolder, file));
  // These files keep the links of the repository, so the Markdown pages are copied with their names.
  for (const file of ["llms.txt", "docs/tilescript-for-agents.md", ...pages.map(({ source }) => source)])
    cpSync(join(root, file), join(outFolder, file));
}

/** The texts of `docs`. */
function writeTexts(site: Site): void {
  const paths = new Map([
    ...pages.map(({ source, path }) => [source, path] as const),
    ...exampleFiles.map((file) => [`examples/${file}`, `gallery/${file.replace(/\.ts$/, "")}`] as const),
    ["examples", "gallery/index"] as const,
    ["site/playground/index.html", "playground/index"] as const,
  ]);
  const markdown = createMarkdown(site.highlight, paths);
  const opPaths = new Map(opPages().map(({ entry, path }) => [formatCall(entry), path]));
  for (const { path, title, source } of pages) {
    const text = readFileSync(join(root, source), "utf8");
    const rendered = markdown(text, source, path);
    // The list of the language links each op to its page.
    const html = rendered.html.replaceAll(/<li><code>([^<]+)<\/code>/g, (item, call: string) => {
      const opPath = path === "language" ? opPaths.get(call) : undefined;
      return opPath === undefined ? item : `<li><a href="./${opPath}.html"><code>${call}</code></a>`;
    });
    site.write(path, { ...rendered, html, title });
    for (const image of rendered.images) cpSync(join(root, image), join(site.folder, "images", image));
    for (const section of sectionsOf(text, path, title)) site.find(section);
  }
}

function writeGallery(
  site: Site,
  entries: readonly Entry[],
  hoversIn: (name: string) => Parameters<typeof galleryPage>[2],
): void {
  const pictured = new Set<string>();
  for (const [i, entry] of entries.entries()) {
    const path = `gallery/${entry.name}`;
    const neighborAt = (index: number) =>
      index in entries ? { path: `gallery/${entries[index]!.name}`, title: entries[index]!.name } : undefined;
    site.write(path, {
      html: galleryPage(entry, site.highlight, hoversIn(entry.name)),
      title: entry.name,
      description: descriptionOf(entry.idea.replaceAll("`", "").replaceAll("\n", " ")),
      headings: [],
      neighbors: [neighborAt(i - 1), neighborAt(i + 1)],
    });
    const thumbnail = thumbnailOf(entry);
    if (thumbnail !== undefined) {
      site.file(`${path}.svg`, thumbnail);
      pictured.add(entry.name);
    }
    site.find({ title: entry.name, page: "Gallery", path: `${path}.html`, text: entry.idea });
  }
  site.write("gallery/index", {
    html: galleryIndex(entries, pictured),
    title: "Gallery",
    description: "Kernels in TypeScript with their Python, the memory that they touch, their proofs and their speed.",
    headings: [],
  });
}

function writeOps(site: Site, list: readonly RenderedOp[]): void {
  for (const [i, { path, title, keywords, html, summary }] of list.entries()) {
    const description = descriptionOf(`${title}: ${summary} Types, an example, its Python and its errors.`);
    site.write(path, { html, title, description, headings: headingsOf(html), neighbors: [list[i - 1], list[i + 1]] });
    site.find({ title, page: "Op", path: `${path}.html`, text: summary, keywords });
  }
  site.file("playground/ops.json", JSON.stringify(Object.fromEntries(list.map(({ name, text }) => [name, text]))));
  const indexes = [
    ["ops/index", opsIndex(opPages()), "Ops", "Every op of the language, with its types, an example and its errors."],
    ["ops/dtypes", dtypesPage(), "Dtypes", "The dtypes of tensors, tiles and scalars, and the GPUs that have them."],
  ] as const;
  for (const [path, html, title, description] of indexes) site.write(path, { html, title, description, headings: [] });
  for (const name of dtypeNames)
    site.find({ title: `tl.${name}`, page: "Op", path: `ops/dtypes.html#${name}`, text: "dtype", keywords: name });
}

function writePlayground(site: Site): void {
  const playground = readFileSync(join(siteFolder, "playground/index.html"), "utf8");
  site.write("playground/index", {
    html: `<h1 class="unseen">Playground</h1>${playground}`,
    title: "Playground",
    description: "Write a kernel and see its Python, its types, what it touches and what is proved, in this page.",
    headings: [],
    layout: "wide",
  });
}

/** The sections of a page for the search index, each with its heading. */
function sectionsOf(text: string, path: string, page: string) {
  return text
    .replaceAll(/<!--.*?-->/g, "")
    .split(/^(?=#{1,3} )/m)
    .map((part) => {
      const heading = /^#+ (.*)$/m.exec(part)?.[1]?.replaceAll("`", "");
      const hash = heading === undefined || /^# /.test(part) ? "" : `#${slugOf(heading)}`;
      return { title: heading ?? page, page, path: `${path}.html${hash}`, text: part };
    });
}

if (process.argv[1] === import.meta.filename) {
  const start = performance.now();
  const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  await buildSite(OUT, (part) => console.log(`${seconds().padStart(7)}  ${part}`));
  console.log(`wrote ${OUT} in ${seconds()}`);
}
