import { execa } from "execa";
import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { openDevice } from "../../src/runtime/devices/devices.js";
import { findPython, interpreterProblem, whyUnsupported, probePython } from "../../src/runtime/worker/environment.js";
import { EnvironmentError } from "../../src/runtime/system/errors.js";
import { setup } from "../../src/runtime/worker/install-environment.js";

sampledTests("environments");

let folder: string;
let env: NodeJS.ProcessEnv;

/** A virtual environment whose packages are nothing but the metadata that pip would leave. */
async function fakeVenv(name: string, versions: Readonly<Record<string, string>>): Promise<string> {
  const venv = join(folder, name);
  await execa("python3", ["-m", "venv", "--without-pip", venv]);
  const python = join(venv, "bin", "python");
  const { stdout: site } = await execa(python, ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]);
  for (const [name, version] of Object.entries(versions)) await fakePackage(site, name, version);
  return venv;
}

async function fakePackage(site: string, name: string, version: string): Promise<void> {
  const metadata = join(site, `${name}-${version}.dist-info`);
  await mkdir(metadata, { recursive: true });
  await writeFile(join(metadata, "METADATA"), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
}

const good = { torch: "2.15.0+cu132", triton: "3.9.0", numpy: "2.4.6" };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript-env-"));
  // Nothing of this machine's: no cache, no variables, and a PATH with no python3.
  env = { PATH: join(folder, "bin"), HOME: folder, XDG_CACHE_HOME: join(folder, "cache") };
});

describe("finding a Python", () => {
  it("should take the active virtual environment if its versions fit", async () => {
    const venv = await fakeVenv("good", good);
    const { environment } = await findPython({ env: { ...env, VIRTUAL_ENV: venv } });
    expect(environment).toMatchObject({ python: join(venv, "bin", "python"), source: "VIRTUAL_ENV", versions: good });
  });

  it("should go on to the next one and say why", async () => {
    const old = await fakeVenv("old", { ...good, torch: "2.3.1" });
    const { environment, rejected } = await findPython({ env: { ...env, VIRTUAL_ENV: old } });
    expect(environment).toBeUndefined();
    expect(rejected.map(({ source, reason }) => [source, reason])).toEqual([
      ["VIRTUAL_ENV", "it has torch 2.3.1; 2.11 or newer is needed"],
      ["python3", "it is not on PATH"],
    ]);
  });

  it("should try nothing else when one was named", async () => {
    const venv = await fakeVenv("good", good);
    const named = { ...env, VIRTUAL_ENV: venv, TILESCRIPT_PYTHON: "/nowhere/python" };
    const discovery = await findPython({ env: named });
    expect(discovery).toMatchObject({ isExplicit: true, rejected: [{ reason: "there is no such file" }] });
    expect(discovery.environment).toBeUndefined();
    await expect(openDevice({ device: "auto", env: named })).rejects.toThrow(EnvironmentError);
  });

  it("should report a Python that does not work", async () => {
    const broken = join(folder, "broken");
    await writeFile(broken, "#!/bin/sh\necho 'libpython is missing' >&2\nexit 127\n");
    await chmod(broken, 0o755);
    const { rejected } = await findPython({ python: broken, env });
    expect(rejected).toEqual([{ python: broken, source: "--python", reason: "libpython is missing" }]);
  });

  it("should fall back to the evaluator and name the remedy", async () => {
    const device = await openDevice({ device: "auto", env });
    expect(device).toMatchObject({ kind: "eval", reason: expect.stringContaining("npx tilescript setup") });
    await expect(openDevice({ device: "interpreter", env })).rejects.toThrow(/no usable Python/);
  });

  it("should fall back to the evaluator when torch does not import", async () => {
    const venv = await fakeVenv("hollow", good);
    const device = await openDevice({ device: "auto", env: { ...env, VIRTUAL_ENV: venv } });
    expect(device).toMatchObject({ kind: "eval", reason: expect.stringContaining("No module named 'torch'") });
  });

  it.each([
    [{ python: "3.9.1" }, "it is Python 3.9.1; 3.10 or newer is needed"],
    [{ python: "3.12.0" }, "it has no torch, no triton, no numpy"],
    [{ python: "3.12.0", ...good, triton: "3.10.0" }, "it has triton 3.10.0; 3.6 to 3.9 is supported"],
    [{ python: "3.12.0", ...good, triton: "3.5.1" }, "it has triton 3.5.1; 3.6 to 3.9 is supported"],
    [{ python: "3.12.0", ...good }, undefined],
  ])("%j", (versions, reason) => {
    expect(whyUnsupported(versions)).toBe(reason);
  });

  it("should know that Triton 3.6 interprets with older numpy only", () => {
    expect(interpreterProblem({ python: "3.12.0", ...good, triton: "3.6.0" })).toContain("needs numpy below 2.4");
    expect(interpreterProblem({ python: "3.12.0", ...good, triton: "3.6.0", numpy: "2.3.5" })).toBeUndefined();
  });
});

describe("probing", () => {
  it("should remember the answer until packages change", async () => {
    const venv = await fakeVenv("good", { torch: "2.15.0" });
    const python = join(venv, "bin", "python");
    const cache = join(folder, "cache");
    const first = await probePython(python, cache, env);
    // No Python answers in no time: it is not asked.
    expect(await probePython(python, cache, env, 0)).toEqual(first);
    await fakePackage(
      first.folders.find((path) => path.startsWith(venv))!,
      "triton",
      "3.9.0",
    );
    expect((await probePython(python, cache, env)).versions).toEqual({ ...first.versions, triton: "3.9.0" });
    // A variable puts another Triton first.
    const others = join(folder, "others");
    await fakePackage(others, "triton", "3.6.0");
    const { versions } = await probePython(python, cache, { ...env, PYTHONPATH: others });
    expect(versions).toEqual({ ...first.versions, triton: "3.6.0" });
  });
});

describe("tilescript setup", { timeout: 60_000 }, () => {
  const path = process.env["PATH"];

  async function tinyLock(): Promise<string> {
    const lock = join(folder, "tiny.lock");
    await writeFile(lock, "# nothing to install\n");
    return lock;
  }

  it("should make one environment when two ask at once, and none the next time", async () => {
    const lock = await tinyLock();
    const lines: string[] = [];
    const options = {
      lock,
      env: { ...env, PATH: path },
      imports: ["sys"],
      onProgress: (line: string) => lines.push(line),
    };
    const [one, two] = await Promise.all([setup(options), setup(options)]);
    expect(one).toBe(two);
    expect(lines.filter((line) => line.includes("another setup is running"))).toHaveLength(1);
    expect((await execa(one, ["-c", "print(6 * 7)"])).stdout).toBe("42");

    // This Python could make none.
    expect(await setup({ ...options, python: "/nowhere/python" })).toBe(one);
    expect((await readdir(join(folder, "cache", "tilescript"))).filter((name) => name.endsWith(".lock"))).toEqual([]);
  });

  it("should start over after one that was interrupted, and pass a dead holder's lock", async () => {
    const lock = await tinyLock();
    const options = { lock, env: { ...env, PATH: path }, imports: [] };
    const python = await setup(options);
    const made = join(python, "..", "..", "..");
    await execa("rm", [join(made, "ready.json")]);
    await writeFile(join(made, "venv", "leftover"), "");
    const dead = await execa("sh", ["-c", "echo $$"]);
    await writeFile(`${made.replace(/\/$/, "")}.lock`, dead.stdout);
    expect(await setup(options)).toBe(python);
    expect(await readdir(join(made, "venv"))).not.toContain("leftover");
  });

  it("should say what failed and leave nothing that looks ready", async () => {
    const lock = join(folder, "bad.lock");
    await writeFile(lock, "./there-is-no-such-package\n");
    const options = { lock, env: { ...env, PATH: path } };
    await expect(setup(options)).rejects.toThrow(/pip install failed: .*no-such-package/);
    const { environment } = await findPython({ lock, env });
    expect(environment).toBeUndefined();
    expect(await readFile(lock, "utf8")).toBeTruthy();
  });

  it("should name the remedy when no Python fits", async () => {
    await expect(setup({ lock: await tinyLock(), env })).rejects.toThrow(/install one .*--python/);
  });
});
