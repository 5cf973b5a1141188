/** Several workers: what they find does not depend on how many there are. They run Triton's interpreter here. */
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import type { CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import type { Outcome } from "../../src/runtime/cases/outcome.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { search } from "../../src/runtime/measure/tuner.js";
import { verifyThoroughly } from "../../src/runtime/verify/thorough.js";
import { verify } from "../../src/runtime/verify/plan-cases.js";
import { jsonReport } from "../../src/runtime/report/verify-report.js";
import { sampledTests } from "../support/sampled-tests.js";
import { vectorAdd } from "../support/fixtures/vector-add.js";
import { requirePython } from "../support/python.js";
import type { PythonDevice } from "../../src/runtime/devices/device.js";

sampledTests("work spread over workers", "src/runtime/verify", "src/runtime/worker", "src/runtime/devices");

/** `y = x + 1`; lanes from `from` on are left without it. */
const increment = (from?: number): Promise<CompiledKernel> =>
  build(
    kernel(
      "increment",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: { configs: [{ BLOCK: 16 }, { BLOCK: 64 }, { BLOCK: 128 }], key: ["N"] },
        reference: ({ x }) => x.add(1),
        shapes: [{ N: 100 }, { N: 1000 }],
      },
      ({ x, y, BLOCK }) => {
        const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const value = tl.load(x.at(offsets));
        tl.store(y.at(offsets), from === undefined ? value.add(1) : tl.where(offsets.lt(from), value.add(1), value));
      },
    ),
  );

let one: PythonDevice;
let two: PythonDevice;
beforeAll(async () => {
  await requirePython();
  [one, two] = (await Promise.all((["cpu:1", "cpu:2"] as const).map((device) => openDevice({ device })))) as [
    PythonDevice,
    PythonDevice,
  ];
}, 120_000);
afterAll(async () => void (await Promise.all([one, two].map(closeDevice))));

const withoutTimes = (outcomes: readonly Outcome[]) => outcomes.map((outcome) => ({ ...outcome, ms: 0 }));

describe("two workers", { timeout: 120_000 }, () => {
  it("should find what one finds, in the same order", async () => {
    const kernels = [await increment(), await increment(37)];
    for (const each of kernels) {
      const options = { selection: { seed: 5 }, runs: 30, timeLimitMs: 60_000 };
      const [alone, spread] = await Promise.all([one, two].map((on) => verifyThoroughly(each, on, options)));
      expect(withoutTimes(spread!.outcomes)).toEqual(withoutTimes(alone!.outcomes));
      expect(spread!.thorough).toEqual(alone!.thorough);
      expect(jsonReport(spread!, two)).toMatchObject({ device: "interpreter", workers: ["cpu:0", "cpu:1"] });
      const [first, second] = await Promise.all([one, two].map((on) => verify(each, on, { selection: { seed: 1 } })));
      expect(withoutTimes(second!.outcomes)).toEqual(withoutTimes(first!.outcomes));
    }
  });

  it("should all have work, and a death concerns its own case", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "tilescript-spread-")), "pids");
    const code = `import os, time; time.sleep(0.05); print(os.getpid(), file=open(${JSON.stringify(file)}, "a"))`;
    const dies = "n == 1 and os._exit(7)";
    const wrapper = `    ${code}; n = x.shape[0]; ${dies}\n    (n,) = x.shape`;
    const noting = vectorAdd({ replace: { "    (n,) = x.shape": wrapper } });
    const { outcomes } = await verify(noting, two, { selection: { seed: 0 } });
    const pids = new Set((await readFile(file, "utf8")).trim().split("\n"));
    expect(pids.size).toBeGreaterThanOrEqual(2);
    expect(outcomes.some(({ status }) => status === "failed")).toBe(true);
    for (const { testCase: at, status, failure } of outcomes)
      expect({ at, status, kind: failure?.kind }).toEqual({
        at,
        status: at.sizes["N"] === 1 ? "failed" : "passed",
        kind: at.sizes["N"] === 1 ? "crash" : undefined,
      });
  });

  it("should try the same configs in the same order when tuning", async () => {
    const tuned = await increment();
    const options = {
      cases: [{ sizes: { N: 100 }, dtypes: {}, config: 0, seed: 0 }],
      skip: new Set<number>(),
      declaredCount: 1,
      budget: { count: 2 },
      seed: 3,
      env: { XDG_CACHE_HOME: await mkdtemp(join(tmpdir(), "tilescript-spread-")) },
    };
    const [alone, spread] = await Promise.all([one, two].map((on) => search(tuned, on, options)));
    // Nothing is timed on the interpreter, which is what each trial says.
    expect(alone!.trials[0]!.get(0)).toEqual({ failed: expect.stringContaining("a benchmark needs a GPU") });
    expect({ ...spread, seconds: 0 }).toEqual({ ...alone, seconds: 0 });
    expect(alone!.tried).toHaveLength(2);
  });
});
