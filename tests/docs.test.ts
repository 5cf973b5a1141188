/** The pages show what the code does now. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { documents, render } from "../docs/render.js";

test.each(documents)("%s is up to date (renew it with npm run docs)", async (name) => {
  expect(readFileSync(new URL(`../${name}`, import.meta.url), "utf8")).toBe(await render(name));
});
