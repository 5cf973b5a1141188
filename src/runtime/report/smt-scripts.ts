/** Writes the obligations of a kernel as SMT-LIB scripts, a file for each. */
import { join } from "node:path";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";

/** Writes the scripts, and returns a line that says how many there are and what they leave out. */
export async function writeScripts(kernel: CompiledKernel, folder: string): Promise<string> {
  const reasons = new Map<string, number>();
  let count = 0;
  for (const { kernel: name, obligations } of kernel.smt())
    for (const { property, config, scripts, reason } of obligations) {
      if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      for (const script of scripts ?? []) {
        const number = String(++count).padStart(3, "0");
        await writeOutput(join(folder, `${name}-${number}-${property}-config${config}.smt2`), script);
      }
    }
  const left = [...reasons].map(([reason, times]) => `; ${times} not written: ${reason}`);
  return `${kernel.signature.name}: ${count} scripts in ${folder}${left.join("")}`;
}
