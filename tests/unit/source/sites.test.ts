/** The call or read at a position of a stack trace, and the variable that its value is bound to. */
import { expect, test } from "vitest";
import { findSite, siteIndex } from "../../../src/source/sites.js";
import { ts } from "../../../src/source/typescript.js";

const text = `const keys = tl.load(k.at(rows), { mask: isKey.col, other: 0 });
const grown = f(() => x.col).row;
`;
const index = siteIndex(ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true));

function read(line: number, at: string, property?: string) {
  const column = (text.split("\n")[line - 1] ?? "").indexOf(at) + 1;
  const match = findSite(index, { file: "a.ts", line, column, ...(property !== undefined && { property }) });
  return match && { text: match.node.getText(), name: match.site.name };
}

test("a read that V8 reports at its property", () => {
  expect(read(1, "col,", "col")).toEqual({ text: "isKey.col", name: undefined });
});

test("a read in an argument that Firefox reports at the call takes not the name of the call's result", () => {
  expect(read(1, "load", "col")).toEqual({ text: "isKey.col", name: undefined });
  expect(read(1, "load")).toEqual({ text: "tl.load(k.at(rows), { mask: isKey.col, other: 0 })", name: "keys" });
});

test("a read of a call's result that is reported at the call, and none in a function", () => {
  expect(read(2, "f(", "row")).toEqual({ text: "f(() => x.col).row", name: "grown" });
  expect(read(2, "f(", "col")?.text).toBe("f(() => x.col)");
});
