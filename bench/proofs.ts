/**
 * Proofs against the evaluator: `npm run fuzz:proofs -- --minutes 5 --seed 1`. Random kernels, and the kernels of the seeded
 * mistakes with a random one, are proved and then evaluated on drawn cases. What is proved and found wrong fails: a finding
 * that a proof denies, or a wrong result of a kernel whose only mistake is in padding that is proved. `--mutated 1000` stops
 * after as many kernels with mistakes, and leaves random ones out.
 */
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { type CompiledKernel, TileScriptError } from "tilescript";
import { cases } from "tilescript/testing";
import type { Case } from "../src/contract/compiled.js";
import { mutationOf } from "../tests/kernels/mutants/draw-mutation.js";
import { subjects } from "../tests/kernels/mutants/mutations.js";
import { Seeded } from "../tests/kernels/mutants/seed.js";
import { recipeOf } from "../tests/kernels/random/draw.js";
import { accept } from "../tests/kernels/random/jobs.js";
import { contradicted } from "../tests/support/proved.js";
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

/** A number below a bound, from the seed (a linear congruential generator, as in Numerical Recipes). */
let state = seed >>> 0;
function draw(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const verdicts = new Map<string, number>();
const counts = { random: 0, mutated: 0, refused: 0, cases: 0 };
const wrong: string[] = [];

/** Notes what a kernel's proof says, and what cases show of it. */
function judge(name: string, compiled: CompiledKernel, drawn: () => readonly Case[], isOfPadding = false): void {
  const proof = compiled.proof();
  // Where no lane that is left out meets others, what it holds is data: the border of a convolution.
  const padding = proof.obligations.filter(({ property }) => property === "padding");
  const isPaddingProved = padding.length > 0 && padding.every(({ verdict }) => verdict.kind === "proved");
  for (const { property, verdict } of proof.obligations) {
    const key = `${property} ${verdict.kind}`;
    verdicts.set(key, (verdicts.get(key) ?? 0) + 1);
  }
  for (const at of drawn()) {
    counts.cases++;
    const { findings, comparison } = compiled.evaluate(at);
    const isWrong = isOfPadding && isPaddingProved && findings.length === 0 && comparison?.finds === "mistake";
    const found = [...contradicted(proof, findings), ...(isWrong ? ["padding changes the result"] : [])];
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

async function judgeMutated(seeded: Seeded): Promise<void> {
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
  judge(`${subject.kernel}: ${mutation.what}`, compiled, drawn, mutation.isOfPadding);
}

/** Whether an error says that the kernel, or a case of it, is refused. */
const isRefusal = (error: unknown): boolean =>
  error instanceof TileScriptError || (error instanceof Error && !(error instanceof TypeError));

const seeded = new Seeded();
const end = performance.now() + Number(flags.minutes) * 60_000;
try {
  for (let i = 0; performance.now() < end && counts.mutated < most; i++) {
    try {
      if (i % 2 === 0 && most === Infinity) judgeRandom(seed + i);
      else await judgeMutated(seeded);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      counts.refused++;
    }
  }
} finally {
  seeded.remove();
}
console.log(counts, Object.fromEntries([...verdicts].sort()));
console.log(`${wrong.length} of what is proved is found wrong`);
process.exitCode = wrong.length > 0 ? 1 : 0;
