/** The cache folders of this package: one per user, with one Python environment per lock file. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_CACHE_HOME/tilescript`, or `~/.cache/tilescript`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  return join(env["XDG_CACHE_HOME"] || join(home, ".cache"), "tilescript");
}

/** The folder of a lock file's Python environment. */
export function environmentFolder(lock: string, env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  const hash = createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 12);
  return join(cacheFolder(env, home), hash);
}

/** The Python executable of a virtual environment. */
export function venvPython(venv: string): string {
  return process.platform === "win32" ? join(venv, "Scripts", "python.exe") : join(venv, "bin", "python");
}

/** The file that `setup` writes last. An environment without it is incomplete. */
export function readyMarker(folder: string): string {
  return join(folder, "ready.json");
}
