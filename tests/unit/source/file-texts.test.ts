/** The source pass over texts in memory says what it says of files. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { parseFrame } from "../../../src/diagnostics/callsite.js";
import { createSourceIndex } from "../../../src/source/call-site-index.js";
import { indexTexts } from "../../../src/source/indexed-files.js";
import { resolvePath } from "../../../src/source/author-modules.js";

const path = resolve("examples/gemm.ts");
const text = readFileSync(path, "utf8");

test("names and comments are those of the file", () => {
  const [disk, memory] = [createSourceIndex(), indexTexts(new Map([[path, text]]))];
  const places = text.split("\n").flatMap((line, i) => {
    const column = line.indexOf("tl.");
    return column < 0 ? [] : [{ file: path, line: i + 1, column: column + 4 }];
  });
  const sites = places.map((at) => memory.site(at));
  expect(sites).toEqual(places.map((at) => disk.site(at)));
  expect(sites.some((site) => site?.name === "numPidM")).toBe(true);
});

test("mistakes are found, also in a text that another imports", () => {
  const main = `import { kernel, tl } from "tilescript";
import { pick } from "./pick.js";
kernel("k", {}, ({ a, b, n }) => {
  tl.store(a, pick(n.gt(3), a, b));
});
`;
  const pick = `export const pick = (c, a, b) => (c ? a : b);\n`;
  const texts = new Map([
    ["https://page.invalid/1/main.ts", main],
    ["https://page.invalid/1/pick.ts", pick],
  ]);
  const found = indexTexts(texts).lint(["https://page.invalid/1/main.ts"]);
  expect(found.map(({ at }) => at?.file)).toEqual(["https://page.invalid/1/pick.ts"]);
});

test.each([
  ["/a/b.ts", "./c.ts", "/a/c.ts"],
  ["/a/b.ts", "../c/d.ts", "/c/d.ts"],
  ["/a/b.ts", "../../../c.ts", "/c.ts"],
  ["/a/b.ts", "/c.ts", "/c.ts"],
  ["C:\\a\\b.ts", ".\\c.ts", "C:/a/c.ts"],
  ["https://host/a/b.ts", "../c.ts", "https://host/c.ts"],
])("beside %s, %s is %s", (file, relative, expected) => {
  expect(resolvePath(file, relative)).toBe(expected);
});

test("frames of Firefox name their place", () => {
  expect(parseFrame("gemm@https://page.invalid/1/kernel.ts:12:5")).toEqual({
    file: "https://page.invalid/1/kernel.ts",
    line: 12,
    column: 5,
  });
});
