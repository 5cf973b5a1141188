/**
 * `tilescript setup`: creates the Python environment of the lock file in the cache folder. Safe to run twice, even at
 * once.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { environmentFolder, readyMarker, venvPython } from "../system/cache-folder.js";
import { lockFile } from "./environment.js";
import { replaceFile } from "../system/files.js";
import { acquireLock } from "../system/process-lock.js";
import { EnvironmentError } from "../system/problems.js";
import { runProgram } from "../system/run-program.js";
import { defaultStartMs } from "./worker.js";
import { pythonEnv, pythonModule, pythonScript } from "./start-python.js";

export interface SetupOptions {
  /** The Python that creates the environment; default: the first suitable one on PATH. */
  readonly python?: string | undefined;
  readonly lock?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Modules that must be importable afterwards. */
  readonly imports?: readonly string[];
  readonly say?: (line: string) => void;
}

const SIZE = "about 3 GB to download and 5.8 GB on disk, most of it CUDA libraries";
const NEEDED_BYTES = 7e9;
/** A slow network takes an hour for the packages. */
const STEP_MS = 7_200_000;
const candidates = ["python3", "python3.13", "python3.12", "python3.11", "python3.14"];

/** Creates the environment unless it exists, and returns its Python executable. Throws EnvironmentError. */
export async function setup(options: SetupOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const lock = options.lock ?? lockFile;
  const say = options.say ?? (() => undefined);
  const folder = environmentFolder(lock, env);
  const venv = join(folder, "venv");
  const python = venvPython(venv);
  if (existsSync(readyMarker(folder)) && existsSync(python)) {
    say(`ready: ${python}`);
    return python;
  }
  const full = options.lock === undefined;
  if (full && process.platform !== "linux") {
    throw new EnvironmentError("Triton has packages for Linux only; use --device eval here, it needs no Python");
  }
  const release = await prepare(folder, say).catch((error: NodeJS.ErrnoException) => {
    throw new EnvironmentError(`cannot create ${folder} (${error.code}); set XDG_CACHE_HOME to a writable folder`);
  });
  try {
    // Another setup may have finished meanwhile.
    if (!existsSync(readyMarker(folder))) await make({ folder, venv, lock, env, say, full, options });
  } catch (error) {
    await rm(venv, { recursive: true, force: true });
    throw error;
  } finally {
    await release();
  }
  say(`ready: ${python}`);
  return python;
}

/** Creates the folder, and waits until no other setup works in it. */
async function prepare(folder: string, say: (line: string) => void): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  const lock = `${folder}.lock`;
  return acquireLock(lock, (pid) =>
    say(`another setup is running (process ${pid}); waiting for it. If that process is not a setup, delete ${lock}`),
  );
}

interface Making {
  readonly folder: string;
  readonly venv: string;
  readonly lock: string;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
  readonly full: boolean;
  readonly options: SetupOptions;
}

async function make({ folder, venv, lock, env, say, full, options }: Making): Promise<void> {
  const base = await basePython(options.python, env);
  if (full) {
    say(`installing torch and triton into ${folder}: ${SIZE}`);
    await needSpace(folder);
  }
  // Remove what an interrupted setup left; pip keeps its downloads elsewhere.
  await rm(venv, { recursive: true, force: true });
  await run(base, module("venv", venv), env, "making a virtual environment", say);
  const python = venvPython(venv);
  const pip = module(
    "pip",
    "install",
    "--disable-pip-version-check",
    "--no-input",
    "--progress-bar",
    "off",
    "-r",
    lock,
  );
  await run(python, pip, env, "pip install", say);
  const imports = options.imports ?? ["numpy", "torch", "triton"];
  if (imports.length > 0)
    await run(python, ["-c", `import ${imports.join(", ")}`], env, "importing what was installed", say);
  await replaceFile(readyMarker(folder), JSON.stringify({ lock: await readFile(lock, "utf8") }));
}

/** Python's arguments for a module that ends with this process. */
const module = (...args: readonly string[]): readonly string[] =>
  pythonModule("tilescript_worker.parent", String(process.pid), ...args);

/** The first Python for which the lock's packages have builds. */
async function basePython(named: string | undefined, env: NodeJS.ProcessEnv): Promise<string> {
  const check = "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))";
  for (const candidate of named ? [named] : candidates) {
    const ran = await runProgram(candidate, pythonScript(check), { env, deadlineMs: defaultStartMs });
    if (ran.exitCode === 0) return candidate;
  }
  throw new EnvironmentError(
    named
      ? `${named} can't make the environment; Python 3.11 to 3.14 with its venv module is needed`
      : "no Python 3.11 to 3.14 with its venv module is on PATH; install one (Debian: python3 and python3-venv) or name one with --python",
  );
}

async function needSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < NEEDED_BYTES) {
    const free = (bavail * bsize) / 1e9;
    throw new EnvironmentError(
      `${folder} has ${free.toFixed(1)} GB free and ${NEEDED_BYTES / 1e9} are needed; set XDG_CACHE_HOME to a larger disk`,
    );
  }
}

/** Runs one step and reports the lines that show progress. */
async function run(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  step: string,
  say: (line: string) => void,
): Promise<void> {
  const started = performance.now();
  const beat = setInterval(() => say(`  … ${Math.round((performance.now() - started) / 1000)} s`), 15_000);
  const onOutput = (text: string): void => {
    for (const line of text.split("\n"))
      if (/^\s*(Downloading|Using cached|Installing collected)/.test(line)) say(`  ${line.trim().slice(0, 100)}`);
  };
  const ran = await runProgram(command, args, { env: pythonEnv(env), deadlineMs: STEP_MS, onOutput });
  clearInterval(beat);
  if (ran.exitCode !== 0) {
    const printed = `${ran.stdout}\n${ran.stderr}`.trim();
    const last = ran.late ? "it took more than two hours" : printed.split("\n").slice(-3).join(" ");
    const remedy = /No space left|Disk quota/.test(printed) ? "; set XDG_CACHE_HOME to a larger disk" : "";
    throw new EnvironmentError(
      `${step} failed: ${last || (ran.unstarted ?? ran.signal ?? "it said nothing")}${remedy}`,
    );
  }
}
