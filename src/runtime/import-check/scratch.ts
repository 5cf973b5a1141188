/** A folder in which a written kernel file is built before the user has it. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFolder } from "../system/package-folder.js";

/** The package that runs, in the form that runs: its sources or what they were compiled to. */
const index = join(packageFolder, import.meta.url.endsWith(".ts") ? "src/index.ts" : "dist/index.js");

export interface Scratch {
  /** Writes a kernel file, each under a path of its own, since a runtime imports a path once. */
  write(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
}

/** In it, `import "tilescript"` is the package that runs, for tsx and for Node alike. */
export async function openScratch(): Promise<Scratch> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-import-"));
  const paths = { tilescript: [index] };
  const tsconfig = { compilerOptions: { module: "nodenext", target: "es2022", paths } };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await mkdir(join(folder, "node_modules"));
  await symlink(packageFolder, join(folder, "node_modules", "tilescript"), "junction");
  let count = 0;
  return {
    async write(name, text) {
      const path = join(folder, `${name}-${++count}.ts`);
      await writeFile(path, text);
      return path;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
