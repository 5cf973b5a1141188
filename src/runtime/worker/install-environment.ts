/**
 * Implements `tilescript setup`: creates the Python environment of the lock file in the cache folder. Repeated and
 * concurrent runs are safe.
 */
import { readFile, mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { supportedVersions, versionsIn } from "../../compiled/versions.js";
import { lockFile } from "./environment.js";
import { EnvironmentError } from "../system/errors.js";
import { type Host, type RunOptions, pythonScript, pythonEnv, pythonModule } from "./host.js";
import { defaultStartMs } from "./worker.js";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { replaceFile, environmentFolder, readyMarker, venvPython } from "../system/files.js";
import { type ProgramResult, runProgram, acquireLock } from "../system/processes.js";

export interface SetupOptions {
  /** The Python that creates the environment. Default: the first suitable one on PATH. */
  readonly python?: string | undefined;
  /** The packages, each with its version and hashes. Default: {@link lockFile}. */
  readonly lock?: string;
  /** The lock of the packages for a Ray cluster, and the version of Ray. Default: the version in the lock. */
  readonly ray?: { readonly lock: string; readonly version?: string };
  readonly env?: NodeJS.ProcessEnv;
  /** The machine of the environment. Default: this one. */
  readonly host?: Host | undefined;
  /** Modules that must be importable afterwards. */
  readonly imports?: readonly string[];
  readonly onProgress?: (line: string) => void;
}

const SIZE = "about 3 GB to download and 5.8 GB on disk, most of it CUDA libraries";
const NEEDED_BYTES = 7e9;
/** A slow network needs an hour for the packages. */
const STEP_MS = 7_200_000;

/** Creates the environment unless it exists, and returns its Python executable. Throws EnvironmentError. */
export async function setup(options: SetupOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const lock = options.lock ?? lockFile;
  const onProgress = options.onProgress ?? (() => undefined);
  const machine = options.host ? remoteMachine(options.host) : localMachine(env);
  const folder = environmentFolder(lock, machine.env, machine.home);
  const venv = join(folder, "venv");
  const python = venvPython(venv);
  const exists = async () => (await machine.exists(readyMarker(folder))) && (await machine.exists(python));
  const hasRay = async () => !options.ray || isRequestedVersion(options.ray, await rayVersionOf(python, machine));
  if ((await exists()) && (await hasRay())) {
    onProgress(`ready: ${python}`);
    return python;
  }
  const isFullInstall = options.lock === undefined;
  if (isFullInstall && machine.platform !== "linux") {
    throw new EnvironmentError("Triton has packages for Linux only; use --device eval here, it needs no Python");
  }
  const release = await machine.lock(folder, onProgress);
  try {
    // Another setup may have finished in the meantime.
    if (!(await exists()))
      await createEnvironment({ folder, venv, lock, machine, onProgress, isFullInstall, options }).catch(
        async (error: unknown) => {
          await machine.remove(venv);
          throw error;
        },
      );
    if (options.ray && !(await hasRay())) await addRay(options.ray, python, machine, onProgress);
  } finally {
    await release();
  }
  onProgress(`ready: ${python}`);
  return python;
}

interface EnvironmentSpec {
  readonly folder: string;
  readonly venv: string;
  readonly lock: string;
  readonly machine: SetupMachine;
  readonly onProgress: (line: string) => void;
  readonly isFullInstall: boolean;
  readonly options: SetupOptions;
}

async function createEnvironment({
  folder,
  venv,
  lock,
  machine,
  onProgress,
  isFullInstall,
  options,
}: EnvironmentSpec): Promise<void> {
  const installer = await findInstaller(machine);
  const base = await basePython(options.python, installer, machine);
  if (isFullInstall) {
    onProgress(`installing torch and triton into ${folder}${machine.where} with ${installer.name}: ${SIZE}`);
    await checkDiskSpace(folder, machine);
  }
  // Remove the rest of an interrupted setup; downloads are cached elsewhere.
  await machine.remove(venv);
  const python = venvPython(venv);
  const lockPath = await machine.listed(lock);
  const lockText = await readFile(lock, "utf8");
  const pipRequirement = /^pip==.*(?:\n .*)*/m.exec(lockText)?.[0];
  const pipLockPath = pipRequirement && join(folder, "pip.lock");
  if (pipLockPath) await machine.write(pipLockPath, pipRequirement);
  for (const step of installer.steps({ base, venv, lockPath, pipLockPath }, machine))
    await runStep(step, machine, onProgress);
  const imports = options.imports ?? ["numpy", "torch", "triton"];
  if (imports.length > 0) await runStep(importStep(python, imports), machine, onProgress);
  await machine.write(readyMarker(folder), JSON.stringify({ lock: lockText }));
}

const importStep = (python: string, modules: readonly string[]): Step => ({
  name: "importing the installed packages",
  command: python,
  args: ["-c", `import ${modules.join(", ")}`],
});

type RayChoice = NonNullable<SetupOptions["ray"]>;

const isRequestedVersion = ({ version }: RayChoice, installed: string): boolean =>
  installed !== "" && installed === (version ?? installed);

/** The version of Ray that a Python has; empty if Ray or a dependency of its client is missing. */
async function rayVersionOf(python: string, machine: SetupMachine): Promise<string> {
  const script = "from importlib.metadata import version; version('grpcio'); print(version('ray'))";
  const { exitCode, stdout } = await machine.run(python, pythonScript(script), { deadlineMs: defaultStartMs });
  return exitCode === 0 ? stdout.trim() : "";
}

/** Installs Ray, replacing another version: a cluster accepts only clients of its own version. */
async function addRay(
  ray: RayChoice,
  python: string,
  machine: SetupMachine,
  onProgress: (line: string) => void,
): Promise<void> {
  onProgress(`installing Ray for ${python}${machine.where}: about 80 MB to download and 300 MB on disk`);
  const packages = ray.version === undefined ? hashed(await machine.listed(ray.lock)) : [`ray[client]==${ray.version}`];
  await runStep(
    { name: "pip install", command: python, args: machine.module("pip", "install", ...PIP_FLAGS, ...packages) },
    machine,
    onProgress,
  );
  await runStep(importStep(python, ["ray"]), machine, onProgress);
}

/** Finds the first Python for which the lock's packages have builds. */
async function basePython(python: string | undefined, { modules }: Installer, machine: SetupMachine): Promise<string> {
  const imports = ["sys", ...modules].join(", ");
  const { oldest, newest } = supportedVersions.python;
  const check = `import ${imports}; sys.exit(not ${tupleOf(oldest)} <= sys.version_info[:2] <= ${tupleOf(newest)})`;
  const candidates = versionsIn(supportedVersions.python).map((version) => `python${version}`);
  for (const candidate of python ? [python] : ["python3", ...candidates.toReversed()]) {
    const result = await machine.run(candidate, pythonScript(check), { deadlineMs: defaultStartMs });
    if (result.exitCode === 0) return candidate;
  }
  const requirement = `Python ${oldest} to ${newest}${modules.length > 0 ? " with its venv module" : ""}`;
  throw new EnvironmentError(
    python
      ? `${python}${machine.where} can't make the environment; ${requirement} is needed`
      : `no ${requirement} is on PATH${machine.where}; install one (Debian: python3 and python3-venv) or name one with --python`,
  );
}

const tupleOf = (version: string): string => `(${version.replace(".", ", ")})`;

async function checkDiskSpace(folder: string, machine: SetupMachine): Promise<void> {
  const free = await machine.free(folder);
  if (free < NEEDED_BYTES) {
    throw new EnvironmentError(
      `${folder}${machine.where} has ${(free / 1e9).toFixed(1)} GB free and ${NEEDED_BYTES / 1e9} are needed; set XDG_CACHE_HOME to a larger disk`,
    );
  }
}

/** Runs one step and reports the lines of its output that show progress. */
async function runStep(
  { name, command, args }: Step,
  machine: SetupMachine,
  onProgress: (line: string) => void,
): Promise<void> {
  const startMs = performance.now();
  const timer = setInterval(() => onProgress(`  … ${Math.round((performance.now() - startMs) / 1000)} s`), 15_000);
  const onOutput = (text: string): void => {
    for (const line of text.split("\n"))
      if (/^\s*(Downloading|Using cached|Installing collected)/.test(line))
        onProgress(`  ${line.trim().slice(0, 100)}`);
  };
  const result = await machine.run(command, args, { deadlineMs: STEP_MS, env: installerEnv, onOutput });
  clearInterval(timer);
  if (result.exitCode !== 0) {
    const printed = `${result.stdout}\n${result.stderr}`.trim();
    const reason = result.late ? "it took more than two hours" : printed.split("\n").slice(-3).join(" ");
    const remedy = /No space left|Disk quota/.test(printed) ? "; set XDG_CACHE_HOME to a larger disk" : "";
    throw new EnvironmentError(
      `${name} failed: ${reason || (result.unstarted ?? result.signal ?? "it said nothing")}${remedy}`,
    );
  }
}

// Package installers: uv, which is faster, or else pip.

interface Step {
  /** The step's name in error messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

interface InstallSteps {
  /** The Python that creates the environment. */
  readonly base: string;
  readonly venv: string;
  readonly lockPath: string;
  /** A file with the lock's requirement of pip, if it has one. */
  readonly pipLockPath: string | undefined;
}

interface Installer {
  readonly name: "uv" | "pip";
  /** The modules required of the Python that creates the environment. */
  readonly modules: readonly string[];
  /** The steps that create an environment in the folder `venv` and install the locked packages. */
  steps(options: InstallSteps, machine: SetupMachine): readonly Step[];
}

/**
 * uv, run by a module that ends with the setup. Complete downloads stay in uv's cache, so an interrupted setup resumes
 * there.
 */
const uv: Installer = {
  name: "uv",
  modules: [],
  steps({ base, venv, lockPath }, machine) {
    const uvArguments = (...uvOptions: readonly string[]) =>
      machine.module("tilescript_worker.run_with_parent", "uv", ...uvOptions);
    return [
      {
        name: "making a virtual environment",
        command: base,
        args: uvArguments("venv", "--no-project", "--python", base, venv),
      },
      {
        name: "uv pip install",
        command: base,
        args: uvArguments("pip", "install", "--python", venvPython(venv), ...hashed(lockPath)),
      },
    ];
  },
};

/** Options for the packages of a lock: each file must have one of its hashes. */
export const hashed = (lockPath: string): readonly string[] => ["--require-hashes", "--requirement", lockPath];

const RESUMPTIONS = 20;
const PIP_FLAGS = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"];

/** pip. Complete downloads stay in its cache, so an interrupted setup resumes at the file where it stopped. */
const pip: Installer = {
  name: "pip",
  modules: ["venv", "ensurepip"],
  steps({ base, venv, lockPath, pipLockPath }, machine) {
    const python = venvPython(venv);
    const install = (path: string) => machine.module("pip", "install", ...PIP_FLAGS, ...hashed(path));
    return [
      { name: "making a virtual environment", command: base, args: machine.module("venv", venv) },
      // The pip that many Pythons bring cannot resume a download.
      ...(pipLockPath ? [{ name: "upgrading pip", command: python, args: install(pipLockPath) }] : []),
      { name: "pip install", command: python, args: install(lockPath) },
    ];
  },
};

/** Options of pip as environment variables, because older versions ignore unknown variables. */
const installerEnv: Readonly<Record<string, string>> = { PIP_RESUME_RETRIES: String(RESUMPTIONS) };

/** uv if it is on PATH, else pip. */
async function findInstaller(machine: SetupMachine): Promise<Installer> {
  const { exitCode } = await machine.run("uv", ["--version"], { deadlineMs: defaultStartMs });
  return exitCode === 0 ? uv : pip;
}

// The machine on which `setup` creates an environment: this one or a remote one.

interface SetupMachine {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: string;
  /** A suffix for messages: "" or " on box". */
  readonly where: string;
  exists(path: string): Promise<boolean>;
  remove(folder: string): Promise<void>;
  /** The free bytes that the user may write in a folder. */
  free(folder: string): Promise<number>;
  write(path: string, text: string): Promise<void>;
  /** Creates the folder and waits until no other setup uses it. Returns a function that releases the lock. */
  lock(folder: string, onProgress: (line: string) => void): Promise<() => Promise<void>>;
  run(command: string, args: readonly string[], options: RunOptions): Promise<ProgramResult>;
  /** Python's arguments for a module that ends with the setup. */
  module(...args: readonly string[]): readonly string[];
  /** The path of a lock file on that machine. */
  listed(lock: string): Promise<string>;
}

function localMachine(env: NodeJS.ProcessEnv): SetupMachine {
  return {
    env,
    home: homedir(),
    platform: process.platform,
    where: "",
    exists: async (path) => existsSync(path),
    remove: (folder) => rm(folder, { recursive: true, force: true }),
    free: async (folder) => {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
    write: replaceFile,
    lock: async (folder, onProgress) => {
      const file = `${folder}.lock`;
      try {
        await mkdir(folder, { recursive: true });
        return await acquireLock(file, (pid) =>
          onProgress(
            `another setup is running (process ${pid}); waiting for it. If that process is not a setup, delete ${file}`,
          ),
        );
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new EnvironmentError(`cannot create ${folder} (${code}); set XDG_CACHE_HOME to a writable folder`);
      }
    },
    run: (command, args, options) =>
      runProgram(command, args, { ...options, env: { ...pythonEnv(env), ...options.env } }),
    module: (...args) => pythonModule("tilescript_worker.parent_watch", String(process.pid), ...args),
    listed: async (lock) => lock,
  };
}

const POLL_MS = 1_000;

function remoteMachine(host: Host): SetupMachine {
  return {
    env: host.env,
    home: host.home,
    platform: host.platform,
    where: ` on ${host.name}`,
    exists: (path) => host.exists(path),
    remove: (folder) => host.ask({ do: "remove", path: folder }),
    free: (path) => host.ask({ do: "free", path }),
    write: (path, text) => host.ask({ do: "replace", path, text }),
    lock: async (folder, onProgress) => {
      await host.ask({ do: "make", path: folder });
      const tryLock = (): Promise<boolean> => host.ask<boolean>({ do: "lock", path: `${folder}.lock` });
      for (let isWaiting = false; !(await tryLock()); isWaiting = true) {
        if (!isWaiting) onProgress(`another setup is running on ${host.name}; waiting for it`);
        await sleep(POLL_MS);
      }
      // The agent releases the lock when the connection ends.
      return async () => undefined;
    },
    run: (command, args, options) => host.run(command, args, options),
    // The agent kills its child processes when the connection ends.
    module: (...args) => pythonModule(args[0]!, ...args.slice(1)),
    listed: async (lock) => (await host.upload("requirements.lock", await readFile(lock, "utf8"))).path,
  };
}
