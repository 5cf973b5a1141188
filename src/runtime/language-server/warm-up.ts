/** Work ahead of a request: V8 then has compiled most functions that the request calls. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runnableOf } from "../invocation/builders.js";
import { registerFor } from "../invocation/import-file.js";
import { packageFolder } from "../system/package-folder.js";
import { analyze } from "./file-analysis.js";

/** Registers tsx for the project of the current folder, and analyzes the kernel of `tilescript new`. */
export async function warmUp(): Promise<void> {
  try {
    await registerFor(join(process.cwd(), "kernel.ts"));
    const exported: object = await import(pathToFileURL(join(packageFolder, "templates/kernel.ts")).href);
    await analyze(
      Object.values(exported).flatMap((value) => runnableOf(value) ?? []),
      undefined,
    );
  } catch {
    // A request works without it, and reports what is wrong.
  }
}
