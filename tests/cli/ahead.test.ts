/** What is compiled ahead is what a launch looks up, and drawn cases do not ask for more than a few kernels of it. */
import { execa } from "execa";
import fc from "fast-check";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build } from "tilescript";
import { attention } from "../../examples/flash-attention.js";
import { gemm } from "../../examples/gemm.js";
import { layerNorm } from "../../examples/layer-norm.js";
import { softmax } from "../../examples/softmax.js";
import { vectorAdd } from "../../examples/vector-add.js";
import { sampledTests } from "../support/sampled-tests.js";
import type { TestCase, CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import { precompile, startPrecompile } from "../../src/runtime/target-compile/precompile.js";
import { cases } from "../../src/runtime/cases/arbitrary.js";
import type { VerifyRequest } from "../../src/runtime/worker/protocol.js";
import { verifyRequest } from "../../src/runtime/devices/request.js";
import { specializationKey } from "../../src/runtime/cases/features.js";
import { parseTargets } from "../../src/runtime/system/gpu-targets.js";
import { pythonFolder } from "../../src/runtime/worker/host.js";
import { Worker, Compilers, WorkerPool } from "../../src/runtime/worker/worker.js";
import { requirePython } from "../support/python.js";
import { type PythonDevice, openWorkspace, type Workspace } from "../../src/runtime/devices/device.js";

sampledTests("compilations ahead");

const target = parseTargets("cuda:90")[0]!.triton;
const launch = fileURLToPath(new URL("../support/fixtures/launch.py", import.meta.url));

let python: string;
let folder: string;
let env: NodeJS.ProcessEnv;
/** A process whose driver says that there is an H100. */
let worker: Worker;
let compilers: Compilers;

beforeAll(async () => {
  python = await requirePython();
  folder = await mkdtemp(join(tmpdir(), "tilescript-ahead-"));
  env = { ...process.env, TRITON_CACHE_DIR: folder };
  worker = new Worker({ python, device: "compiler", env });
  compilers = new Compilers({ python, env, processes: 2 });
  await worker.request({ type: "launches", cases: [], target }, 120_000);
}, 120_000);
afterAll(async () => {
  await Promise.all([worker.stop(), compilers.stop()]);
  await rm(folder, { recursive: true });
});

async function inWorkspace<T>(kernel: CompiledKernel, use: (workspace: Workspace) => Promise<T>): Promise<T> {
  const workspace = await openWorkspace(kernel);
  try {
    return await use(workspace);
  } finally {
    await workspace.remove();
  }
}

const requestsOf = (kernel: CompiledKernel, { module }: Workspace, drawn: readonly TestCase[]): VerifyRequest[] =>
  drawn.map((at, i) => verifyRequest(kernel, module, at, { passOut: i % 2 === 1, tolerance: {}, mode: "cuda" }));

const device = () =>
  ({ workers: new WorkerPool([{ worker }]), compilers, hello: { target } }) as unknown as PythonDevice;

/** What another process launches of these, and what it had to compile. */
async function launched(requests: readonly VerifyRequest[]): Promise<{ launched: number; compiled: number }> {
  const input = JSON.stringify({ target, requests });
  const { stdout } = await execa(python, [launch], {
    input,
    env: { ...env, PYTHONPATH: pythonFolder },
    extendEnv: false,
  });
  return JSON.parse(stdout) as { launched: number; compiled: number };
}

describe("compiling ahead", { timeout: 600_000 }, () => {
  it.each([
    ["vector-add", vectorAdd, {}],
    ["softmax", softmax, {}],
    ["gemm", gemm, { config: 7 }],
    ["layer-norm and its gradients", layerNorm, { config: 0 }],
    ["attention", attention, { config: 0, sizes: { HEAD_DIM: 64 } }],
  ])("should leave nothing for the launches of %s to compile", async (_, author, fixed) => {
    const kernel = await build(author);
    const specializations = { most: 3, seed: 1 };
    const drawn = fc.sample(cases(kernel, { ...fixed, specializations }), { seed: 2, numRuns: 12 });
    await inWorkspace(kernel, async (workspace) => {
      const requests = requestsOf(kernel, workspace, drawn);
      const first = await precompile(device(), requests);
      const compiled = first.compiled.reduce((sum, count) => sum + count, 0);
      expect(compiled).toBeGreaterThan(1);
      expect(first).toMatchObject({ cachedCount: 0, processes: 2 });
      const there = await launched(requests);
      expect(there.compiled).toBe(0);
      expect(there.launched).toBeGreaterThanOrEqual(requests.length * (kernel.parts?.length ?? 1));
      // It is all there, and no process is asked.
      expect(await precompile(device(), requests)).toMatchObject({
        compiled: requests.map(() => 0),
        cachedCount: compiled,
      });
    });
  });

  it("should let a case run as soon as its own kernels are compiled", async () => {
    const kernel = await build(softmax);
    const testCases = kernel.configs.map((_, config) => ({ sizes: { M: 9, N: 300 }, dtypes: {}, config, seed: 0 }));
    await inWorkspace(kernel, async (workspace) => {
      const requests = requestsOf(kernel, workspace, testCases);
      const single = new Compilers({ python, env, processes: 1 });
      try {
        const compilation = startPrecompile({ ...device(), compilers: single }, requests);
        await compilation.ready(0);
        compilation.stop();
        const [first, second, ...others] = (await compilation.finished).compiled;
        expect(first).toBe(1);
        // The process may have begun with it.
        expect([0, 1]).toContain(second);
        expect(others).toEqual([0, 0, 0, 0]);
        await compilation.ready(testCases.length - 1);
      } finally {
        await single.stop();
      }
    });
  });

  it("should not count what was not compiled as found", async () => {
    const kernel = await build(vectorAdd);
    // Another line for the kernel to start at is another kernel to Triton.
    const moved = { ...kernel, python: kernel.python.replace("import torch\n", "import torch\n\n") };
    const at = { sizes: { N: 77 }, dtypes: { T: "float32" }, config: 0, seed: 0 };
    await inWorkspace(moved, async (workspace) => {
      expect(await launched(requestsOf(moved, workspace, [at]))).toEqual({ launched: 1, compiled: 1 });
    });
  });
});

describe("what drawn cases ask Triton to compile", { timeout: 120_000 }, () => {
  it.each([
    ["gemm", gemm],
    ["softmax", softmax],
    ["vector-add", vectorAdd],
  ])("should be bounded for %s, and known before", async (_, author) => {
    const kernel = await build(author);
    const most = 4;
    const options = { maxSize: 1100, maxWork: 2 ** 31, empty: true, specializations: { most, seed: 3 } };
    const drawn = fc.sample(cases(kernel, options), { seed: 4, numRuns: 250 });
    await inWorkspace(kernel, async (workspace) => {
      const asked = requestsOf(kernel, workspace, drawn);
      const reply = await worker.request({ type: "launches", cases: asked }, 120_000);
      if (!reply.ok) throw new Error(reply.error.message);
      const byText = new Map<string, Set<string>>();
      for (const [i, at] of drawn.entries()) {
        const keys = reply.result.launches[i]!.map(({ key }) => key);
        expect(keys).toHaveLength(Object.values(at.sizes).includes(0) ? 0 : 1);
        if (keys.length === 0) continue;
        const text = specializationKey(kernel, at);
        byText.set(text, (byText.get(text) ?? new Set()).add(keys[0]!));
      }
      // Each text stands for one kernel, and there are no more of them than were allowed.
      expect([...byText.values()].every(({ size }) => size === 1)).toBe(true);
      expect(byText.size).toBeLessThanOrEqual(most * kernel.configs.length);
      expect(byText.size).toBeGreaterThan(1);
      // The sizes differ all the same.
      expect(new Set(drawn.map(({ sizes }) => JSON.stringify(sizes))).size).toBeGreaterThan(30);
    });
  });

  it("should shrink as any case does", async () => {
    const kernel = await build(gemm);
    const drawn = cases(kernel, { specializations: { most: 2, seed: 5 } });
    const { counterexample } = fc.check(
      fc.property(drawn, ({ sizes }) => sizes["M"]! < 21),
      { seed: 6 },
    );
    expect(counterexample![0]).toMatchObject({ sizes: { M: 21, N: 1, K: 1 }, config: 0, dtypes: { T: "float16" } });
  });
});
