/** `--device ssh:HOST`, against a real sshd on the loopback interface. The other side runs Triton's interpreter. */
import { execa, execaCommand } from "execa";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { RemoteHost } from "../../src/runtime/remote/remote-host.js";
import { parseSshAddress } from "../../src/runtime/remote/addresses.js";
import { setup } from "../../src/runtime/worker/install-environment.js";
import type { DoctorReport, ProfileReport, RunReport } from "../../src/runtime/report/reports.js";
import { cli, type CliResult } from "../support/cli.js";
import { sampledTests } from "../support/sampled-tests.js";
import { vectorAdd } from "../support/fixtures/vector-add.js";
import { binary, compiledModule, project } from "../support/installed.js";
import { waitForContent, hasExited } from "../support/processes.js";
import { requirePython } from "../support/python.js";
import { hasSshd, Sshd } from "../support/sshd.js";

sampledTests("work on another machine", "src/runtime/remote");

const noise = `echo 'Welcome to "box" {"ready": true}'; echo 'last login: never' >&2; printf 'no line end'`;

let python: string;
let there: string;
let sshd: Sshd;
const path = process.env["PATH"];

beforeAll(async () => {
  if (!hasSshd) return;
  python = await requirePython();
  // Folders there as somebody might have them.
  there = await mkdtemp(join(tmpdir(), `tilescript it's "there" $x ü-`));
  await mkdir(join(there, "tmp"));
  const env = { TILESCRIPT_PYTHON: python, XDG_CACHE_HOME: join(there, "cache"), TMPDIR: join(there, "tmp") };
  sshd = await Sshd.start({ env, login: `${noise}\n` });
});
beforeEach(() => void (process.env["PATH"] = sshd?.path));
afterAll(async () => {
  process.env["PATH"] = path;
  await sshd?.stop();
  if (there) await rm(there, { recursive: true, force: true });
});

const on = (device: string, ...args: string[]): Promise<CliResult> =>
  cli(vectorAdd(), ...args, "--device", device, "--json");
const reportOf = ({ out }: CliResult) => JSON.parse(out) as RunReport;

/** Processes there that run the worker or its agent, by their command lines. */
async function leftThere(): Promise<readonly string[]> {
  for (let waited = 0; ; waited += 100) {
    const { stdout } = await execaCommand("ps -eo pid,args", { env: { PATH: path! } });
    const left = stdout.split("\n").filter((line) => /stdin\.buffer\.readline|tilescript_worker/.test(line));
    const ours = [];
    for (const line of left)
      if ((await readFile(`/proc/${line.trim().split(" ")[0]}/environ`, "utf8").catch(() => "")).includes(there))
        ours.push(line);
    if (ours.length === 0 || waited > 10_000) return ours;
    await sleep(100);
  }
}

/** A kernel whose wrapper runs these lines first. */
const doing = (code: string) => vectorAdd({ replace: { "    (n,) = x.shape": `    ${code}\n    (n,) = x.shape` } });

describe.skipIf(!hasSshd)("a machine behind ssh", { timeout: 180_000 }, () => {
  it("runs and verifies there what it would here, despite a login that prints", async () => {
    const ran = await on("ssh:box", "--run");
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(reportOf(ran)).toMatchObject({ correct: true, device: "interpreter", host: "box", python });
    const here = reportOf(await cli(vectorAdd(), "--run", "--device", "interpreter", "--json"));
    const results = ({ cases }: RunReport) => cases!.map((each) => ({ ...each, ms: 0 }));
    expect(results(reportOf(ran))).toEqual(results(here));
    const verified = await on(`ssh:${userInfo().username}@127.0.0.1:${sshd.port}`, "--verify", "--runs", "5");
    expect({ code: verified.code, correct: reportOf(verified).correct }).toEqual({ code: 0, correct: true });
    expect(await readdir(join(there, "tmp"))).toEqual([]);
    expect(await leftThere()).toEqual([]);
  });

  it("looks for a GPU there to measure on", async () => {
    const { code, err } = await on("ssh:box", "--bench", "--shapes", "N=64");
    expect(code).toBe(3);
    expect(err).toMatch(/needs a GPU: torch sees no GPU on box; /);
  });

  it("gets the worker's files once, and again where they are not what they were", async () => {
    const address = parseSshAddress("box");
    const host = await RemoteHost.open(address);
    const file = join(host.folder, "tilescript_worker/verify.py");
    const before = await stat(file);
    await host.close();
    await (await RemoteHost.open(address)).close();
    expect((await stat(file)).ino).toBe(before.ino);
    await writeFile(file, "raise SystemExit('not ours')\n");
    await (await RemoteHost.open(address)).close();
    expect((await stat(file)).ino).not.toBe(before.ino);
    expect(await readFile(file, "utf8")).toContain("def verify(");
    expect(await readdir(join(host.folder, ".."))).toHaveLength(1);
  });

  it("may be lost in the middle, which is a result, and nothing stays behind there", async () => {
    const pids = join(there, "pids");
    const slow = doing(`import os, time; print(os.getpid(), file=open(${JSON.stringify(pids)}, "w")); time.sleep(60)`);
    const ran = cli(slow, "--run", "--device", "ssh:box", "--json");
    const pid = Number(await waitForContent(pids));
    sshd.drop();
    const { code, out } = await ran;
    expect(code).toBe(1);
    const report = JSON.parse(out) as RunReport;
    expect(report.details).toMatch(/connection: the connection to box was lost: /);
    expect(report.cases).toMatchObject([{ status: "failed", error: { kind: "connection" } }]);
    expect(report.not_checked).toContainEqual(expect.stringMatching(/^\d+ further cases: the connection was lost$/));
    expect(await hasExited(pid)).toBe(true);
    expect(await leftThere()).toEqual([]);
    expect(await readdir(join(there, "tmp"))).toEqual([]);
  });

  it("has nothing left when the process here is killed", async () => {
    const script = join(there, "runner.mjs");
    await writeFile(
      script,
      `import { openDevice } from ${JSON.stringify(compiledModule("runtime/devices/devices.js"))};
await openDevice({ device: "ssh:box" });
console.log("open");
setInterval(() => {}, 1000);\n`,
    );
    const runner = execa(process.execPath, [script], { reject: false, env: { PATH: sshd.path } });
    await new Promise((resolve) => runner.stdout.once("data", resolve));
    runner.kill("SIGKILL");
    await runner;
    expect(await leftThere()).toEqual([]);
  });

  it("runs a call from TypeScript on arrays that go there and back", async () => {
    const doubled = kernel(
      "doubled",
      { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) }, grid: ({ N }) => [tl.cdiv(N, 64)] },
      ({ x, y }) => {
        const at = tl.programId(0).mul(64).add(tl.arange(0, 64));
        tl.store(y.at(at), tl.load(x.at(at)).mul(2));
      },
    );
    const x = Float32Array.from({ length: 1_000 }, (_, i) => i / 3);
    const { outputs, device } = await doubled.run({ x }, { device: "ssh:box" });
    expect(device).toBe("interpreter");
    expect(outputs.y.data).toEqual(x.map((each) => 2 * each));
    const empty = await doubled.run({ x: new Float32Array(0) }, { device: "ssh:box" });
    expect(empty.outputs.y.data).toHaveLength(0);
    // The connection stays open for more calls, and goes where it breaks.
    sshd.drop();
    await expect(doubled.run({ x }, { device: "ssh:box" })).rejects.toThrow(/the connection to box was lost/);
    expect((await doubled.run({ x }, { device: "ssh:box" })).outputs.y.data[3]).toBe(2);
    sshd.drop();
    expect(await leftThere()).toEqual([]);
  });

  it("gets a module to profile, with command lines that reach it", async () => {
    const out = join(there, "out");
    const { code, out: said } = await on("ssh:box", "--profile", "--shapes", "N=64", "--out", out);
    expect(code).toBe(0);
    const [{ commands, fetch }] = (JSON.parse(said) as ProfileReport).kernels as [ProfileReport["kernels"][number]];
    // Instead of the profiler, which is not there: what it would run.
    const line = commands.nsys.replace(/^ssh -t/, "ssh -T").replace(/nsys profile .* -o \S+ /, "exec echo ");
    const { stdout } = await execa("sh", ["-c", line], { env: { PATH: sshd.path } });
    const [program, script, module, ...rest] = stdout.split("\n").at(-1)!.replace("no line end", "").split(" /");
    expect({ program, rest }).toEqual({ program: python, rest: expect.anything() });
    expect(`${script}${module}`).toContain("benchmark_kernel.py");
    await execa("sh", ["-c", fetch!], { env: { PATH: sshd.path } });
    const [folder] = await readdir(out, { withFileTypes: true }).then((found) =>
      found.filter((each) => each.isDirectory()),
    );
    expect(await readdir(join(out, folder!.name))).toEqual(["vector_add.py"]);
  });

  it("reports a crash there as here", async () => {
    const ran = await cli(doing("import os; os._exit(7)"), "--run", "--device", "ssh:box", "--json", "--shape", "N=64");
    expect(ran.code).toBe(1);
    expect(reportOf(ran).details).toMatch(/crash: the Python worker ended with exit code 7/);
  });
});

describe.skipIf(!hasSshd)("what a machine lacks", { timeout: 120_000 }, () => {
  const refused = async (device: string, says: RegExp, ...args: string[]): Promise<void> => {
    const { code, out, err } = await on(device, "--run", ...args);
    expect({ code, err }).toEqual({ code: 3, err: expect.stringMatching(says) });
    expect(err.trimEnd().split("\n")).toHaveLength(1);
    expect(JSON.parse(out)).toMatchObject({ correct: false, details: expect.stringMatching(says) });
  };

  it("is said: a Python without torch", async () => {
    const bare = join(there, "bare env/bin/python");
    await execa("python3", ["-m", "venv", "--without-pip", join(there, "bare env")]);
    await refused(`ssh:box${bare}`, /no usable Python on box \(.*it has no torch, no triton, no numpy\); name another/);
  });

  it("is said: a Python that is not there", async () => {
    await refused(
      "ssh:box/nowhere/python",
      /box has no such Python \(.*\); name one that is there: --device ssh:box\//,
    );
    await refused("ssh:box", /no usable Python on box \(.*there is no such file\)/, "--python", "/nowhere/python");
  });

  it("is said: nobody answers, or nobody is let in", async () => {
    await refused("ssh:127.0.0.1:1", /ssh can't reach 127\.0\.0\.1:1: .*Connection refused.*; `ssh 127\.0\.0\.1:1`/);
    await refused(`ssh:nobody@127.0.0.1:${sshd.port}`, /ssh can't reach nobody@127.*Permission denied/);
  });

  it("is said: no ssh here", async () => {
    process.env["PATH"] = there;
    await refused("ssh:box", /ssh can't be started \(ENOENT\); install OpenSSH's client/);
  });

  it.skipIf(userInfo().uid !== 0)("is said: a full disk", async () => {
    const disk = await mkdtemp(join(tmpdir(), "tilescript-full-"));
    await execa("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], { env: { PATH: path! } });
    let full: Sshd | undefined;
    try {
      full = await Sshd.start({ env: { TILESCRIPT_PYTHON: python, XDG_CACHE_HOME: disk } });
      process.env["PATH"] = full.path;
      await refused(
        "ssh:box",
        /on box, .* can't be written \(ENOSPC\): the disk is full; .*; XDG_CACHE_HOME there names it/,
      );
      expect(await readdir(join(disk, "tilescript/worker"))).toEqual([]);
    } finally {
      await full?.stop();
      await execa("umount", ["--lazy", disk], { env: { PATH: path! } });
    }
  });

  it("runs no command that a host's name holds", async () => {
    const mark = join(there, "run");
    for (const name of [
      `-oProxyCommand=touch ${mark}`,
      `$(touch ${mark})`,
      `box;touch ${mark}`,
      `-oProxyCommand=x@box`,
    ]) {
      const { code, err } = await on(`ssh:${name}`, "--run");
      expect({ name, code, err }).toEqual({ name, code: 2, err: expect.stringMatching(/is no (host|user's name)/) });
    }
    expect(existsSync(mark)).toBe(false);
  });
});

describe.skipIf(!hasSshd)("setting up a machine", { timeout: 120_000 }, () => {
  it("makes the environment there, once, and only when asked", async () => {
    const host = await RemoteHost.open(parseSshAddress("box"));
    try {
      const lock = join(there, "own.lock");
      await writeFile(lock, "# nothing but pip itself\n");
      const said: string[] = [];
      const options = { host, lock, imports: ["pip"], onProgress: (line: string) => void said.push(line) };
      const made = await setup(options);
      expect(made).toContain(join(there, "cache"));
      expect(existsSync(made)).toBe(true);
      expect(await setup(options)).toBe(made);
      expect(said).toEqual([`ready: ${made}`, `ready: ${made}`]);
    } finally {
      await host.close();
    }
  });

  it("shows it in doctor, with what has chosen it", async () => {
    const env = { TILESCRIPT_DEVICE: "ssh:box", TILESCRIPT_PYTHON: python, PATH: sshd.path };
    const { stdout, exitCode } = await execa(process.execPath, [binary, "doctor", "--json"], { cwd: project, env });
    expect(exitCode).toBe(0);
    const { facts } = JSON.parse(stdout) as DoctorReport;
    const device = facts.find(({ name }) => name === "device")!;
    expect(device.found).toMatch(
      /^ssh:box, by TILESCRIPT_DEVICE: interpreter: Triton's interpreter .* on box, with .*python/,
    );
  });
});
