/** A run calls the wrapper as a user does: the first call tunes, and must give what later calls give. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, type CompiledKernel, constexpr, kernel, tensor, tl } from "tilescript";
import type { Device } from "../../../src/runtime/devices/device.js";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { verify } from "../../../src/runtime/verify/plan-cases.js";
import { verifyThoroughly } from "../../../src/runtime/verify/thorough.js";

const doubled = kernel(
  "doubled",
  {
    params: { x: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs: [{ BLOCK: 32 }, { BLOCK: 64 }], restoreValue: ["x"] },
    reference: ({ x }) => x.mul(2),
    shapes: [{ N: 100 }],
  },
  ({ x, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(x.at(i), tl.load(x.at(i)).mul(2));
  },
);

const counted = kernel(
  "counted",
  {
    params: { x: tensor(tl.int32, ["N"]), count: tensor.out(tl.int32, [1], { zeroed: true }), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs: [{ BLOCK: 32 }, { BLOCK: 64 }], resetToZero: ["count"] },
    reference: ({ x }) => x.sum(0, true).to(tl.int32),
    shapes: [{ N: 100 }],
  },
  ({ x, count, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.atomicAdd(count.at(0), tl.sum(tl.load(x.at(i)), 0));
  },
);

/** The kernel with a line missing from its module. */
function without(compiled: CompiledKernel, line: RegExp): CompiledKernel {
  expect(compiled.python).toMatch(line);
  return { ...compiled, python: compiled.python.replace(line, "") };
}

let device: Device;
beforeAll(async () => {
  device = await openDevice({ device: "interpreter" });
}, 60_000);
afterAll(() => closeDevice(device));

const selection = { seed: 0 };

describe("the first call of a wrapper", () => {
  test.each([doubled, counted])(
    "should be right after it tuned",
    async (made) => {
      const { outcomes } = await verify(await build(made), device, { selection });
      expect(outcomes.map(({ status }) => status)).not.toContain("failed");
      expect(outcomes.at(-1)).toMatchObject({ isAutotuned: true, status: "passed" });
    },
    60_000,
  );

  test.each([
    ["a run", doubled, /^ *restore_value=.*\n/m],
    ["a run", counted, /^ *reset_to_zero=.*\n/m],
  ])(
    "should fail %s if tuning changes its tensors",
    async (_, made, line) => {
      const { outcomes } = await verify(without(await build(made), line), device, { selection });
      const failed = outcomes.filter(({ status }) => status === "failed");
      expect(failed).toMatchObject([{ isAutotuned: true }]);
      expect(failed[0]!.problems[0]).toContain(
        "differs between the first call, in which the autotuner ran every config",
      );
    },
    60_000,
  );

  test("should fail a thorough verification too", async () => {
    const broken = without(await build(doubled), /^ *restore_value=.*\n/m);
    const options = { selection, runs: 4, special: false, timeLimitMs: 60_000 };
    const { outcomes } = await verifyThoroughly(broken, device, options);
    expect(outcomes.at(-1)).toMatchObject({ isAutotuned: true, status: "failed" });
  }, 120_000);

  test("should not be asked of a config that the user selects", async () => {
    const { outcomes } = await verify(await build(doubled), device, { selection: { ...selection, config: 0 } });
    expect(outcomes.map(({ isAutotuned }) => isAutotuned)).not.toContain(true);
  }, 60_000);
});
