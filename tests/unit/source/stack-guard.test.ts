/** Expressions too deep for JavaScript's stack are refused at their line, where a RangeError had no place. */
import { expect, test } from "vitest";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { withStackGuard, indexTexts } from "../../../src/source/indexed-files.js";
const FILE = "/deep.ts";
const header = 'import { tl } from "tilescript";\nconst f = tl.programId(0);\n';

function refused(expression: string): string {
  const index = indexTexts(new Map([[FILE, `${header}export const g = ${expression};\n`]]));
  try {
    index.lint([FILE]);
    index.site({ file: FILE, line: 3, column: 18 });
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    const [{ message, at }] = error.diagnostics as [(typeof error.diagnostics)[0]];
    return `${at?.file}:${at?.line} ${message.replace(/\d+/, "#")}`;
  }
  return "";
}

const SAYS = `${FILE}:3 this expression nests # levels, too many to be read; name parts of it with const, or loop`;

test.each([
  ["calls within calls", `${"tl.exp(".repeat(20_000)}f${")".repeat(20_000)}`],
  ["calls of results", `f${".add(1)".repeat(20_000)}`],
])("%s", (_, expression) => expect(refused(expression)).toBe(SAYS));

test("a few hundred levels are read", () => {
  expect(refused(`${"tl.exp(".repeat(100)}f${")".repeat(100)}`)).toBe("");
  expect(refused(`f${".add(1)".repeat(300)}`)).toBe("");
});

test("what a swallowed end of the stack leads to is refused alike, and a mistake of another kind is not", () => {
  const failing = (error: Error, depth: number) => () =>
    withStackGuard(
      () => {
        throw error;
      },
      () => ({ depth, location: undefined }),
    );
  expect(failing(new TypeError("reading undefined"), 20_000)).toThrow("nests 20000 levels");
  expect(failing(new TypeError("reading undefined"), 200)).toThrow("reading undefined");
  expect(failing(new Error("another"), 20_000)).toThrow("another");
});
