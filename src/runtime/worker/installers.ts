/** How the packages of an environment are installed: with uv, which is faster, or else with pip. */
import { venvPython } from "../system/cache-folder.js";
import type { SetupPlace } from "./setup-place.js";
import { defaultStartMs } from "./worker.js";

export interface Step {
  /** What it does, in a message about its failure. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** A later step works without it. */
  readonly optional?: true;
}

export interface InstallSteps {
  /** The Python that makes the environment. */
  readonly base: string;
  readonly venv: string;
  readonly listed: string;
  /** Whether a download may break, so that an older pip is upgraded first to one that resumes. */
  readonly isLarge: boolean;
}

export interface Installer {
  readonly name: "uv" | "pip";
  /** The modules that the Python which makes the environment must have. */
  readonly modules: readonly string[];
  /** The steps that make an environment in the folder `venv` and install the packages of a list. */
  steps(making: InstallSteps, on: SetupPlace): readonly Step[];
}

/**
 * A program that ends with the setup, as Python's modules do. What has come whole stays in uv's cache, so an interrupted
 * setup goes on there. pip is in the environment all the same, for packages that are added later.
 */
const uv: Installer = {
  name: "uv",
  modules: [],
  steps({ base, venv, listed }, on) {
    const args = (...given: readonly string[]) => on.module("tilescript_worker.run_with_parent", "uv", ...given);
    return [
      {
        name: "making a virtual environment",
        command: base,
        args: args("venv", "--no-project", "--seed", "--python", base, venv),
      },
      {
        name: "uv pip install",
        command: base,
        args: args("pip", "install", "--python", venvPython(venv), "--requirement", listed),
      },
    ];
  },
};

/** From this version on, pip asks only for the rest of a file whose connection broke. */
const RESUMING_PIP = "pip>=25.1";
const RESUMPTIONS = 20;
export const PIP_FLAGS = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"];

/** What has come whole stays in pip's cache, so an interrupted setup goes on with the file at which it ended. */
const pip: Installer = {
  name: "pip",
  modules: ["venv", "ensurepip"],
  steps({ base, venv, listed, isLarge }, on) {
    const python = venvPython(venv);
    const install = (...given: readonly string[]) => on.module("pip", "install", ...PIP_FLAGS, ...given);
    const upgrade: Step = {
      name: "upgrading pip",
      command: python,
      args: install("--retries", "1", RESUMING_PIP),
      optional: true,
    };
    return [
      { name: "making a virtual environment", command: base, args: on.module("venv", venv) },
      ...(isLarge ? [upgrade] : []),
      { name: "pip install", command: python, args: install("--requirement", listed) },
    ];
  },
};

/** Variables of the steps. pip reads options from them, and passes over those that it is too old for. */
export const installerEnv: Readonly<Record<string, string>> = { PIP_RESUME_RETRIES: String(RESUMPTIONS) };

/** uv, where it is on the PATH, or else pip. */
export async function installerOn(on: SetupPlace): Promise<Installer> {
  const { exitCode } = await on.run("uv", ["--version"], { deadlineMs: defaultStartMs });
  return exitCode === 0 ? uv : pip;
}
