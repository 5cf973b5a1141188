/**
 * The site in Chromium, as `npm run site` built it: the playground, its limits, search, accessibility, and that no page
 * asks another host for anything.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { OperatorDefinition } from "../../src/dsl/operator.js";
import { build } from "../../src/pipeline/build.js";
import { serve, type Served } from "../../site/serve.js";
import { drawn, drawTests } from "../support/drawn.js";

const root = resolve(import.meta.dirname, "../..");
const out = join(root, "site/out");
const manifest = join(root, "site/package.json");

/** Why the site cannot be tested here. */
function missing(): string | undefined {
  if (!existsSync(join(out, "playground/index.html"))) return "the site is not built; `npm run site` builds it";
  if (!existsSync(join(root, "site/node_modules/playwright-core"))) return "npm ci has not run in site";
  try {
    execFileSync("chromium", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no chromium";
  }
}
const why = missing();
if (why) console.log(`skipped: ${why}`);

drawTests("tests of the site", "site");

let served: Served;
let browser: any;
const outside: string[] = [];
const failed: string[] = [];

beforeAll(async () => {
  if (why) return;
  served = await serve(out, "/some/where/");
  const { chromium } = createRequire(manifest)("playwright-core");
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
});
afterAll(async () => {
  await browser?.close();
  served?.close();
});

async function open(path: string, width = 1400): Promise<any> {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.on("request", (request: any) => {
    const url: string = request.url();
    if (!url.startsWith(served.url) && !/^(blob|data):/.test(url)) outside.push(url);
  });
  page.on("response", (response: any) => response.status() >= 400 && failed.push(response.url()));
  page.on("pageerror", (error: Error) => failed.push(`${path}: ${error.message}`));
  await page.addInitScript(() => {
    const seen: unknown[] = [];
    Object.assign(globalThis, { seen });
    (globalThis as any).document.addEventListener("playground", (event: any) => seen.push(event.detail));
  });
  await page.goto(served.url + path);
  return page;
}

/** The next message of a stage, after what happened so far. */
async function next(page: any, stage: string, act: () => Promise<unknown> = async () => undefined): Promise<any> {
  const before = await page.evaluate(() => (globalThis as any).seen.length);
  await act();
  const found = await page.waitForFunction(
    ([wanted, from]: [string, number]) =>
      (globalThis as any).seen.slice(from).find((each: any) => each.stage === wanted),
    [stage, before],
    { timeout: 60_000 },
  );
  return found.jsonValue();
}
const first = (page: any, stage: string) =>
  page
    .waitForFunction((wanted: string) => (globalThis as any).seen.find((each: any) => each.stage === wanted), stage, {
      timeout: 60_000,
    })
    .then((found: any) => found.jsonValue());
const setText = (page: any, text: string) =>
  page.evaluate((value: string) => (globalThis as any).playground.editors.text.setValue(value), text);

describe.skipIf(why)("the playground", { timeout: 180_000 }, () => {
  test("emits, for each example, the bytes that Node emits", async () => {
    const page = await open("playground/index.html#vector-add");
    await first(page, "evaluated");
    const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
    const tried = drawn("examples in the playground", examples, {
      key: (name) => name,
      sources: (name) => [`examples/${name}`],
    });
    for (const name of tried) {
      const choose = () => page.selectOption("#example", name);
      const { python, marks } =
        name === "vector-add.ts" ? await first(page, "built") : await next(page, "built", choose);
      const module = (await import(join(root, "examples", name))) as Record<string, unknown>;
      const ours = Object.values(module).find(
        (value) => value instanceof KernelDefinition || value instanceof OperatorDefinition,
      );
      expect(python, name).toBe((await build(ours)).python);
      expect(marks, name).toEqual([]);
    }
  });

  test("draws what program 5 of a matrix product touches, at the sizes and blocks that the reader chooses", async () => {
    const page = await open("playground/index.html#gemm");
    await first(page, "evaluated");
    for (const name of ["M", "N", "K"]) await page.fill(`[name="sizes ${name}"]`, "40");
    await page.fill('[name="config GROUP_M"]', "2");
    await next(page, "evaluated", () => page.locator('[name="config GROUP_M"]').press("Tab"));
    const reply = await next(page, "evaluated", async () => {
      await page.fill("#program", "5");
      await page.locator("#program").press("Tab");
    });
    expect(reply).toMatchObject({ grid: [9], program: [5], marks: [], comparison: { correct: true } });
    expect(await page.locator("#picture").textContent()).toContain("128 stored, 128 masked off");
    expect((await page.locator("#picture").textContent()).match(/640 loaded, 128 masked off/g)).toHaveLength(2);
    const map = await next(page, "evaluated", () => page.check("#map"));
    expect(map.picture).toContain("1600 of 1600 elements by 9 programs");
  });

  test("has the types of tiles, no message on an example, and the sentence on a mistake", async () => {
    const page = await open("playground/index.html#gemm");
    await first(page, "built");
    const asked = await page.evaluate(async () => {
      const { editors, types } = (globalThis as any).playground;
      const model = editors.text.getModel();
      const worker = await (await types())(model.uri);
      const name = model.uri.toString();
      const info = await worker.getQuickInfoAtPosition(name, model.getValue().indexOf("const x = tl.load") + 6);
      const messages = await worker.getSemanticDiagnostics(name);
      return [info.displayParts.map((part: any) => part.text).join(""), messages.map((each: any) => each.messageText)];
    });
    expect(asked[0]).toContain('["BLOCK_M", "BLOCK_K"]');
    expect(asked[1]).toEqual([]);
    const text: string = await page.evaluate(() => (globalThis as any).playground.editors.text.getValue());
    const { marks } = await next(page, "failed", () => setText(page, text.replace("tl.dot(x, y,", "tl.dot(x, x,")));
    const line = 1 + text.split("\n").findIndex((each) => each.includes("tl.dot("));
    expect(marks).toMatchObject([{ kind: "error", at: { file: "kernel.ts", line } }]);
    expect(marks[0].message).toMatch(/dot: .*BLOCK_K/);
    await page.waitForFunction((at: number) => (globalThis as any).playground.marksAt(at).length > 1, line, {
      timeout: 30_000,
    });
    expect(await page.locator("body.stale").count()).toBe(1);
  });

  test("marks what the evaluator finds at its lines, and the Python of the cursor's line", async () => {
    const page = await open("playground/index.html#softmax");
    await first(page, "evaluated");
    const text: string = await page.evaluate(() => (globalThis as any).playground.editors.text.getValue());
    const wrong = text.replace("tl.inBounds(tl.programId(0))", "tl.inBounds(tl.programId(0).add(1))");
    expect(wrong).not.toBe(text);
    const { marks } = await next(page, "evaluated", () => setText(page, wrong));
    const lineOf = (part: string) => 1 + wrong.split("\n").findIndex((each) => each.includes(part));
    expect(marks).toMatchObject(
      [
        { kind: "finding", code: "false-in-bounds", at: { line: lineOf("tl.load(") } },
        { kind: "finding", at: { line: lineOf("tl.store(") } },
        {},
      ].slice(0, marks.length),
    );
    expect(marks.length).toBeGreaterThan(1);
    await page.evaluate((line: number) => {
      const { editors } = (globalThis as any).playground;
      editors.text.focus();
      editors.text.setPosition({ lineNumber: line, column: 5 });
    }, lineOf("const shifted"));
    const marked = await page.waitForFunction(() => {
      const python = (globalThis as any).playground.editors.python.getModel();
      const lines = python.getAllDecorations().filter((each: any) => each.options.className === "linked-line");
      return lines.length > 0 && lines.map((each: any) => python.getLineContent(each.range.startLineNumber)).join();
    });
    expect(await marked.jsonValue()).toContain("shifted = values - tl.max(values");
  });

  test("stops an endless loop, and the next run works", async () => {
    const page = await open("playground/index.html#vector-add");
    await first(page, "proved");
    const text: string = await page.evaluate(() => (globalThis as any).playground.editors.text.getValue());
    const stopped = await next(page, "stopped", () => setText(page, "for (;;) {}\n"));
    expect(stopped.of).toBe("build");
    expect(await page.locator("#state").textContent()).toBe("stopped: the build took longer than 5 s");
    const { comparison } = await next(page, "evaluated", () => setText(page, text));
    expect(comparison.correct).toBe(true);
  });

  test("a link carries the text, which runs only after a click", async () => {
    const page = await open("playground/index.html#vector-add");
    await first(page, "proved");
    await setText(page, "// Mine.\nthrow new Error('it ran');\n");
    await first(page, "failed");
    await page.click("#share");
    await page.waitForFunction(() => (globalThis as any).location.hash.startsWith("#text="));
    const hash: string = await page.evaluate(() => (globalThis as any).location.hash);
    const other = await open(`playground/index.html${hash}`);
    await other.waitForFunction(() => (globalThis as any).playground?.editors.text.getValue().startsWith("// Mine."));
    expect(await other.locator("#untrusted").isVisible()).toBe(true);
    await other.waitForTimeout(1500);
    expect(await other.evaluate(() => (globalThis as any).seen)).toEqual([]);
    const { marks } = await next(other, "failed", () => other.click("#run"));
    expect(marks[0].message).toBe("it ran");
  });
});

describe.skipIf(why)("the pages", { timeout: 180_000 }, () => {
  const pages = existsSync(out)
    ? readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"))
    : [];

  test("search finds the section about tolerances", async () => {
    const page = await open("index.html");
    await page.fill("#search", "tolerance");
    await page.waitForSelector("#found a");
    const [target] = await page.locator("#found a").evaluateAll((links: any[]) => links.map((link) => link.href));
    await page.locator("#found a").first().click();
    await page.waitForURL(target);
    expect((await page.locator("main").textContent()).toLowerCase()).toContain("tolerance");
  });

  test("have no serious fault of accessibility, in both themes", async () => {
    const axe = readFileSync(join(root, "site/node_modules/axe-core/axe.min.js"), "utf8");
    for (const path of ["index.html", "first-kernel.html", "gallery/gemm.html", "playground/index.html"])
      for (const theme of ["light", "dark"]) {
        const page = await open(path);
        await page.evaluate(
          (name: string) => ((globalThis as any).document.documentElement.dataset["theme"] = name),
          theme,
        );
        await page.addScriptTag({ content: axe });
        const { violations } = await page.evaluate(() =>
          // The editor is another project's.
          (globalThis as any).axe.run({ exclude: [[".monaco-editor"], [".monaco-aria-container"]] }),
        );
        const serious = violations.filter(({ impact }: any) => impact === "serious" || impact === "critical");
        const said = serious.map(
          ({ id, nodes }: any) => `${id}: ${nodes.map((node: any) => node.html.slice(0, 120)).slice(0, 3)}`,
        );
        expect(said, `${path} ${theme}`).toEqual([]);
      }
  });

  test("fit a phone: no page scrolls sideways", async () => {
    const page = await open("index.html", 400);
    for (const path of pages.filter((name) => !name.startsWith("gallery/") || name.endsWith("gemm.html"))) {
      await page.goto(served.url + path);
      const wide = await page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth);
      expect(wide, path).toBeLessThanOrEqual(400);
    }
  });

  test("link only to pages and headings that exist", () => {
    const ids = new Map(
      pages.map((path) => [
        path,
        new Set(Array.from(readFileSync(join(out, path), "utf8").matchAll(/\bid="([^"]+)"/g), ([, id]) => id)),
      ]),
    );
    const wrong = pages.flatMap((path) =>
      Array.from(
        readFileSync(join(out, path), "utf8").matchAll(/<a [^>]*?href="([^"]+)"/g),
        ([, href]) => href!,
      ).flatMap((href) => {
        if (/^[a-z]+:/.test(href)) return [];
        const { pathname, hash } = new URL(href, `https://site.invalid/${path}`);
        const target = ids.get(decodeURIComponent(pathname.slice(1)));
        const isThere =
          target &&
          (hash === "" || pathname.startsWith("/playground/") || target.has(decodeURIComponent(hash.slice(1))));
        return isThere ? [] : [`${path}: ${href}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test("nothing was asked of another host, and nothing was missing", () => {
    expect({ outside, failed }).toEqual({ outside: [], failed: [] });
  });
});
