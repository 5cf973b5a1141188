import { describe, expect, it } from "vitest";
import { occupancyOf, parseTargets, targets, type Resources } from "../../../src/runtime/system/gpu-targets.js";
import { UsageError } from "../../../src/runtime/system/errors.js";

const of = (name: string, resources: Partial<Resources>) =>
  occupancyOf(
    targets.find((target) => target.name === name)!,
    {
      warps: 4,
      registers: 32,
      spilled: 0,
      shared: 0,
      ...resources,
    },
  );

describe("occupancy", () => {
  // Figures of NVIDIA's occupancy calculator.
  it.each([
    ["cuda:90", { warps: 8, registers: 32 }, 8, 1, "warps"],
    ["cuda:90", { warps: 8, registers: 128 }, 2, 0.25, "registers"],
    // 168 registers: 12 warps of a partition's 16384 registers, 3 a partition.
    ["cuda:90", { warps: 4, registers: 168 }, 3, 0.1875, "registers"],
    ["cuda:90", { warps: 1, registers: 16 }, 32, 0.5, "programs"],
    ["cuda:80", { warps: 4, registers: 64, shared: 48 * 1024 }, 3, 0.1875, "shared memory"],
    ["cuda:86", { warps: 4, registers: 64, shared: 48 * 1024 }, 2, 2 / 12, "shared memory"],
    ["cuda:75", { warps: 8, registers: 64 }, 4, 1, "warps"],
    ["hip:gfx942", { warps: 4, registers: 128 }, 4, 0.5, "registers"],
    ["hip:gfx942", { warps: 4, registers: 64, shared: 32 * 1024 }, 2, 0.25, "shared memory"],
    ["hip:gfx950", { warps: 4, registers: 64, shared: 32 * 1024 }, 5, 0.625, "shared memory"],
  ] as const)("%s with %j", (name, resources, programs, fraction, limit) => {
    const found = of(name, resources);
    expect(found).toMatchObject({ programs, limit });
    expect(found.fraction).toBeCloseTo(fraction, 10);
  });

  it("should hold no program that does not fit", () => {
    expect(of("cuda:90", { shared: 300_000 })).toEqual({ programs: 0, fraction: 0, limit: "shared memory" });
  });
});

describe("targets", () => {
  it("should be read once each", () => {
    expect(parseTargets("cuda:90, hip:gfx942,cuda:90").map(({ name }) => name)).toEqual(["cuda:90", "hip:gfx942"]);
  });

  it.each(["cuda:91", "sm_90", "", "cuda:90,"])("should refuse %j and name those that there are", (text) => {
    expect(() => parseTargets(text)).toThrow(UsageError);
    expect(() => parseTargets(text)).toThrow(/is not a known target; the targets are cuda:75, .*hip:gfx942/);
  });
});
