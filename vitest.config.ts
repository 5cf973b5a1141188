import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Files of `tests/unit` that take longer than 3 s: they build all examples, search, or start the TypeScript compiler. */
const slow = [
  "{agents-page,docs,spec-page,variants}",
  "analysis/{in-bounds,shared-values,signs,signs-at-the-ends}",
  "check/{checks,host}",
  "codegen/{control,depth,examples,extern,launch-cache,repeats}",
  "codegen/warp-specialize/{patterns,gluon/specialized}",
  "diagnostics/{catalog,first-contact}",
  "dsl/{spec-schema,truth-values}",
  "eval/{compare-reference,integer-outputs,kernels,reference-kind,stochastic-rounding}",
  "host-call/evaluate",
  "numerics/numeric.property",
  "prove/{block-prefix-sum,coverage,examples,input-elements,loop-state,overflow,padding,partitions,proof-cache,races}",
  "prove/{reasoning,rules,shared-values,smt,trusted,verdicts}",
  "prove/equivalence/{computes,mutants,points}",
  "prove/invariance/{bits,invariance,mutants}",
  "runtime/{arbitrary,bench,computed-sizes,derived-space,given-values,specialized-runs,trace,tune,verdict}",
  "testing/matchers",
].map((name) => `tests/unit/${name}.test.ts`);

interface Tier {
  /** Name of the vitest project, and folder of its tests in `tests`. */
  readonly name: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** Prepares what the tests need besides Node, once per run. */
  readonly globalSetup?: readonly string[];
  /** True if the tests start processes: each file then has its own Node process. */
  readonly isolate?: boolean;
}

const python = "tests/support/setup-python.ts";
const installedPackage = "tests/support/setup-package.ts";

const tiers: readonly Tier[] = [
  // These need nothing but Node.
  { name: "unit", exclude: slow },
  { name: "slow", include: slow },
  { name: "types" },
  { name: "kernels", globalSetup: [python] },
  { name: "triton", globalSetup: [python] },
  { name: "python", globalSetup: [python], isolate: true },
  { name: "cli", globalSetup: [python, installedPackage], isolate: true },
  // These skip themselves without a browser or without a GPU.
  { name: "browser", isolate: true },
  { name: "gpu", globalSetup: [python], isolate: true },
];

export default defineConfig({
  test: {
    globalSetup: "tests/support/global-setup.ts",
    // Transformed modules stay on disk: transforming `src` takes most of the time of one file.
    experimental: { fsModuleCache: true },
    // Most files wait for a process that they started.
    maxWorkers: "100%",
    projects: tiers.map(({ name, include, exclude = [], globalSetup = [], isolate = false }) => ({
      resolve: {
        alias: {
          "tilescript/testing": pathOf("./src/testing.ts"),
          "tilescript/vitest": pathOf("./src/vitest.ts"),
          tilescript: pathOf("./src/index.ts"),
        },
      },
      test: {
        name,
        include: [...(include ?? [`tests/${name}/**/*.test.ts`])],
        exclude: [...exclude],
        globalSetup: [...globalSetup],
        isolate,
        setupFiles: "tests/support/skip-passed.ts",
        testTimeout: 120_000,
        // Every kernel that a test builds is checked against the invariants of each stage (src/check/stages.ts).
        env: { TILESCRIPT_STAGES: "1" },
      },
    })),
  },
});
