/**
 * Each switch ends in a default. Over a union, that default is `satisfies never`: with oxlint's
 * `switch-exhaustiveness-check`, which demands a case for each member, a new kind is an error in every switch.
 */
import { ts } from "@ts-morph/common";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceFiles, SRC } from "../../docs/folders.js";

/** Switches over names in the author's code, which are an open set. */
const OPEN = new Set([
  "source/abstract-values.ts opResult",
  "source/calls.ts callGlobal",
  "source/lists.ts rearrangeList",
  "source/lists.ts callWithElements",
]);

interface Switch {
  /** The file and the function. */
  readonly name: string;
  /** The last statement of the last clause, if that is a default. */
  readonly ending: string | undefined;
}

function switchesOf(file: string): readonly Switch[] {
  const text = readFileSync(join(SRC, file), "utf8");
  if (!text.includes("switch (")) return [];
  const found: Switch[] = [];
  const visit = (node: ts.Node, functionName: string): void => {
    const name = ts.isFunctionLike(node) && node.name ? node.name.getText() : functionName;
    if (ts.isSwitchStatement(node)) {
      const last = node.caseBlock.clauses.at(-1);
      const ending = last && ts.isDefaultClause(last) ? (last.statements.at(-1)?.getText() ?? "") : undefined;
      found.push({ name: `${file} ${name}`, ending });
    }
    node.forEachChild((child) => visit(child, name));
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), "");
  return found;
}

const switches = sourceFiles().flatMap(switchesOf);

test("each switch has a last default, which is `satisfies never` over a union", () => {
  const wrong = switches.filter(
    ({ name, ending }) => ending === undefined || (!OPEN.has(name) && !ending.endsWith(" satisfies never;")),
  );
  expect(wrong).toEqual([]);
});

test("each open switch that is named here exists", () => {
  const names = new Set(switches.map(({ name }) => name));
  expect([...OPEN].filter((name) => !names.has(name))).toEqual([]);
});
