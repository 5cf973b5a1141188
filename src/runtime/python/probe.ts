/** The packages of a Python, read from metadata, because importing torch would take seconds. */
import { execa } from "execa";
import { realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { readCached, writeCached } from "../system/cached.js";

export interface Probe {
  /** The executable itself, behind launchers such as pyenv's. */
  readonly executable: string;
  readonly versions: {
    readonly python: string;
    readonly torch?: string;
    readonly triton?: string;
    readonly numpy?: string;
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
}
print(json.dumps({
    "executable": sys.executable,
    "versions": {name: value for name, value in found.items() if value},
    "folders": [path for path in sys.path if os.path.isdir(path)],
}))
`;

interface Entry {
  readonly stamp: string;
  readonly probe: Probe;
}

/**
 * Probes an executable. The answer is cached in `cacheFolder` until a package is installed or removed. Throws a
 * message.
 */
export async function probePython(command: string, cacheFolder: string, env: NodeJS.ProcessEnv): Promise<Probe> {
  const python = await locate(command, env);
  const file = join(cacheFolder, "probes.json");
  const known = (await readCached<Record<string, Entry>>(file)) ?? {};
  const entry = known[python];
  if (entry && entry.stamp === (await stampOf(python, entry.probe))) return entry.probe;

  const ran = await execa(python, ["-c", script], { reject: false, timeout: 20_000, env, extendEnv: false });
  // The command that failed is our script: only what it said is of use.
  if (ran.failed)
    throw new Error(
      ran.stderr?.trim().split("\n").at(-1) ||
        `it can't be started (${ran.code ?? ran.exitCode ?? ran.signal}); is it a Python?`,
    );
  const probe = parsed(ran.stdout);
  // A launcher may start another Python tomorrow, without any file of it changing: those are asked each time.
  if (resolve(probe.executable) === python) {
    await writeCached(file, { ...known, [python]: { stamp: await stampOf(python, probe), probe } });
  }
  return probe;
}

function parsed(answer: string): Probe {
  try {
    return JSON.parse(answer) as Probe;
  } catch {
    throw new Error(
      `it did not list its packages, but printed ${JSON.stringify(answer.slice(0, 80))}; is it a Python?`,
    );
  }
}

async function locate(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  if (isAbsolute(command) || command.includes(sep) || command.startsWith(".")) {
    const path = resolve(command);
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) return path;
    throw new Error(found ? "it is a folder; name the executable in it" : "there is no such file");
  }
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder || ".", command);
    if (await exists(path)) return resolve(path);
  }
  throw new Error("it is not on PATH");
}

async function stampOf(python: string, probe: Probe): Promise<string> {
  const real = await realpath(python).catch(() => python);
  const times = [real, join(dirname(dirname(python)), "pyvenv.cfg"), ...probe.folders].map((path) =>
    stat(path).then(
      (info) => info.mtimeMs,
      () => 0,
    ),
  );
  return [real, ...(await Promise.all(times))].join("|");
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile(),
    () => false,
  );
}
