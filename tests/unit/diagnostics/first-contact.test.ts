/** What the build says to those who know Triton and not yet this language: the remedy, at their line. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Diagnostic, TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { build } from "../../../src/pipeline/build.js";
import { firstKernels, firstLines, firstLinesOfTheBuild } from "../../types/first-contact.js";
import { habitKernels, habitLines, habitLinesOfTheBuild } from "../../types/first-habits.js";
import { firstSpecs, followedLines, followedLinesOfTheBuild, operatorReferences } from "../../types/first-specs.js";
import { portedKernels, portedLines } from "../../types/first-ports.js";
import { triedKernels, triedLines, triedLinesOfTheBuild } from "../../types/first-tries.js";
import { imports, setting } from "../../types/mistakes-setting.js";

const folder = join(import.meta.dirname, `../../../node_modules/.cache/first-contact-${process.pid}`);
const at = setting.indexOf("kernel(");

/** Each has a file of its own, because the source pass reads whole files. */
async function firstError(name: string, text: string): Promise<Diagnostic | undefined> {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, `// @ts-nocheck\n${imports}\n${text}\n`);
  try {
    const { make } = (await import(/* @vite-ignore */ file)) as { make: () => unknown };
    await build(make());
    return undefined;
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.diagnostics.find(({ severity }) => severity === "error");
  }
}

beforeAll(() => mkdirSync(folder, { recursive: true }));
afterAll(() => rmSync(folder, { recursive: true }));

const kernels: typeof triedKernels = [
  ...firstKernels,
  ...portedKernels,
  ...habitKernels,
  ...triedKernels,
  ...firstSpecs.map(({ wrong, says }) => [wrong, says] as const),
  ...operatorReferences,
];
const inBody = [
  ...firstLines,
  ...firstLinesOfTheBuild,
  ...portedLines,
  ...habitLines,
  ...habitLinesOfTheBuild,
  ...triedLines,
  ...triedLinesOfTheBuild,
  ...followedLines,
  ...followedLinesOfTheBuild,
].map((each, index) => [each.title, each, index] as const);

test.each(inBody)("%s", async (_, { wrong, says }, index) => {
  const before = `${setting.slice(0, at)}export const make = () => ${setting.slice(at)}`;
  const said = await firstError(`line-${index}`, `${before}\n${wrong}\n});`);
  const line = 2 + `${before}\n${wrong}`.split("\n").length;
  expect({ message: said?.message, line: said?.at?.line }).toEqual({ message: says, line });
});

test.each(kernels.map((each, index) => [each[0], each, index] as const))("%s", async (_, [code, says, line], index) => {
  const said = await firstError(`kernel-${index}`, `export const make = () => ${code};`);
  expect({ message: said?.message, line: said?.at?.line }).toEqual({ message: says, line: line ?? 3 });
});

test("each sentence has a remedy", () => {
  const without = [...inBody.map(([, { says }]) => says), ...kernels.map(([, says]) => says)].filter(
    (says) => !/; |, such as |tl\./.test(says),
  );
  expect(without).toEqual([]);
});
