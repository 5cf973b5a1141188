/** The packages of a Python, read from metadata, because importing torch takes seconds. */
import { realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { Host } from "./host.js";
import { keyOfText, readCache, writeCached } from "../system/json-cache.js";
import { lastLine, type ProgramResult, runProgram } from "../system/run-program.js";
import { defaultStartMs } from "./worker.js";
import { pythonScript } from "./start-python.js";

export interface Probe {
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
export async function probeOn(host: Host, command: string, deadlineMs = defaultStartMs): Promise<Probe> {
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
