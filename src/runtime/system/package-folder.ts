/** What comes with the package, whether its sources run, what they were compiled to, or the bundle that npm has. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The nearest file of this name in the folders above. */
export function findUp(path: string, name: string): string | undefined {
  const folder = dirname(path);
  const found = join(folder, name);
  return existsSync(found) ? found : folder === path ? undefined : findUp(folder, name);
}

const here = fileURLToPath(import.meta.url);
const manifest = findUp(here, "package.json");
if (manifest === undefined) throw new Error(`${here} is not in its package; install tilescript again`);

/** The package's folder. */
export const packageFolder = dirname(manifest);

/** The package's version. */
export const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };

/** Whether this is the bundle that npm has: its modules and its Python lie in `dist`. */
export const isBundle = /[\\/]tilescript-modules[\\/]/.test(here);
