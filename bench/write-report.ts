/** Writes the figures of a benchmark to bench/results/NAME.json, with a description of the machine. */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { resolve } from "node:path";

export function writeReport(name: string, figures: object): void {
  const machine = { cores: availableParallelism(), processor: cpus()[0]?.model ?? "unknown", node: process.version };
  const report = { date: new Date().toISOString().slice(0, 10), machine, ...figures };
  writeFileSync(resolve(import.meta.dirname, `results/${name}.json`), `${JSON.stringify(report, undefined, 2)}\n`);
}

export const roundToTenth = (x: number): number => Number(x.toFixed(1));
