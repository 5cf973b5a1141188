/** Each sentence of a message stands once: the type of a rule takes it from the function that makes the message. */
import { ts } from "@ts-morph/common";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderOf, sourceFiles, SRC } from "../../../docs/folders.js";

/** Folders whose texts are messages of the build. Examples of explanations repeat messages on purpose. */
const FOLDERS = new Set(["diagnostics", "types", "rules", "params", "ops", "dsl", "check"]);
const hasMessages = (file: string): boolean =>
  FOLDERS.has(folderOf(file) ?? "") && !file.startsWith("diagnostics/explanations/");

const MINIMUM_LENGTH = 25;
const isSentence = (text: string): boolean => text.length > MINIMUM_LENGTH && /[a-z]+ [a-z]+ [a-z]+/i.test(text);

/** The clauses of a text without the name of the op before them. */
const clausesOf = (text: string): readonly string[] =>
  text.split("; ").flatMap((part) => {
    const clause = part.replace(/^\w*: /, "").trim();
    return isSentence(clause) ? [clause] : [];
  });

/** The clauses of literals and templates that read as sentences, each with its places. */
function sentences(files: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, string[]>();
  for (const [file, text] of files) {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        for (const clause of clausesOf(node.text))
          places.set(clause, [...(places.get(clause) ?? []), `${file}:${line + 1}`]);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return places;
}
const repeated = (files: ReadonlyMap<string, string>) =>
  [...sentences(files)].filter(([, places]) => places.length > 1);

test("a sentence that a type and a function spell, or two files, is found", () => {
  const rule =
    "type Why<Op extends string> = `${Op}: the sum of two tiles has no mask; leave it out`;\n" +
    'const why = (op: string) => mistake(`${op}: the sum of two tiles has no mask`, "leave it out");';
  expect(repeated(new Map([["one.ts", rule]]))).toEqual([
    ["the sum of two tiles has no mask", ["one.ts:1", "one.ts:2"]],
  ]);
});

test("no sentence of a message stands in two places", () => {
  const files = sourceFiles().filter(hasMessages);
  expect(repeated(new Map(files.map((file) => [file, readFileSync(join(SRC, file), "utf8")])))).toEqual([]);
});
