/**
 * Proofs against the evaluator: `npm run fuzz -- proofs --minutes 5 --seed 1`. Random kernels, and kernels with a
 * random seeded mistake, are proved and then evaluated on drawn cases. A contradiction is a failure: a finding that a
 * proof excludes, or a wrong result of a kernel whose only mistake is in padding that is proved. `--mutated 1000` stops
 * after that many kernels with mistakes, and omits random ones. The seed determines each kernel, so the next seed,
 * printed at the end, continues a run, and `--mutated 1` repeats one kernel.
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
const limit = flags.mutated === undefined ? Infinity : Number(flags.mutated);
console.log(`proofs from seed ${seed}, for ${flags.minutes} minutes`);

/** Draws numbers below a bound from a seed (mulberry32). */
function drawsFrom(startSeed: number): (below: number) => number {
  let state = startSeed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const verdicts = new Map<string, number>();
const counts = { random: 0, mutated: 0, refused: 0, cases: 0 };
const violations: string[] = [];

/** Records the verdicts of a kernel's proof, and contradictions with its evaluated cases. */
function checkProof(
  name: string,
  compiled: CompiledKernel,
  drawCases: () => readonly TestCase[],
  isOfPadding = false,
): void {
  const proof = compiled.proof();
  // If no fold combines a masked lane with others, its value is data: the border of a convolution.
  const padding = proof.obligations.filter(({ property }) => property === "padding");
  const isPaddingProved = padding.length > 0 && padding.every(({ verdict }) => verdict.kind === "proved");
  // Another refuted obligation, such as a store without strides, also causes wrong results.
  const isRefuted = proof.obligations.some(({ verdict }) => verdict.kind === "refuted");
  for (const { property, verdict } of proof.obligations) {
    const key = `${property} ${verdict.kind}`;
    verdicts.set(key, (verdicts.get(key) ?? 0) + 1);
  }
  for (const testCase of drawCases()) {
    counts.cases++;
    const { findings, comparison } = compiled.evaluate(testCase);
    const isWrong =
      isOfPadding && isPaddingProved && !isRefuted && findings.length === 0 && comparison?.finds === "mistake";
    const problems = [...soundnessViolations(proof, findings), ...(isWrong ? ["padding changes the result"] : [])];
    if (problems.length === 0) continue;
    violations.push(`${name}, ${JSON.stringify(testCase)}: ${problems.join("; ")}`);
    console.log(violations.at(-1));
    return;
  }
}

function checkRandom(kernelSeed: number): void {
  const { compiled, sizes, scalars } = accept(recipeOf(kernelSeed));
  counts.random++;
  checkProof(`recipe ${kernelSeed}`, compiled, () => [{ sizes, scalars, dtypes: {}, config: 0, seed: 1 }]);
}

async function checkMutant(mutantBuilder: Seeded, kernelSeed: number): Promise<void> {
  const draw = drawsFrom(kernelSeed);
  const subject = subjects[draw(subjects.length)]!;
  const mutation = mutationOf(subject, draw);
  if (!mutation) return;
  const { compiled } = await mutantBuilder.build(subject, mutation);
  counts.mutated++;
  const { scalars } = subject;
  const drawMutantCases = () =>
    fc
      .sample(cases(compiled, subject.draw), { seed: 1 + draw(1000), numRuns: Number(flags.cases) })
      .map((each) => (scalars ? { ...each, scalars } : each));
  checkProof(
    `seed ${kernelSeed}, ${subject.kernel}: ${mutation.what}`,
    compiled,
    drawMutantCases,
    mutation.isOfPadding,
  );
}

/** True for an error that rejects the kernel or a case of it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof TileScriptError || (error instanceof Error && !(error instanceof TypeError));

const mutantBuilder = new Seeded();
const end = performance.now() + Number(flags.minutes) * 60_000;
let nextSeed = seed;
try {
  for (; performance.now() < end && counts.mutated < limit; nextSeed++) {
    try {
      if (nextSeed % 2 === 0 && limit === Infinity) checkRandom(nextSeed);
      else await checkMutant(mutantBuilder, nextSeed);
    } catch (error) {
      if (!isRefusal(error)) {
        console.log(`the kernel of seed ${nextSeed} ends with an error of the prover's own`);
        throw error;
      }
      counts.refused++;
    }
  }
} finally {
  mutantBuilder.remove();
}
console.log(counts, Object.fromEntries([...verdicts].sort()));
console.log(`${violations.length} of what is proved is found wrong; the next seed is ${nextSeed}`);
process.exitCode = violations.length > 0 ? 1 : 0;
