/** Finds a Python that can run emitted modules. User environments are inspected, never changed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { compareVersions, supportedVersions } from "../../compiled/versions.js";
import { cacheFolder, environmentFolder, readyMarker, venvPython } from "../system/cache-folder.js";
import type { Host } from "./host.js";
import { probeOn, probePython, type Probe } from "./probe.js";
import { pythonFolder } from "./start-python.js";

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
