/** The code of the pages: what is TypeScript is checked, built and evaluated, what is Python is read, commands exist. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { build } from "../../src/pipeline/build.js";
import { runBinary, runCli } from "../../src/runtime/cli/cli.js";
import { smallCase } from "../../src/runtime/cases/command-cases.js";
import { sampledTests } from "../support/sampled-tests.js";
import { allBlocks, type Block } from "../support/doc-code-blocks.js";
import { requirePython } from "../support/python.js";
import { typeErrors } from "../support/tsc.js";
import * as parts from "./page-parts.js";

sampledTests("tests of the pages", "docs");

const root = resolve(import.meta.dirname, "../..");
const folder = join(import.meta.dirname, ".pages");
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

const written = allBlocks().filter(({ isGenerated }) => !isGenerated);
const typescript = written.filter(({ language }) => language === "ts");
const isFile = ({ text }: Block): boolean => text.startsWith("import ");
/** Blocks that `tests/cli/first-kernel.test.ts` runs as their page says. */
const isStep = ({ page, info, text }: Block): boolean =>
  page === "docs/first-kernel.md" && (info === "fails" || text.includes('from "./scale.ts"'));
const files = typescript.filter((block) => isFile(block) && !isStep(block));
const nameOf = ({ page, line }: Block): string => `${page.replace(/^.*\/|\.md$/g, "")}-${line}.ts`;

/** Without indentation, which a part of a spec has more of. */
const flat = (text: string): string => text.replaceAll(/^ +/gm, "").trim();

test("every part of a file that a page shows stands in a kernel that is built", () => {
  const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
  const sources = [...examples.map((name) => `examples/${name}`), "tests/kernels/page-parts.ts"].map((path) =>
    flat(readFileSync(join(root, path), "utf8")),
  );
  const shown = typescript.filter((block) => !isFile(block) && !isStep(block));
  expect(shown.length).toBeGreaterThan(5);
  const unknown = shown.filter(({ text }) => !sources.some((source) => source.includes(flat(text))));
  expect(unknown.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
});

test("the editor has nothing to say about the files that pages show", () => {
  const texts = Object.fromEntries(files.map((block) => [nameOf(block), `${block.text}export {};\n`]));
  expect(Object.keys(texts).length).toBeGreaterThan(5);
  expect(typeErrors("pages", texts)).toEqual([]);
});

/** It builds without a warning, no proof refutes it, and it agrees with its reference if it has one. */
async function expectRight(definition: unknown): Promise<void> {
  const kernel = await build(definition);
  expect(kernel.warnings).toEqual([]);
  expect(kernel.proof().obligations.filter(({ verdict }) => verdict.kind === "refuted")).toEqual([]);
  if (kernel.reference === "none") return;
  const found = smallCase(kernel, { seed: 0 });
  if ("refusal" in found) throw new Error(found.refusal);
  kernel.check(found.at);
}

/** Pages whose kernel is wrong on purpose have a test of their own below. */
const right = files.filter(({ page }) => page !== "docs/debugging.md");

test.each(right.map((block) => [nameOf(block), block] as const))(
  "%s runs, and its kernels are right",
  async (name, block) => {
    const file = join(folder, name);
    writeFileSync(file, block.text);
    const exported = Object.values((await import(pathToFileURL(file).href)) as Record<string, unknown>);
    for (const value of exported) if (value instanceof KernelDefinition) await expectRight(value);
  },
);

test.each(Object.entries(parts))("the kernel around a part, %s, is right", async (_, definition) => {
  await expectRight(definition);
});

test("the page on debugging shows a kernel with a finding", async () => {
  const [block] = files.filter(({ page }) => page === "docs/debugging.md");
  const file = join(folder, "debugging.ts");
  writeFileSync(file, `${block!.text}\nexport { findings };\n`);
  const { findings } = (await import(pathToFileURL(file).href)) as {
    findings: readonly { code: string; at: { line: number } }[];
  };
  const line = 1 + block!.text.split("\n").findIndex((each) => each.includes("i.add(1)"));
  expect(findings.map(({ code, at }) => [code, at.line])).toContainEqual(["false-in-bounds", line]);
});

test("Python can read the Python of the pages", async () => {
  const blocks = written.filter(({ language }) => language === "python");
  expect(blocks.length).toBeGreaterThan(3);
  const script = `import ast, json, sys
for place, text in json.load(sys.stdin):
    try:
        ast.parse(text)
    except SyntaxError as error:
        print(place, error)`;
  // An ellipsis stands for lines that are left out.
  const input = JSON.stringify(
    blocks.map(({ page, line, text }) => [`${page}:${line}`, text.replaceAll("…", "...")] as const),
  );
  expect(execFileSync(await requirePython(), ["-I", "-c", script], { input, encoding: "utf8" })).toBe("");
});

test("the commands of the pages exist, with their flags", async () => {
  const lines = written
    .filter(({ language }) => language === "sh")
    .flatMap(({ page, text }) => text.split(/\n| && /).map((line) => [page, line.replace(/\s+#.*$/, "")] as const));
  const scripts = Object.keys(
    (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object }).scripts,
  );
  const known = new Map<string, string>();
  const helpOf = async (name: string): Promise<string> => {
    let text = known.get(name) ?? "";
    if (text === "") {
      const to = { out: (chunk: string) => (text += chunk), err: () => undefined, color: false, width: 200 };
      await (name === "" ? runCli("kernel.ts", ["--help"], [], to) : runBinary([name, "--help"], to));
      known.set(name, text);
    }
    return text;
  };
  const wrong: string[] = [];
  let checked = 0;
  for (const [page, line] of lines) {
    const [, command] = /npx tilescript (\S+)/.exec(line) ?? /npx tsx \S+\.ts() --/.exec(line) ?? [];
    const [, script] = /npm run (\S+)/.exec(line) ?? [];
    if (script !== undefined && !scripts.includes(script)) wrong.push(`${page}: ${line}`);
    if (command === undefined) continue;
    checked++;
    const help = await helpOf(command);
    const flags = line.match(/ --[a-z-]+/g) ?? [];
    if (help === "" || flags.some((flag) => !new RegExp(`${flag}\\b`).test(help))) wrong.push(`${page}: ${line}`);
  }
  expect(checked).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});
