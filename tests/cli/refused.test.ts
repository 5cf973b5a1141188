/** What is not verified is not measured: asked of a real worker, on Triton's interpreter, which then refuses to time. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { bench, defaultIterations } from "../../src/runtime/measure/benchmark.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { search } from "../../src/runtime/measure/tuner.js";
import type { PythonDevice } from "../../src/runtime/devices/device.js";

let device: PythonDevice;
beforeAll(async () => {
  const opened = await openDevice({ device: "interpreter" });
  if (opened.kind === "eval") throw new Error("the evaluator was opened");
  device = opened;
}, 180_000);
afterAll(() => closeDevice(device));

/** `y = factor · x`, which should be 2 · x. */
const times = (factor: number) =>
  build(
    kernel(
      "times",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: { key: ["N"], configs: [{ BLOCK: 64 }, { BLOCK: 128 }] },
        reference: ({ x }, torch) => torch.mul(x, 2),
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)).mul(factor));
      },
    ),
  );

/** The same without a reference. */
const unreferenced = () =>
  build(
    kernel(
      "unreferenced",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
        grid: ({ N }) => [N],
      },
      ({ x, y }) => tl.store(y.at(tl.programId(0)), tl.load(x.at(tl.programId(0))).mul(2)),
    ),
  );

const cases = [{ sizes: { N: 100 }, dtypes: {}, config: 0, seed: 0 }];
const options = { cases, isAutotuned: false, withTorchCompile: false, ...defaultIterations };

it.each([
  ["wrong", times(3), /^N=100: not measured, because its result is wrong: y\[\d+\] is .*; 100 of 100 elements differ$/],
  [
    "without a reference",
    unreferenced(),
    /^N=100: not measured, because it could not be verified: .*the kernel has no reference/,
  ],
  ["right", times(2), /^N=100: a benchmark needs a GPU/],
])("a kernel that is %s", async (_, made, reason) => {
  const { measurements, rejected: refused } = await bench(await made, device, options);
  expect(measurements).toEqual([]);
  expect(refused).toEqual([expect.stringMatching(reason)]);
});

it("should drop a candidate that is wrong before it is timed, and remember it", async () => {
  const env = { ...process.env, XDG_CACHE_HOME: await mkdtemp(join(tmpdir(), "tilescript-tuned-")) };
  const given = { cases, skip: new Set<number>(), declaredCount: 1, budget: { count: 2 }, seed: 0, env };
  const wrong = await times(3);
  const first = await search(wrong, device, given);
  expect(first.tried).toEqual([0, 1]);
  for (const trial of first.trials[0]!.values())
    expect(trial).toEqual({ wrong: expect.stringMatching(/100 of 100 elements differ/) });
  const again = await search(wrong, device, given);
  expect(again).toMatchObject({ fromCache: 2, trials: first.trials });
  const skipped = await search(wrong, device, { ...given, skip: new Set([0]), budget: { count: 1 } });
  expect(skipped.tried).toEqual([1]);
});
