/** A page that builds and evaluates a kernel: bundled for browsers, and run by a Chromium without a window. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { librarySourcesPlugin } from "../../scripts/library-text.js";
import { computed } from "./page.js";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "tilescript-page-"));

/** The first browser on the PATH. */
function findChromium(): string | undefined {
  return ["chromium", "chromium-browser", "google-chrome"].find((name) => {
    try {
      execFileSync(name, ["--version"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
}
const chromium = findChromium();

beforeAll(async () => {
  // A Node module in what is bundled is an error here.
  const { outputFiles } = await build({
    entryPoints: [join(root, "tests/browser/page.ts")],
    bundle: true,
    platform: "browser",
    format: "esm",
    alias: { tilescript: join(root, "src/browser.ts") },
    plugins: [librarySourcesPlugin],
    tsconfigRaw: {},
    write: false,
    logLevel: "silent",
  });
  // A page that is a file may not load modules from files.
  const script = outputFiles[0]!.text.replaceAll("</script", "<\\/script");
  writeFileSync(join(folder, "page.html"), `<!doctype html><body><script type="module">${script}</script></body>`);
});
afterAll(() => rmSync(folder, { recursive: true }));

test("what bundlers take for tilescript has every export of the package", async () => {
  const [node, page] = await Promise.all([import("../../src/index.js"), import("../../src/browser.js")]);
  expect(Object.keys(page).sort()).toEqual(Object.keys(node).sort());
});

test.skipIf(!chromium)("a page computes what Node does", () => {
  const url = pathToFileURL(join(folder, "page.html")).href;
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${folder}/profile`];
  const dom = execFileSync(chromium!, [...flags, "--dump-dom", url], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const text = /<body>(.*)<\/body>/s.exec(dom)?.[1] ?? "";
  const inPage = JSON.parse(decodeURIComponent(text.trim())) as ReturnType<typeof computed>;
  expect(inPage.comparison?.correct).toBe(true);
  expect(inPage.findings).toEqual([]);
  expect(inPage.python).toContain("@triton.jit");
  expect(inPage).toEqual(JSON.parse(JSON.stringify(computed())));
});
