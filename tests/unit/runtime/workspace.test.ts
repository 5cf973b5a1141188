import { mkdtemp, readdir, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeStaleModules } from "../../../src/runtime/devices/device.js";

const { TMPDIR } = process.env;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "workspace-"));
  process.env["TMPDIR"] = folder;
});
afterEach(() => {
  if (TMPDIR === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = TMPDIR;
});

/** No process has this number: Linux's are below 2²². */
const ENDED = 2 ** 30;

async function make(name: string, hours: number): Promise<string> {
  const made = await mkdtemp(join(folder, name));
  const then = new Date(Date.now() - hours * 3_600_000);
  await utimes(made, then, then);
  return made.slice(folder.length + 1);
}

test("modules that an ended process left a day ago are removed, and no other folder", async () => {
  const left = await make(`tilescript-module-${ENDED}-`, 25);
  const kept = await Promise.all([
    make(`tilescript-module-${ENDED}-`, 23),
    make(`tilescript-module-${process.pid}-`, 25),
    make("tilescript-module-", 25),
    make("other-", 25),
  ]);
  await removeStaleModules();
  const there = await readdir(folder);
  expect(there.sort()).toEqual(kept.sort());
  expect(there).not.toContain(left);
});
