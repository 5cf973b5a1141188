/** The sentence of `docs/proofs.md` on what proofs cost, from what `npm run bench:prove -- --write` wrote. */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { ProofTimes } from "../bench/prove.js";

export function proofTimes(): string {
  const file = resolve(import.meta.dirname, "../bench/results/proofs.json");
  const { date, machine, loadBefore, processes, rows } = JSON.parse(readFileSync(file, "utf8")) as ProofTimes;
  const mean = rows.reduce((sum, { seconds }) => sum + seconds, 0) / rows.length;
  const most = rows.reduce((x, y) => (y.seconds > x.seconds ? y : x));
  const seconds = (x: number): string => `${x.toFixed(2)} s`;
  const how = `in a new process, the least of ${processes}`;
  const where = `${machine.cores} cores (${machine.processor}), Node ${machine.node}, ${date}`;
  return [
    "",
    `The proof of an example takes ${seconds(mean)} of CPU at the mean, and ${seconds(most.seconds)} at most (\`${basename(most.file, ".ts")}\`): ${how}, on ${where}. In the minute before, ${loadBefore} processes on average wanted a core.`,
    "",
  ].join("\n");
}
