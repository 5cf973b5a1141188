/** What is stopped in the middle, or stops by itself: it ends at once, with all that it started, and the next one is clean. */
import { createHash } from "node:crypto";
import { execa } from "execa";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import type { RunReport } from "../../src/runtime/report/reports.js";
import { findPython } from "../../src/runtime/worker/environment.js";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { binary, compiledModule, installInto } from "../support/installed.js";
import { waitForContent, hasExited } from "../support/processes.js";
import { requirePython } from "../support/python.js";
import { add } from "./mistakes/mistake.js";

sampledTests("faults of processes");

let folder: string;
let python: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript-interrupted-"));
  python = await requirePython();
});

/** The command line on a kernel file, which may leave a mark. */
async function start(kernel: string, args: readonly string[]) {
  const cwd = await mkdtemp(join(folder, "kernel-"));
  installInto(cwd);
  await writeFile(join(cwd, "kernel.ts"), kernel);
  const mark = join(cwd, "mark");
  const [command = "", ...options] = args;
  const child = execa(process.execPath, [binary, command, "kernel.ts", ...options], {
    cwd,
    reject: false,
    env: { TILESCRIPT_PYTHON: python, MARK: mark },
  });
  return { child, mark };
}

/** A right kernel whose reference does this in Python first. */
const doing = (...lines: readonly string[]): string =>
  add({
    imports: `import { constexpr, kernel, python, tensor, tl } from "tilescript";`,
    reference: `python\`\n      import os, resource, signal, time\n\n      mark = os.environ["MARK"]\n      ${lines.join("\n      ")}\n      return x + y\n    \``,
  });

/** The first case to come here, and the one of a single element. */
const once = ["if not os.path.exists(mark):", "    open(mark, 'w').close()"];
const single = ["if x.numel() == 1:"];

interface Ending extends PromiseLike<{ readonly signal?: string }> {
  kill(signal: NodeJS.Signals): boolean;
}

async function expectEndsWith(signal: NodeJS.Signals, child: Ending): Promise<void> {
  child.kill(signal);
  // What a shell shows as 128 and the number of the signal.
  expect((await child).signal).toBe(signal);
}

describe("a worker that fails once", { timeout: 120_000 }, () => {
  it.each([
    ["is killed", once, "    os.kill(os.getpid(), signal.SIGKILL)", "crash", /killed by SIGKILL .*memory runs out/],
    ["crashes", once, "    os.abort()", "crash", /killed by SIGABRT/],
    [
      "runs out of memory",
      single,
      "    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)); bytearray(1 << 44)",
      "out-of-memory",
      /MemoryError|memory/,
    ],
  ])("should fail one case and no other: it %s", async (_, when, line, kind, message) => {
    const ran = await (await start(doing(...when, line), ["run", "--device", "interpreter", "--json"])).child;
    const { cases, details } = JSON.parse(ran.stdout) as RunReport;
    expect(ran).toMatchObject({ exitCode: 1, stderr: "" });
    const failed = cases!.filter(({ status }) => status === "failed");
    expect(failed.map(({ error }) => error)).toMatchObject([{ kind, message: expect.stringMatching(message) }]);
    // Others come after it, though a busy machine has time for few of them.
    expect(cases!.filter(({ status }) => status === "passed").length).toBeGreaterThan(0);
    expect(details).toMatch(message);
  });
});

describe("a kernel that hangs", { timeout: 120_000 }, () => {
  const hanging = doing("open(mark, 'w').write(str(os.getpid()))", "time.sleep(600)");

  it.each(["verify", "run"])("should be stopped by %s at the deadline", async (command) => {
    const args = ["--device", "interpreter", "--deadline", "1", "--shape", "N=3", "--json"];
    const ran = await (await start(hanging, [command, ...args])).child;
    expect(ran).toMatchObject({ exitCode: 1, stderr: "" });
    expect(JSON.parse(ran.stdout)).toMatchObject({
      details: expect.stringMatching(/timeout: no answer within 1 s; the worker was stopped/),
    });
  });

  it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)("should end with %s, and its worker too", async (signal) => {
    const { child, mark } = await start(hanging, ["run", "--device", "interpreter"]);
    const worker = Number(await waitForContent(mark));
    await expectEndsWith(signal, child);
    expect(await hasExited(worker)).toBe(true);
  });
});

describe("the evaluator, which leaves no room for handlers of signals", { timeout: 120_000 }, () => {
  // Each turn adds zero: minutes of work on tiles.
  const long = add({
    imports: `import { writeFileSync } from "node:fs";
import { constexpr, kernel, tensor, tl } from "tilescript";`,
    body: `writeFileSync(process.env["MARK"]!, "traced");
    const sum = tl.mut(tl.load(x.at(i)).add(tl.load(y.at(i))));
    for (const k of tl.range(0, 100_000_000)) sum.value = sum.value.add(k.mul(0));
    tl.store(z.at(i), sum.value);`,
  });

  it.each(["SIGINT", "SIGTERM"] as const)("should end at once with %s", async (signal) => {
    const { child, mark } = await start(long, ["run", "--device", "eval", "--shape", "N=300"]);
    await waitForContent(mark);
    // It is compiled, then evaluated.
    await sleep(3_000);
    await expectEndsWith(signal, child);
  });
});

describe("setup that is stopped half-way", { timeout: 240_000 }, () => {
  /** A package that pip builds: its build waits for a file. */
  async function slowPackage(): Promise<{ readonly lock: string; readonly source: string }> {
    const source = await mkdtemp(join(folder, "package-"));
    const [lock, archive] = [join(source, "slow.lock"), join(source, "slow-1.0.tar.gz")];
    await mkdir(join(source, "slow-1.0"));
    await writeFile(
      join(source, "slow-1.0", "pyproject.toml"),
      `[project]\nname = "slow"\nversion = "1.0"\n\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n`,
    );
    await writeFile(
      join(source, "slow-1.0", "backend.py"),
      `import os, time, zipfile
SOURCE = ${JSON.stringify(source)}
METADATA = "Metadata-Version: 2.1\\nName: slow\\nVersion: 1.0\\n"
WHEEL = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
def build_wheel(folder, config_settings=None, metadata_directory=None):
    with open(os.path.join(SOURCE, "started"), "w") as file:
        file.write(str(os.getpid()))
    while not os.path.exists(os.path.join(SOURCE, "go")):
        time.sleep(0.05)
    name = "slow-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("slow.py", "ANSWER = 42\\n")
        wheel.writestr("slow-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("slow-1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr("slow-1.0.dist-info/RECORD", "")
    return name
`,
    );
    await execa("tar", ["czf", archive, "slow-1.0"], { cwd: source });
    const hash = createHash("sha256").update(await readFile(archive));
    await writeFile(lock, `slow @ ${pathToFileURL(archive).href} --hash=sha256:${hash.digest("hex")}\n`);
    return { lock, source };
  }

  it("should leave nothing that is taken for good, and the next one works", async () => {
    const { lock, source } = await slowPackage();
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_CACHE_HOME: join(folder, "cache ü") };
    const script = join(source, "setup.mjs");
    await writeFile(
      script,
      `import { setup } from ${JSON.stringify(compiledModule("runtime/worker/install-environment.js"))};
await setup({ lock: ${JSON.stringify(lock)}, imports: ["slow"] });\n`,
    );
    for (const signal of ["SIGKILL", "SIGINT"] as const) {
      const child = execa(process.execPath, [script], { env, extendEnv: false, reject: false });
      const builder = Number(await waitForContent(join(source, "started")));
      await expectEndsWith(signal, child);
      expect(await hasExited(builder)).toBe(true);
      expect((await findPython({ lock, env })).rejected.map((each) => each.source)).not.toContain("tilescript setup");
      expect((await findPython({ lock, env })).environment?.source).not.toBe("tilescript setup");
      await rm(join(source, "started"));
    }
    await writeFile(join(source, "go"), "");
    const made = await setup({ lock, env, imports: ["slow"] });
    expect((await execa(made, ["-c", "import slow; print(slow.ANSWER)"])).stdout).toBe("42");
  });
});
