/** The generated parts of `docs/proofs.md`: the proved obligations of each example, and the cost of proofs. */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { ComputesRecord } from "../bench/computes.js";
import type { InvarianceBits, InvarianceRecord } from "../bench/invariance.js";
import type { ProofTimes } from "../bench/prove.js";
import type { SmallWorldRecord } from "../bench/small-world.js";
import type { SmtRecord } from "../bench/smt.js";
import type { Certificate, ProofProperty } from "../src/compiled/compiled-kernel.js";
import { rules } from "../tests/support/real-identities.js";
import { build } from "../src/pipeline/build.js";
import { loadSentence, tableLines } from "./markdown-table.js";
import { examples } from "../tests/support/examples.js";

/** In the order of the page. Few kernels have author claims or requirements, so those have no column. */
const COLUMNS: readonly ProofProperty[] = ["bounds", "coverage", "race", "order", "padding", "dividend", "overflow"];

/** One row per example: the proved share of each property, and the number of waivers. */
export async function proofTable(): Promise<string> {
  const proofs: { readonly name: string; readonly proof: Certificate }[] = [];
  for (const { name, kernel } of examples) proofs.push({ name, proof: (await build(kernel)).proof() });
  const usedColumns = COLUMNS.filter((column) => proofs.some(({ proof }) => proof.obligations.some(isOf(column))));
  const rows = proofs.map(({ name, proof }) => [
    `[${name}](../examples/${name}.ts)`,
    ...usedColumns.map((column) => cell(proof, column)),
  ]);
  return ["", ...tableLines(["example", ...usedColumns], rows), ""].join("\n");
}

const isOf =
  (property: ProofProperty) =>
  (obligation: Certificate["obligations"][number]): boolean =>
    obligation.property === property;

function cell({ obligations }: Certificate, property: ProofProperty): string {
  const obligationsOfProperty = obligations.filter(isOf(property));
  if (obligationsOfProperty.length === 0) return "";
  const count = (kind: string) => obligationsOfProperty.filter(({ verdict }) => verdict.kind === kind).length;
  const waivedCount = count("waived");
  return `${count("proved")} of ${obligationsOfProperty.length}${waivedCount > 0 ? `, ${waivedCount} waived` : ""}`;
}

/** The identities by which outputs are compared with references. */
export function identityTable(): string {
  const rows = rules.map(({ identity, when }) => `| ${[identity, when].map(escapeCell).join(" | ")} |`);
  return ["", "| identity | when |", "| --- | --- |", ...rows, ""].join("\n");
}

/** The verdicts of the outputs of examples, from the results of `npm run bench -- computes --write`. */
export function computesFigures(): string {
  const file = resolve(import.meta.dirname, "../bench/results/computes.json");
  const { date, rows, seconds } = JSON.parse(readFileSync(file, "utf8")) as ComputesRecord;
  const [outputs, gradients] = [false, true].map((isGradient) => {
    const own = rows.filter((row) => (row.isGradient ?? false) === isGradient);
    return { all: own.length, proved: own.filter(({ verdict }) => verdict === "proved").length };
  });
  const files = new Set(rows.map(({ example }) => example));
  const isWhole = (name: string): boolean =>
    rows.every(({ example, verdict }) => example !== name || verdict === "proved");
  const times = Object.entries(seconds).toSorted(([, x], [, y]) => x - y);
  const [middle, last] = [times[Math.floor(times.length / 2)], times.at(-1)];
  const whole = [...files].filter(isWhole).map((name) => `\`${name}\``);
  return [
    "",
    `On ${date}, ${outputs?.proved} of the ${outputs?.all} outputs and ${gradients?.proved} of the ${gradients?.all} gradients of the examples were \`proved\`. In addition to the proofs, the comparison took ${middle?.[1]} s of CPU in the median of ${times.length} files, and at most ${last?.[1]} s (\`${last?.[0]}\`). All outputs and gradients of these examples are \`proved\`:\n\n- ${whole.join("\n- ")}`,
    "",
  ].join("\n");
}

/** The verdicts of the leading sizes of outputs of examples, from `npm run bench -- invariance --write`. */
export function invarianceFigures(): string {
  const file = resolve(import.meta.dirname, "../bench/results/invariance.json");
  const { date, rows, seconds } = JSON.parse(readFileSync(file, "utf8")) as InvarianceRecord;
  const verdicts = rows.flatMap(({ sizes }) => Object.values(sizes).slice(0, 1));
  const count = (kind: string) => verdicts.filter((verdict) => verdict === kind).length;
  const byKey = rows.filter(({ sizes, why }) => {
    const [size, verdict] = Object.entries(sizes)[0] ?? [];
    return size !== undefined && verdict === "dependent" && why[size]?.includes("autotuner's key");
  });
  const runs = (kind: string) => rows.filter((row) => row.runs === kind).length;
  const longest = Object.entries(seconds).toSorted(([, x], [, y]) => y - x)[0];
  return [
    "",
    `On ${date}, ${verdicts.length} of the ${rows.length} outputs of the examples' kernels had an axis with a named size. For the first such size, ${count("invariant")} outputs were \`invariant\`, ${count("dependent")} were \`dependent\` and ${count("unknown")} were \`unknown\`. The autotuner's key contained the size for ${byKey.length} of the \`dependent\` outputs. The bits of ${runs("proved")} outputs were the same in every run, and those of ${runs("per-config")} outputs in every run with the same config. For ${runs("unknown")} outputs, the verdict was \`unknown\`. In addition to the proofs, the analysis took at most ${longest?.[1]} s of CPU (\`${longest?.[0]}\`).`,
    "",
  ].join("\n");
}

/** Whose bits were compared on a GPU, from `npm run bench -- invariance --gpu`. */
export function invarianceOnGpu(): string {
  const file = resolve(import.meta.dirname, "../bench/results/invariance-h200.json");
  const { gpu, torch, triton, date, counts, rows } = JSON.parse(readFileSync(file, "utf8")) as InvarianceBits;
  const names = rows.map(({ kernel, differing }) =>
    differing.length === 0 ? `\`${kernel}\`` : `\`${kernel}\` (not for M = ${differing.join(", ")})`,
  );
  return [
    "",
    `On ${date}, the rows of these examples had the same bits for ${counts.length} values of M from ${counts[0]} to ${counts.at(-1)}, on one ${gpu} with torch ${torch} and Triton ${triton}: ${names.join(", ")}.`,
    "",
  ].join("\n");
}

/** In code, where `*` and `|` have no meaning; a bar ends a cell all the same. */
const escapeCell = (text: string, column: number): string => {
  const escaped = text.replaceAll("|", "\\|");
  return column === 0 ? `\`${escaped}\`` : escaped;
};

/** What was tried in the small world, from the results of `npm run bench -- small-world --write`. */
export function smallWorldFigures(): string {
  const file = resolve(import.meta.dirname, "../bench/results/small-world.json");
  const record = JSON.parse(readFileSync(file, "utf8")) as SmallWorldRecord;
  const { date, kernels, complete, mutants, mutatedKernels, launches, contradictions } = record;
  const count = (value: number): string => value.toLocaleString("en-US");
  return [
    "",
    `On ${date}, the tests ran ${count(launches.right)} launches of ${count(kernels)} unchanged kernels, including all launches of ${complete} kernels. They also ran ${count(launches.mutants)} launches of ${count(mutants)} mutants of ${mutatedKernels} kernels. They found ${contradictions.length} contradictions.`,
    "",
  ].join("\n");
}

/** What z3 says of the scripts, from the results of `npm run bench -- smt --write`. */
export function smtFigures(): string {
  const file = resolve(import.meta.dirname, "../bench/results/smt.json");
  const record = JSON.parse(readFileSync(file, "utf8")) as SmtRecord;
  const { date, seconds, kernels, scripts, agreed, open, notExported, disagreements } = record;
  const ofMemory = notExported["it depends on values that memory or a loop holds"] ?? 0;
  return [
    "",
    `On ${date}, z3 ran on the ${scripts} scripts of ${kernels} kernels of the examples, for the first config of each, with a limit of ${seconds} s per script. It agreed with the prover on ${agreed} scripts, disagreed on ${disagreements.length}, and ran out of time on ${open}. For ${ofMemory} obligations of \`bounds\` and \`overflow\`, \`check\` wrote no script.`,
    "",
  ].join("\n");
}

/** The cost of proofs, from the results of `npm run bench -- prove --write`. */
export function proofTimes(): string {
  const file = resolve(import.meta.dirname, "../bench/results/proofs.json");
  const { date, machine, loadBefore, processes, rows } = JSON.parse(readFileSync(file, "utf8")) as ProofTimes;
  const mean = rows.reduce((sum, { seconds }) => sum + seconds, 0) / rows.length;
  const slowest = rows.reduce((x, y) => (y.seconds > x.seconds ? y : x));
  const seconds = (x: number): string => `${x.toFixed(2)} s`;
  const method = `the minimum of ${processes} new processes`;
  const machineText = `${machine.cores} cores (${machine.processor}), Node ${machine.node}, ${date}`;
  return [
    "",
    `**Cost.** The proof of an example takes ${seconds(mean)} of CPU on average, and ${seconds(slowest.seconds)} at most (\`${basename(slowest.file, ".ts")}\`). Each figure is ${method}, on ${machineText}. ${loadSentence(loadBefore)}`,
    "",
  ].join("\n");
}
