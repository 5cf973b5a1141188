/**
 * What is emitted, through real Triton: every example, every config and every dtype for an NVIDIA and an AMD GPU, none
 * of which need be there. The seed of the run draws which dtype a config meets: what Triton says of a pair hardly ever
 * depends on more than one of them, and all pairs come up in as many days as there are dtypes, or in some times as many
 * where a compiler is slow.
 * `TILESCRIPT_PYTHON36` names a second Python, with Triton 3.6 (torch is not needed).
 */
import { describe, expect, test } from "vitest";
import { sampleCases, sampledTests, seedOfRun } from "../../support/sampled-tests.js";
import { examples, sourcesOf } from "../../support/examples.js";
import * as addresses from "../../unit/codegen/fixtures/addresses.js";
import * as flow from "../../unit/codegen/fixtures/flow.js";
import * as numbers from "../../unit/codegen/fixtures/numbers.js";
import * as repeats from "../../unit/codegen/fixtures/repeats.js";
import { python36, tritonPythons } from "../../support/python.js";
import { compileAll, type Compiled, eachOnce, gfx942, type Job, jobsOf, kernelsOf, sm90 } from "./jobs.js";

sampledTests("compilations of examples");

const fixtureFiles = ["addresses", "flow", "numbers", "repeats"].map(
  (name) => `tests/unit/codegen/fixtures/${name}.ts`,
);
const fixtures = [addresses, flow, numbers, repeats].flatMap((file) => Object.values<unknown>(file));

/** Arithmetic of Triton's IR, each operation with its type once. */
function operations(ttir: string): string[] {
  return [
    ...new Set(
      [...ttir.matchAll(/arith\.(\w+) .* : (tensor<\S+>)(?! to)/g)].map(([, name, type]) => `${name} ${type}`),
    ),
  ];
}

/** The kernels of the examples, and the file that each is in. */
const kernels = examples.flatMap(({ name, kernel }) => kernelsOf(kernel).map((part) => ({ name, part })));
const known = new Map<string, readonly Job[]>();

/** Every config in every dtype; several tests ask. */
function everyJob(part: unknown, target: Job["target"]): readonly Job[] {
  const key = `${kernels.findIndex((each) => each.part === part)} ${target[1]}`;
  const jobs = known.get(key) ?? jobsOf(part, target);
  known.set(key, jobs);
  return jobs;
}

async function expectAll(jobs: readonly Job[], on?: readonly string[]): Promise<readonly Compiled[]> {
  const compiled: Compiled[] = [];
  for (const { name, python } of await tritonPythons()) {
    if (on && !on.includes(name)) continue;
    const results = await compileAll(python, jobs);
    expect(
      results.filter((result) => result.error !== undefined).map(({ label, error }) => `${label}: ${error}`),
    ).toEqual([]);
    expect(results.map((result) => result.label)).toEqual(jobs.map((job) => job.label));
    compiled.push(...results);
  }
  return compiled;
}

describe("Triton", { timeout: 900_000 }, () => {
  /** The jobs of all examples that this run compiles, with each config and each dtype. */
  const jobsOfExamples = (target: Job["target"], perRun: number): readonly Job[] => {
    const all = kernels.flatMap(({ name, part }) =>
      eachOnce(everyJob(part, target), seedOfRun()).map((job) => ({ job, name })),
    );
    const options = {
      key: ({ job }: (typeof all)[number]) => job.label,
      sources: ({ name }: (typeof all)[number]) => sourcesOf(name),
      perRun,
    };
    return sampleCases("configs of examples", all, options).map(({ job }) => job);
  };

  const expectNoFault = async (version: string, perRun: number) => {
    const jobs = jobsOfExamples(sm90, perRun).map((job) => ({ ...job, machineCode: true }));
    for (const { label, machineCode } of await expectAll(jobs, [version]))
      expect({ label, found: machineCode!.unwritten }).toEqual({ label, found: [] });
  };

  test("should compile every config and every dtype of the examples for sm_90, and find no fault of ptxas", async () => {
    await expectNoFault("3.9", 60);
  });

  test("should compile every config and every dtype of the examples for gfx942", async () => {
    await expectAll(jobsOfExamples(gfx942, 52), ["3.9"]);
  });

  test.skipIf(!python36)(
    "should compile them with Triton 3.6 for sm_90, each config and each dtype, and find no fault of ptxas",
    async () => {
      await expectNoFault("3.6", 52);
    },
  );

  test.skipIf(!python36)("should compile them with Triton 3.6 for gfx942, each config and each dtype", async () => {
    // Triton 3.6 cannot lower a product of scaled elements for gfx942; TileScript says so in a build for 3.6.
    const jobs = jobsOfExamples(gfx942, 52).filter(({ module }) => module !== "gemm_block_scaled");
    await expectAll(jobs, ["3.6"]);
  });

  test("should meet every config and every dtype in a run, and all pairs in as many runs as there are dtypes", () => {
    for (const { part } of kernels) {
      const jobs = everyJob(part, sm90);
      const [configs, dtypes] = (["config", "dtype"] as const).map((key) => new Set(jobs.map((job) => job[key])));
      const turns = [...dtypes!].map((_, turn) => eachOnce(jobs, turn));
      for (const turn of turns) {
        expect(new Set(turn.map(({ config }) => config))).toEqual(configs);
        expect(new Set(turn.map(({ dtype }) => dtype))).toEqual(dtypes);
      }
      expect(new Set(turns.flat())).toEqual(new Set(jobs));
    }
  });

  test("should compile the constructs of emission, whatever sizes and strides are", async () => {
    const shapes = ["aligned", "strided", "ones"] as const;
    const all = shapes.flatMap((shape) => fixtures.flatMap((kernel) => jobsOf(kernel, sm90, shape)));
    await expectAll(
      sampleCases("constructs of emission", all, { key: ({ label }) => label, sources: () => fixtureFiles }),
    );
  });

  test("should compute in the same dtypes in each version, and where a size is 1", async () => {
    const jobs = (["strided", "ones"] as const).flatMap((shape) =>
      [numbers.sizes, numbers.extremes].map((kernel) => ({ ...jobsOf(kernel, sm90, shape)[0]!, ttir: true })),
    );
    for (const { python } of await tritonPythons()) {
      const [sizes, extremes, sizesOfOne, extremesOfOne] = (await compileAll(python, jobs)).map(({ ttir }) =>
        operations(ttir!),
      );
      for (const found of [sizes, sizesOfOne]) {
        expect(found).toContain("addi tensor<64xi32>");
        expect(found).toContain("mulf tensor<64xf32>");
        expect(found).not.toContain("addi tensor<64xi8>");
        expect(found).not.toContain("mulf tensor<64xbf16>");
      }
      for (const found of [extremes, extremesOfOne]) {
        expect(found).toEqual(
          expect.arrayContaining(["maxsi tensor<64xi8>", "maxui tensor<64xi8>", "maxnumf tensor<64xf16>"]),
        );
        expect(found).not.toContain("maxsi tensor<64xi32>");
      }
    }
  });

  test("should report what it refuses", async () => {
    const [job] = jobsOf(addresses.raw, sm90);
    const [{ python }] = await tritonPythons();
    const wrong = { ...job!, source: job!.source.replace("tl.arange(0, BM)", "tl.arange(0, M)") };
    const [result] = await compileAll(python, [wrong]);
    expect(result!.error).toMatch(/arange's arguments must be of type tl.constexpr/);
  });
});
