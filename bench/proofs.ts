/**
 * Proofs against the evaluator: `npm run fuzz:proofs -- --minutes 5 --seed 1`. Random kernels, and the kernels of the seeded
 * mistakes with a random one, are proved and then evaluated on drawn cases. What is proved and found wrong fails: a finding
 * that a proof denies, or a wrong result of a kernel whose only mistake is in padding that is proved. `--mutated 1000` stops
 * after as many kernels with mistakes, and leaves random ones out. Each kernel follows from its own seed, so that the next
 * seed, which is printed at the end, goes on where a run stopped, and `--mutated 1` draws one kernel again.
 */
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { type CompiledKernel, TileScriptError } from "tilescript";
import { cases } from "tilescript/testing";
import type { TestCase } from "../src/compiled/compiled-kernel.js";
import { mutationOf } from "../tests/kernels/mutants/draw-mutation.js";
import { subjects } from "../tests/kernels/mutants/mutations.js";
import { Seeded } from "../tests/kernels/mutants/seed.js";
import { recipeOf } from "../tests/kernels/random/draw.js";
import { accept } from "../tests/kernels/random/jobs.js";
import { soundnessViolations } from "../tests/support/soundness.js";
import { fc } from "../tests/support/property.js";

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    mutated: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    cases: { type: "string", default: "8" },
  },
});
const seed = Number(flags.seed);
const most = flags.mutated === undefined ? Infinity : Number(flags.mutated);
console.log(`proofs from seed ${seed}, for ${flags.minutes} minutes`);

/** Draws numbers below a bound from a seed (mulberry32). */
function drawsFrom(from: number): (below: number) => number {
  let state = from >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const verdicts = new Map<string, number>();
const counts = { random: 0, mutated: 0, refused: 0, cases: 0 };
const wrong: string[] = [];

/** Notes what a kernel's proof says, and what cases show of it. */
function judge(name: string, compiled: CompiledKernel, drawn: () => readonly TestCase[], isOfPadding = false): void {
  const proof = compiled.proof();
  // Where no lane that is left out meets others, what it holds is data: the border of a convolution.
  const padding = proof.obligations.filter(({ property }) => property === "padding");
  const isPaddingProved = padding.length > 0 && padding.every(({ verdict }) => verdict.kind === "proved");
  // What is refuted besides, such as a store without strides, makes wrong results too.
  const isRefuted = proof.obligations.some(({ verdict }) => verdict.kind === "refuted");
  for (const { property, verdict } of proof.obligations) {
    const key = `${property} ${verdict.kind}`;
    verdicts.set(key, (verdicts.get(key) ?? 0) + 1);
  }
  for (const at of drawn()) {
    counts.cases++;
    const { findings, comparison } = compiled.evaluate(at);
    const isWrong =
      isOfPadding && isPaddingProved && !isRefuted && findings.length === 0 && comparison?.finds === "mistake";
    const found = [...soundnessViolations(proof, findings), ...(isWrong ? ["padding changes the result"] : [])];
    if (found.length === 0) continue;
    wrong.push(`${name}, ${JSON.stringify(at)}: ${found.join("; ")}`);
    console.log(wrong.at(-1));
    return;
  }
}

function judgeRandom(at: number): void {
  const { compiled, sizes, scalars } = accept(recipeOf(at));
  counts.random++;
  judge(`recipe ${at}`, compiled, () => [{ sizes, scalars, dtypes: {}, config: 0, seed: 1 }]);
}

async function judgeMutated(seeded: Seeded, at: number): Promise<void> {
  const draw = drawsFrom(at);
  const subject = subjects[draw(subjects.length)]!;
  const mutation = mutationOf(subject, draw);
  if (!mutation) return;
  const { compiled } = await seeded.build(subject, mutation);
  counts.mutated++;
  const { scalars } = subject;
  const drawn = () =>
    fc
      .sample(cases(compiled, subject.draw), { seed: 1 + draw(1000), numRuns: Number(flags.cases) })
      .map((each) => (scalars ? { ...each, scalars } : each));
  judge(`seed ${at}, ${subject.kernel}: ${mutation.what}`, compiled, drawn, mutation.isOfPadding);
}

/** Whether an error says that the kernel, or a case of it, is refused. */
const isRefusal = (error: unknown): boolean =>
  error instanceof TileScriptError || (error instanceof Error && !(error instanceof TypeError));

const seeded = new Seeded();
const end = performance.now() + Number(flags.minutes) * 60_000;
let next = seed;
try {
  for (; performance.now() < end && counts.mutated < most; next++) {
    try {
      if (next % 2 === 0 && most === Infinity) judgeRandom(next);
      else await judgeMutated(seeded, next);
    } catch (error) {
      if (!isRefusal(error)) {
        console.log(`the kernel of seed ${next} ends with an error of the prover's own`);
        throw error;
      }
      counts.refused++;
    }
  }
} finally {
  seeded.remove();
}
console.log(counts, Object.fromEntries([...verdicts].sort()));
console.log(`${wrong.length} of what is proved is found wrong; the next seed is ${next}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
