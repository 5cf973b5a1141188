/**
 * The build time and the size of the site, and the time until its playground shows Python and types in Chromium: `npm
 * run bench -- site`. Writes bench/results/site.json.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { serve } from "../site/serve.js";
import { roundToTenth, writeReport } from "./write-report.js";

interface Spread {
  /** Milliseconds. */
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export interface SiteReport {
  readonly date: string;
  readonly machine: { readonly cores: number; readonly processor: string; readonly node: string };
  readonly chromium: string;
  /** The average number of processes that wanted a core in the minute before. */
  readonly loadBefore: number;
  readonly build: { readonly milliseconds: number };
  /** Sizes in bytes. `gzipped` is the sum of files gzipped one by one. */
  readonly site: { readonly files: number; readonly bytes: number; readonly gzipped: number };
  readonly playground: {
    readonly rounds: number;
    /** The number of requests of a visit. */
    readonly requests: number;
    readonly gzipped: number;
    /** From the start of the navigation until the editor shows the Python of the first kernel. */
    readonly firstPython: Spread;
    /** Until a requested hover shows the type of a tile. */
    readonly firstHover: Spread;
  };
}

const root = resolve(import.meta.dirname, "..");
const out = join(root, "site/out");
const ROUNDS = 5;

function build(): number {
  const start = performance.now();
  execFileSync(join(root, "node_modules/.bin/tsx"), [join(root, "site/build.ts")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return performance.now() - start;
}

function sizes(): SiteReport["site"] {
  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const texts = files.map((file) => readFileSync(join(file.parentPath, file.name)));
  const sum = (measure: (text: Buffer) => number) => texts.reduce((total, text) => total + measure(text), 0);
  return { files: files.length, bytes: sum(({ length }) => length), gzipped: sum((text) => gzipSync(text).length) };
}

/** One visit with an empty cache: the requested paths, and the times until Python and a type appeared. */
async function visit(browser: any, url: string) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const requestedPaths = new Set<string>();
  context.on("request", (request: any) => {
    const address: string = request.url();
    if (address.startsWith(url)) requestedPaths.add(new URL(address).pathname);
  });
  await page.goto(`${url}playground/index.html#gemm`);
  const isThere = await page.waitForFunction(() => {
    const python = (globalThis as any).playground?.editors.python.getValue() ?? "";
    return python.includes("@triton.jit") && performance.now();
  });
  const python: number = await isThere.jsonValue();
  const hoverTime = await page.waitForFunction(
    () => {
      const { document, playground } = globalThis as any;
      const editor = playground.editors.text;
      const content: string = document.querySelector(".monaco-hover")?.textContent ?? "";
      if (content.includes('["BLOCK_M", "BLOCK_K"]')) return performance.now();
      // A hover that is requested too early shows nothing: request it again.
      const position = editor.getModel().getPositionAt(editor.getValue().indexOf("const x = tl.load") + 6);
      editor.setPosition(position);
      editor.focus();
      editor.trigger("bench", "editor.action.showHover", {});
      return false;
    },
    undefined,
    { polling: 50, timeout: 60_000 },
  );
  const hover: number = await hoverTime.jsonValue();
  await context.close();
  return { asked: requestedPaths, python, hover };
}

function spread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b).map(roundToTenth);
  return { median: sorted[Math.floor(sorted.length / 2)]!, least: sorted[0]!, most: sorted.at(-1)! };
}

async function main(): Promise<void> {
  const [loadBefore = 0] = loadavg();
  const milliseconds = build();
  const { chromium } = createRequire(join(root, "site/package.json"))("playwright-core");
  const server = await serve(out);
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const visits = [];
  // The first visit warms up the browser itself.
  for (let round = 0; round <= ROUNDS; round++) visits.push(await visit(browser, server.url));
  visits.shift();
  const version = `Chromium ${browser.version()}`;
  await browser.close();
  server.close();
  const requestedFiles = [...visits.at(-1)!.asked].map((path) => (path.endsWith("/") ? `${path}index.html` : path));
  const gzipped = requestedFiles.reduce((sum, path) => sum + gzipSync(readFileSync(join(out, path))).length, 0);
  const report: Omit<SiteReport, "date" | "machine"> = {
    chromium: version,
    loadBefore: roundToTenth(loadBefore),
    build: { milliseconds: Math.round(milliseconds) },
    site: sizes(),
    playground: {
      rounds: ROUNDS,
      requests: requestedFiles.length,
      gzipped,
      firstPython: spread(visits.map(({ python }) => python)),
      firstHover: spread(visits.map(({ hover }) => hover)),
    },
  };
  writeReport("site", report);
  console.log(JSON.stringify(report, undefined, 2));
}

if (process.argv[1] === import.meta.filename) await main();
