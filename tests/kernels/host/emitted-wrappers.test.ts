/** Emitted modules, alone in a folder, run by Python with torch and triton only. */
import { execa } from "execa";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { requirePython } from "../../support/python.js";
import { emit } from "../../support/emit.js";
import { examples } from "../../support/examples.js";
import { addInPlace, scaledRows } from "../../unit/codegen/fixtures/wrappers.js";

sampledTests("wrappers on PyTorch", "src/codegen/wrapper", "python/runtime");

test("the emitted wrappers should pass their tests", { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-wrappers-"));
  try {
    [addInPlace, scaledRows].forEach(emit);
    for (const kernel of [...examples.map((example) => example.kernel), addInPlace, scaledRows]) {
      const compiled = await build(kernel);
      await writeFile(join(folder, compiled.file), compiled.emit({ launch: "fast" }).python);
    }
    const script = join(folder, "wrapper_test.py");
    await copyFile(fileURLToPath(new URL("wrapper_test.py", import.meta.url)), script);
    const env = { PYTHONPATH: "", PYTHONDONTWRITEBYTECODE: "1" };
    const ran = await execa(await requirePython(), [script], { cwd: folder, env, reject: false });
    expect(ran.stderr).toMatch(/\nOK$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
