import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { execa } from "execa";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { pythonFolder } from "../../src/runtime/python/start-python.js";
import { requirePython } from "../support/python.js";

const tests = fileURLToPath(new URL("./", import.meta.url));

it("should pass the worker's own tests", { timeout: 240_000 }, async () => {
  const env = { PYTHONPATH: pythonFolder, PYTHONDONTWRITEBYTECODE: "1" };
  const ran = await execa(await requirePython(), ["-m", "unittest", "discover", "-s", tests], { env, reject: false });
  expect(ran.stderr).toMatch(/\nOK$/);
});

it("should be as ruff wants it", async () => {
  // python/pyproject.toml says the same to ruff as a program.
  const lint = { select: ["E", "F", "I", "B", "UP", "RUF"], isort: { "known-first-party": ["tilescript_worker"] } };
  const ruff = new Workspace({ "line-length": 120, "target-version": "py310", lint }, PositionEncoding.Utf16);
  for (const folder of [pythonFolder, join(pythonFolder, "tilescript_worker"), tests])
    for (const name of (await readdir(folder)).filter((each) => each.endsWith(".py"))) {
      const text = await readFile(join(folder, name), "utf8");
      const found = ruff.check(text) as { code: string; message: string }[];
      expect(found.map(({ code, message }) => `${name}: ${code} ${message}`)).toEqual([]);
      expect(ruff.format(text), name).toBe(text);
    }
});
