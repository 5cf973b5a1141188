/** Our count of waves against LLVM's own, which it writes into the assembly. */
import { expect, test } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import { gemm } from "../../../examples/gemm.js";
import { softmax } from "../../../examples/softmax.js";
import { occupancyOf, targets } from "../../../src/runtime/system/gpu-targets.js";
import { requirePython } from "../../support/python.js";
import { compileAll, jobsOf } from "./jobs.js";

sampledTests("compilations of examples");

test.each(["hip:gfx942", "hip:gfx950", "hip:gfx1100"])(
  "%s holds as many waves as LLVM says",
  { timeout: 300_000 },
  async (name) => {
    const target = targets.find((each) => each.name === name)!;
    const [backend, arch, lanes] = target.triton;
    const jobs = [gemm, softmax].flatMap((kernel) =>
      jobsOf(kernel, [backend, arch, lanes]).filter((_, i) => i % 5 === 0),
    );
    const compiled = await compileAll(
      await requirePython(),
      jobs.map((job) => ({ ...job, amdgcn: true })),
    );
    expect(compiled.length).toBeGreaterThan(3);
    for (const { registers, amdgcn, error } of compiled) {
      expect(error).toBeUndefined();
      // LLVM counts the waves of one of four SIMDs, and does not know the shared memory of a launch.
      const waves = Number(/^; Occupancy: (\d+)$/m.exec(amdgcn!)![1]);
      const { programs } = occupancyOf(target, { warps: 1, registers: registers!, spilled: 0, shared: 0 });
      expect(programs / 4).toBe(waves);
    }
  },
);
