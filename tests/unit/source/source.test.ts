import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import type { Location } from "../../../src/diagnostics/diagnostic.js";
import { createSourceIndex } from "../../../src/source/call-site-index.js";
import { captureLocation, isTileScript, parseFrame, whileReading } from "../../../src/diagnostics/callsite.js";
import type { SourceIndex } from "../../../src/ir/source-index.js";
import { type Recorded, recorded } from "./fixtures/recorder.js";
import { sites } from "./fixtures/sites.js";

const FIXTURE = fileURLToPath(new URL("fixtures/sites.ts", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "tilescript-source-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Every record of the fixture: what was expected and what the source index says, with the line. */
function answers(index: SourceIndex, records: readonly Recorded[]): [string, string][] {
  return records.map(({ expected, at }) => {
    const site = at && index.site(at);
    const names = site?.names?.map((name) => name ?? "").join();
    return [`${at?.line}: ${expected}`, `${at?.line}: ${site?.name ?? names ?? (site ? "-" : "no site")}`];
  });
}

function expectAnswers(records: readonly Recorded[]): void {
  const all = answers(createSourceIndex(), records);
  expect(all.length).toBeGreaterThan(40);
  expect(all.map(([, answer]) => answer)).toEqual(all.map(([expected]) => expected));
  expect(new Set(records.map(({ at }) => at?.file))).toEqual(new Set([FIXTURE]));
}

describe("captured locations", () => {
  test("should name what a call is bound to, under vitest", () => {
    recorded.length = 0;
    sites();
    expectAnswers(recorded);
    // From the cache, the same.
    const once = [...recorded];
    recorded.length = 0;
    sites();
    expect(recorded).toEqual(once);
  });

  test("should name what a call is bound to, under tsx", () => {
    const output = execFileSync(process.execPath, ["--import", "tsx", FIXTURE, "print"], { encoding: "utf8" });
    expectAnswers(JSON.parse(output) as Recorded[]);
  });

  test("should say which property is read where the engine may place it at the call before it", () => {
    const read = () => whileReading("row", () => captureLocation());
    expect(read()).not.toHaveProperty("property");
    // Engines without CallSite objects ask nobody what a stack is.
    const own = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
    Object.defineProperty(Error, "prepareStackTrace", {
      configurable: true,
      get: () => undefined,
      set: () => {},
    });
    const found = [read(), captureLocation()];
    if (own) Object.defineProperty(Error, "prepareStackTrace", own);
    else Reflect.deleteProperty(Error, "prepareStackTrace");
    expect(found).toMatchObject([{ property: "row" }, { line: expect.any(Number) }]);
    expect(found[1]).not.toHaveProperty("property");
  });

  test.each([
    ["const r = f(x).row;", "row", "r"],
    ["const t = (f(x) as Tile).col.row;", "row", "t"],
    ["const { aSum: dw, bSum } = f(x);", "aSum", "dw"],
    ["const { aSum: dw, bSum } = f(x);", "bSum", "bSum"],
    ["const s = g(f(x).row);", "row", undefined],
    ["const n = f(x);", "row", "n"],
  ])("should find in `%s` what the property %s of the call is bound to", (text, property, name) => {
    const file = join(folder, "property.ts");
    writeFileSync(file, text);
    const at = { file, line: 1, column: text.indexOf("f(x)") + 1, property };
    expect(createSourceIndex().site(at)?.name).toBe(name);
  });

  test("should leave the engine's settings as they were", () => {
    const before = [Error.stackTraceLimit, Error.prepareStackTrace];
    captureLocation();
    expect([Error.stackTraceLimit, Error.prepareStackTrace]).toEqual(before);
  });

  test("should take tests and examples for the author's code, src and dist for the package", () => {
    const root = fileURLToPath(new URL("../../../", import.meta.url));
    expect(
      ["src/index.ts", "dist/ops/x.js", "tests/a.ts", "examples/gemm.ts"].map((path) => isTileScript(root + path)),
    ).toEqual([true, true, false, false]);
    expect(captureLocation()?.file).toBe(fileURLToPath(import.meta.url));
  });
});

describe("parseFrame", () => {
  test.each([
    ["    at file:///a/b%20c.ts:1:2", "/a/b c.ts:1:2"],
    ["    at f (/a/b.ts:10:20)", "/a/b.ts:10:20"],
    ["    at new Thing (/a/b.ts:1:2)", "/a/b.ts:1:2"],
    ["    at Object.op [as add] (/a/b.ts:1:2)", "/a/b.ts:1:2"],
    ["    at async f (/a/b.ts:1:2)", "/a/b.ts:1:2"],
    ["    at async file:///a/b.ts:1:2", "/a/b.ts:1:2"],
    ["    at tiles.next (/a/b.ts:1:2)", "/a/b.ts:1:2"],
    ["    at f (C:\\a\\b.ts:1:2)", "C:/a/b.ts:1:2"],
    ["    at f (file:///C:/a/b.ts?t=1:1:2)", "C:/a/b.ts:1:2"],
    ["    at f (/a (b)/c.ts:1:2)", "/a (b)/c.ts:1:2"],
    ["    at /a (b)/c.ts:1:2", "/a (b)/c.ts:1:2"],
    ["    at f (http://localhost:5173/a.ts?v=3:1:2)", "http://localhost:5173/a.ts:1:2"],
  ])("should read %s", (line, expected) => {
    const { file, line: row, column } = parseFrame(line)!;
    expect(`${file}:${row}:${column}`).toBe(expected);
  });

  test.each([
    "Error: message",
    "    at Array.map (<anonymous>)",
    "    at node:internal/main:1:2",
    "    at f (node:internal/main:1:2)",
    "    at async Promise.all (index 0)",
    "    at eval (eval at f (/a/b.ts:1:2), <anonymous>:3:4)",
  ])("should skip %s", (line) => {
    expect(parseFrame(line)).toBeUndefined();
  });
});

let fixtures = 0;

/** A file on disk, and where `needle` is in it. */
function fixture(text: string): { file: string; find: (needle: string) => Location } {
  const file = join(folder, `fixture${fixtures++}.ts`);
  writeFileSync(file, text);
  return {
    file,
    find(needle) {
      const before = text.slice(0, text.indexOf(needle)).split("\n");
      return { file, line: before.length, column: before.at(-1)!.length + 1 };
    },
  };
}

describe("comments", () => {
  const text = `/* License. */

// About the file.
/**
 * A row of x.
 *
 *   indented
 */
const a = one(x); // behind
const b = two(three(x));

// Section.

// @ts-expect-error
// Above the loop.
for (const k of range(four())) { // on the loop
  // First in it.
  const c = five();
  /* short */ six();
}
// eslint-disable-next-line no-labels
// Labelled.
outer: for (const k of seven()) {}
// Above the function.
const f = (x) => eight(x);
when(nine(), () => {
  // Inside the callback.
  ten();
}); // behind the call
`;
  const { find } = fixture(text);
  const index = createSourceIndex();

  test.each([
    ["one(", ["About the file.", "A row of x.", "", "indented", "behind"]],
    ["two(", []],
    ["three(", []],
    ["four(", ["Above the loop.", "on the loop"]],
    ["five(", ["First in it."]],
    ["six(", ["short"]],
    ["seven(", ["Labelled."]],
    ["eight(", []],
    ["nine(", ["behind the call"]],
    ["ten(", ["Inside the callback."]],
  ])("should belong to the statement of %s", (needle, comments) => {
    expect(index.site(find(needle))?.comments).toEqual(comments);
  });

  test("should tell which calls share a statement", () => {
    const statement = (needle: string) => index.site(find(needle))?.statement;
    expect(statement("two(")).toEqual(statement("three("));
    expect(statement("two(")).toEqual(find("const b"));
    expect(statement("ten(")).toEqual(find("ten("));
    expect(statement("nine(")).toEqual(find("when("));
  });
});

describe("places", () => {
  const { file, find } = fixture("one;\ntwo;\n\tconst x = f(\n\t  1,\n\t).g();\nsix;\nseven;\neight;\n");
  const index = createSourceIndex();

  test("should end where the call ends", () => {
    expect(index.endOf(find("f("))).toEqual({ file, line: 5, column: 3 });
    expect(index.endOf(find("g("))).toEqual({ file, line: 5, column: 7 });
  });

  test("should be unknown outside a file", () => {
    const missing = { file: join(folder, "missing.ts"), line: 1, column: 1 };
    const outside = { file, line: 99, column: 1 };
    for (const at of [missing, outside, { file, line: 1, column: 999 }]) expect(index.site(at)).toBeUndefined();
    for (const at of [missing, outside]) expect(index.endOf(at)).toBeUndefined();
    expect(index.site({ file, line: 1, column: 1 })).toBeUndefined();
  });
});
