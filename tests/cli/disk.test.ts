/** A disk that is full: a message and its remedy, nothing half-written, and a run that needs only caches goes on. */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { recordedReport } from "../support/fixtures/recorded.js";
import { binary, project, tsx } from "../support/installed.js";
import { requirePython } from "../support/python.js";

sampledTests("faults of processes");

const disk = await mkdtemp(join(tmpdir(), "tilescript-disk-"));
const mounted = !(await execa("mount", ["-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], { reject: false })).failed;

let python: string;
beforeAll(async () => void (python = await requirePython()));
afterAll(async () => {
  if (mounted) await execa("umount", ["--lazy", disk]);
  await rm(disk, { recursive: true });
});
beforeEach(async () => {
  for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true });
});

/** Takes what room there is. */
async function fill(): Promise<void> {
  await writeFile(join(disk, "filler"), Buffer.alloc(1 << 20)).catch(() => undefined);
}

const tilescript = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  execa(process.execPath, [binary, ...args, "--json"], {
    reject: false,
    cwd: project,
    env: { TILESCRIPT_PYTHON: python, ...env },
  });

async function expectFull(args: readonly string[], says: RegExp, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const { exitCode, stdout, stderr } = await tilescript(args, env);
  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: expect.stringMatching(says) });
  expect(stderr).not.toMatch(/^\s+at |Traceback/m);
  expect(JSON.parse(stdout)).toMatchObject({ details: expect.stringMatching(says) });
}

const kernel = "examples/vector-add.ts";

describe.skipIf(!existsSync("/dev/full"))("standard output on a full disk", { timeout: 120_000 }, () => {
  it.each([
    ["tilescript", [binary, "check", kernel]],
    ["a kernel file", ["--import", tsx, kernel, "--check"]],
  ])("should be an error of %s", async (_, args) => {
    const toFull = ["-c", 'exec "$0" "$@" > /dev/full', process.execPath, ...args];
    const ran = await execa("sh", toFull, { cwd: project, reject: false });
    expect({ exitCode: ran.exitCode, stderr: ran.stderr }).toEqual({
      exitCode: 3,
      stderr: expect.stringMatching(
        /^error environment: standard output can't be written \(ENOSPC\): the disk is full; [^\n]*$/,
      ),
    });
  });
});

// Mounting a small disk takes the rights of root.
describe.skipIf(!mounted)("a full disk", { timeout: 120_000 }, () => {
  it("should keep the module that was there", async () => {
    const out = join(disk, "add.py");
    await writeFile(out, "old");
    await fill();
    await expectFull(
      ["emit", kernel, "--out", out],
      /add\.py can't be written \(ENOSPC\): the disk is full; free some/,
    );
    expect(await readFile(out, "utf8")).toBe("old");
    expect((await readdir(disk)).sort()).toEqual(["add.py", "filler"]);
  });

  it.each([["package"], ["profile"]])("should take no part of a file of %s", async (command) => {
    const args = command === "profile" ? ["--shapes", "N=64"] : ["--package-name", "mine"];
    await fill();
    await expectFull([command, kernel, "--out", join(disk, "out"), ...args], /ENOSPC.*the disk is full/);
    const left = await readdir(disk, { recursive: true, withFileTypes: true });
    expect(left.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual(["filler"]);
  });

  it("should take no part of a plot", async () => {
    const report = join(disk, "bench.json");
    await writeFile(report, JSON.stringify(recordedReport()));
    await fill();
    await expectFull(["plot", report], /gemm\.(svg|png) can't be written \(ENOSPC\): the disk is full/);
    for (const name of await readdir(disk)) expect(name).toMatch(/^(bench\.json|filler|gemm\.svg)$/);
  });

  it("should cost the cache of probes only", async () => {
    await fill();
    const args = ["verify", kernel, "--device", "interpreter", "--runs", "2"];
    const ran = await tilescript(args, { XDG_CACHE_HOME: disk });
    expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await readdir(join(disk, "tilescript")).catch(() => [])).toEqual([]);
  });

  it("should end where the module can't be written for Python", async () => {
    await fill();
    await expectFull(
      ["run", kernel, "--device", "interpreter"],
      /cannot write (a module )?to .* \(ENOSPC\); set TMPDIR/,
      {
        TMPDIR: disk,
        TSX_DISABLE_CACHE: "1",
      },
    );
    expect(await readdir(disk)).toEqual(["filler"]);
  });

  it("should end where Triton's cache is full, which is good again once there is room", async () => {
    await fill();
    const args = ["compile", kernel, "--targets", "cuda:90"];
    // What was compiled before is remembered there.
    const cache = await mkdtemp(join(tmpdir(), "tilescript-cache-"));
    const env = { TRITON_CACHE_DIR: join(disk, "triton"), XDG_CACHE_HOME: cache };
    await expectFull(args, /No space left on device.*set TRITON_CACHE_DIR or TMPDIR to another/, env);
    await rm(join(disk, "filler"));
    const again = await tilescript(args, env);
    expect({ exitCode: again.exitCode, stderr: again.stderr }).toEqual({ exitCode: 0, stderr: "" });
    await rm(cache, { recursive: true });
  });

  it("should leave no environment half-made", async () => {
    const cache = join(disk, "cache");
    await mkdir(cache);
    await fill();
    await expectFull(["setup"], /set XDG_CACHE_HOME to a (writable folder|larger disk)/, {
      XDG_CACHE_HOME: cache,
      TILESCRIPT_PYTHON: "",
    });
    const left = await readdir(cache, { recursive: true, withFileTypes: true });
    expect(left.filter((entry) => entry.isFile())).toEqual([]);
  });
});
