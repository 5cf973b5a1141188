/** Python for tests: which one, the scripts that answer a list of cases, and Triton's cache. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { missingPython } from "../../src/runtime/devices/devices.js";
import { findPython } from "../../src/runtime/worker/environment.js";
import { pythonFolder } from "../../src/runtime/worker/start-python.js";
import { cacheFolder } from "../../src/runtime/system/cache-folder.js";

/** The Python that a user would get; a machine without one runs `tilescript setup` first, as CI does. */
export async function requirePython(): Promise<string> {
  const discovery = await findPython();
  if (!discovery.environment) throw new Error(missingPython(discovery));
  return discovery.environment.python;
}

/** A Python with the oldest supported Triton, 3.6, where there is one; torch is not needed. */
export const python36 = process.env["TILESCRIPT_PYTHON36"];

/** A Python by the version of its Triton. */
interface Installed {
  readonly name: "3.9" | "3.6";
  readonly python: string;
}

/** Every Python with a Triton to compile with: that of the tests, and one with 3.6 where there is one. */
export async function tritons(): Promise<readonly [Installed, ...Installed[]]> {
  const newer = await requirePython();
  return [{ name: "3.9", python: newer }, ...(python36 ? [{ name: "3.6", python: python36 } as const] : [])];
}

/** What tests have compiled, kept between runs. Triton's keys hold the source, the options and its own version. */
export const tritonCache = join(cacheFolder(), "tests-triton");

/** Gives `act` an empty folder, which goes when it is done. */
export async function inTemporaryFolder<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-test-"));
  try {
    return await act(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What an answer of `cases.py` is where something was wrong. */
export interface CaseError {
  readonly error: string;
}

/** What `script` writes about `lines` to the file that it is given, as JSON. `path` is searched for modules too. */
export async function runScript<Written>(
  python: string,
  script: URL,
  lines: readonly object[],
  ...path: readonly string[]
): Promise<Written> {
  return inTemporaryFolder(async (folder) => {
    const [from, to] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    await writeFile(from, lines.map((line) => JSON.stringify(line)).join("\n"));
    const env = { PYTHONPATH: [pythonFolder, ...path].join(delimiter), TRITON_CACHE_DIR: tritonCache };
    await execa(python, [fileURLToPath(script), from, to], { env });
    return JSON.parse(await readFile(to, "utf8")) as Written;
  });
}

/** Emitted modules by the names under which a script imports them. */
export type Modules = Readonly<Record<string, { readonly python: string }>>;

/** Runs the tests of a Python file over emitted modules; gives what it printed. Kernels run if interpreted. */
export async function testModules(
  script: URL,
  modules: Modules,
  interpreted = true,
  ...args: readonly string[]
): Promise<string> {
  return inTemporaryFolder(async (folder) => {
    for (const [name, { python }] of Object.entries(modules)) await writeFile(join(folder, `${name}.py`), python);
    const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1", TRITON_INTERPRET: interpreted ? "1" : "0" };
    const ran = await execa(await requirePython(), [fileURLToPath(script), ...args], { env, reject: false });
    return ran.stderr;
  });
}

/** A folder with ml_dtypes, which only tests need; made with pip when it is first asked for. */
export async function mlDtypes(python: string): Promise<string> {
  const folder = join(import.meta.dirname, "../../node_modules/.cache/tilescript-ml-dtypes");
  if (!existsSync(join(folder, "ml_dtypes")))
    await execa(python, ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "ml_dtypes==0.6.0"]);
  return folder;
}
