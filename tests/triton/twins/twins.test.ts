/**
 * The emitted kernels beside kernels written by hand, compiled for sm_90: no more than one instruction in a hundred more,
 * and none more in their loops. What is above is an entry of `pairs.ts` with its cause.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { drawn } from "../../support/drawn.js";
import { jitFunctions } from "../../support/emit.js";
import { tritons } from "../../support/python.js";
import { compileAll, type Compiled, type Job, jobsOf, kernelsOf, sm90 } from "../compile/jobs.js";
import { type Excess, type Pair, pairs, type Sizes } from "./pairs.js";
import { readSass } from "./sass.js";

const SIZES: readonly Sizes[] = ["aligned", "odd"];

const tested = drawn("pairs of emitted and hand-written kernels", pairs, {
  key: ({ kernel }) => kernel,
  sources: ({ file, twin }) => [`examples/${file}.ts`, `tests/triton/twins/${twin}.py`],
  most: 1,
});

/** The emitted kernel's job and its twin's, with the same arguments. */
function jobsOfPair(
  { kernel, example, twin, dtype = "float16", config = 0, constants = {} }: Pair,
  sizes: Sizes,
): Job[] {
  const part = kernelsOf(example).find((each) => jobsOf(each, sm90)[0]!.module === kernel);
  const all = jobsOf(part, sm90, sizes);
  const own = all.filter(({ label }) => label.split(" ").includes(dtype));
  const job = (own.length > 0 ? own : all)[config]!;
  const given = { ...job, sass: true, constants: { ...job.constants, ...constants } };
  const text = readFileSync(new URL(`${twin}.py`, import.meta.url), "utf8");
  const source = jitFunctions(`${text}\n\n\n`).join("\n\n\n@triton.jit\n");
  return [given, { ...given, source, module: `twin_${twin}`, label: `twin of ${job.label}` }];
}

/** What is above the limits, or `undefined`. */
function excessOf(emitted: Compiled, written: Compiled): Omit<Excess, "cause"> | undefined {
  const [ours, theirs] = [readSass(emitted.sass!), readSass(written.sass!)];
  const isLonger = ours.instructions > 1.01 * theirs.instructions;
  const isLongerInside = ours.loop > theirs.loop;
  if (!isLonger && !isLongerInside) return undefined;
  return {
    instructions: [ours.instructions, theirs.instructions],
    ...(isLongerInside && { loop: [ours.loop, theirs.loop] }),
  };
}

describe("on sm_90", { timeout: 600_000 }, () => {
  test.each(tested.map((pair) => [pair.kernel, pair] as const))(
    "%s should have no more instructions than what a person writes",
    async (_, pair) => {
      const found: Record<string, Omit<Excess, "cause"> | undefined> = {};
      for (const { name, python } of await tritons()) {
        const results = await compileAll(
          python,
          SIZES.flatMap((sizes) => jobsOfPair(pair, sizes)),
        );
        expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
        for (const [i, sizes] of SIZES.entries())
          found[`${name} ${sizes}`] = excessOf(results[2 * i]!, results[2 * i + 1]!);
      }
      const known = Object.entries(pair.excess ?? {}).filter(([key]) => key in found);
      const figures = known.map(([key, { cause: _cause, ...excess }]) => [key, excess] as const);
      expect(Object.fromEntries(Object.entries(found).filter(([, excess]) => excess))).toEqual(
        Object.fromEntries(figures),
      );
    },
  );
});
