/** Compiles a kernel and its twin with the same arguments, and counts what the emitted one has more. */
import { readFileSync } from "node:fs";
import { jitFunctions } from "../../support/emit.js";
import { compileAll, type Compiled, type Job, jobsOf, kernelsOf, sm90 } from "../compile/jobs.js";
import type { Excess, Pair, Sizes } from "./pairs.js";
import { readSass } from "./sass.js";

/** The targets of pairs. */
const TARGETS = { sm90, sm100: ["cuda", 100, 32] } as const;
const SIZES: readonly Sizes[] = ["aligned", "odd"];

/** What is above the limits, for each of the sizes; `undefined` where nothing is. */
export type Found = Readonly<Record<Sizes, Omit<Excess, "cause"> | undefined>>;

export async function comparePair(python: string, pair: Pair): Promise<Found> {
  const results = await compileAll(
    python,
    SIZES.flatMap((sizes) => jobsOfPair(pair, sizes)),
  );
  for (const { label, error } of results) if (error !== undefined) throw new Error(`${label}: ${error}`);
  const found = SIZES.map((sizes, i) => [sizes, excessOf(results[2 * i]!, results[2 * i + 1]!)] as const);
  return Object.fromEntries(found) as Found;
}

/** The emitted kernel's job and its twin's, with the same arguments. */
function jobsOfPair({ kernel, example, twin, ...pair }: Pair, sizes: Sizes): Job[] {
  const part = kernelsOf(example).find((each) => jobsOf(each, sm90)[0]!.module === kernel);
  const all = jobsOf(part, TARGETS[pair.target ?? "sm90"], sizes, pair.constants);
  const own = all.filter(({ label }) => label.split(" ").includes(pair.dtype ?? "float16"));
  const job = (own.length > 0 ? own : all)[pair.config ?? 0]!;
  const given = { ...job, sass: true };
  const text = readFileSync(new URL(`${twin}.py`, import.meta.url), "utf8");
  const source = jitFunctions(`${text}\n\n\n`).join("\n\n\n@triton.jit\n");
  return [given, { ...given, source, module: `twin_${twin}`, label: `twin of ${job.label}` }];
}

function excessOf(emitted: Compiled, written: Compiled): Omit<Excess, "cause"> | undefined {
  const [ours, theirs] = [readSass(emitted.sass!), readSass(written.sass!)];
  const isLonger = ours.instructions > 1.01 * theirs.instructions;
  const isLongerInside = ours.loop > theirs.loop;
  if (!isLonger && !isLongerInside) return undefined;
  return {
    instructions: [ours.instructions, theirs.instructions],
    ...(isLongerInside && { loop: [ours.loop, theirs.loop] }),
  };
}
