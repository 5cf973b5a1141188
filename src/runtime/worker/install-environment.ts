/**
 * `tilescript setup`: creates the Python environment of the lock file in the cache folder. Safe to run twice, even at
 * once.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { environmentFolder, readyMarker, venvPython } from "../system/cache-folder.js";
import { lockFile } from "./environment.js";
import { EnvironmentError } from "../system/errors.js";
import type { Host } from "./host.js";
import { type Installer, installerEnv, installerOn, PIP_FLAGS, type Step } from "./installers.js";
import { placeHere, placeOn, type SetupPlace } from "./setup-place.js";
import { defaultStartMs } from "./worker.js";
import { pythonScript } from "./start-python.js";

export interface SetupOptions {
  /** The Python that creates the environment; default: the first suitable one on PATH. */
  readonly python?: string | undefined;
  readonly lock?: string;
  /** The packages to add for a Ray cluster, and the version of Ray; no version stands for the list's own. */
  readonly ray?: { readonly lock: string; readonly version?: string };
  /** Whether a download may break, so that pip is upgraded first to one that resumes. Default: with our own lock. */
  readonly isLarge?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** The machine to make it on. Default: this one. */
  readonly host?: Host | undefined;
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
  const on = options.host ? placeOn(options.host) : placeHere(env);
  const folder = environmentFolder(lock, on.env, on.home);
  const venv = join(folder, "venv");
  const python = venvPython(venv);
  const isMade = async () => (await on.exists(readyMarker(folder))) && (await on.exists(python));
  const hasRay = async () => !options.ray || isWanted(options.ray, await rayOf(python, on));
  if ((await isMade()) && (await hasRay())) {
    say(`ready: ${python}`);
    return python;
  }
  const full = options.lock === undefined;
  if (full && on.platform !== "linux") {
    throw new EnvironmentError("Triton has packages for Linux only; use --device eval here, it needs no Python");
  }
  const release = await on.lock(folder, say);
  try {
    // Another setup may have finished meanwhile.
    if (!(await isMade()))
      await make({ folder, venv, lock, on, say, full, options }).catch(async (error: unknown) => {
        await on.remove(venv);
        throw error;
      });
    if (options.ray && !(await hasRay())) await addRay(options.ray, python, on, say);
  } finally {
    await release();
  }
  say(`ready: ${python}`);
  return python;
}

interface Making {
  readonly folder: string;
  readonly venv: string;
  readonly lock: string;
  readonly on: SetupPlace;
  readonly say: (line: string) => void;
  readonly full: boolean;
  readonly options: SetupOptions;
}

async function make({ folder, venv, lock, on, say, full, options }: Making): Promise<void> {
  const installer = await installerOn(on);
  const base = await basePython(options.python, installer, on);
  if (full) {
    say(`installing torch and triton into ${folder}${on.where} with ${installer.name}: ${SIZE}`);
    await needSpace(folder, on);
  }
  // Remove what an interrupted setup left; downloads are kept elsewhere.
  await on.remove(venv);
  const python = venvPython(venv);
  const listed = await on.listed(lock);
  const isLarge = options.isLarge ?? full;
  for (const step of installer.steps({ base, venv, listed, isLarge }, on)) await run(step, on, say);
  const imports = options.imports ?? ["numpy", "torch", "triton"];
  if (imports.length > 0) await run(importing(python, imports), on, say);
  await on.write(readyMarker(folder), JSON.stringify({ lock: await readFile(lock, "utf8") }));
}

const importing = (python: string, modules: readonly string[]): Step => ({
  name: "importing what was installed",
  command: python,
  args: ["-c", `import ${modules.join(", ")}`],
});

type RayChoice = NonNullable<SetupOptions["ray"]>;

const isWanted = ({ version }: RayChoice, found: string): boolean => found !== "" && found === (version ?? found);

/** The version of Ray that a Python has; empty for none, or without what Ray's clients need. */
async function rayOf(python: string, on: SetupPlace): Promise<string> {
  const script = "from importlib.metadata import version; version('grpcio'); print(version('ray'))";
  const { exitCode, stdout } = await on.run(python, pythonScript(script), { deadlineMs: defaultStartMs });
  return exitCode === 0 ? stdout.trim() : "";
}

/** A cluster accepts programs of its own version of Ray only, so a version replaces another one. */
async function addRay(ray: RayChoice, python: string, on: SetupPlace, say: (line: string) => void): Promise<void> {
  say(`installing Ray for ${python}${on.where}: about 80 MB to download and 300 MB on disk`);
  const what = ray.version === undefined ? ["-r", await on.listed(ray.lock)] : [`ray[client]==${ray.version}`];
  await run(
    { name: "pip install", command: python, args: on.module("pip", "install", ...PIP_FLAGS, ...what) },
    on,
    say,
  );
  await run(importing(python, ["ray"]), on, say);
}

/** The first Python for which the lock's packages have builds. */
async function basePython(named: string | undefined, { modules }: Installer, on: SetupPlace): Promise<string> {
  const imported = ["sys", ...modules].join(", ");
  const check = `import ${imported}; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))`;
  for (const candidate of named ? [named] : candidates) {
    const ran = await on.run(candidate, pythonScript(check), { deadlineMs: defaultStartMs });
    if (ran.exitCode === 0) return candidate;
  }
  const needed = `Python 3.11 to 3.14${modules.length > 0 ? " with its venv module" : ""}`;
  throw new EnvironmentError(
    named
      ? `${named}${on.where} can't make the environment; ${needed} is needed`
      : `no ${needed} is on PATH${on.where}; install one (Debian: python3 and python3-venv) or name one with --python`,
  );
}

async function needSpace(folder: string, on: SetupPlace): Promise<void> {
  const free = await on.free(folder);
  if (free < NEEDED_BYTES) {
    throw new EnvironmentError(
      `${folder}${on.where} has ${(free / 1e9).toFixed(1)} GB free and ${NEEDED_BYTES / 1e9} are needed; set XDG_CACHE_HOME to a larger disk`,
    );
  }
}

/** Runs one step and reports the lines that show progress. */
async function run(
  { name, command, args, optional }: Step,
  on: SetupPlace,
  say: (line: string) => void,
): Promise<void> {
  const started = performance.now();
  const beat = setInterval(() => say(`  … ${Math.round((performance.now() - started) / 1000)} s`), 15_000);
  const onOutput = (text: string): void => {
    for (const line of text.split("\n"))
      if (/^\s*(Downloading|Using cached|Installing collected)/.test(line)) say(`  ${line.trim().slice(0, 100)}`);
  };
  const ran = await on.run(command, args, { deadlineMs: STEP_MS, env: installerEnv, onOutput });
  clearInterval(beat);
  if (ran.exitCode !== 0 && optional !== true) {
    const printed = `${ran.stdout}\n${ran.stderr}`.trim();
    const last = ran.late ? "it took more than two hours" : printed.split("\n").slice(-3).join(" ");
    const remedy = /No space left|Disk quota/.test(printed) ? "; set XDG_CACHE_HOME to a larger disk" : "";
    throw new EnvironmentError(
      `${name} failed: ${last || (ran.unstarted ?? ran.signal ?? "it said nothing")}${remedy}`,
    );
  }
}
