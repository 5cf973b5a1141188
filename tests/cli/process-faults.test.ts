/** Faults around the command's own process: streams, signals, folders, limits. It ends with the right code, and alone. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, realpath, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { beforeEach, describe, expect, it } from "vitest";
import { acquireLock } from "../../src/runtime/system/processes.js";
import { sampleCases } from "../support/sampled-tests.js";
import { binary, project } from "../support/installed.js";
import { waitForContent, hasExited } from "../support/processes.js";
import { requirePython } from "../support/python.js";

const kernel = join(project, "examples/vector-add.ts");

let folder: string;
beforeEach(async () => void (folder = await realpath(await mkdtemp(join(tmpdir(), "tilescript faults ü-")))));

/** `tilescript` as a word of a shell's command line. */
const tilescript = `"${process.execPath}" "${binary}"`;
const evaluated = `run "${kernel}" --device eval --shape N=300`;

interface Fault {
  readonly title: string;
  /** Lines of a shell in an empty folder. */
  readonly shell: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly code: number;
  readonly out?: RegExp;
  readonly err?: RegExp;
}

const faults: readonly Fault[] = [
  { title: "standard input is closed", shell: `${tilescript} ${evaluated} <&-`, code: 0, out: /passed/ },
  { title: "standard output is closed", shell: `${tilescript} ${evaluated} >&-`, code: 0 },
  { title: "standard error is closed", shell: `${tilescript} ${evaluated} 2>&-`, code: 0, out: /passed/ },
  {
    title: "the reader of standard output leaves at once",
    shell: `{ ${tilescript} emit "${kernel}"; echo "code $?" >&2; } | true`,
    code: 0,
    err: /^code 0$/m,
  },
  {
    title: "the reader of standard output leaves after a line",
    shell: `{ ${tilescript} emit "${kernel}"; echo "code $?" >&2; } | head -1`,
    code: 0,
    out: /^"""/,
    err: /^code 0$/m,
  },
  {
    title: "the reader of standard error leaves at once",
    shell: `{ ${tilescript} check nothing.ts; echo "code $?"; } 2>&1 >out | true; cat out`,
    code: 0,
    out: /^code [12]$/m,
  },
  {
    title: "the current folder is gone",
    shell: `mkdir gone; cd gone; rmdir ../gone; ${tilescript} ${evaluated}`,
    code: 3,
    err: /^error environment: the current folder does not exist any more; change to another$/m,
  },
  { title: "there is no home", shell: `env -u HOME ${tilescript} ${evaluated}`, code: 0, out: /passed/ },
  {
    title: "the home can't be written",
    shell: `${tilescript} doctor`,
    env: { HOME: "/proc" },
    code: 0,
    out: /interpreter/,
  },
  {
    title: "the cache is a file",
    shell: `${tilescript} doctor`,
    env: { XDG_CACHE_HOME: "/dev/null" },
    code: 0,
    out: /interpreter/,
  },
  {
    title: "the cache holds garbage",
    shell: `mkdir -p cache/tilescript; for text in garbage null 5 '[]' '{"PYTHON": {"stamp": ""}}'; do
      printf '%s' "$text" > cache/tilescript/probes.json; ${tilescript} doctor --json > out || exit 9; done; cat out`,
    env: { XDG_CACHE_HOME: "cache" },
    code: 0,
    out: /"ok": true/,
  },
  {
    title: "two use one empty cache at once",
    shell: `for i in 1 2 3; do ${tilescript} doctor --json > out$i & done; wait; cat out1 out2 out3 cache/tilescript/probes.json; ls cache/tilescript`,
    env: { XDG_CACHE_HOME: "cache" },
    code: 0,
    out: /("ok": true[^]*){3}\}probes\.json$/,
  },
  {
    title: "temporary files can't be written",
    shell: `${tilescript} run "${kernel}" --device interpreter --shape N=300`,
    env: { TMPDIR: "/dev/null", TSX_DISABLE_CACHE: "1" },
    code: 3,
    err: /set TMPDIR to a writable folder/,
  },
  {
    title: "the kernel's path has spaces, quotes and letters of elsewhere",
    shell: `mkdir "it's ü"; echo 'throw new Error("read")' > "it's ü/-a \\"b\\".ts"; cd "it's ü"; ${tilescript} check '-a "b".ts'; ${tilescript} check './-a "b".ts'`,
    code: 1,
    err: /unknown option[^]*error exception: Error: read/,
  },
  {
    title: "the locale is C",
    shell: `${tilescript} run "${kernel}" --device interpreter --shape N=300`,
    env: { LC_ALL: "C", LANG: "C", PYTHONUTF8: "0", PYTHONCOERCECLOCALE: "0" },
    code: 0,
    out: /passed/,
  },
  {
    title: "a line of the output is very long",
    shell: `echo 'throw new Error("x".repeat(1 << 22))' > long.ts; ${tilescript} check long.ts 2> err; wc -c < err`,
    code: 0,
    out: /^4194\d\d\d$/m,
  },
  {
    title: "the kernel file writes to standard output",
    shell: `echo 'console.log("noise"); process.stdout.write("more"); export * from "${kernel}"' > noisy.mts; ${tilescript} emit noisy.mts`,
    code: 0,
    out: /^"""x \+ y/,
    err: /noise[^]*more/,
  },
  {
    title: "the kernel file leaves",
    shell: `echo 'process.exit(0)' > leaves.mts; ${tilescript} check leaves.mts`,
    code: 1,
    err: /ended the process/,
  },
  {
    title: "the kernel file waits for ever",
    shell: `echo 'await new Promise(() => {})' > waits.mts; ${tilescript} check waits.mts`,
    code: 1,
    err: /never settles/,
  },
  {
    title: "the kernel file leaves a timer running",
    shell: `echo 'setInterval(() => {}, 1000); export * from "${kernel}"' > timer.mts; ${tilescript} check timer.mts`,
    code: 0,
    out: /vector_add: ok/,
  },
];

describe("the command where", { timeout: 120_000 }, () => {
  const cases = sampleCases("faults of a process", faults, {
    key: ({ title }) => title,
    always: ["the current folder is gone"],
    perRun: 7,
    hasOwnTests: true,
  });
  it.each(cases)("$title", async ({ shell, env = {}, code, out = /(?:)/, err = /^(?!\s+at )/m }) => {
    const python = await requirePython();
    const home = { TILESCRIPT_PYTHON: python, XDG_CACHE_HOME: join(folder, "cache"), ...env };
    const ran = await execa("bash", ["-c", shell], { cwd: folder, env: home, reject: false, timeout: 100_000 });
    expect({ code: ran.exitCode, out: ran.stdout, err: ran.stderr }).toEqual({
      code,
      out: expect.stringMatching(out),
      err: expect.stringMatching(err),
    });
    expect(ran.stderr).not.toMatch(/^\s+at |Traceback|node:internal/m);
  });
});

/** A Python that never answers: where it is asked for its packages, or as the worker. */
const hanging = { probe: "", worker: `case "$*" in *tilescript_worker*) ;; *) exec PYTHON "$@" ;; esac` } as const;

const endOf = (child: ChildProcess) =>
  new Promise<NodeJS.Signals | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));

describe("a signal", { timeout: 120_000 }, () => {
  const signals = (["SIGINT", "SIGTERM", "SIGHUP"] as const).flatMap((signal) =>
    (["probe", "worker"] as const).map((stage) => ({ signal, stage })),
  );
  const cases = sampleCases("signals", signals, {
    key: ({ signal, stage }) => `${signal} ${stage}`,
    perRun: 2,
    hasOwnTests: true,
  });
  it.each(cases)("$signal ends the command and a $stage that never answers", async ({ signal, stage }) => {
    const started = join(folder, `started-${signal}-${stage}`);
    const python = join(folder, `python-${signal}-${stage}`);
    const real = await requirePython();
    const script = `#!/bin/sh\n${hanging[stage].replace("PYTHON", `'${real}'`)}\necho $$ > '${started}'\nsleep 60\n`;
    await writeFile(python, script);
    await chmod(python, 0o755);
    // The probe answers with its own path, so the worker is started with the same program.
    await writeFile(join(folder, "sitecustomize.py"), `import os, sys\nsys.executable = os.environ["FAKE"]\n`);
    const child = spawn(process.execPath, [binary, "run", kernel, "--python", python], {
      env: { ...process.env, PYTHONPATH: folder, FAKE: python, XDG_CACHE_HOME: join(folder, "cache") },
      stdio: "ignore",
    });
    const end = endOf(child);
    const pid = Number(await waitForContent(started));
    child.kill(signal);
    expect(await end).toBe(signal);
    expect(await hasExited(pid)).toBe(true);
  });
});

describe("a lock of setup", () => {
  it("that nobody named is taken over, whatever the clock says of its age", async () => {
    const lock = join(folder, "lock");
    await mkdir(folder, { recursive: true });
    await writeFile(lock, "");
    // The clock was set back after it was made.
    const tomorrow = new Date(Date.now() + 86_400_000);
    await utimes(lock, tomorrow, tomorrow);
    const release = await acquireLock(lock, () => undefined);
    expect(await readFile(lock, "utf8")).toBe(String(process.pid));
    await release();
  });
});
