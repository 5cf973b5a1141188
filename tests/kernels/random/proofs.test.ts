/** Of random kernels nothing that is proved is found wrong by the evaluator. */
import { expect, test } from "vitest";
import { TileScriptError } from "tilescript";
import { runsOf } from "../../support/property.js";
import { recipeOf } from "./draw.js";
import { accept, type Accepted } from "./jobs.js";

const FIRST = Number(process.env["RANDOM_SEED"] ?? 20_261_122);
const KERNELS = Number(process.env["RANDOM_KERNELS"] ?? runsOf(200));

function accepted(seed: number): Accepted | undefined {
  try {
    return accept(recipeOf(seed));
  } catch (error) {
    if (error instanceof TileScriptError) return undefined;
    throw error;
  }
}

test("no access that is proved leaves its tensor", { timeout: 600_000 }, () => {
  let proved = 0;
  for (let seed = FIRST; seed < FIRST + KERNELS; seed++) {
    const kernel = accepted(seed);
    if (!kernel) continue;
    const { compiled, sizes, scalars } = kernel;
    const { obligations } = compiled.proof();
    const good = obligations.filter(({ verdict }) => verdict.kind === "proved");
    proved += good.length;
    const { findings } = compiled.evaluate({ sizes, scalars, dtypes: {}, config: 0, seed: 1 });
    const outside = findings.filter(({ code }) => code === "out-of-bounds" || code === "false-in-bounds");
    const wrong = outside.filter(({ at }) =>
      good.some((each) => each.at?.line === at?.line && each.at?.column === at?.column),
    );
    const open = obligations.filter(({ verdict }) => verdict.kind !== "proved");
    const alike = wrong.filter(
      ({ at }) => !open.some((each) => each.at?.line === at?.line && each.at?.column === at?.column),
    );
    expect({ seed, alike }).toEqual({ seed, alike: [] });
  }
  expect(proved).toBeGreaterThan(KERNELS);
});
