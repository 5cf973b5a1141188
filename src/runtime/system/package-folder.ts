/** The location of this package. It may run from its sources, from compiled modules, or from the bundle on npm. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The nearest file of this name in the folder of `path` or above. */
export function findUp(path: string, name: string): string | undefined {
  const folder = dirname(path);
  const candidate = join(folder, name);
  if (existsSync(candidate)) return candidate;
  return folder === path ? undefined : findUp(folder, name);
}

const currentFile = fileURLToPath(import.meta.url);
const manifest = findUp(currentFile, "package.json");
if (manifest === undefined) throw new Error(`${currentFile} is not in its package; install tilescript again`);

export const packageFolder = dirname(manifest);

/** `homepage` is the address of the documentation, if it has one. */
export const { version, homepage } = JSON.parse(readFileSync(manifest, "utf8")) as {
  readonly version: string;
  readonly homepage?: string;
};

/** True in the bundle of the npm package: its modules and its Python files are in `dist`. */
export const isBundle = /[\\/]tilescript-modules[\\/]/.test(currentFile);
