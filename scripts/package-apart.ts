/**
 * The package without `prepack`, as a baseline: each source in a separate file, and Python with its comments. The
 * difference to it is what packing saves. An older package is no baseline, because the sources grow.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const FILES = ["bin", "dist", "python", "templates"];

/** Packs into an empty folder, and returns the path of the tarball. */
export function packUnbundled(folder: string): string {
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json", "--outDir", join(folder, "dist")], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  const isSource = (path: string): boolean => !path.includes("__pycache__");
  for (const name of ["bin", "python", "templates", "README.md", "LICENSE"])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isSource });
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as object;
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, files: FILES, scripts: {} }));
  const packOutput = execFileSync("npm", ["pack", "--silent"], { cwd: folder, encoding: "utf8" });
  return join(folder, packOutput.trim().split("\n").at(-1)!);
}
