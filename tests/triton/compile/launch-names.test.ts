/** The names that Triton's launch takes for itself, as the Tritons of this machine have them. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, test } from "vitest";
import { LAUNCH_NAMES } from "../../../src/codegen/names/kernel-names.js";
import { tritonPythons } from "../../support/python.js";

test("no parameter can have a name that a launch takes for itself", { timeout: 120_000 }, async () => {
  const script = fileURLToPath(new URL("launch_names.py", import.meta.url));
  const installed = await tritonPythons();
  const names = new Set<string>();
  for (const { python } of installed) {
    const { stdout } = await execa(python, [script]);
    for (const name of JSON.parse(stdout) as string[]) names.add(name);
  }
  expect([...names].filter((name) => !LAUNCH_NAMES.has(name))).toEqual([]);
  if (installed.length > 1) expect([...LAUNCH_NAMES].filter((name) => !names.has(name))).toEqual([]);
});
