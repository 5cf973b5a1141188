import { execa } from "execa";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { pythonFolder } from "../../src/runtime/worker.js";
import { requirePython } from "./helpers.js";

const tests = fileURLToPath(new URL("../python", import.meta.url));

it("should pass the worker's own tests", { timeout: 120_000 }, async () => {
  const env = { PYTHONPATH: pythonFolder, PYTHONDONTWRITEBYTECODE: "1" };
  const ran = await execa(await requirePython(), ["-m", "unittest", "discover", "-s", tests], { env, reject: false });
  expect(ran.stderr).toMatch(/\nOK$/);
});
