/** A temporary folder in which kernel files are built before the user gets them. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFolder } from "../system/files.js";

/** The entry of the running package: its source, or its compiled module. */
const packageEntry = join(packageFolder, import.meta.url.endsWith(".ts") ? "src/index.ts" : "dist/index.js");

export interface Scratch {
  /** Writes a kernel file under a new path each time, because runtimes import a path once. */
  write(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
}

/** Creates the folder. In it, `import "tilescript"` resolves to the running package, in tsx and in Node. */
export async function openScratch(): Promise<Scratch> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-import-"));
  const paths = { tilescript: [packageEntry] };
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
