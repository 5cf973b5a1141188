/** Known faults of compilers and GPUs: the table, and those that the build reports. */
import { describe, expect, test } from "vitest";
import { knownFaults } from "../../../src/check/known-faults.js";
import { compareVersions, supportedVersions } from "../../../src/compiled/versions.js";
import { type Diagnostic, TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { build } from "../../../src/pipeline/build.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { bufferCases } from "../../support/fixtures/operand-buffers.js";
import { loopCases } from "../../support/fixtures/pipelined-loads.js";

describe("the table", () => {
  /** For each row, a kernel that has it, and the line of the place. */
  const kernels: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    "pipelined-load": [loopCases[0]!.kernel, /pipelined-loads\.ts$/],
    "operand-buffer": [bufferCases[0]!.kernel, /operand-buffers\.ts$/],
    "tma-store-tail": [gemmTma, /gemm-tma\.ts$/],
    "ptxas-descriptor": [gemmTma, /gemm-tma\.ts$/],
  };

  test("each row has one place in its kernel", () => {
    const places = knownFaults.map(({ id, places }) => [id, places(trace(definitionOf(kernels[id]![0])))] as const);
    for (const [id, [place, ...others]] of places) {
      expect(place?.file, id).toMatch(kernels[id]![1]);
      expect(others, id).toEqual([]);
    }
  });

  test("a row leaves once no supported version of Triton has the fault", () => {
    for (const { id, affects } of knownFaults)
      if (affects.triton)
        expect(compareVersions(affects.triton.newest, supportedVersions.triton.oldest), id).toBeGreaterThanOrEqual(0);
  });
});

async function diagnosticsOf(given: unknown): Promise<readonly Diagnostic[]> {
  try {
    return (await build(given)).warnings;
  } catch (error) {
    if (error instanceof TileScriptError) return error.diagnostics;
    throw error;
  }
}

describe("loads that Triton executes before stores of earlier iterations", () => {
  test.each(loopCases)("$kernel.name: $found", async ({ kernel, found }) => {
    const diagnostics = await diagnosticsOf(kernel);
    expect(diagnostics.map(({ code, severity }) => [code, severity])).toEqual(found ? [["pipelined-load", found]] : []);
  });
});

describe("operands that Triton overwrites while a product reads them", () => {
  test.each(bufferCases)("$kernel.name: $isShort", async ({ kernel, isShort }) => {
    const diagnostics = await diagnosticsOf(kernel);
    expect(diagnostics.map(({ code, severity }) => [code, severity])).toEqual(
      isShort ? [["operand-buffer", "warning"]] : [],
    );
  });
});
