/** Python for tests: the interpreter, scripts that process a list of cases, and Triton's cache. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { missingPython } from "../../src/runtime/devices/devices.js";
import { findPython } from "../../src/runtime/worker/environment.js";
import { pythonFolder } from "../../src/runtime/worker/host.js";
import { cacheFolder } from "../../src/runtime/system/files.js";

/** The Python of a user. A machine without one first runs `tilescript setup`, as CI does. */
export async function requirePython(): Promise<string> {
  const discovery = await findPython();
  if (!discovery.environment) throw new Error(missingPython(discovery));
  return discovery.environment.python;
}

/** A Python with Triton 3.6, the oldest supported version, if there is one. It need not have torch. */
export const python36 = process.env["TILESCRIPT_PYTHON36"];

/** A Python, by the version of its Triton. */
interface TritonPython {
  readonly name: "3.9" | "3.6";
  readonly python: string;
}

/** Every Python whose Triton can compile: that of the tests, and one with Triton 3.6 if there is one. */
export async function tritonPythons(): Promise<readonly [TritonPython, ...TritonPython[]]> {
  const python = await requirePython();
  return [{ name: "3.9", python }, ...(python36 ? [{ name: "3.6", python: python36 } as const] : [])];
}

/**
 * The cache of kernels that tests compile, kept between runs. Triton's keys include the source, the options and its
 * version.
 */
export const tritonCache = join(cacheFolder(), "tests-triton");

/** Calls `callback` with an empty folder, which is deleted afterwards. */
export async function inTemporaryFolder<T>(callback: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-test-"));
  try {
    return await callback(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A result of `cases.py` for a failed case. */
export interface CaseError {
  readonly error: string;
}

/**
 * Runs a Python script that reads `lines` from its first argument and writes JSON to its second. `path` extends the
 * module search path.
 */
export async function runScript<Result>(
  python: string,
  script: URL,
  lines: readonly object[],
  ...path: readonly string[]
): Promise<Result> {
  return inTemporaryFolder(async (folder) => {
    const [inputFile, outputFile] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    await writeFile(inputFile, lines.map((line) => JSON.stringify(line)).join("\n"));
    const env = { PYTHONPATH: [pythonFolder, ...path].join(delimiter), TRITON_CACHE_DIR: tritonCache };
    await execa(python, [fileURLToPath(script), inputFile, outputFile], { env });
    return JSON.parse(await readFile(outputFile, "utf8")) as Result;
  });
}

/** Emitted modules by import name. */
export type Modules = Readonly<Record<string, { readonly python: string }>>;

/** Runs the tests of a Python file on emitted modules, and returns their output. Kernels run only if interpreted. */
export async function testModules(
  script: URL,
  modules: Modules,
  isInterpreted = true,
  ...args: readonly string[]
): Promise<string> {
  return inTemporaryFolder(async (folder) => {
    for (const [name, { python }] of Object.entries(modules)) await writeFile(join(folder, `${name}.py`), python);
    const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1", TRITON_INTERPRET: isInterpreted ? "1" : "0" };
    const result = await execa(await requirePython(), [fileURLToPath(script), ...args], { env, reject: false });
    return result.stderr;
  });
}

/** A folder with ml_dtypes, which only tests need. pip installs it on the first call. */
export async function mlDtypes(python: string): Promise<string> {
  const folder = join(import.meta.dirname, "../../node_modules/.cache/tilescript-ml-dtypes");
  if (!existsSync(join(folder, "ml_dtypes")))
    await execa(python, ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "ml_dtypes==0.6.0"]);
  return folder;
}
