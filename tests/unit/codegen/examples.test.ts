/** The Python of each example, as files to read: `golden/*.py`. */
import { describe, expect, test } from "vitest";
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { build } from "tilescript";
import { readFileSync } from "node:fs";
import { snakeCase } from "../../../src/codegen/names/names.js";
import { lint } from "../../support/emit.js";
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { examples } from "../../support/examples.js";

const ruff = new Workspace({ "line-length": 88 }, PositionEncoding.Utf16);

/** `tl.atomic_add` as an author writes it: `tl.atomicAdd`. */
const inTypeScript = (callee: string) => callee.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

describe.each(examples)("$name", ({ name, kernel, file }) => {
  test("should be emitted as in its golden file", async () => {
    const { python } = await build(kernel);
    await expect(python).toMatchFileSnapshot(`golden/${name}.py`);
  });

  test("should leave ruff nothing to format and nothing to say", async () => {
    const { python } = await build(kernel);
    expect(ruff.format(python)).toBe(python);
    expect(lint(python)).toEqual([]);
  });

  test("should give the same bytes each time", async () => {
    const [first, second] = [await build(kernel), await build(kernel)];
    expect(second.python).toBe(first.python);
    expect(second.map).toBe(first.map);
  });

  test("should map each line of the kernel to the line that it was written on", async () => {
    const { python, map } = await build(kernel);
    const trace = new TraceMap(map);
    const lineOf = (source: string, line: number) => readFileSync(source, "utf8").split("\n")[line - 1]!;
    const origins = python.split("\n").flatMap((text, i) => {
      const { source, line } = originalPositionFor(trace, { line: i + 1, column: text.search(/\S|$/) });
      return source === null ? [] : [{ text, source, author: lineOf(source, line) }];
    });
    // Beside its own file, an example may have functions of another.
    const sources = new Set(origins.map((origin) => origin.source));
    expect(sources).toContain(file);
    expect(examples.map((example) => example.file)).toEqual(expect.arrayContaining([...sources]));
    const stores = origins.flatMap((origin) => {
      const [, callee] = /^ +(\w+\.(?:store|atomic_\w+))\(/.exec(origin.text) ?? [];
      return callee ? [{ ...origin, callee: inTypeScript(callee.replace("_desc", "")) }] : [];
    });
    expect(stores.length).toBeGreaterThan(0);
    for (const { author, callee } of stores) expect(author).toContain(`${callee}(`);
    for (const { text, author } of origins.filter((origin) => /^ +(\w+) = tl\.load\(/.test(origin.text))) {
      // What only states a fact about a value leaves nothing in Python.
      const [, name, expression] = /const (\w+) = (.*)/.exec(author.replace("tl.inBounds(", "")) ?? [];
      // A line that a loop of TypeScript repeats gives several values, which are numbered.
      expect(snakeCase(name!)).toBe(/(\w+?)(?:_\d+)? =/.exec(text)![1]);
      expect(expression).toContain("tl.load(");
    }
  });
});
