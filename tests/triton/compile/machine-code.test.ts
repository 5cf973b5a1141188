/**
 * Kernels that ptxas 12.8.93 of Triton 3.6 miscompiles, as wrong results on an H200 showed: their machine code reads a
 * uniform register that nothing wrote. `TILESCRIPT_PYTHON36` names a Python with that Triton (torch is not needed).
 */
import { beforeAll, describe, expect, it } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import { attention } from "../../../examples/flash-attention.js";
import { chunkScan } from "../../../examples/mamba-chunk-scan.js";
import { requirePython } from "../../support/python.js";
import { compileAll, type Compiled, type Job, jobsOf, sm90 } from "./jobs.js";

sampledTests("compilations of examples");

const second = process.env["TILESCRIPT_PYTHON36"];

/** Heads of 32 elements, where the last stride of `k` is not 1 and `v` does not start at a multiple of 16 bytes. */
function attentionJob(): Job {
  const [job] = jobsOf(attention, sm90);
  const { stride_k_head_dim: _, ...constants } = job!.constants;
  return {
    ...job!,
    types: { ...job!.types, stride_k_head_dim: "i32" },
    constants: { ...constants, HEAD_DIM: 32 },
    aligned: job!.aligned.filter((name) => !["S", "v_ptr", "stride_k_head_dim"].includes(name)),
    machineCode: true,
  };
}

/** Blocks of 64×32×32, where no stride is known. */
function chunkScanJob(): Job {
  const job = jobsOf(chunkScan, sm90, "strided").find(({ constants }) => constants["BLOCK_L"] === 64)!;
  return {
    ...job,
    constants: { ...job.constants, BLOCK_S: 32, BLOCK_D: 32 },
    options: { ...job.options, num_warps: 4, num_stages: 4 },
    machineCode: true,
  };
}

describe("kernels that one ptxas miscompiles", { timeout: 300_000 }, () => {
  let jobs: readonly Job[];
  beforeAll(() => {
    jobs = [attentionJob(), chunkScanJob()];
  });

  const found = async (python: string) =>
    (await compileAll(python, jobs)).map(({ error, machineCode }: Compiled) => {
      expect(error).toBeUndefined();
      return machineCode!;
    });

  it.skipIf(second === undefined)("should be found with that ptxas", async () => {
    const [first, other] = await found(second!);
    const shared = { compiler: "ptxas 12.8.93", variable: "TRITON_PTXAS_PATH" };
    const address = expect.stringMatching(/^0x[0-9a-f]+$/);
    expect(first).toEqual({
      ...shared,
      unwritten: [
        { register: "UR8", address, instruction: "UIADD3 UR8, UP0, UR8, 0x40, URZ" },
        { register: "UR9", address, instruction: "UIADD3.X UR9, UR9, -0x7fffffe0, URZ, UP0, !UPT" },
      ],
    });
    expect(other).toEqual({
      ...shared,
      // Which registers it takes hangs on how the kernel's addresses are written.
      unwritten: [
        {
          register: expect.stringMatching(/^UR\d+$/),
          address,
          instruction: expect.stringMatching(/^UIADD3 UR\d+, UP0, UR\d+, 0x2, URZ$/),
        },
      ],
    });
  });

  it("should be right with another", async () => {
    const variable = "TRITON_PTXAS_BLACKWELL_PATH";
    const compiler = expect.stringMatching(/^ptxas \d+\.\d+\.\d+$/);
    for (const each of await found(await requirePython())) expect(each).toEqual({ compiler, variable, unwritten: [] });
  });
});
