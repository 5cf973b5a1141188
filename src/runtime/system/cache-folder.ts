/** The cache of this package: one folder per user, one environment per lock file. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_CACHE_HOME/tilescript`, or `~/.cache/tilescript`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  return join(env["XDG_CACHE_HOME"] || join(home, ".cache"), "tilescript");
}

/** The folder of the environment of a lock file; each lock has its own. */
export function environmentFolder(lock: string, env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  const hash = createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 12);
  return join(cacheFolder(env, home), hash);
}

/** The Python executable of a virtual environment. */
export function venvPython(venv: string): string {
  return process.platform === "win32" ? join(venv, "Scripts", "python.exe") : join(venv, "bin", "python");
}

/** Setup writes this file last: an environment without it is incomplete. */
export function readyMarker(folder: string): string {
  return join(folder, "ready.json");
}
