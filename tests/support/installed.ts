/**
 * This package as users have it: compiled and installed in the node_modules of a project, without sources. Child
 * processes of tests start it from there, which takes a third of the time. `global-setup.ts` creates it.
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

/** A project with this package installed. It contains the examples, in `examples`. */
export const project = join(root, ".cache/project");

const installed = join(project, "node_modules/tilescript");

/** The executable of `npx tilescript` in a project. */
export const binary = join(installed, "bin/tilescript.js");

/** A module of the compiled package, for scripts that import internals. */
export const compiledModule = (module: string): string => join(root, "dist", module);

/** The loader of tsx, for `node --import`. */
export const tsx = join(root, "node_modules/tsx/dist/loader.mjs");

/** Makes `folder` a project with this package and `others` installed. */
export function installInto(folder: string, ...packages: readonly string[]): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  symlinkSync(installed, join(modules, "tilescript"));
  for (const name of packages) symlinkSync(join(root, "node_modules", name), join(modules, name));
  if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
}

/** Creates the project. Compiles the package first if a source is newer than the compiled modules. */
export function makeProject(): void {
  // `npm pack` leaves a bundle in `dist`, whose modules tests cannot import separately.
  const isBundle = !existsSync(compiledModule("diagnostics/callsite.js"));
  if (isBundle || newestTime(join(root, "src")) > modifiedTime(join(root, "dist/index.js")))
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
  // Another test run of this checkout may be using it.
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

function link(target: string, path: string): void {
  // On Windows, a junction needs no privilege, unlike a symbolic link.
  if (!existsSync(path)) symlinkSync(target, path, statSync(target).isDirectory() ? "junction" : "file");
}

const modifiedTime = (file: string): number => (existsSync(file) ? statSync(file).mtimeMs : 0);

/** The modification time of the newest file in a folder. */
function newestTime(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Math.max(...files.map((file) => modifiedTime(join(file.parentPath, file.name))));
}
