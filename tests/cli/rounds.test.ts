/** The search of a derived space, with real processes: what compiling leaves out, and what is tried where nothing is timed. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { gemm } from "../../examples/gemm.js";
import type { TestCase, Config } from "../../src/compiled/compiled-kernel.js";
import { buildWith } from "../../src/pipeline/build.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { searchInRounds, configsOverResources } from "../../src/runtime/measure/staged-search.js";
import { Compilers } from "../../src/runtime/worker/worker.js";
import { copyByGpu } from "../support/fixtures/copy-by-gpu.js";
import { sampledTests } from "../support/sampled-tests.js";
import { requirePython, tritonCache } from "../support/python.js";
import { type PythonDevice, openWorkspace } from "../../src/runtime/devices/device.js";

sampledTests("searches of derived spaces", "src/runtime/measure", "src/runtime/target-compile");

const of = (BLOCK_M: number, BLOCK_N: number, BLOCK_K: number, numWarps: 4 | 8, numStages: 2 | 3 | 5): Config => ({
  values: { BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M: 8 },
  numWarps,
  numStages,
});

test("what a GPU has no room for is known without one", { timeout: 240_000 }, async () => {
  const python = await requirePython();
  const kernel = await buildWith(gemm, [of(64, 64, 64, 4, 3), of(128, 256, 128, 8, 5), of(256, 256, 32, 4, 2)]);
  const compilers = new Compilers({ python, processes: 2, env: { ...process.env, TRITON_CACHE_DIR: tritonCache } });
  const workspace = await openWorkspace(kernel);
  const cases = kernel.configs.map((_, config): TestCase => ({
    sizes: { M: 1024, N: 1024, K: 1024 },
    dtypes: { T: "float16" },
    config,
    seed: 0,
  }));
  const on = (target: unknown): Pick<PythonDevice, "compilers" | "hello"> => ({
    compilers,
    hello: { target } as PythonDevice["hello"],
  });
  try {
    const left = await configsOverResources(kernel, on(["cuda", 90, 32]), workspace, cases);
    expect([...left].sort(([a], [b]) => a - b)).toEqual([
      [1, expect.stringMatching(/^it needs \d+ bytes of shared memory; the limit is 232448 for a program$/)],
      [2, expect.stringMatching(/^registers spill: each thread keeps \d+ bytes in memory$/)],
    ]);
    expect(await configsOverResources(kernel, on(["cuda", 999, 32]), workspace, cases)).toEqual(new Map());
  } finally {
    await Promise.all([compilers.stop(), workspace.remove()]);
  }
});

test("every case has rounds of its own, and each trial says that the interpreter has no clock", async () => {
  await requirePython();
  const device = (await openDevice({ device: "cpu:1" })) as PythonDevice;
  try {
    const kernel = await build(copyByGpu);
    const cases = [100, 1000].map((N): TestCase => ({ sizes: { N }, dtypes: {}, config: 0, seed: 0 }));
    const found = await searchInRounds(kernel, device, {
      cases,
      skip: new Set([3]),
      declaredCount: 2,
      gpu: { lanes: 32 },
      budget: { count: 4 },
      env: { XDG_CACHE_HOME: await mkdtemp(join(tmpdir(), "tilescript-rounds-")) },
    });
    for (const trials of found.trials) {
      expect(trials.size).toBe(4);
      expect([...trials.keys()]).not.toContain(3);
      for (const trial of trials.values())
        expect(trial).toEqual({ failed: expect.stringContaining("a benchmark needs a GPU") as string });
    }
    expect(found.tried.slice(0, 2)).toEqual([0, 1]);
    expect(found.overResources).toEqual(new Map());
  } finally {
    await closeDevice(device);
  }
}, 120_000);
