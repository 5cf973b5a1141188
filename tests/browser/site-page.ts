/** The built site, served below a folder, and what tests ask of its pages. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { serve, type StaticServer } from "../../site/serve.js";
import { sampleCases } from "../support/sampled-tests.js";

const root = resolve(import.meta.dirname, "../..");
export const site = join(root, "site");
export const out = join(site, "out");

/** Why the site cannot be opened by a driver here, in words; undefined where it can be. */
export function missing(driver: string, ...browsers: readonly string[]): string | undefined {
  if (!existsSync(join(out, "playground/index.html"))) return "the site is not built; `npm run site` builds it";
  if (!existsSync(join(site, "node_modules", driver)))
    return `${driver} is not installed; \`npm --prefix site ci\` does it`;
  return pathOf(browsers) === undefined ? `there is no ${browsers.join(" or ")}` : undefined;
}

/** The first of these programs that is on the PATH. */
export function pathOf(programs: readonly string[]): string | undefined {
  for (const name of programs)
    try {
      return execFileSync("which", [name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    } catch {
      // The next may be there.
    }
  return undefined;
}

/** The site below a folder, as a static host may have it. */
export const serveSite = (): Promise<StaticServer> => serve(out, "/some/where/");

/** Runs in a page of the site: the Python that the playground's worker emits for each text. */
async function emitInPage(names: readonly string[]): Promise<Record<string, string>> {
  const page = globalThis as any;
  const texts: Record<string, string> = await (await page.fetch("playground/examples.json")).json();
  const worker = new page.Worker("playground/worker.js", { type: "module" });
  const emitted: Record<string, string> = {};
  for (const [id, name] of names.entries())
    emitted[name] = await new Promise<string>((done) => {
      worker.onmessage = ({ data }: any) => {
        if (data.stage === "built") done([data.python, ...data.marks.map((mark: any) => mark.message)].join("\n"));
        if (data.stage === "failed") done(data.marks.map((mark: any) => mark.message).join("\n"));
      };
      const files = [[name, texts[name]], ...Object.entries(texts)];
      worker.postMessage({ id, files, only: "build" });
    });
  worker.terminate();
  return emitted;
}

/**
 * Each example's Python in this browser is what Node emits, byte for byte. `evaluate` runs a function with an argument
 * in the site's first page.
 */
export async function expectNodesPython(
  evaluate: (act: typeof emitInPage, names: readonly string[]) => Promise<Record<string, string>>,
): Promise<void> {
  const all = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
  const names = sampleCases("examples in a browser", all, {
    key: (name) => name,
    sources: (name) => [`examples/${name}`],
  });
  const emitted = await evaluate(emitInPage, names);
  expect(Object.keys(emitted)).toEqual(names);
  // A test of its own holds these files to what Node emits.
  const golden = (name: string) =>
    readFileSync(join(root, "tests/unit/codegen/golden", name.replace(/\.ts$/, ".py")), "utf8");
  expect(names.filter((name) => emitted[name] !== golden(name))).toEqual([]);
}

/** Runs in a page before its own scripts: keeps what the playground says of itself in `seen`. */
export function recordReplies(): void {
  const seen: unknown[] = [];
  Object.assign(globalThis, { seen });
  (globalThis as any).document.addEventListener("playground", (event: any) => seen.push(event.detail));
}

/** The message of a hostile text that reached nothing. */
export const REACHES_NOTHING = "reached: .";

/** A text that sends the page HTML in the place of each part of a reply, and then tries to reach data and addresses. */
export function hostileText(url: string): string {
  const html = `<img src=x onerror="globalThis.hacked = 1"><svg onload="globalThis.hacked = 1"></svg>`;
  return `const html = ${JSON.stringify(html)};
const picture = { title: html, width: 9, height: html, shapes: [
  { kind: "text", x: html, y: 1, text: html, className: html },
  { kind: "rect", x: 1, y: 1, width: 1, height: 1, className: '"><img src=x onerror=hacked=1>', tooltip: html },
] };
for (let id = 1; id < 40; id++) {
  self.postMessage({ stage: "built", id, kernels: [html], kernel: html, python: html, lines: [], ir: html, marks: [], sizes: [], dtypes: {}, milliseconds: html });
  self.postMessage({ stage: "evaluated", id, sizes: { [html]: html }, dtypes: {}, config: {}, grid: [html], program: [html], accesses: 1, picture, outputs: html, unchecked: [html], marks: [{ kind: "finding", code: html, message: html, at: { file: html, line: 1, column: 1 } }], milliseconds: 1 });
  self.postMessage({ stage: "proved", id, summary: html, marks: [{ kind: html, code: html, message: html }] });
}
const reached = [];
const attempt = async (name, act) => { try { await act(); reached.push(name); } catch {} };
await attempt("fetch the site", () => fetch("${url}search.json"));
await attempt("a request without an answer", () => fetch("${url}search.json", { mode: "no-cors" }));
await attempt("fetch another host", () => fetch("https://example.invalid/"));
await attempt("import the site", () => import("${url}site.js"));
await attempt("a database", () => new Promise((done, fail) => { const open = indexedDB.open("x"); open.onsuccess = done; open.onerror = fail; }));
await attempt("a cache", () => caches.open("x"));
await attempt("a channel with an origin", () => { if (self.origin !== "null") return; throw 0; });
await attempt("a worker of the site", () => new Promise((done, fail) => { const worker = new Worker("${url}playground/worker.js"); worker.onmessage = done; worker.onerror = fail; }));
await attempt("a socket", () => new Promise((done, fail) => { const socket = new WebSocket("${url}".replace("http", "ws")); socket.onopen = done; socket.onerror = fail; }));
throw new Error("reached: " + reached.join(", ") + ".");
`;
}

/** Runs in a page: the number of elements that come from a hostile text, and whether a script of it ran. */
export function hostileParts(): readonly [number, boolean] {
  const { document, hacked } = globalThis as any;
  return [
    document.querySelectorAll("main img, main svg [onload], main script:not([src])").length,
    hacked !== undefined,
  ];
}
