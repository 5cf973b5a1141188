/**
 * The site in Chromium, as `npm run site` built it, served below a folder: the playground, its limits, search,
 * accessibility, and that no page asks another host for anything. One browser and, but for visits with an empty
 * profile, one page: what costs is loading the editor.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { formatCall, sections } from "../../docs/language.js";
import type { StaticServer } from "../../site/serve.js";
import { sampledTests } from "../support/sampled-tests.js";
import {
  expectNodesPython,
  hostileParts,
  hostileText,
  missing,
  out,
  pathOf,
  REACHES_NOTHING,
  recordReplies,
  serveSite,
  site,
} from "./site-page.js";

const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];
const why = missing("playwright-core", ...BROWSERS);
if (why) console.log(`skipped: ${why}`);

sampledTests("tests of the site", "site");

let started: Promise<{ readonly served: StaticServer; readonly browser: any }> | undefined;
const outside: string[] = [];
const failed: string[] = [];

/** The server and the browser, from the first test that needs them. */
const start = () =>
  (started ??= serveSite().then(async (served) => {
    const { chromium } = createRequire(join(site, "package.json"))("playwright-core");
    return { served, browser: await chromium.launch({ executablePath: pathOf(BROWSERS), args: ["--no-sandbox"] }) };
  }));
afterAll(async () => {
  const { served, browser } = (await started) ?? {};
  await browser?.close();
  served?.close();
});
afterEach(() => expect({ outside: outside.splice(0), failed: failed.splice(0) }).toEqual({ outside: [], failed: [] }));

/** A page in a fresh profile, at a path of the site. It keeps what the playground says of itself in `seen`. */
async function open(path: string, width = 1400): Promise<any> {
  const { served, browser } = await start();
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  context.on("request", (request: any) => {
    const url: string = request.url();
    if (!url.startsWith(served.url) && !/^(blob|data):/.test(url)) outside.push(url);
  });
  context.on("response", (response: any) => response.status() >= 400 && failed.push(response.url()));
  const page = await context.newPage();
  page.on("pageerror", (error: Error) => failed.push(`${path}: ${error.message}`));
  await page.addInitScript(recordReplies);
  await page.goto(served.url + path);
  return page;
}

/** The first message of a stage that follows on `act` and holds what is wanted. */
async function next(page: any, stage: string, act: () => Promise<unknown>, wanted: object = {}): Promise<any> {
  const before = await page.evaluate(() => (globalThis as any).seen.length);
  await act();
  const found = await page.waitForFunction(
    ([all, from]: [object, number]) => {
      const holds = (part: any, whole: any): boolean =>
        part === whole ||
        (typeof part === "object" && Object.entries(part).every(([key, each]) => holds(each, whole?.[key])));
      return (globalThis as any).seen.slice(from).find((each: any) => holds(all, each));
    },
    [{ ...wanted, stage }, before],
    { timeout: 60_000 },
  );
  return found.jsonValue();
}

let shared: Promise<any> | undefined;

/** The playground with an example, evaluated with its own sizes; the same page for all tests. */
async function playground(example: string): Promise<any> {
  shared ??= open("playground/index.html#vector-sum").then(async (page) => {
    await page.waitForFunction(() => (globalThis as any).seen.some((each: any) => each.stage === "proved"));
    return page;
  });
  const page = await shared;
  await next(page, "evaluated", () => page.selectOption("#example", `${example}.ts`));
  return page;
}

const textOf = (page: any): Promise<string> =>
  page.evaluate(() => (globalThis as any).playground.editors.text.getValue());
const setText = (page: any, text: string) =>
  page.evaluate((value: string) => (globalThis as any).playground.editors.text.setValue(value), text);

/** The color of the verdict and its words. */
const verdictOf = (page: any): Promise<[string, string]> =>
  page
    .locator("#verdict")
    .evaluate((element: any) => [
      element.dataset["tone"],
      Array.from(element.children, (each: any) => each.innerText).join(": "),
    ]);

describe.skipIf(why)("the playground", { timeout: 180_000 }, () => {
  test("emits, for each example, the bytes that Node emits", async () => {
    const page = await open("index.html");
    await expectNodesPython((act, names) => page.evaluate(act, names));
  });

  test("draws what program 5 of a matrix product touches, at the sizes and blocks that the reader chooses", async () => {
    const page = await playground("gemm");
    // What is typed stays while an answer to what was typed before arrives.
    await page.fill('[name="sizes N"]', "40");
    await next(page, "evaluated", () => page.fill('[name="sizes K"]', "40"));
    expect(await page.inputValue('[name="sizes K"]')).toBe("40");
    for (const name of ["M", "N", "K"]) await page.fill(`[name="sizes ${name}"]`, "40");
    await page.fill('[name="config GROUP_M"]', "2");
    const chosen = { sizes: { M: 40, N: 40, K: 40 }, config: { GROUP_M: 2 } };
    await next(page, "evaluated", () => page.locator('[name="config GROUP_M"]').press("Tab"), chosen);
    const reply = await next(
      page,
      "evaluated",
      async () => {
        await page.fill("#program", "5");
        await page.locator("#program").press("Tab");
      },
      { program: [5] },
    );
    expect(reply).toMatchObject({
      config: { BLOCK_M: 16, BLOCK_N: 16, BLOCK_K: 16 },
      grid: [9],
      program: [5],
      // Two loads in each of three turns of the loop, and the store.
      accesses: 7,
      marks: [],
      comparison: { correct: true },
    });
    const picture: string = await page.locator("#picture").textContent();
    expect(picture).toContain("128 stored, 128 masked off");
    expect(picture.match(/640 loaded, 128 masked off/g)).toHaveLength(2);
    for (const look of ["loaded", "stored", "masked"])
      expect(await page.locator(`#picture g rect.${look}`).count(), look).toBeGreaterThan(0);
    const map = await next(page, "evaluated", () => page.check("#map"));
    expect(JSON.stringify(map.picture)).toContain("1600 of 1600 elements by 9 programs");
    expect(await page.locator("#picture").textContent()).toContain("1600 of 1600 elements by 9 programs");
    await page.uncheck("#map");
  });

  test("has the types of tiles, no message on examples, and the sentence on a mistake", async () => {
    const page = await playground("gemm");
    const asked = await page.evaluate(async () => {
      const { editors, types } = (globalThis as any).playground;
      const model = editors.text.getModel();
      const worker = await (await types())(model.uri);
      const name = model.uri.toString();
      const info = await worker.getQuickInfoAtPosition(name, model.getValue().indexOf("const x = tl.load") + 6);
      const files = [name, "file:///softmax.ts", "file:///layer-norm.ts", "file:///rotary.ts"];
      const messages = await Promise.all(
        files.flatMap((file) => [worker.getSyntacticDiagnostics(file), worker.getSemanticDiagnostics(file)]),
      );
      return [
        info.displayParts.map((part: any) => part.text).join(""),
        messages.flat().map((each: any) => each.messageText),
      ];
    });
    expect(asked[0]).toContain('["BLOCK_M", "BLOCK_K"]');
    expect(asked[1]).toEqual([]);
    const text = await textOf(page);
    const { marks } = await next(page, "failed", () => setText(page, text.replace("tl.dot(x, y,", "tl.dot(x, x,")));
    const line = 1 + text.split("\n").findIndex((each) => each.includes("tl.dot("));
    expect(marks).toMatchObject([{ kind: "error", at: { file: "kernel.ts", line } }]);
    expect(marks[0].message).toMatch(/dot: .*BLOCK_K/);
    // The editor's own message has the same sentence.
    const shown = await page.waitForFunction(
      (at: number) => {
        const found = (globalThis as any).playground.marksAt(at);
        return found.length > 1 && found.map((each: any) => [each.owner, each.message]);
      },
      line,
      { timeout: 30_000 },
    );
    const messages = new Map<string, string>(await shown.jsonValue());
    expect(messages.get("typescript")).toContain(marks[0].message);
    expect(await page.locator("body.stale").count()).toBe(1);
  });

  test("marks what the evaluator finds at its lines, and the Python of the cursor's line", async () => {
    const page = await playground("softmax");
    const text = await textOf(page);
    const wrong = text.replace("tl.inBounds(tl.programId(0))", "tl.inBounds(tl.programId(0).add(1))");
    expect(wrong).not.toBe(text);
    const { marks, program, grid } = await next(page, "evaluated", () => setText(page, wrong));
    // Only the last program reaches past the end: it is the one that is drawn.
    expect(program).toEqual([grid[0] - 1]);
    const lineOf = (part: string) => 1 + wrong.split("\n").findIndex((each) => each.includes(part));
    const found = marks.map(({ kind, code, at }: any) => `${kind} ${code} ${at.line}`);
    expect(found).toContain(`finding false-in-bounds ${lineOf("tl.load(")}`);
    expect(found).toContain(`finding false-in-bounds ${lineOf("tl.store(")}`);
    const inEditor = await page.evaluate(
      (lines: number[]) => lines.map((line) => (globalThis as any).playground.marksAt(line).length),
      [lineOf("tl.load("), lineOf("tl.store(")],
    );
    expect(Math.min(...inEditor)).toBeGreaterThan(0);
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
    const page = await playground("vector-add");
    const text = await textOf(page);
    const stopped = await next(page, "stopped", () => setText(page, "for (;;) {}\n"));
    expect(stopped.of).toBe("build");
    expect(await verdictOf(page)).toEqual(["open", "Stopped: the build took longer than 5 s."]);
    const { comparison } = await next(page, "evaluated", () => setText(page, text));
    expect(comparison.correct).toBe(true);
  });

  test("opens on the kernel of the tutorial, with the Python of the kernel in view and a green verdict", async () => {
    const page = await open("playground/index.html");
    await page.waitForFunction(() => (globalThis as any).seen.some((each: any) => each.stage === "compared"));
    expect(await page.inputValue("#example")).toBe("scale.ts");
    const [top, jit] = await page.evaluate(() => {
      const { python } = (globalThis as any).playground.editors;
      const lines: string[] = python.getValue().split("\n");
      return [python.getVisibleRanges()[0].startLineNumber, 1 + lines.indexOf("@triton.jit")];
    });
    expect(Math.abs(top - jit)).toBeLessThanOrEqual(1);
    const [tone, words] = await verdictOf(page);
    expect([tone, words]).toEqual(["good", expect.stringContaining("3 of 3 accesses proved for all shapes")]);
    await page.context().close();
  });

  test("an error in the syntax is shown at its line, and nothing of the text before it is left", async () => {
    const page = await playground("vector-add");
    const text = await textOf(page);
    const line = 1 + text.split("\n").findIndex((each) => each.includes("tl.store("));
    const { marks } = await next(page, "failed", () => setText(page, text.replace("tl.store(", "tl.store((")));
    expect(marks[0]).toMatchObject({ code: "TS1005", at: { file: "kernel.ts", line } });
    expect(await verdictOf(page)).toEqual(["bad", expect.stringContaining(`Line ${line}: ')' expected.`)]);
    for (const id of ["picture", "ir", "choices", "grid"]) expect(await page.locator(`#${id}`).innerText()).toBe("");
    expect(await page.locator("#marks li").count()).toBe(marks.length);
    await next(page, "evaluated", () => setText(page, text));
    expect(await page.locator("#picture svg").count()).toBe(1);
  });

  test("a claim that is refuted, and a proof with a gap, have their colors", async () => {
    const page = await playground("vector-add");
    const text = await textOf(page);
    const index = "tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK))";
    await next(page, "compared", () => setText(page, text.replace(index, `tl.inBounds(${index})`)));
    expect((await verdictOf(page))[0]).toBe("bad");
    await next(page, "compared", () => setText(page, text.replace(/^ *reference:.*$/m, "")));
    expect((await verdictOf(page))[0]).toBe("open");
    await next(page, "compared", () => setText(page, text));
    expect((await verdictOf(page))[0]).toBe("good");
  });

  test("has tabs on a phone, which the arrow keys switch", async () => {
    const page = await open("playground/index.html#vector-add", 390);
    await page.waitForFunction(() => (globalThis as any).seen.some((each: any) => each.stage === "evaluated"));
    const visible = () =>
      page.evaluate(() =>
        ["text", "python", "result"].filter((id) => (globalThis as any).document.getElementById(id).offsetHeight > 0),
      );
    expect(await visible()).toEqual(["text"]);
    await page.locator("#pane-text").focus();
    await page.keyboard.press("ArrowRight");
    expect(await visible()).toEqual(["python"]);
    await page.keyboard.press("ArrowRight");
    expect(await visible()).toEqual(["result"]);
    expect(await page.locator("#verdict").isVisible()).toBe(true);
    await page.context().close();
  });

  test("a hostile text reaches neither the page, nor the site's data, nor any address", async () => {
    const text = hostileText((await start()).served.url);
    const page = await open("playground/index.html#vector-add");
    await page.waitForFunction(() => (globalThis as any).seen.some((each: any) => each.stage === "compared"));
    await next(page, "failed", () => setText(page, text), { marks: [{ message: REACHES_NOTHING }] });
    expect(await page.evaluate(hostileParts)).toEqual([0, false]);
    // The frame has no origin, and its policy names no address.
    const frame = page.locator('iframe[title="Runs the kernel"]');
    expect(await frame.getAttribute("sandbox")).toBe("allow-scripts");
    expect(readFileSync(join(out, "playground/sandbox.html"), "utf8")).not.toMatch(/connect-src|https?:/);
    await page.context().close();
  });

  test("comments, names and links that hold HTML stay text", async () => {
    const page = await playground("vector-add");
    const html = `<img src=x onerror='globalThis.hacked=1'>`;
    const text = (await textOf(page))
      .replace("x + y, element by element.", html)
      .replace("const offsets", `/** ${html} [x](command:x) */\nconst offsets`);
    await next(page, "compared", () => setText(page, text));
    const other = await open(`playground/index.html#${encodeURIComponent(html)}`);
    await other.waitForFunction(() => (globalThis as any).playground);
    for (const each of [page, other])
      expect(
        await each.evaluate(
          () => (globalThis as any).hacked ?? (globalThis as any).document.querySelectorAll("main img").length,
        ),
      ).toBe(0);
    await other.context().close();
  });

  test("a link carries the text, which runs only after a click", async () => {
    const page = await playground("vector-add");
    await next(page, "failed", () => setText(page, "// Mine.\nthrow new Error('it ran');\n"));
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
    await other.context().close();
  });
});

describe.skipIf(why)("the pages", { timeout: 180_000 }, () => {
  const pages = why
    ? []
    : readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
  const htmlOf = (path: string): string => readFileSync(join(out, path), "utf8");

  test("on the first page, breaking a mask turns its lanes red, after a download below 3 MB", async () => {
    const page = await open("index.html");
    const asked = new Set<string>();
    page.context().on("request", (request: any) => asked.add(new URL(request.url()).pathname));
    await page.reload();
    const tone = (wanted: string) =>
      page.waitForFunction(
        (name: string) => (globalThis as any).document.querySelector(".live .verdict").dataset["tone"] === name,
        wanted,
      );
    await tone("good");
    expect(await page.locator(".live .picture g .refused").count()).toBe(0);
    await page.click('[data-act="break"]');
    await tone("bad");
    expect(await page.locator(".live .picture g .refused").count()).toBe(3);
    expect(await page.locator(".live .verdict").textContent()).toContain("tl.inBounds is false");
    expect(await page.locator(".live-python").textContent()).not.toContain("mask");
    const files = [...asked]
      .filter((path) => path.startsWith("/some/where/"))
      .map((path) => path.replace("/some/where/", ""));
    const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(join(out, path || "index.html"))).length, 0);
    expect(files).toContain("playground/worker.js");
    expect(bytes).toBeLessThan(3_000_000);
    await page.click('[data-act="break"]');
    await tone("good");
    // The reader's own text.
    await page.click('[data-act="edit"]');
    const area = page.locator(".live textarea");
    await area.fill((await area.inputValue()).replaceAll("offsets", "places"));
    await page.waitForFunction(() =>
      (globalThis as any).document.querySelector(".live-python").textContent.includes("places = tl.program_id(0)"),
    );
    await page.context().close();
  });

  test.each([
    ["atomicAdd", "ops/atomicAdd.html"],
    ["if else", "ops/when.html"],
    ["float16", "ops/dtypes.html#float16"],
    ["cumsum", "ops/cumsum.html"],
    ["atomic_add", "ops/atomicAdd.html"],
  ])("search for %s finds its page first", async (words, path) => {
    const page = await open("index.html");
    await page.keyboard.press("/");
    await page.waitForFunction(() => (globalThis as any).document.activeElement.id === "search");
    await page.keyboard.type(words);
    await page.waitForFunction(
      (wanted: string) => (globalThis as any).document.querySelector("#found a")?.href.endsWith(wanted),
      path,
    );
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/${path}`);
    await page.context().close();
  });

  test("the example of an op runs in place", async () => {
    const page = await open("ops/cumsum.html");
    const before: string = await page.locator(".outputs").innerText();
    await page.click('[data-act="edit"]');
    const area = page.locator(".live textarea");
    await page.waitForFunction(() => (globalThis as any).document.querySelector(".verdict").dataset["tone"] === "open");
    // The page computes what the build of the site computed.
    expect(await page.locator(".outputs").innerText()).toBe(before);
    await area.fill((await area.inputValue()).replace("tl.cumsum(x, 1)", "x.mul(0)"));
    await page.waitForFunction(() =>
      /^ *0(, 0)+$/m.test((globalThis as any).document.querySelector(".outputs").textContent),
    );
    await page.context().close();
  });

  test("each op has a page with its types, an example and its Python", () => {
    const entries = sections().flatMap((section) => section.entries);
    const names = new Set(pages.filter((path) => path.startsWith("ops/")));
    const lacking = entries.flatMap((entry) => {
      const name = entry.name === "gather" && entry.op?.spelling.form === "lowered" ? "x-gather" : entry.name;
      const path = `ops/${name}.html`;
      if (!names.has(path)) return [`${path} is missing`];
      const html = htmlOf(path);
      const parts = {
        title: html.includes(`<h1><code>${formatCall(entry).replace(/\(.*$/, "")}</code></h1>`),
        example: html.includes('class="live"') && html.includes("@triton"),
        result: html.includes('class="outputs"'),
        neighbors: html.includes('rel="next"') || html.includes('rel="prev"'),
      };
      return Object.entries(parts).flatMap(([part, isThere]) => (isThere ? [] : [`${path}: ${part}`]));
    });
    expect(entries.length).toBeGreaterThan(150);
    expect(lacking).toEqual([]);
  });

  test("each has a description and a policy, and none names the machine that built it", () => {
    const wrong = pages.flatMap((path) => {
      const html = htmlOf(path);
      if (path === "playground/sandbox.html") return [];
      const description = /<meta name="description" content="([^"]*)">/.exec(html)?.[1] ?? "";
      return [
        ...(description.length < 15 || description.replaceAll("&quot;", "'").length > 170
          ? [`${path}: description "${description}"`]
          : []),
        ...(html.includes('http-equiv="Content-Security-Policy"') ? [] : [`${path}: no policy`]),
        ...(
          html.match(/\/(?:work|root|tmp)\/\S*|file:\/\/\S*|registry\.\S*|<td>undefined<|edit this page/gi) ?? []
        ).map((found) => `${path}: ${found}`),
      ];
    });
    expect(wrong).toEqual([]);
  });

  test("search finds the section about tolerances", async () => {
    const page = await open("index.html");
    await page.fill("#search", "tolerance");
    await page.waitForSelector("#found a");
    const [target] = await page.locator("#found a").evaluateAll((links: any[]) => links.map((link) => link.href));
    // The index is there: no network is needed any more.
    await page.context().setOffline(true);
    await page.fill("#search", "tolerances");
    expect(await page.locator("#found a").count()).toBeGreaterThan(0);
    await page.context().setOffline(false);
    await page.locator("#found a").first().click();
    await page.waitForURL(target);
    expect((await page.locator("main").textContent()).toLowerCase()).toContain("tolerance");
    await page.context().close();
  });

  test("have no serious fault of accessibility, in both themes", async () => {
    const axe = readFileSync(join(site, "node_modules/axe-core/axe.min.js"), "utf8");
    const page = await open("index.html");
    const { url } = (await start()).served;
    for (const path of [
      "index.html",
      "first-kernel.html",
      "ops/index.html",
      "ops/cumsum.html",
      "gallery/index.html",
      "gallery/gemm.html",
      "playground/index.html",
    ]) {
      await page.goto(url + path);
      if (path.startsWith("playground")) await page.waitForSelector("#picture svg");
      // The policy of the pages permits no script of a test, but the debugger may run one.
      await page.evaluate(axe);
      for (const theme of ["light", "dark"]) {
        await page.evaluate(
          (name: string) => ((globalThis as any).document.documentElement.dataset["theme"] = name),
          theme,
        );
        const { violations } = await page.evaluate(
          (rules: readonly string[]) => {
            // The editor is another project's; of the pages with code, one is enough.
            const exclude = [
              [".monaco-editor"],
              [".monaco-aria-container"],
              [".pair .shiki"],
              [".live-columns .shiki"],
            ];
            const options = rules.length > 0 ? { runOnly: rules } : {};
            return (globalThis as any).axe.run({ exclude }, options);
          },
          theme === "light" ? [] : ["color-contrast"],
        );
        const serious = violations.filter(({ impact }: any) => impact === "serious" || impact === "critical");
        const said = serious.map(
          ({ id, nodes }: any) => `${id}: ${nodes.map((node: any) => node.html.slice(0, 120)).slice(0, 3)}`,
        );
        expect(said, `${path} ${theme}`).toEqual([]);
      }
    }
    await page.context().close();
  });

  test("fit a phone: no page scrolls sideways", async () => {
    const page = await open("index.html", 400);
    const { url } = (await start()).served;
    for (const path of pages.filter(
      (name) => !/^(?:gallery|ops)\//.test(name) || /\/(?:gemm|index|dot|cumsum|dtypes)\.html$/.test(name),
    )) {
      await page.goto(url + path);
      const wide = await page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth);
      expect(wide, path).toBeLessThanOrEqual(400);
    }
    await page.context().close();
  });

  test("link only to pages and headings that exist", () => {
    const idsOf = (path: string) => new Set(Array.from(htmlOf(path).matchAll(/\bid="([^"]+)"/g), ([, id]) => id));
    const ids = new Map(pages.map((path) => [path, idsOf(path)] as const));
    const others = new Set(readdirSync(out));
    const wrong = pages.flatMap((path) =>
      Array.from(htmlOf(path).matchAll(/<a [^>]*?href="([^"]+)"/g), ([, href]) => href!).flatMap((href) => {
        if (/^[a-z]+:/.test(href)) return [];
        const { pathname, hash } = new URL(href, `https://site.invalid/${path}`);
        const name = decodeURIComponent(pathname.slice(1));
        const target = ids.get(name);
        const isThere = target
          ? hash === "" || name.startsWith("playground/") || target.has(decodeURIComponent(hash.slice(1)))
          : others.has(name);
        return isThere ? [] : [`${path}: ${href}`];
      }),
    );
    expect(pages.length).toBeGreaterThan(20);
    expect(wrong).toEqual([]);
  });

  test("the gallery has, for each example, both languages, pictures, a certificate and its figures", () => {
    const examples = readdirSync(join(site, "../examples")).filter((name) => name.endsWith(".ts"));
    const lacking = examples.flatMap((name) => {
      const html = htmlOf(`gallery/${name.replace(/\.ts$/, ".html")}`);
      const count = (pattern: RegExp) => html.match(pattern)?.length ?? 0;
      const parts = {
        code: count(/<pre /g) === 2 && count(/data-line=/g) > 5,
        hovers: count(/data-words=/g) > 5,
        // One kernel asks the GPU for its capability, which the evaluator does not model.
        pictures:
          count(/class="tilescript-picture"/g) === 2 || html.includes("There is no picture: tl.cudaCapabilityGeq"),
        certificate: count(/<tr class="(proved|waived|unknown)">/g) > 0,
        figures: count(/class="measure"/g) > 0 || html.includes("No record of this repository has a time of it yet."),
      };
      return Object.entries(parts).flatMap(([part, isThere]) => (isThere ? [] : [`${name}: ${part}`]));
    });
    expect(examples.length).toBeGreaterThan(30);
    expect(lacking).toEqual([]);
  });
});
