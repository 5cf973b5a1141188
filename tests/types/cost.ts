/** Asks the compiler how much work a program was. */
import { inProjectFolder, tsc } from "../support/tsc.js";

export interface Work {
  readonly instantiations: number;
  readonly types: number;
  /** Of one checker, in seconds. */
  readonly checkTime: number;
  readonly totalTime: number;
}

let count = 0;

/** One checker: several would share the files out, and each would count what it meets anew. */
export function work(text: string): Work {
  const output = inProjectFolder(`cost-${count++}`, { "program.ts": text }, (folder) =>
    tsc(["-p", folder, "--singleThreaded", "--extendedDiagnostics"]),
  );
  if (/error TS\d+/.test(output.replaceAll(/^.*\bsrc\/.*$/gm, ""))) throw new Error(output);
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+([\\d.]+)`, "m").exec(output)?.[1]);
  return {
    instantiations: read("Instantiations"),
    types: read("Types"),
    checkTime: read("Check time"),
    totalTime: read("Total time"),
  };
}

export const instantiations = (text: string): number => work(text).instantiations;
