/** Finds a Python that can run emitted modules. User environments are inspected, never changed. */
import { existsSync } from "node:fs";
import { join, delimiter, dirname, isAbsolute, resolve, sep } from "node:path";
import { compareVersions, supportedVersions } from "../../compiled/versions.js";
import {
  cacheFolder,
  environmentFolder,
  readyMarker,
  venvPython,
  keyOfText,
  readCache,
  writeCached,
} from "../system/files.js";
import { type Host, pythonFolder, pythonScript } from "./host.js";
import { realpath, stat } from "node:fs/promises";
import { lastLine, type ProgramResult, runProgram } from "../system/processes.js";
import { defaultStartMs } from "./worker.js";

export interface PythonEnvironment {
  readonly python: string;
  /** The source that named it: `--python`, `TILESCRIPT_PYTHON`, `VIRTUAL_ENV`, `python3`, or `tilescript setup`. */
  readonly source: string;
  readonly versions: Probe["versions"];
}

export interface Rejected {
  readonly python: string;
  readonly source: string;
  readonly reason: string;
}

export interface Discovery {
  readonly environment?: PythonEnvironment;
  readonly rejected: readonly Rejected[];
  /** True if the user named an interpreter; then no other is tried. */
  readonly isExplicit: boolean;
}

export interface DiscoveryOptions {
  /** Value of `--python`. */
  readonly python?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly lock?: string;
  /** The machine to search. Default: this one. */
  readonly host?: Host | undefined;
  /** Returns the reason why the versions are unusable. Default: {@link whyUnsupported}, the requirements of kernels. */
  readonly whyUnsupported?: (versions: Probe["versions"]) => string | undefined;
}

/** The exact versions that `tilescript setup` installs, with the hashes of their files. */
export const lockFile = join(pythonFolder, "requirements.lock");

/** The packages that `tilescript setup --ray` adds for a Ray cluster. */
export const rayLock = join(pythonFolder, "ray.lock");

/** Finds the first usable Python, with the reasons why earlier candidates were rejected. */
export async function findPython(options: DiscoveryOptions = {}): Promise<Discovery> {
  const { host, whyUnsupported: refuses = whyUnsupported } = options;
  const env = host?.env ?? options.env ?? process.env;
  const probe = (python: string) => (host ? probeOn(host, python) : probePython(python, cacheFolder(env), env));
  const candidates = await candidatesFor(options, env);
  const isExplicit = candidates[0]?.isExplicit === true;
  const rejected: Rejected[] = [];
  for (const { python, source } of isExplicit ? candidates.slice(0, 1) : candidates) {
    try {
      const { executable, versions } = await probe(python);
      const reason = refuses(versions);
      if (!reason) return { environment: { python: executable, source, versions }, rejected, isExplicit };
      rejected.push({ python: executable, source, reason });
    } catch (error) {
      rejected.push({ python, source, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { rejected, isExplicit };
}

interface Candidate {
  readonly python: string;
  readonly source: string;
  readonly isExplicit?: boolean;
}

async function candidatesFor(options: DiscoveryOptions, env: NodeJS.ProcessEnv): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  if (options.python) candidates.push({ python: options.python, source: "--python", isExplicit: true });
  const variable = env["TILESCRIPT_PYTHON"];
  if (variable) candidates.push({ python: variable, source: "TILESCRIPT_PYTHON", isExplicit: true });
  const venv = env["VIRTUAL_ENV"];
  if (venv) candidates.push({ python: venvPython(venv), source: "VIRTUAL_ENV" });
  candidates.push({ python: "python3", source: "python3" });
  const setupFolder = environmentFolder(options.lock ?? lockFile, env, options.host?.home);
  const ready = readyMarker(setupFolder);
  if (options.host ? await options.host.exists(ready) : existsSync(ready)) {
    candidates.push({ python: venvPython(join(setupFolder, "venv")), source: "tilescript setup" });
  }
  return candidates;
}

/** The reason why a Python cannot drive a Ray cluster. Kernels run with the Python of the cluster's nodes. */
export function whyWithoutRay({ python, ray }: Probe["versions"]): string | undefined {
  return whyPythonIsTooOld(python) ?? (ray === undefined ? "it has no ray" : undefined);
}

/** The reason why these versions cannot be used, as the end of a sentence, or undefined. */
export function whyUnsupported(versions: Probe["versions"]): string | undefined {
  const { torch, triton } = supportedVersions;
  const tooOld = whyPythonIsTooOld(versions.python);
  if (tooOld) return tooOld;
  const missing = (["torch", "triton", "numpy"] as const).filter((name) => versions[name] === undefined);
  if (missing.length > 0) return `it has no ${missing.join(", no ")}`;
  if (!isVersionInRange(versions.torch, torch.oldest))
    return `it has torch ${versions.torch}; ${torch.oldest} or newer is needed`;
  if (!isVersionInRange(versions.triton, triton.oldest, triton.newest))
    return `it has triton ${versions.triton}; ${triton.oldest} to ${triton.newest} is supported`;
  return undefined;
}

function whyPythonIsTooOld(version: string): string | undefined {
  const { oldest } = supportedVersions.python;
  return isVersionInRange(version, oldest) ? undefined : `it is Python ${version}; ${oldest} or newer is needed`;
}

function isVersionInRange(version: string | undefined, low: string, high?: string): boolean {
  if (version === undefined) return false;
  return compareVersions(version, low) >= 0 && (high === undefined || compareVersions(version, high) <= 0);
}

/** The reason why Triton's interpreter fails with this numpy: Triton 3.6 does not support numpy 2.4. */
export function interpreterProblem(versions: Probe["versions"]): string | undefined {
  if (isVersionInRange(versions.triton, "3.6", "3.6") && isVersionInRange(versions.numpy, "2.4")) {
    return `Triton ${versions.triton}'s interpreter needs numpy below 2.4, it has ${versions.numpy}`;
  }
  return undefined;
}

// The packages of a Python, read from metadata, because importing torch takes seconds.

interface Probe {
  /** The executable itself, not a launcher such as pyenv's. */
  readonly executable: string;
  readonly versions: {
    readonly python: string;
    readonly torch?: string;
    readonly triton?: string;
    readonly numpy?: string;
    readonly ray?: string;
  };
  /** Folders whose modification times change with the installed packages. */
  readonly folders: readonly string[];
}

const script = `
import json, os, sys
from importlib import metadata
def version(*names):
    for name in names:
        try:
            return metadata.version(name)
        except Exception:
            pass
found = {
    "python": ".".join(map(str, sys.version_info[:3])),
    "torch": version("torch"),
    "triton": version("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm"),
    "numpy": version("numpy"),
    "ray": version("ray"),
}
answer = json.dumps({
    "executable": sys.executable,
    "versions": {name: value for name, value in found.items() if value},
    "folders": [path for path in sys.path if os.path.isdir(path)],
})
sys.stdout.flush()
os.write(1, f"\\n{answer}\\n".encode())
`;

interface Entry {
  readonly stamp: string;
  readonly probe: Probe;
}

/**
 * Probes an executable. The cache in `cacheFolder` holds the result until packages or the `PYTHON…` variables change.
 *
 * @throws Error with a message for the user.
 */
export async function probePython(
  command: string,
  cacheFolder: string,
  env: NodeJS.ProcessEnv,
  deadlineMs = defaultStartMs,
): Promise<Probe> {
  const python = await findExecutable(command, env);
  const file = join(cacheFolder, "probes.json");
  const cache = (await readCache<Record<string, Entry>>(file)) ?? {};
  const entry = cache[python];
  if (entry?.probe?.versions && entry.stamp === (await stampOf(python, entry.probe, env))) return entry.probe;

  const result = await runProgram(python, pythonScript(script), { env, deadlineMs });
  const probe = parseProbe(result.stdout);
  if (!probe) throw new Error(whyNoProbe(result, deadlineMs));
  // A launcher may start another Python later without a change of its files, so launchers are not cached.
  if (resolve(probe.executable) === python) {
    await writeCached(file, { ...cache, [python]: { stamp: await stampOf(python, probe, env), probe } });
  }
  return probe;
}

/** Probes an executable on another machine, without a cache. Throws an Error with a message for the user. */
async function probeOn(host: Host, command: string, deadlineMs = defaultStartMs): Promise<Probe> {
  const python = command.startsWith("~/") ? `${host.home}/${command.slice(2)}` : command;
  const result = await host.run(python, pythonScript(script), { deadlineMs });
  const probe = parseProbe(result.stdout);
  if (probe) return probe;
  if (result.unstarted === "ENOENT")
    throw new Error(python.includes("/") ? "there is no such file" : "it is not on PATH");
  throw new Error(whyNoProbe(result, deadlineMs));
}

/** Finds the line that the script printed. A `sitecustomize` may print other lines. */
function parseProbe(output: string): Probe | undefined {
  for (const line of output.split("\n").filter((each) => each.startsWith("{"))) {
    try {
      const answer = JSON.parse(line) as Partial<Probe>;
      if (answer.executable && answer.versions?.python && answer.folders) return answer as Probe;
    } catch {
      // The line belongs to other output.
    }
  }
  return undefined;
}

/** The reason why there is no result. Only the error output is shown, because the command is internal. */
function whyNoProbe({ late, stdout, stderr, ...ending }: ProgramResult, deadlineMs: number): string {
  if (late) return `it did not answer within ${deadlineMs / 1000} s and was stopped; is it a Python?`;
  if (ending.exitCode === 0)
    return `it did not list its packages, but printed ${JSON.stringify(stdout.slice(0, 80))}; is it a Python?`;
  return (
    lastLine(stderr) || `it can't be started (${ending.unstarted ?? ending.exitCode ?? ending.signal}); is it a Python?`
  );
}

async function findExecutable(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  if (isAbsolute(command) || command.includes(sep) || command.startsWith(".")) {
    const path = resolve(command);
    const info = await stat(path).catch(() => undefined);
    if (info?.isFile()) return path;
    throw new Error(info ? "it is a folder; name the executable in it" : "there is no such file");
  }
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder || ".", command);
    if (await isFile(path)) return resolve(path);
  }
  throw new Error("it is not on PATH");
}

async function stampOf(python: string, probe: Probe, env: NodeJS.ProcessEnv): Promise<string> {
  const real = await realpath(python).catch(() => python);
  const times = [real, join(dirname(dirname(python)), "pyvenv.cfg"), ...probe.folders].map((path) =>
    stat(path).then(
      (info) => info.mtimeMs,
      () => 0,
    ),
  );
  // These variables change where Python finds packages: PYTHONPATH, PYTHONHOME, PYTHONUSERBASE, PYTHONNOUSERSITE.
  const variables = Object.entries(env).filter(([name]) => name.startsWith("PYTHON"));
  const variablesText = JSON.stringify(variables.sort(([a], [b]) => (a < b ? -1 : 1)));
  // The script's key invalidates entries of other releases.
  return [keyOfText(script), keyOfText(variablesText), real, ...(await Promise.all(times))].join("|");
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile(),
    () => false,
  );
}
