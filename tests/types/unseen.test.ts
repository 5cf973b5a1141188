/** What the checker lets pass, the build refuses, at the author's line. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { build, TileScriptError } from "tilescript";
import { unseen } from "./mistakes.js";
import { imports, setting, settingEnd } from "./mistakes-setting.js";

// A folder that the type checker's globs pass by, yet outside node_modules, whose sources the build does not read.
const folder = join(import.meta.dirname, `.unseen-${process.pid}`);
mkdirSync(folder);
afterAll(() => rmSync(folder, { recursive: true }));

const head = `${imports}\n${setting.replace("kernel(\n", "export const probe = kernel(\n")}`;
const lineOf = head.split("\n").length + 1;

/** The errors of a kernel with this line in its body, which uses little of what the setting defines. */
async function errors(name: string, line: string): Promise<{ line: number | undefined; message: string }[]> {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, [head, line, "tl.store(c.at(rm, rn), f.to(tl.float16));", settingEnd].join("\n"));
  const { probe } = (await import(file)) as { probe: Parameters<typeof build>[0] };
  try {
    await build(probe);
    return [];
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.diagnostics
      .filter(({ severity, code }) => severity === "error" && code !== "unused-value")
      .map(({ at, message }) => ({ line: at?.line, message }));
  }
}

test.each(unseen.map((mistake, i) => [mistake.title, mistake, `case${i}`] as const))("%s", async (_, mistake, name) => {
  expect(await errors(`${name}wrong`, mistake.wrong)).toEqual([{ line: lineOf, message: expect.any(String) }]);
  expect(await errors(`${name}right`, mistake.right)).toEqual([]);
});
