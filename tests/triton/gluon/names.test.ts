/** The names that the emulator stands in for are Triton's, with parameters that Triton's have at the same places. */
import { expect, test } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import { runScript, requirePython, tritonPythons } from "../../support/python.js";

sampledTests("names of the emulator", "tests/triton/gluon", "src/codegen/warp-specialize/gluon");

const script = (name: string): URL => new URL(name, import.meta.url);

test("should take nothing that a version of Triton does not take", { timeout: 600_000 }, async () => {
  const versions = await tritonPythons();
  const asked = versions.map(({ name }) => ({ version: name }));
  const found = await runScript<readonly object[]>(await requirePython(), script("stand_ins.py"), asked);
  for (const [i, { name, python }] of versions.entries()) {
    expect(Object.keys(found[i]!).length).toBeGreaterThan(40);
    const lacks = await runScript(python, script("triton_names.py"), [found[i]!]);
    expect({ name, lacks }).toEqual({ name, lacks: [] });
  }
});
