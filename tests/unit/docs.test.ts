/** The pages show what the code does now. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fillMarkedParts } from "../../docs/marked-parts.js";
import { documents, render } from "../../docs/render.js";
import { sampleCases } from "../support/sampled-tests.js";
import { table } from "../../src/ops/table.js";

/** This page proves all examples, which `unit/prove/examples.test.ts` does too. */
const PROVING = "docs/proofs.md";
const proving = sampleCases("pages that prove the examples", [PROVING], {
  key: (name) => name,
  sources: (name) => [name, "docs/proof-table.ts"],
  minimum: 0,
  // In one full run of three.
  perRun: 1 / 3,
  hasOwnTests: true,
});

test.each(documents.filter((name) => name !== PROVING || proving.includes(name)))(
  "%s is up to date (renew it with npm run docs)",
  async (name) => {
    expect(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")).toBe(await render(name));
  },
);

test("a mark of any name must have a part", () => {
  expect(() => fillMarkedParts("<!-- begin no-part -->\n<!-- end -->", {})).toThrow("no part is called no-part");
});

test("the page says of each op that needs Triton 3.9 that it does, and when", () => {
  const page = readFileSync(new URL("../../docs/language.md", import.meta.url), "utf8").split("\n");
  const newer = table.filter(({ needs }) => needs.needsTriton39).map(({ name }) => name);
  expect(newer.length).toBeGreaterThan(0);
  const silent = newer.filter(
    (name) => !page.some((line) => /^- `tl\.(?:targetInfo\.)?(\w+)\(/.exec(line)?.[1] === name && line.includes("3.9")),
  );
  expect(silent).toEqual([]);
});
