import { defineConfig } from "vitest/config";

/** Files whose tests start processes or replace modules: each has a Node of its own. The others share one per core. */
const apart = ["tests/{browser,cli,gpu,python}/**/*.test.ts", "tests/unit/ops/complete.test.ts"];

const pathOf = (file: string): string => new URL(file, import.meta.url).pathname;

const shared = {
  resolve: {
    alias: {
      "tilescript/testing": pathOf("./src/testing.ts"),
      "tilescript/vitest": pathOf("./src/vitest.ts"),
      tilescript: pathOf("./src/index.ts"),
    },
  },
};

const settings = {
  setupFiles: "tests/support/skip-passed.ts",
  testTimeout: 120_000,
  // Every kernel that a test builds keeps the rules of each stage (src/check/stages.ts).
  env: { TILESCRIPT_STAGES: "1" },
};

export default defineConfig({
  test: {
    globalSetup: "tests/support/global-setup.ts",
    // Most files wait for a process of theirs.
    maxWorkers: "100%",
    projects: [
      { ...shared, test: { ...settings, name: "apart", include: apart } },
      {
        ...shared,
        test: { ...settings, name: "shared", include: ["tests/**/*.test.ts"], exclude: apart, isolate: false },
      },
    ],
  },
});
