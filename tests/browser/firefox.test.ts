/** The playground's worker in Firefox, whose stack traces are worded another way than Chromium's and Node's. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectNodesPython, missing, pathOf, serveSite, site } from "./site-page.js";

const BROWSERS = ["firefox-esr", "firefox"];
const why = missing("puppeteer-core", ...BROWSERS);
if (why) console.log(`skipped: ${why}`);

test.skipIf(why)("emits the bytes that Node emits for each example", { timeout: 180_000 }, async () => {
  const { default: puppeteer } = await import(createRequire(join(site, "package.json")).resolve("puppeteer-core"));
  const served = await serveSite();
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: pathOf(BROWSERS), headless: true });
  try {
    expect(await browser.version()).toContain("firefox");
    const page = await browser.newPage();
    await page.goto(`${served.url}index.html`);
    await expectNodesPython((act, names) => page.evaluate(act, names));
  } finally {
    await browser.close();
    served.close();
  }
});
