/** Of random kernels nothing that is proved is found wrong by the evaluator. */
import { expect, test } from "vitest";
import { TileScriptError } from "tilescript";
import { runCount } from "../../support/property.js";
import { soundnessViolations } from "../../support/soundness.js";
import { recipeOf } from "./draw.js";
import { accept, type Accepted } from "./jobs.js";

const FIRST = Number(process.env["RANDOM_SEED"] ?? 20_261_122);
const KERNELS = Number(process.env["RANDOM_KERNELS"] ?? runCount(200));

function accepted(seed: number): Accepted | undefined {
  try {
    return accept(recipeOf(seed));
  } catch (error) {
    if (error instanceof TileScriptError) return undefined;
    throw error;
  }
}

test("nothing that is proved is found wrong", { timeout: 600_000 }, () => {
  const proved = new Map<string, number>();
  for (let seed = FIRST; seed < FIRST + KERNELS; seed++) {
    const kernel = accepted(seed);
    if (!kernel) continue;
    const { compiled, sizes, scalars } = kernel;
    const proof = compiled.proof();
    for (const { property, verdict } of proof.obligations)
      if (verdict.kind === "proved") proved.set(property, (proved.get(property) ?? 0) + 1);
    const { findings } = compiled.evaluate({ sizes, scalars, dtypes: {}, config: 0, seed: 1 });
    expect({ seed, wrong: soundnessViolations(proof, findings) }).toEqual({ seed, wrong: [] });
  }
  for (const property of ["bounds", "coverage", "race"])
    expect([property, (proved.get(property) ?? 0) >= KERNELS / 2]).toEqual([property, true]);
});
