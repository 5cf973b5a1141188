/**
 * Random kernels: what our checks accept, Triton accepts, and its interpreter computes what the evaluator says. The
 * seed is fixed, so that a run tells of a change and not of luck; `RANDOM_SEED=7` draws others. `npm run fuzz --
 * kernels` draws thousands.
 */
import { describe, expect, test } from "vitest";
import { TileScriptError } from "tilescript";
import { sampleCases, isFullRun } from "../../support/sampled-tests.js";
import { requirePython } from "../../support/python.js";
import { type Case, caseOf } from "./cases.js";
import { recipeOf } from "./draw.js";
import { accept, type Accepted, compileScript, jobOf } from "./jobs.js";
import { interpreted } from "./python.js";
import { distribute, Worker } from "./workers.js";

const seed = Number(process.env["RANDOM_SEED"] ?? 20_261_121);
const COMPILED = 120;
const EVALUATED = 80;
const seedsOf = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => seed + i);

function accepted(at: number): Accepted | undefined {
  try {
    return accept(recipeOf(at));
  } catch (error) {
    if (error instanceof TileScriptError) return undefined;
    throw error;
  }
}

describe(`random kernels from seed ${seed}`, () => {
  test(`Triton should accept what the checks accept of ${COMPILED}`, { timeout: 300_000 }, async () => {
    const seeds = sampleCases("random kernels to compile", seedsOf(COMPILED), { key: String, minimum: 15, perRun: 40 });
    const kernels = seeds.flatMap((at) => {
      const kernel = accepted(at);
      return kernel ? [[at, kernel] as const] : [];
    });
    expect(kernels.length).toBeGreaterThan((isFullRun() ? 0.9 : 0.5) * seeds.length);
    const older = process.env["TILESCRIPT_PYTHON36"];
    const failures: object[] = [];
    let answers = 0;
    const run = async (python: string, jobs: readonly (typeof kernels)[number][]) => {
      const [worker, rest] = [new Worker(python, compileScript), [...jobs]];
      await distribute(
        [worker],
        () => rest.shift(),
        async (_, [at, kernel]) => {
          const { error } = await worker.ask(jobOf(String(at), kernel, "ttir", "odd"));
          answers++;
          if (error !== undefined) failures.push({ seed: at, triton: worker.version, error });
        },
      );
      worker.close();
    };
    const both = kernels.filter(([, { since39 }]) => !since39);
    await Promise.all([run(await requirePython(), kernels), ...(older ? [run(older, both)] : [])]);
    expect(failures).toEqual([]);
    expect(answers).toBe(kernels.length + (older ? both.length : 0));
  });

  test("none asks JavaScript for a traced value's truth", () => {
    const scalarOperands = [77_000_002, 77_000_047, 77_000_513, 77_000_563, 77_000_785];
    const refusals = scalarOperands.map((at) => caseOf(at)).filter((each) => "left" in each && each.left === "refused");
    expect(refusals).toEqual([]);
  });

  test("an output beside tensors that are updated is passed by its name", () => {
    const drawn = caseOf(2_029_112_917);
    expect("left" in drawn ? drawn : Object.keys(drawn.arguments)).toContain("out");
    expect("left" in drawn ? drawn : drawn.module).toContain("    out: torch.Tensor | bool | None = None,");
  });

  test(
    `its interpreter should compute what the evaluator computes, of ${EVALUATED}`,
    { timeout: 300_000 },
    async () => {
      const cases = seedsOf(EVALUATED).map((at) => caseOf(at));
      const comparable = cases.filter((each): each is Case => !("left" in each) && !each.unlike.interpreter);
      expect(comparable.length).toBeGreaterThan(0.5 * EVALUATED);
      const tested = sampleCases("random kernels to interpret", comparable, {
        key: ({ id }) => id,
        minimum: 8,
        perRun: 24,
      });
      const { kernels, agree, failures } = await interpreted(tested);
      const { length } = tested;
      expect({ kernels, agree, failures }).toEqual({ kernels: length, agree: length, failures: [] });
    },
  );
});
