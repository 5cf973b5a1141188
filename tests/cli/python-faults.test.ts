/** A Python that misbehaves in any way: an answer or a reason within the deadline, and no process is left. */
import { execa } from "execa";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sampleCases } from "../support/sampled-tests.js";
import { compiledModule } from "../support/installed.js";
import { Worker } from "../../src/runtime/worker/worker.js";
import { probePython } from "../../src/runtime/worker/environment.js";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "tilescript python ü-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Whether the processes whose ids were written to this file are gone, soon. */
async function areGone(file: string): Promise<boolean> {
  const pids = (await readFile(file, "utf8").catch(() => "")).trim().split(/\s+/).filter(Boolean).map(Number);
  expect(pids.length).toBeGreaterThan(0);
  for (let tries = 0; tries < 100; tries++) {
    if (!pids.some(isAlive)) return true;
    await sleep(50);
  }
  return false;
}

/** A zombie is dead: nobody here waits for the children of others. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return true;
}

/** The worker on a Python whose files misbehave. */
interface WorkerFault {
  readonly title: string;
  /** Runs when Python starts. */
  readonly site?: string;
  /** Runs when the first request imports torch; it is not there by default. */
  readonly torch?: string;
  /** Other files on the path of Python. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The end of the first request. */
  readonly kind: "python-error" | "crash" | "timeout" | "protocol" | "out-of-memory";
  readonly says: RegExp;
  /** The end of the second one, where it is another. */
  readonly then?: RegExp;
  /** Whether it writes ids of processes to the file PIDS. */
  readonly leaves?: true;
}

const NO_TORCH = `raise ImportError("there is no torch")`;
const noTorch = { kind: "python-error", says: /there is no torch/ } as const;
const pids = `import os\nopen(os.environ["PIDS"], "a").write(f"{os.getpid()} ")\n`;
const leaveOne = (session: boolean, streams = ""): string => `import os, subprocess
child = subprocess.Popen(["sleep", "5"], start_new_session=${session ? "True" : "False"}${streams})
open(os.environ["PIDS"], "a").write(f"{child.pid} ")
`;

const workerFaults: readonly WorkerFault[] = [
  { title: "prints when it starts", site: `print("hello")`, ...noTorch },
  { title: "prints half a line when it starts", site: `print("hello", end="", flush=True)`, ...noTorch },
  {
    title: "prints what looks like a reply",
    site: `print('{"v": 8, "ready": true}\\n{"v": 8, "id": 1, "ok": true, "result": {"device": "cuda"}}')`,
    ...noTorch,
  },
  { title: "prints bytes that are no text", site: `import os\nos.write(1, bytes(range(256)))`, ...noTorch },
  { title: "prints a line of many megabytes", site: `print("x" * (1 << 24))`, ...noTorch },
  {
    title: "prints without end beside its work",
    site: `import os, threading\ndef talk():\n    while True: os.write(1, b"x" * 4096)\nthreading.Thread(target=talk, daemon=True).start()`,
    ...noTorch,
  },
  { title: "fails when it starts, and goes on", site: `raise RuntimeError("broken site")`, ...noTorch },
  {
    title: "leaves when it starts",
    site: `import os, sys\nprint("no license", file=sys.stderr, flush=True)\nos._exit(3)`,
    kind: "crash",
    says: /ended with exit code 3; its last output: no license/,
  },
  {
    title: "never comes to its end when it starts",
    site: `${pids}import time\ntime.sleep(100)`,
    kind: "timeout",
    says: /Python did not start within 1\.5 s/,
    leaves: true,
  },
  {
    title: "ignores SIGTERM and never ends",
    site: `${pids}import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(100)`,
    kind: "timeout",
    says: /Python did not start/,
    leaves: true,
  },
  { title: "closes its standard output", site: `import os\nos.close(1)`, ...noTorch },
  { title: "closes its standard error", site: `import os\nos.close(2)`, ...noTorch },
  { title: "closes its standard input", site: `import os\nos.close(0)`, ...noTorch },
  { title: "reads its standard input", site: `import sys\nsys.stdin.read()`, ...noTorch },
  { title: "leaves a process in its group", site: leaveOne(false), ...noTorch, leaves: true },
  {
    title: "dies and leaves a process that holds its channel",
    torch: `${leaveOne(true, `, pass_fds=[3]`)}os._exit(4)`,
    kind: "crash",
    says: /ended with exit code 4/,
  },
  { title: "has no torch", ...noTorch },
  {
    title: "has a file in place of torch",
    torch: "",
    beside: { "numpy.py": "" },
    kind: "python-error",
    says: /torch/,
  },
  {
    title: "has a module with the name of ours",
    beside: { "tilescript_worker.py": `raise SystemExit(9)` },
    ...noTorch,
  },
  { title: "prints where it imports torch", torch: `import os\nos.write(1, b'{"id": 1')\n${NO_TORCH}`, ...noTorch },
  {
    title: "calls sys.exit in a request",
    torch: `import sys\nsys.exit("enough")`,
    kind: "python-error",
    says: /enough/,
  },
  {
    title: "is interrupted in a request",
    torch: `raise KeyboardInterrupt`,
    kind: "python-error",
    says: /KeyboardInterrupt/,
  },
  { title: "ends in a request", torch: `import os\nos._exit(7)`, kind: "crash", says: /exit code 7/ },
  {
    title: "is killed in a request",
    torch: `import os\nos.kill(os.getpid(), 9)`,
    kind: "crash",
    says: /SIGKILL .*memory/,
  },
  {
    title: "reads where nothing is",
    torch: `import ctypes\nctypes.string_at(0)`,
    kind: "crash",
    says: /SIGSEGV \(an access outside every tensor\)/,
  },
  { title: "aborts", torch: `import os\nos.abort()`, kind: "crash", says: /SIGABRT/ },
  {
    title: "loops in a request",
    torch: `${pids}while True: pass`,
    kind: "timeout",
    says: /no answer within 1\.5 s/,
    leaves: true,
  },
  {
    title: "forks in a request",
    torch: `${pids}os.fork()\n${NO_TORCH}`,
    ...noTorch,
  },
  {
    title: "runs out of memory",
    torch: `import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\nbytearray(1 << 40)`,
    kind: "out-of-memory",
    says: /MemoryError/,
  },
  { title: "recurses without end", torch: `def f(): f()\nf()`, kind: "python-error", says: /recursion/ },
  {
    title: "closes every descriptor",
    torch: `import os\nos.closerange(3, 99)\n${NO_TORCH}`,
    kind: "crash",
    says: /ended with exit code 1.*Bad file descriptor/,
  },
  {
    title: "closes its channel and goes on",
    torch: `${pids}import time\nos.closerange(3, 99)\ntime.sleep(100)`,
    kind: "crash",
    says: /closed its connection/,
    leaves: true,
  },
  {
    title: "sends what is no JSON",
    torch: `import os\nos.write(3, b"garbage\\n")`,
    kind: "protocol",
    says: /the worker sent an invalid reply/,
  },
  {
    title: "sends JSON that is no reply",
    torch: `import os\nos.write(3, b"[1]\\n")`,
    kind: "protocol",
    says: /the worker sent an invalid reply/,
  },
  {
    title: "sends half a line and dies",
    torch: `import os\nos.write(3, b'{"id": 1, "ok": tr')\nos._exit(5)`,
    kind: "crash",
    says: /exit code 5/,
  },
  {
    title: "sends half a line and hangs",
    torch: `${pids}import time\nos.write(3, b'{"id": 1, "ok": tr')\ntime.sleep(100)`,
    kind: "timeout",
    says: /no answer within/,
    leaves: true,
  },
  {
    title: "answers twice",
    torch: `import os\nos.write(3, b'{"v": 8, "id": 1, "ok": false, "error": {"kind": "crash", "message": "made up", "frames": [], "fatal": false}}\\n')\n${NO_TORCH}`,
    kind: "crash",
    says: /made up/,
    then: /the worker sent an invalid reply/,
  },
  {
    title: "has a home that is not there",
    env: { PYTHONHOME: "/nowhere" },
    kind: "crash",
    says: /ended with exit code 1.*(encodings|filesystem)/,
  },
  {
    title: "has a script for its start",
    env: { PYTHONSTARTUP: "/nowhere/startup.py", PYTHONINSPECT: "1" },
    ...noTorch,
  },
  { title: "speaks in the C locale", env: { LC_ALL: "C", PYTHONUTF8: "0", PYTHONCOERCECLOCALE: "0" }, ...noTorch },
  { title: "takes warnings for errors", env: { PYTHONWARNINGS: "error", PYTHONSAFEPATH: "1" }, ...noTorch },
];

describe("a worker whose Python", { timeout: 30_000 }, () => {
  it.each(
    sampleCases("faults of a Python", workerFaults, {
      key: ({ title }) => title,
      always: ["prints when it starts"],
      perRun: 21,
      hasOwnTests: true,
    }),
  )("$title", async ({ site, torch = NO_TORCH, beside = {}, env = {}, kind, says, then, leaves }) => {
    const path = join(folder, "a 'path'");
    await mkdir(path);
    const files = { ...(site !== undefined && { "sitecustomize.py": site }), "torch.py": torch, ...beside };
    for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
    const left = join(folder, "pids");
    let printed = 0;
    const worker = new Worker({
      python: "python3",
      device: "compiler",
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PYTHONPATH: path, PIDS: left, ...env },
      startMs: kind === "timeout" && site !== undefined ? 1_500 : 20_000,
      onOutput: (text) => (printed += text.length),
    });
    const ask = () => worker.request({ type: "launches", cases: [] }, kind === "timeout" ? 1_500 : 20_000);
    expect(await ask()).toMatchObject({ ok: false, error: { kind, message: expect.stringMatching(says) } });
    // A second request is served in the same way, by another process where the first is gone.
    expect(await ask()).toMatchObject({ ok: false, error: { message: expect.stringMatching(then ?? says) } });
    await worker.stop();
    if (leaves) expect(await areGone(left)).toBe(true);
    if (site?.includes("1 << 24")) expect(printed).toBeGreaterThanOrEqual(1 << 24);
  });

  it("is started in a folder with files of Python's own names", async () => {
    for (const name of ["random", "json", "tokenize", "argparse", "tilescript_worker"])
      await writeFile(join(folder, `${name}.py`), `raise SystemExit("the folder's own ${name}")`);
    const worker = JSON.stringify(compiledModule("runtime/worker/worker.js"));
    const script = `import { Worker } from ${worker};
const worker = new Worker({ python: "python3", device: "compiler" });
const reply = await worker.request({ type: "launches", cases: [] }, 20_000);
console.log(JSON.stringify(reply.error?.message ?? reply));
process.exit();`;
    await writeFile(join(folder, "script.mjs"), script);
    await mkdir(join(folder, "path"));
    await writeFile(join(folder, "path", "torch.py"), NO_TORCH);
    const env = { PYTHONPATH: join(folder, "path") };
    const ran = await execa(process.execPath, ["script.mjs"], { cwd: folder, env });
    expect(ran.stdout).toContain("there is no torch");
  });
});

/** Programs that are named as a Python. */
interface ProbeFault {
  readonly title: string;
  readonly script: string;
  readonly name?: string;
  readonly mode?: number;
  /** Why it is rejected, or nothing if it answers. */
  readonly says?: RegExp;
}

const ANSWER = JSON.stringify({ executable: "/bin/python", versions: { python: "3.12.1" }, folders: [] });
const answer = `echo '${ANSWER}'`;

const probeFaults: readonly ProbeFault[] = [
  { title: "answers among other lines", script: `echo '{"a": 1}'; echo hello; ${answer}; echo '{'; echo bye` },
  { title: "answers and fails at its end", script: `${answer}; exit 1` },
  { title: "answers and leaves a process behind", script: `sleep 5 & echo $! >> "$PIDS"; ${answer}` },
  {
    title: "answers and leaves a process of another session behind",
    script: `setsid sleep 3 & ${answer}`,
  },
  { title: "reads its standard input", script: `cat > /dev/null; ${answer}` },
  { title: "has spaces and quotes in its path", script: answer, name: `a "py'thon" ü $(x)` },
  { title: "has a dash at the start of its name", script: answer, name: "-python" },
  {
    title: "never answers",
    script: `echo $$ >> "$PIDS"; sleep 100`,
    says: /did not answer within 1 s and was stopped/,
  },
  {
    title: "never answers and ignores signals",
    script: `trap '' TERM INT HUP; echo $$ >> "$PIDS"; sleep 100; sleep 100`,
    says: /did not answer within 1 s/,
  },
  { title: "prints without end", script: `echo $$ >> "$PIDS"; yes`, says: /did not answer within 1 s/ },
  { title: "prints half its answer", script: `printf '{"executable": "/bin/py'`, says: /did not list its packages/ },
  {
    title: "answers in another form",
    script: `echo '{"executable": 5}'; echo '[]'; echo null`,
    says: /did not list its pack/,
  },
  { title: "prints nothing", script: "exit 0", says: /did not list its packages, but printed ""/ },
  { title: "fails without a word", script: "exit 9", says: /can't be started \(9\); is it a Python\?/ },
  { title: "kills itself", script: "kill -KILL $$", says: /can't be started \(SIGKILL\)/ },
  { title: "says what it lacks", script: "echo 'libpython is missing' >&2; exit 127", says: /^libpython is missing$/ },
  { title: "may not be executed", script: answer, mode: 0o644, says: /can't be started \(EACCES\)/ },
];

describe("a program named as Python that", { timeout: 30_000 }, () => {
  it.each(
    sampleCases("faults of a program", probeFaults, {
      key: ({ title }) => title,
      always: ["never answers"],
      perRun: 9,
      hasOwnTests: true,
    }),
  )("$title", async ({ script, name = "python", mode = 0o755, says }) => {
    const python = join(folder, name);
    await writeFile(python, `#!/bin/sh\n${script}\n`);
    await chmod(python, mode);
    const left = join(folder, "pids");
    const env = { PATH: process.env["PATH"], PIDS: left };
    const probe = probePython(python, join(folder, "cache"), env, 1_000);
    if (says) await expect(probe).rejects.toThrow(says);
    else expect(await probe).toEqual(JSON.parse(ANSWER));
    if (script.includes("PIDS")) expect(await areGone(left)).toBe(true);
  });
});
