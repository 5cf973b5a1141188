/** How Python is started: with our package first on its path, and the current folder last. */
import { delimiter, join } from "node:path";
import { isBundle, packageFolder } from "../system/package-folder.js";

/** Folder that holds the worker's package and its lock. */
export const pythonFolder = join(packageFolder, isBundle ? "dist/python/" : "python/");

/** The environment of a Python that imports our package. */
export function pythonEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [pythonFolder, env["PYTHONPATH"]].filter(Boolean).join(delimiter);
  return { ...env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1" };
}

/**
 * The arguments of a Python that runs these lines. With `-c` and `-m` it searches the current folder first, where a
 * `random.py` or a `torch.py` of the user would take the place of the real one.
 */
export function pythonScript(lines: string): readonly string[] {
  return ["-c", `import sys\nif sys.path[:1] == [""]: sys.path.append(sys.path.pop(0))\n${lines}`];
}

/** The arguments of a Python that runs a module as a program. */
export function pythonModule(name: string, ...args: readonly string[]): readonly string[] {
  const run = `from runpy import run_module\nrun_module("${name}", run_name="__main__", alter_sys=True)`;
  return [...pythonScript(run), ...args];
}
