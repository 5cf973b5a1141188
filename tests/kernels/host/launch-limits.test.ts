/** Limits of a launch that wrappers check, with real tensors on Triton's interpreter. */
import { expect, test } from "vitest";
import { buildAll } from "../../support/build.js";
import { testModules } from "../../support/python.js";
import * as kernels from "./launch-limits-kernels.js";

test(
  "wrappers refuse grids that a GPU cannot launch, and order-dependent sums on request",
  { timeout: 240_000 },
  async () => {
    const modules = await buildAll(kernels);
    expect(await testModules(new URL("launch_limits.py", import.meta.url), modules)).toMatch(/\nOK\n?$/);
  },
);
