/** The lines that a message is about. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { codeFrame } from "../../../src/runtime/report/text-blocks.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-frame-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "kernel.ts");
writeFileSync(file, "one;\r\ntwo;\r\n\tconst x = f(\r\n\t  1,\r\n");

test("should show a line with its neighbors, the caret under its column", () => {
  expect(codeFrame({ file, line: 3, column: 12 })).toBe(
    "  2 | two;\n> 3 | \tconst x = f(\n    | \t          ^\n  4 | \t  1,",
  );
  expect(codeFrame({ file, line: 1, column: 1 })).toBe("> 1 | one;\n    | ^\n  2 | two;");
});

test("should be empty where there is no such line", () => {
  expect(codeFrame({ file, line: 99, column: 1 })).toBe("");
  expect(codeFrame({ file: join(folder, "missing.ts"), line: 1, column: 1 })).toBe("");
});
