/** Attention of every usual number of elements a head: some config fits into a Hopper's registers and shared memory. */
import { expect, test } from "vitest";
import { targets } from "../../../src/runtime/system/gpu-targets.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { examples, sourcesOf } from "../../support/examples.js";
import { requirePython } from "../../support/python.js";
import { compileAll, type Job, jobsOf, kernelsOf, sm90 } from "./jobs.js";

const HEAD_DIMS = [32, 64, 128, 256];

const { limits } = targets.find(({ name }) => name === "cuda:90")!;

/** The jobs of each kernel that has heads, with a mask and without one where it has both. */
const all = examples.flatMap(({ name, kernel }) =>
  kernelsOf(kernel).flatMap((part) => {
    const [first] = jobsOf(part, sm90);
    if (!first || !("HEAD_DIM" in first.constants)) return [];
    const masks = "CAUSAL" in first.constants ? [{ CAUSAL: true }, { CAUSAL: false }] : [{}];
    const jobs = (HEAD_DIM: number) => masks.map((mask) => jobsOf(part, sm90, "aligned", { HEAD_DIM, ...mask }));
    return HEAD_DIMS.map((headDim) => ({ name, kernel: first.module, headDim, jobs }));
  }),
);

const tested = sampleCases("kernels of attention and numbers of elements a head", all, {
  key: ({ kernel, headDim }) => `${kernel} ${headDim}`,
  sources: ({ name }) => sourcesOf(name),
  perRun: 6,
  hasOwnTests: true,
});

/** Whether the config of these jobs neither keeps registers in memory nor needs more shared memory than there is. */
async function fits(python: string, jobs: readonly Job[]): Promise<boolean> {
  const compiled = await compileAll(python, jobs);
  return compiled.every(
    ({ error, spilled, shared }) => error === undefined && spilled === 0 && shared! <= limits.sharedOfProgram,
  );
}

test.each(tested)("$kernel has a config for heads of $headDim", { timeout: 600_000 }, async ({ headDim, jobs }) => {
  const python = await requirePython();
  const [first, ...others] = jobs(headDim).map((each) => each.filter(({ dtype }) => dtype === "float16"));
  // The last configs are those for large heads, the first for small ones.
  const configs = headDim > 128 ? first!.toReversed() : first!;
  let found = false;
  for (const { config } of configs)
    found ||= await fits(
      python,
      [first!, ...others].map((each) => each.find((job) => job.config === config)!),
    );
  expect(found).toBe(true);
});
