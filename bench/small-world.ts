/**
 * Proofs against all launches of a small world, in which an int32 has 8 to 12 bits: `npm run bench -- small-world
 * --minutes 20 --seed 1`. Each kernel is compared first as it is, then with random mistakes in its IR. A contradiction
 * is a failure: a launch with a mistake that is proved to be absent, or a refutation that no launch shows. `--mutant
 * SOURCE:SEED` repeats one mutant, and `--write` writes bench/results/small-world.json.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { TileScriptError } from "tilescript";
import { uniform } from "../src/numerics/random.js";
import { compare, type Comparison, type Effort } from "../tests/kernels/small-world/compare.js";
import { type Source, sources, worldsOf } from "../tests/kernels/small-world/kernels.js";
import { mutate } from "../tests/kernels/small-world/mutate.js";
import { SmallKernel } from "../tests/kernels/small-world/small-kernel.js";
import { writeReport } from "./write-report.js";

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    processes: { type: "string", default: "2" },
    process: { type: "string" },
    mutant: { type: "string" },
    write: { type: "boolean" },
  },
});
const [seed, processes] = [Number(flags.seed), Number(flags.processes)];
const end = performance.now() + Number(flags.minutes) * 60_000;

const RIGHT: Effort = { complete: 100_000, drawn: 100, seconds: 3 };
const MUTANT: Effort = { complete: 40, drawn: 12, seconds: 1 };

/** What one kernel adds to the record. */
interface Row {
  readonly kernel: string;
  readonly int32Bits: number;
  readonly mutant?: { readonly seed: number; readonly what: string };
  readonly launches: number;
  readonly isComplete: boolean;
  readonly contradictions: readonly string[];
  readonly verdicts: readonly string[];
}

function rowOf(kernel: SmallKernel, { launches, isComplete, contradictions, certificate }: Comparison): Row {
  const verdicts = certificate.obligations.map(({ property, verdict }) => `${property} ${verdict.kind}`);
  const { int32Bits } = kernel.ir.limits;
  return { kernel: kernel.name, int32Bits, launches, isComplete, contradictions, verdicts };
}

const drawFrom = (start: number) => {
  const random = uniform(start);
  return (below: number): number => Math.floor(random() * below);
};

type Worlds = ReturnType<typeof worldsOf>;

/** The kernels of a source with a mistake that the seed determines, mostly in the narrowest world. */
function mutantRows(source: Source, worlds: Worlds, mutantSeed: number): readonly Row[] {
  const kernels = worlds[mutantSeed % 4 === 0 ? 1 : 0] ?? worlds[0] ?? [];
  return kernels.flatMap((kernel): readonly Row[] => {
    const draw = drawFrom(mutantSeed * 7919);
    const mutant = mutate(kernel.ir, draw);
    if (!mutant) return [];
    try {
      const wrong = new SmallKernel(kernel.name, mutant.ir);
      return [{ ...rowOf(wrong, compare(wrong, MUTANT, draw)), mutant: { seed: mutantSeed, what: mutant.what } }];
    } catch (error) {
      if (error instanceof TileScriptError) return [];
      const { int32Bits } = kernel.ir.limits;
      const contradictions = [`the proof ends with ${error instanceof Error ? error.stack : String(error)}`];
      const mutation = { seed: mutantSeed, what: mutant.what };
      return [
        {
          kernel: kernel.name,
          int32Bits,
          mutant: mutation,
          launches: 0,
          isComplete: false,
          contradictions,
          verdicts: [],
        },
      ];
    }
  });
}

/** Prints a row for each kernel as it is, then for mutants until the time is over. */
function work(index: number): void {
  const own = sources
    .filter((_, i) => i % processes === index)
    .map((source) => ({ source, worlds: worldsOf(source), seed, seconds: 0 }));
  for (const { worlds } of own)
    for (const kernel of worlds[0] ?? []) print(rowOf(kernel, compare(kernel, RIGHT, drawFrom(seed))));
  // All sources take the same time, so that slow proofs do not displace mutants of other kernels.
  while (performance.now() < end) {
    const next = own.reduce((x, y) => (y.seconds < x.seconds ? y : x));
    const start = performance.now();
    mutantRows(next.source, next.worlds, next.seed++).forEach(print);
    next.seconds += (performance.now() - start) / 1000;
  }
}

const print = (row: Row): void => console.log(JSON.stringify(row));

/** The rows of a process. */
async function rowsOf(index: number): Promise<readonly Row[]> {
  const args = [
    ...process.execArgv,
    fileURLToPath(import.meta.url),
    ...process.argv.slice(2),
    "--process",
    String(index),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const rows: Row[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const row = JSON.parse(line) as Row;
    rows.push(row);
    for (const each of row.contradictions)
      console.log(`${row.kernel} (${row.mutant?.seed} ${row.mutant?.what}): ${each}`);
    if (rows.length % 200 === 0) console.log(`process ${index}: ${rows.length} kernels`);
  }
  return rows;
}

const countOf = (words: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const word of words.toSorted()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
};

/** The record of `--write`. */
export interface SmallWorldRecord extends ReturnType<typeof figuresOf> {
  readonly date: string;
}

function figuresOf(rows: readonly Row[]) {
  const [right, mutants] = [rows.filter(({ mutant }) => !mutant), rows.filter(({ mutant }) => mutant)];
  const launchesOf = (some: readonly Row[]) => some.reduce((total, { launches }) => total + launches, 0);
  return {
    seed,
    minutes: Number(flags.minutes),
    kernels: right.length,
    complete: right.filter(({ isComplete }) => isComplete).length,
    mutants: mutants.length,
    mutatedKernels: new Set(mutants.map(({ kernel }) => kernel)).size,
    widths: countOf(rows.map(({ int32Bits }) => `${int32Bits} bits`)),
    launches: { right: launchesOf(right), mutants: launchesOf(mutants) },
    verdicts: {
      right: countOf(right.flatMap(({ verdicts }) => verdicts)),
      mutants: countOf(mutants.flatMap(({ verdicts }) => verdicts)),
    },
    refutedRight: right.flatMap(({ kernel, verdicts }) =>
      verdicts.filter((each) => each.endsWith("refuted")).map((each) => `${kernel}: ${each}`),
    ),
    contradictions: rows.flatMap(({ kernel, mutant, contradictions }) =>
      contradictions.map((each) => `${kernel}, ${mutant ? `${mutant.seed}: ${mutant.what}` : "as it is"}: ${each}`),
    ),
  };
}
async function main(): Promise<void> {
  const rows = (await Promise.all(Array.from({ length: processes }, (_, i) => rowsOf(i)))).flat();
  const figures = figuresOf(rows);
  console.log(JSON.stringify(figures, undefined, 2));
  if (flags.write) writeReport("small-world", figures);
  process.exitCode = figures.contradictions.length > 0 ? 1 : 0;
}

if (flags.mutant !== undefined) {
  const [name, mutantSeed] = flags.mutant.split(":");
  for (const source of sources)
    if (source.name === name) mutantRows(source, worldsOf(source), Number(mutantSeed)).forEach(print);
} else if (flags.process !== undefined) work(Number(flags.process));
else await main();
