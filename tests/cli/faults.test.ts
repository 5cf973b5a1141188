/** Faults: each ends in a clear message and the right exit code, and leaves no process and no half-made environment. */
import { execa } from "execa";
import { chmod, mkdir, mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import type { TestCase } from "../../src/compiled/compiled-kernel.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { EnvironmentError } from "../../src/runtime/system/errors.js";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import { Worker } from "../../src/runtime/worker/worker.js";
import { vectorAdd } from "../support/fixtures/vector-add.js";
import { binary, compiledModule, installInto, project } from "../support/installed.js";
import { requirePython } from "../support/python.js";
import { type PythonDevice, openWorkspace } from "../../src/runtime/devices/device.js";

sampledTests("faults of processes");

const at: TestCase = { sizes: { N: 300 }, dtypes: { T: "float32" }, config: 0, seed: 0 };
const START_MS = 60_000;

let folder: string;
let python: string;
let device: PythonDevice;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript faults ü-"));
  python = await requirePython();
  device = (await openDevice({ device: "interpreter" })) as PythonDevice;
}, START_MS);
afterAll(() => closeDevice(device));

/** Python in place of the wrapper's first line, then the line itself. */
const before = (python: string) =>
  vectorAdd({ replace: { "    (n,) = x.shape": `    ${python}\n    (n,) = x.shape` } });

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The command line in a process of its own. */
const tilescript = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  execa(process.execPath, [binary, ...args], { reject: false, cwd: project, env: { ...process.env, ...env } });

/** A message for people: short, and without a stack of ours. */
function expectReadable(text: string): void {
  expect(text).not.toMatch(/^\s+at .*(src|dist|node_modules)\//m);
  expect(text).not.toContain("Traceback");
  expect(text.trim().length).toBeGreaterThan(0);
}

describe("a worker that dies", { timeout: 120_000 }, () => {
  it("should be a reply while it starts, and the next request gets another", async () => {
    const worker = new Worker({ python, device: "interpreter" });
    const reply = worker.request({ type: "hello" }, START_MS);
    while (worker.pid === undefined) await sleep(5);
    process.kill(worker.pid, "SIGKILL");
    expect(await reply).toMatchObject({ ok: false, error: { kind: "crash", message: /SIGKILL/ } });
    expect(await worker.request({ type: "hello" }, START_MS)).toMatchObject({ ok: true });
    await worker.stop();
  });

  it("should not fail the next case when it dies between two", async () => {
    const pid = device.workers.members[0]!.worker.pid!;
    process.kill(pid, "SIGKILL");
    while (isAlive(pid)) await sleep(5);
    await sleep(100);
    expect((await verifyCase(vectorAdd(), device, at)).status).toBe("passed");
  });

  it.each([
    ["a signal", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crash", /SIGSEGV/],
    ["an exit", "import os; os._exit(7)", "crash", /exit code 7/],
    ["out of memory", "torch.empty(1 << 50)", "out-of-memory", /allocate|memory/],
    ["an illegal read", "import ctypes; ctypes.string_at(0)", "crash", /SIGSEGV/],
  ])("should fail its case alone: %s", async (_, code, kind, message) => {
    const outcome = await verifyCase(before(code), device, at);
    expect(outcome).toMatchObject({ status: "failed", failure: { kind } });
    expect(outcome.failure!.message).toMatch(message);
    expectReadable(outcome.failure!.message);
    expect((await verifyCase(vectorAdd(), device, at)).status).toBe("passed");
  });

  it("should end with the process that started it, and what it started", async () => {
    const file = join(folder, "runner.mjs");
    const worker = JSON.stringify(compiledModule("runtime/worker/worker.js"));
    await writeFile(
      file,
      `import { Worker } from ${worker};
const worker = new Worker({ python: ${JSON.stringify(python)}, device: "interpreter" });
void worker.request({ type: "hello" }, 60000).then(() => console.log(worker.pid));
setInterval(() => {}, 1000);\n`,
    );
    const runner = execa(process.execPath, [file], {
      reject: false,
    });
    const pid = await new Promise<number>((resolve) =>
      runner.stdout.on("data", (chunk: Buffer) => resolve(Number(chunk.toString()))),
    );
    expect(isAlive(pid)).toBe(true);
    runner.kill("SIGKILL");
    await runner;
    for (let waited = 0; isAlive(pid) && waited < 10_000; waited += 100) await sleep(100);
    expect(isAlive(pid)).toBe(false);
  });
});

describe("a Python that can't be used", { timeout: 60_000 }, () => {
  const fake = async (name: string, script: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const probe = (versions: object) =>
    `echo '${JSON.stringify({ executable: "/nowhere/python", versions, folders: [] })}'`;

  it.each([
    ["is broken", "echo 'libpython3.so: cannot open' >&2; exit 127", /libpython3\.so: cannot open/],
    ["prints something else", "echo hello", /did not list its packages|hello/],
    ["is too old", probe({ python: "3.9.1" }), /Python 3\.9\.1; 3\.10 or newer/],
    [
      "has an old torch",
      probe({ python: "3.12.1", torch: "2.3.0", triton: "3.9.0", numpy: "2.1.0" }),
      /torch 2\.3\.0; 2\.11 or newer/,
    ],
    [
      "has a Triton that is too new",
      probe({ python: "3.12.1", torch: "2.15.0", triton: "4.0.0", numpy: "2.1.0" }),
      /triton 4\.0\.0; 3\.6 to 3\.9/,
    ],
  ])("should end with code 3: it %s", async (name, script, message) => {
    const path = await fake(`python ${name}`, script);
    const ran = await tilescript(["verify", "examples/vector-add.ts", "--python", path]);
    expect(ran.exitCode).toBe(3);
    expect(ran.stderr).toMatch(message);
    expectReadable(ran.stderr);
  });
});

describe("a disk that takes nothing", { timeout: 60_000 }, () => {
  it("should cost the cache of probes only", async () => {
    // A file where the folder would be: it can't be made, whoever runs this.
    const cache = join(folder, "no cache");
    await writeFile(cache, "");
    const args = ["verify", "examples/vector-add.ts", "--device", "interpreter", "--runs", "2", "--python", python];
    const ran = await tilescript(args, { XDG_CACHE_HOME: cache });
    expect(ran).toMatchObject({ exitCode: 0 });
  });

  it("should end setup with code 3 and leave nothing", async () => {
    const cache = join(folder, "full");
    await writeFile(cache, "");
    const ran = await tilescript(["setup"], { XDG_CACHE_HOME: cache });
    expect(ran.exitCode).toBe(3);
    expect(ran.stderr).toMatch(/XDG_CACHE_HOME/);
    expectReadable(ran.stderr);
    expect(await readFile(cache, "utf8")).toBe("");
  });

  it("should say which folder takes no module", async () => {
    const { TMPDIR } = process.env;
    process.env["TMPDIR"] = join(folder, "there is none");
    try {
      const opened = openWorkspace(vectorAdd());
      await expect(opened).rejects.toThrow(EnvironmentError);
      await expect(opened).rejects.toThrow(/cannot write a module to .*there is none \(ENOENT\); set TMPDIR/);
    } finally {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
    }
  });
});

describe("setup in two processes", { timeout: 120_000 }, () => {
  it("should make one environment, in a folder with spaces and an umlaut", async () => {
    const lock = join(folder, "tiny.lock");
    await writeFile(lock, "# nothing to install\n");
    const cache = join(folder, "cache ü");
    const script = join(folder, "setup.mjs");
    await writeFile(
      script,
      `import { setup } from ${JSON.stringify(compiledModule("runtime/worker/install-environment.js"))};
console.log(await setup({ lock: ${JSON.stringify(lock)}, imports: ["sys"] }));\n`,
    );
    const once = () =>
      execa(process.execPath, [script], {
        env: { ...process.env, XDG_CACHE_HOME: cache },
      });
    const [one, two] = await Promise.all([once(), once()]);
    expect(one.stdout).toBe(two.stdout);
    expect((await execa(one.stdout, ["-c", "print(6 * 7)"])).stdout).toBe("42");
    const left = await readdir(join(cache, "tilescript"));
    expect(left.filter((name) => name.includes(".lock"))).toEqual([]);
  });

  it("should start over after one that was killed", async () => {
    const lock = join(folder, "killed.lock");
    await writeFile(lock, "# nothing to install, twice\n");
    const env = { ...process.env, XDG_CACHE_HOME: join(folder, "killed cache") };
    await mkdir(env.XDG_CACHE_HOME);
    await expect(setup({ lock, env, imports: ["no_such_module"] })).rejects.toThrow(/no_such_module/);
    expect(await setup({ lock, env, imports: ["sys"] })).toContain("killed cache");
  });
});

describe("hostile words", { timeout: 60_000 }, () => {
  const hostile = (name: string, doc: string, param: string) => `
import { constexpr, kernel, tensor, tl } from "tilescript";
export const k = kernel(${JSON.stringify(name)}, {
  doc: ${JSON.stringify(doc)},
  params: { ${JSON.stringify(param)}: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
  grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)], config: { BLOCK: 16 },
  reference: (p: any) => p[${JSON.stringify(param)}].add(1),
}, (p: any) => {
  const at = tl.programId(0).mul(p.BLOCK).add(tl.arange(0, p.BLOCK));
  tl.store(p.y.at(at), tl.load(p[${JSON.stringify(param)}].at(at)).add(1));
});
`;
  const file = async (...words: [string, string, string]): Promise<string> => {
    const inside = await mkdtemp(join(folder, "a folder with ' and ü-"));
    installInto(inside);
    const path = join(inside, "kernel file.mts");
    await writeFile(path, hostile(...words));
    return path;
  };

  it("should be refused in a kernel's name, with code 1", async () => {
    const path = await file('k"; import os; os._exit(9) #', "doc", "x");
    const ran = await tilescript(["verify", path, "--device", "interpreter"]);
    expect(ran.exitCode).toBe(1);
    expect(ran.stderr).toMatch(/import os/);
    expectReadable(ran.stderr);
  });

  it("should be refused in a parameter's name, with code 1", async () => {
    const path = await file("k", "doc", 'x"; import os');
    const ran = await tilescript(["emit", path]);
    expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ran.stderr).toMatch(/import os/);
    expectReadable(ran.stderr);
  });

  it("should be words in a docstring, from a path with spaces, quotes and an umlaut", async () => {
    const doc = '"""; import os; os._exit(9); """ \\" {x} %s \u2028 \u{1F600} \\N{BULLET}';
    const path = await file("k", doc, "x");
    const args = ["verify", path, "--device", "interpreter", "--runs", "3", "--json"];
    const ran = await tilescript(args);
    expect(ran.stderr).toBe("");
    expect(JSON.parse(ran.stdout)).toMatchObject({ correct: true });
  });
});
