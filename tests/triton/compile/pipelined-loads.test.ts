/**
 * The fault "pipelined-load" in Triton's IR: which loads of a loop stand before the loop. A change here means that
 * Triton moves other loads, so that the build's conditions no longer hold. `TILESCRIPT_PYTHON36` names a Python with
 * Triton 3.6.
 */
import { expect, test } from "vitest";
import { loopCases } from "../../support/fixtures/pipelined-loads.js";
import { python36, requirePython } from "../../support/python.js";
import { compileAll, gfx942, type Job, jobsOf, sm90 } from "./jobs.js";

const sm100 = ["cuda", 100, 32] as const;

const LOAD =
  /\b(tt\.load|tt\.descriptor_load|\w*\.?buffer_load|async_copy_global_to_local|async_tma_copy_global_to_local)\b/;
const LOOP = /\bscf\.(for|while)\b/;

async function moved(python: string, target: Job["target"]): Promise<Readonly<Record<string, boolean>>> {
  // The last config has the most stages.
  const jobs = loopCases.map(({ kernel }) => ({ ...jobsOf(kernel, target).at(-1)!, ttgir: true }));
  const compiled = await compileAll(python, jobs);
  return Object.fromEntries(
    compiled.map(({ error, ttgir }, i) => {
      expect(error, loopCases[i]!.kernel.name).toBeUndefined();
      const [beforeLoop] = ttgir!.split(LOOP);
      return [loopCases[i]!.kernel.name, LOAD.test(beforeLoop!)];
    }),
  );
}

const expected = Object.fromEntries(loopCases.map(({ kernel, isMoved }) => [kernel.name, isMoved]));

test.each([sm90, sm100, gfx942])("loads before the loop, for %s %s", { timeout: 300_000 }, async (...target) => {
  expect(await moved(await requirePython(), target)).toEqual(expected);
});

test.skipIf(python36 === undefined).each([sm90, sm100, gfx942])(
  "loads before the loop in Triton 3.6, for %s %s",
  { timeout: 300_000 },
  async (...target) => {
    expect(await moved(python36!, target)).toEqual(expected);
  },
);
