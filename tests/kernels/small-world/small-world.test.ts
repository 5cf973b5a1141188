/**
 * Where an int32 has 8 to 12 bits, launches reach every limit. What is proved of a kernel holds in those that are tried,
 * and what is refuted fails in one of them: of right kernels, of mistakes in their IR, and of random kernels.
 * `npm run bench -- small-world` tries more.
 */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, TileScriptError, tl } from "tilescript";
import { uniform } from "../../../src/numerics/random.js";
import type { Certificate } from "../../../src/compiled/compiled-kernel.js";
import { drawnCount, sampleCases, seedOfRun } from "../../support/sampled-tests.js";
import { compare } from "./compare.js";
import { narrowestOf, randomKernel, sources } from "./kernels.js";
import { mutate } from "./mutate.js";
import { SmallKernel, smallKernels } from "./small-kernel.js";

/** Their tiles have shapes that no small world holds, or their proofs take many seconds. */
const OMITTED: ReadonlySet<string> = new Set(["max-pool-3d", "attention-gradients"]);

/** Of these, int32 arithmetic may wrap in launches that a large world cannot run. */
const WRAPPING: ReadonlySet<string> = new Set(["roll"]);

const tried = sources.filter(({ name }) => !OMITTED.has(name));

const drawFrom = (seed: number) => {
  const random = uniform(seed);
  return (below: number): number => Math.floor(random() * below);
};

const sampled = sampleCases("kernels of the small world", tried, {
  key: ({ name }) => name,
  minimum: 6,
  hasOwnTests: true,
});

test.each(sampled)("nothing that is proved of $name is found wrong, and nothing is refuted", (source) => {
  for (const kernel of narrowestOf(source)) {
    const { contradictions, certificate } = compare(kernel, { complete: 400, drawn: 40, seconds: 4 }, drawFrom(1));
    expect(contradictions).toEqual([]);
    const refuted = certificate.obligations.filter(({ verdict }) => verdict.kind === "refuted");
    if (!WRAPPING.has(source.name)) expect(refuted).toEqual([]);
  }
});

/** Tries kernels until so many were compared. `next` returns undefined for a seed that gives none. */
function expectAgreement(count: number, next: (seed: number) => SmallKernel | undefined): void {
  const first = seedOfRun() * 1000;
  for (let seed = first, compared = 0; compared < count && seed < first + 20 * count; seed++) {
    let kernel: SmallKernel | undefined;
    try {
      kernel = next(seed);
    } catch (error) {
      if (!(error instanceof TileScriptError)) throw error;
    }
    if (!kernel) continue;
    compared++;
    const { contradictions } = compare(kernel, { complete: 40, drawn: 16, seconds: 1 }, drawFrom(seed));
    expect({ seed, name: kernel.name, contradictions }).toEqual({ seed, name: kernel.name, contradictions: [] });
  }
}

test("nothing that is proved of a kernel with a mistake is found wrong", { timeout: 600_000 }, () => {
  expectAgreement(drawnCount("mutants of the small world", 160, 12), (seed) => {
    const draw = drawFrom(seed * 7919);
    const source = tried[draw(tried.length)]!;
    const candidates = narrowestOf(source);
    const right = candidates[draw(candidates.length)];
    const mutant = right && mutate(right.ir, draw);
    return mutant && new SmallKernel(`${right.name}, ${mutant.what}`, mutant.ir);
  });
});

test("nothing that is proved of a random kernel is found wrong", { timeout: 600_000 }, () => {
  expectAgreement(drawnCount("random kernels of the small world", 120, 12), randomKernel);
});

test("a wrapper that lets tensors reach the end of int32 is found", () => {
  const shift = kernel(
    "shift",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      config: { BLOCK: 1024 },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    },
    ({ x, y, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(i.add(3)), { other: 0 }));
    },
  );
  const [right] = smallKernels(shift, 8) as [SmallKernel];
  const effort = { complete: 400, drawn: 0, seconds: 10 };
  expect(compare(right, effort, drawFrom(1))).toMatchObject({ contradictions: [], isComplete: true, launches: 97 });
  class Lax extends SmallKernel {
    // The proof takes for granted what this wrapper does not check.
    override proof = (): Certificate => right.proof();
  }
  const lax = new Lax("lax", { ...right.ir, limits: { ...right.ir.limits, int32Reach: right.ir.limits.int32End } });
  expect(compare(lax, effort, drawFrom(1)).contradictions[0]).toMatch(/125 \+ 3 is 128, which wraps to -128 in int32/);
});
