/** The emitted matrix product beside one written by hand: its K loop has no more instructions on sm_90. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { drawTests } from "../../support/drawn.js";
import { gemm } from "../../../examples/gemm.js";
import { jitFunction } from "../../support/emit.js";
import type { Shape } from "../compile/arguments.js";
import { compileAll, type Compiled, jobsOf, sm90 } from "../compile/jobs.js";
import { requirePython } from "../../support/python.js";
import { readSass, total } from "./sass.js";

drawTests("hand-written twins", "src/codegen/body", "src/lower");

const twin = jitFunction(`${readFileSync(new URL("gemm.py", import.meta.url), "utf8")}\n\n\n`);

interface Pair {
  readonly emitted: Compiled;
  readonly written: Compiled;
}

/** Each config for float16, and its twin with the same arguments. */
async function pairs(shape: Shape): Promise<Pair[]> {
  const emitted = jobsOf(gemm, sm90, shape).filter(({ label }) => label.includes(" float16 "));
  const jobs = emitted.flatMap((job) => [
    { ...job, sass: true },
    { ...job, sass: true, source: twin, module: "twin", label: `twin of ${job.label}` },
  ]);
  const results = await compileAll(await requirePython(), jobs);
  expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
  return emitted.map((_, i) => ({ emitted: results[2 * i]!, written: results[2 * i + 1]! }));
}

async function compared(shape: Shape) {
  const rows = (await pairs(shape)).map(({ emitted, written }) => {
    const [ours, theirs] = [readSass(emitted.sass!), readSass(written.sass!)];
    return {
      config: emitted.label,
      loop: total(ours.loop),
      twin: total(theirs.loop),
      whole: ours.instructions,
      wholeTwin: theirs.instructions,
      registers: emitted.registers,
      registersTwin: written.registers,
    };
  });
  console.table(rows);
  for (const { twin } of rows) expect(twin).toBeGreaterThan(0);
  return rows;
}

describe("the emitted K loop", { timeout: 300_000 }, () => {
  test("should have no more instructions than the twin's", async () => {
    expect((await compared("aligned")).filter(({ loop, twin }) => loop > twin)).toEqual([]);
  });

  // Then each element is loaded on its own, and what counts is how many addresses fit into registers.
  test("should not be far off where sizes are odd and nothing is vectorised", async () => {
    expect((await compared("odd")).filter(({ loop, twin }) => loop > 1.02 * twin)).toEqual([]);
  });
});
