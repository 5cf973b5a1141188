/**
 * The package as it would be without `prepack`: each source a file of its own, Python with its comments, and ts-morph.
 * What packing saves is the difference to it; sources grow, so an older package says nothing of that.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const FILES = ["bin", "dist", "python", "templates"];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The path of its tarball, in a folder that is empty before. */
export function packApart(folder: string): string {
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json", "--outDir", join(folder, "dist")], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  const isSource = (path: string): boolean => !path.includes("__pycache__");
  for (const name of ["bin", "python", "templates", "README.md", "LICENSE"])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isSource });
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const { "@ts-morph/common": _, ...others } = manifest.dependencies;
  const dependencies = { ...others, "ts-morph": manifest.devDependencies["ts-morph"] };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, dependencies, files: FILES, scripts: {} }));
  const packed = execFileSync("npm", ["pack", "--silent"], { cwd: folder, encoding: "utf8" });
  return join(folder, packed.trim().split("\n").at(-1)!);
}
