/**
 * Random kernels: what our checks accept, Triton accepts, and its interpreter computes what the evaluator says. The seed is
 * fixed, so that a run tells of a change and not of luck; `RANDOM_SEED=7` draws others. `npm run fuzz` draws thousands.
 */
import { describe, expect, test } from "vitest";
import { TileScriptError } from "tilescript";
import { drawn as drawnOf } from "../../support/drawn.js";
import { requirePython } from "../../support/python.js";
import { type Case, caseOf } from "./cases.js";
import { recipeOf } from "./draw.js";
import { accept, type Accepted, compileScript, jobOf } from "./jobs.js";
import { interpreted } from "./python.js";
import { distribute, Worker } from "./workers.js";

const seed = Number(process.env["RANDOM_SEED"] ?? 20_261_121);
const COMPILED = 120;
const EVALUATED = 60;

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
    const drawn = Array.from({ length: COMPILED }, (_, i) => [seed + i, accepted(seed + i)] as const);
    const kernels = drawn.filter((each): each is [number, Accepted] => each[1] !== undefined);
    expect(kernels.length).toBeGreaterThanOrEqual(0.9 * COMPILED);
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
    const tested = drawnOf("random kernels to compile", kernels, { key: ([at]) => String(at), least: 15 });
    const both = tested.filter(([, { since39 }]) => !since39);
    await Promise.all([run(await requirePython(), tested), ...(older ? [run(older, both)] : [])]);
    expect(failures).toEqual([]);
    expect(answers).toBe(tested.length + (older ? both.length : 0));
  });

  test(
    `its interpreter should compute what the evaluator computes, of ${EVALUATED}`,
    { timeout: 300_000 },
    async () => {
      const cases: Case[] = [];
      let drawn = 0;
      for (; cases.length < EVALUATED; drawn++) {
        const found = caseOf(seed + drawn);
        if (!("left" in found) && !found.unlike.interpreter) cases.push(found);
      }
      expect(drawn).toBeLessThan(2 * EVALUATED);
      const tested = drawnOf("random kernels to interpret", cases, { key: ({ id }) => id, least: 8 });
      const { kernels, agree, failures } = await interpreted(tested);
      const { length } = tested;
      expect({ kernels, agree, failures }).toEqual({ kernels: length, agree: length, failures: [] });
    },
  );
});
