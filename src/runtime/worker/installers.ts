/** Package installers: uv, which is faster, or else pip. */
import { venvPython } from "../system/cache-folder.js";
import type { SetupMachine } from "./setup-place.js";
import { defaultStartMs } from "./worker.js";

export interface Step {
  /** The step's name in error messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface InstallSteps {
  /** The Python that creates the environment. */
  readonly base: string;
  readonly venv: string;
  readonly lockPath: string;
  /** A file with the lock's requirement of pip, if it has one. */
  readonly pipLockPath: string | undefined;
}

export interface Installer {
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
export const PIP_FLAGS = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"];

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
export const installerEnv: Readonly<Record<string, string>> = { PIP_RESUME_RETRIES: String(RESUMPTIONS) };

/** uv if it is on PATH, else pip. */
export async function findInstaller(machine: SetupMachine): Promise<Installer> {
  const { exitCode } = await machine.run("uv", ["--version"], { deadlineMs: defaultStartMs });
  return exitCode === 0 ? uv : pip;
}
