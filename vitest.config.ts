import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: {
      "tilescript/testing": new URL("./src/testing.ts", import.meta.url).pathname,
      "tilescript/vitest": new URL("./src/vitest.ts", import.meta.url).pathname,
      tilescript: new URL("./src/index.ts", import.meta.url).pathname,
    },
  },
  test: {
    include: ["tests/**/*.test.ts"],
    testTimeout: 120_000,
    // Every kernel that a test builds keeps the rules of each stage (src/check/stages.ts).
    env: { TILESCRIPT_STAGES: "1" },
    globalSetup: "tests/support/global-setup.ts",
    // Most files wait for a process of theirs.
    maxWorkers: "100%",
  },
});
