/**
 * Command lines and environments of Python processes: our package is first on the module path, and the current folder
 * last.
 */
import { delimiter, join } from "node:path";
import { isBundle, packageFolder } from "../system/package-folder.js";

/** The folder of the worker's package and its lock files. */
export const pythonFolder = join(packageFolder, isBundle ? "dist/python/" : "python/");

/** The environment of a Python that imports our package. */
export function pythonEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [pythonFolder, env["PYTHONPATH"]].filter(Boolean).join(delimiter);
  return { ...env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1" };
}

/**
 * The arguments of a Python that runs a script. `-c` and `-m` put the current folder first on the module path, where a
 * user's `random.py` or `torch.py` would shadow the real module.
 */
export function pythonScript(lines: string): readonly string[] {
  return ["-c", `import sys\nif sys.path[:1] == [""]: sys.path.append(sys.path.pop(0))\n${lines}`];
}

/** The arguments of a Python that runs a module as a program. */
export function pythonModule(name: string, ...args: readonly string[]): readonly string[] {
  const run = `from runpy import run_module\nrun_module("${name}", run_name="__main__", alter_sys=True)`;
  return [...pythonScript(run), ...args];
}
