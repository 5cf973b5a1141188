/**
 * What the outputs and gradients of the examples compute: `npm run bench -- computes`, or `-- --write` to record it in
 * bench/results/computes.json, the source of the figures in docs/proofs.md. Proofs come first and are not timed.
 */
import { parseArgs } from "node:util";
import { build } from "tilescript";
import type { OutputProof } from "../src/compiled/compiled-kernel.js";
import { examples } from "../tests/support/examples.js";
import { roundToTenth, writeReport } from "./write-report.js";

export interface ComputesRow {
  readonly example: string;
  /** An output, or an input with a gradient. */
  readonly output: string;
  readonly isGradient?: true;
  readonly verdict: OutputProof["verdict"]["kind"];
  /** What is left, if the verdict is unknown. */
  readonly missing?: string;
}

/** The record of `--write`. `seconds` is the CPU time of all outputs of an example. */
export interface ComputesRecord {
  readonly date: string;
  readonly rows: readonly ComputesRow[];
  readonly seconds: Readonly<Record<string, number>>;
}

const { values: flags } = parseArgs({ options: { write: { type: "boolean" } } });
const rows: ComputesRow[] = [];
const seconds: Record<string, number> = {};
for (const { name, kernel } of examples) {
  const compiled = await build(kernel);
  compiled.proof();
  const start = process.cpuUsage();
  const outputs = compiled.computes();
  const { user, system } = process.cpuUsage(start);
  if (outputs.length > 0) seconds[name] = roundToTenth((user + system) / 1e6);
  for (const { output, isGradient, verdict } of outputs) {
    const missing = verdict.kind === "unknown" ? { missing: verdict.missing } : {};
    rows.push({ example: name, output, ...(isGradient && { isGradient }), verdict: verdict.kind, ...missing });
    console.log(`${name} ${isGradient ? `gradient of ${output}` : output}: ${verdict.kind} ${missing.missing ?? ""}`);
  }
}
const proved = rows.filter(({ verdict }) => verdict === "proved");
console.log(`${proved.length} of ${rows.length} outputs and gradients proved`);
if (flags.write) writeReport("computes", { rows, seconds } satisfies Omit<ComputesRecord, "date">);
