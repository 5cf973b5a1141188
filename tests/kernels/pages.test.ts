/** Kernels of the pages in `docs`: each builds without a warning, agrees with its reference, and does what its page says. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { build } from "../../src/pipeline/build.js";
import { smallCase } from "../../src/runtime/cases/small-case.js";

const docs = resolve(import.meta.dirname, "../../docs");
const folder = join(import.meta.dirname, ".pages");
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

const PAGES = ["first-kernel", "from-triton", "types-and-masks"];

/** The blocks of a page that are whole files with a kernel. */
const kernelsOf = (name: string): readonly string[] =>
  Array.from(
    readFileSync(join(docs, `${name}.md`), "utf8").matchAll(/^```ts\n([^]*?)^```$/gm),
    ([, text]) => text!,
  ).filter((text) => text.includes("export const") && text.startsWith("import"));

test("every page of this list has a kernel", () => {
  expect(PAGES.filter((name) => kernelsOf(name).length === 0)).toEqual([]);
  expect(PAGES.filter((name) => !readdirSync(docs).includes(`${name}.md`))).toEqual([]);
});

test.each(PAGES.flatMap((name) => kernelsOf(name).map((text, i) => [name, i, text] as const)))(
  "%s.md, kernel %i",
  async (name, i, text) => {
    const file = join(folder, `${name}-${i}.ts`);
    writeFileSync(file, text);
    const exported = Object.values((await import(pathToFileURL(file).href)) as Record<string, unknown>);
    const kernel = await build(exported.find((value) => value instanceof KernelDefinition));
    expect(kernel.warnings).toEqual([]);
    const found = smallCase(kernel, { seed: 0 });
    if ("refusal" in found) throw new Error(found.refusal);
    kernel.check(found.at);
    const open = kernel.proof().obligations.filter(({ verdict }) => verdict.kind === "refuted");
    expect(open).toEqual([]);
  },
);

test("the page on debugging shows a kernel with a finding", async () => {
  const [text] = Array.from(
    readFileSync(join(docs, "debugging.md"), "utf8").matchAll(/^```ts\n([^]*?)^```$/gm),
    ([, code]) => code!,
  );
  const file = join(folder, "debugging.ts");
  writeFileSync(file, `${text}\nexport { findings };\n`);
  const { findings } = (await import(pathToFileURL(file).href)) as {
    findings: readonly { code: string; at: { line: number } }[];
  };
  const line = 1 + text!.split("\n").findIndex((each) => each.includes("i.add(1)"));
  expect(findings.map(({ code, at }) => [code, at.line])).toContainEqual(["false-in-bounds", line]);
});
