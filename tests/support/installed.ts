/**
 * This package as users have it: compiled, without its sources, in the node_modules of a project. Processes of tests
 * start it from there, which costs a third of what the sources cost. `global-setup.ts` makes it.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** A project with this package installed. Its files are the examples, in `examples`. */
export const project = join(root, ".cache/project");

const installed = join(project, "node_modules/tilescript");

/** What `npx tilescript` starts in a project. */
export const binary = join(installed, "bin/tilescript.js");

/** A module of the compiled package, for a script that imports what users can't. */
export const compiled = (module: string): string => join(root, "dist", module);

/** tsx, for `node --import`. */
export const tsx = join(root, "node_modules/tsx/dist/loader.mjs");

/** Makes `folder` a project with this package installed, and with these others. */
export function installInto(folder: string, ...others: readonly string[]): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  symlinkSync(installed, join(modules, "tilescript"));
  for (const name of others) symlinkSync(join(root, "node_modules", name), join(modules, name));
  if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
}

/** Makes the project, and compiles the package if a source is newer than what was compiled. */
export function makeProject(): void {
  // `npm pack` leaves a bundle, of which tests can't import single modules.
  const isBundle = !existsSync(compiled("diagnostics/callsite.js"));
  if (isBundle || newest(join(root, "src")) > modified(join(root, "dist/index.js")))
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
  // Another run of this checkout may be using it.
  mkdirSync(join(installed, "bin"), { recursive: true });
  copyFileSync(join(root, "bin/tilescript.js"), binary);
  for (const name of ["dist", "python", "templates", "package.json"]) link(join(root, name), join(installed, name));
  link(join(root, "node_modules/tsx"), join(project, "node_modules/tsx"));
  cpSync(join(root, "examples"), join(project, "examples"), {
    recursive: true,
    filter: (file) => !file.endsWith("tsconfig.json"),
  });
  writeFileSync(join(project, "package.json"), `{ "type": "module" }`);
}

function link(to: string, from: string): void {
  if (!existsSync(from)) symlinkSync(to, from);
}

const modified = (file: string): number => (existsSync(file) ? statSync(file).mtimeMs : 0);

/** When the newest file of a folder was modified. */
function newest(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Math.max(...files.map((file) => modified(join(file.parentPath, file.name))));
}
