/**
 * Implements `tilescript setup`: creates the Python environment of the lock file in the cache folder. Repeated and
 * concurrent runs are safe.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { supportedVersions, versionsIn } from "../../compiled/versions.js";
import { environmentFolder, readyMarker, venvPython } from "../system/cache-folder.js";
import { lockFile } from "./environment.js";
import { EnvironmentError } from "../system/errors.js";
import type { Host } from "./host.js";
import { type Installer, installerEnv, findInstaller, hashed, PIP_FLAGS, type Step } from "./installers.js";
import { localMachine, remoteMachine, type SetupMachine } from "./setup-place.js";
import { defaultStartMs } from "./worker.js";
import { pythonScript } from "./start-python.js";

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
