import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import type { TestCase } from "../../src/compiled/compiled-kernel.js";
import { verifyRequest } from "../../src/runtime/devices/request.js";
import { Worker } from "../../src/runtime/worker/worker.js";
import { vectorAdd } from "../support/fixtures/vector-add.js";
import { requirePython } from "../support/python.js";

sampledTests("requests to the worker", "src/runtime/worker");

const at: TestCase = { sizes: { N: 300 }, dtypes: { T: "float32" }, config: 0, seed: 0 };
const START_MS = 60_000;

let worker: Worker;
let folder: string;

async function request(replace: Record<string, string> = {}) {
  const kernel = vectorAdd({ replace });
  const module = join(await mkdtemp(join(folder, "module-")), kernel.file);
  await writeFile(module, kernel.python);
  return verifyRequest(kernel, module, at, { passOut: false, tolerance: {}, mode: "interpreter" });
}

const hang = { "    (n,) = x.shape": "    (n,) = x.shape\n    import time; time.sleep(60)" };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript-worker-"));
  worker = new Worker({ python: await requirePython(), device: "interpreter" });
});
afterAll(() => worker.stop());

describe("the worker", { timeout: 60_000 }, () => {
  it("should say what it is", async () => {
    const reply = await worker.request({ type: "hello" }, START_MS);
    expect(reply).toMatchObject({ ok: true, result: { device: "interpreter", capability: null } });
  });

  it("should report a kill in the middle of a request and serve the next one", async () => {
    const pending = worker.request(await request(hang), START_MS);
    await sleep(300);
    process.kill(worker.pid!, "SIGKILL");
    expect(await pending).toMatchObject({
      ok: false,
      error: { kind: "crash", message: expect.stringContaining("SIGKILL") },
    });
    expect(await worker.request(await request(), START_MS)).toMatchObject({ ok: true });
  });

  it("should stop a request that takes too long and serve the next one", async () => {
    const reply = await worker.request(await request(hang), 500);
    expect(reply).toMatchObject({ ok: false, error: { kind: "timeout", message: expect.stringContaining("0.5 s") } });
    expect(await worker.request(await request(), START_MS)).toMatchObject({ ok: true });
  });

  it("should send a request that waits to the next process when the one before ends it", async () => {
    await worker.request({ type: "hello" }, START_MS);
    const dies = await request({ "    (n,) = x.shape": "    import os; os._exit(3)" });
    const [first, second, third] = await Promise.all([
      worker.request(dies, START_MS),
      worker.request(await request(), START_MS),
      worker.request({ type: "hello" }, START_MS),
    ]);
    expect(first).toMatchObject({ ok: false, error: { kind: "crash" } });
    expect([second!.ok, third!.ok]).toEqual([true, true]);
  });

  it("should answer requests in their order", async () => {
    const both = await Promise.all([
      worker.request({ type: "hello" }, START_MS),
      worker.request(await request(), START_MS),
    ]);
    expect(both[0]).toHaveProperty("result.device");
    expect(both[1]).toHaveProperty("result.comparisons");
  });

  it("should refuse to benchmark without a GPU", async () => {
    const { passOut: _, ...base } = await request();
    const reply = await worker.request({ ...base, type: "bench", warmup: 1, iterations: 1, providers: [] }, START_MS);
    expect(reply).toMatchObject({ ok: false, error: { kind: "no-device" } });
    expect(worker.pid).toBeDefined();
  });

  it("should report a Python that can't be started", async () => {
    const absent = new Worker({ python: join(folder, "no-python"), device: "interpreter" });
    const reply = await absent.request({ type: "hello" }, START_MS);
    expect(reply).toMatchObject({ ok: false, error: { kind: "crash", message: expect.stringContaining("ENOENT") } });
  });
});
