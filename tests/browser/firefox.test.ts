/** The playground in Firefox, whose stack traces are worded another way than Chromium's and Node's. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  expectNodesPython,
  hostileParts,
  hostileText,
  missing,
  pathOf,
  REACHES_NOTHING,
  recordReplies,
  serveSite,
  site,
} from "./site-page.js";

const BROWSERS = ["firefox-esr", "firefox"];
const why = missing("puppeteer-core", ...BROWSERS);
if (why) console.log(`skipped: ${why}`);

/** Runs a test with a page of the site. */
async function withPage(act: (page: any, url: string) => Promise<void>): Promise<void> {
  const { default: puppeteer } = await import(createRequire(join(site, "package.json")).resolve("puppeteer-core"));
  const served = await serveSite();
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: pathOf(BROWSERS), headless: true });
  try {
    expect(await browser.version()).toContain("firefox");
    await act(await browser.newPage(), served.url);
  } finally {
    await browser.close();
    served.close();
  }
}

test.skipIf(why)("emits the bytes that Node emits for each example", { timeout: 180_000 }, () =>
  withPage(async (page, url) => {
    await page.goto(`${url}index.html`);
    await expectNodesPython((act, names) => page.evaluate(act, names));
  }),
);

test.skipIf(why)("a hostile text reaches neither the page nor any address", { timeout: 180_000 }, () =>
  withPage(async (page, url) => {
    await page.evaluateOnNewDocument(recordReplies);
    await page.goto(`${url}playground/index.html#vector-add`);
    const stage = (name: string, message?: string) =>
      page.waitForFunction(
        (wanted: string, text: string | undefined) =>
          (globalThis as any).seen.some(
            (each: any) => each.stage === wanted && (text === undefined || each.marks[0]?.message === text),
          ),
        { timeout: 90_000 },
        name,
        message,
      );
    await stage("compared");
    await page.evaluate((text: string) => (globalThis as any).playground.editors.text.setValue(text), hostileText(url));
    await stage("failed", REACHES_NOTHING);
    expect(await page.evaluate(hostileParts)).toEqual([0, false]);
  }),
);
