/** The sentence of `docs/proofs.md` about the cost of proofs, from the results of `npm run bench -- prove --write`. */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { ProofTimes } from "../bench/prove.js";

export function proofTimes(): string {
  const file = resolve(import.meta.dirname, "../bench/results/proofs.json");
  const { date, machine, loadBefore, processes, rows } = JSON.parse(readFileSync(file, "utf8")) as ProofTimes;
  const mean = rows.reduce((sum, { seconds }) => sum + seconds, 0) / rows.length;
  const slowest = rows.reduce((x, y) => (y.seconds > x.seconds ? y : x));
  const seconds = (x: number): string => `${x.toFixed(2)} s`;
  const method = `in a new process, the least of ${processes}`;
  const machineText = `${machine.cores} cores (${machine.processor}), Node ${machine.node}, ${date}`;
  return [
    "",
    `The proof of an example takes ${seconds(mean)} of CPU at the mean, and ${seconds(slowest.seconds)} at most (\`${basename(slowest.file, ".ts")}\`): ${method}, on ${machineText}. In the minute before, ${loadBefore} processes on average wanted a core.`,
    "",
  ].join("\n");
}
