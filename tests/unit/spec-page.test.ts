/** Each example of docs/spec.md builds, without a warning. */
import { join } from "node:path";
import { rmSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { builders, launchOptions, specParts, tensorOptions } from "../../docs/spec-examples.js";
import * as params from "../../src/dsl/params.js";
import type { KernelFileParts } from "../../src/diagnostics/explanations/explanation.js";
import { shownBy } from "./diagnostics/example-output.js";

const folder = join(import.meta.dirname, `../../node_modules/.cache/spec-page-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true }));

const examples: readonly (readonly [string, KernelFileParts])[] = Object.entries({
  ...builders,
  ...tensorOptions,
  ...specParts,
  ...launchOptions,
});

test.each(examples)("the example of %s builds", async (name, parts) => {
  const file = join(folder, `${name.replaceAll(/\W/g, "-")}.ts`);
  expect((await shownBy(file, parts, {})).map(({ code, message }) => `${code}: ${message}`)).toEqual([]);
});

test("every builder has an example", () => {
  const { tensor, constexpr, ...others } = params as unknown as Readonly<Record<string, object>>;
  const of = (name: string, builder: object) => [name, ...Object.keys(builder).map((each) => `${name}.${each}`)];
  const names = [
    ...of("tensor", tensor!),
    ...of("constexpr", constexpr!),
    ...Object.keys(others).filter((name) => ["descriptor", "pointer", "scalar"].includes(name)),
  ];
  expect(names.filter((name) => !(name in builders))).toEqual([]);
});
