/** What `compile` says of configs that a target has no room for. */
import { expect, it } from "vitest";
import type { Compilation } from "../../../src/runtime/target-compile/targets.js";
import type { CompileResult } from "../../../src/runtime/worker/protocol.js";
import { compileDiagnostics, compileJson } from "../../../src/runtime/report/compile-report.js";
import { occupancyOf, parseTargets } from "../../../src/runtime/system/gpu-targets.js";
import { vectorAdd } from "../../support/fixtures/vector-add.js";

const kernel = vectorAdd();
const facts = { triton: "", python: "", seconds: 0 };

/** A config on a target, with so many KiB of shared memory; each of 255 registers in so many warps. */
function compilation(name: string, config: number, shared: number, dtype = "float32", warps = 4): Compilation {
  const [target] = parseTargets(name);
  const resources: CompileResult = {
    registers: warps > 4 ? 255 : 32,
    spilled: 0,
    shared: shared * 1024,
    warps,
    seconds: 1,
    machineCode: [],
    specialized: null,
  };
  const at = { sizes: { N: 300 }, dtypes: { T: dtype }, config, seed: 0 };
  return { target: target!, testCase: at, resources, occupancy: occupancyOf(target!, resources), cached: false };
}

function failed(name: string, config: number): Compilation {
  const { resources: _, occupancy: __, ...rest } = compilation(name, config, 0);
  return { ...rest, failure: { kind: "compile-error", message: "Triton refuses it" } };
}

const said = (...compilations: readonly Compilation[]) => {
  const diagnostics = compileDiagnostics({ kernel, compilations, skipped: [], notRun: [] });
  const { ok } = compileJson([{ kernel, compilations, skipped: [], notRun: [] }], [diagnostics], facts);
  return { ok, said: diagnostics.map(({ severity, message }) => `${severity} ${message}`) };
};

it("warns of a config without room while another has room on that target", () => {
  const found = said(
    compilation("cuda:90", 0, 96),
    compilation("cuda:90", 1, 16),
    compilation("hip:gfx942", 0, 96),
    compilation("hip:gfx942", 1, 16),
  );
  expect(found).toEqual({
    ok: true,
    said: [
      "warning vector_add: it needs 98304 bytes of shared memory; the limit is 65536 for a program (hip:gfx942, config 0, T=float32); Triton's autotuner passes over it there and takes another config",
    ],
  });
});

it.each<[string, readonly Compilation[], RegExp]>([
  [
    "none has room on one target, whatever the other target has",
    [
      compilation("cuda:90", 0, 96),
      compilation("cuda:90", 1, 100),
      compilation("hip:gfx942", 0, 96),
      compilation("hip:gfx942", 1, 100),
    ],
    /^error .*98304 bytes of shared memory; .*hip:gfx942, config 0, T=float32\); make the blocks smaller/,
  ],
  [
    "none has room for one dtype",
    [
      compilation("hip:gfx942", 0, 96),
      compilation("hip:gfx942", 1, 96),
      compilation("hip:gfx942", 0, 32, "float16"),
      compilation("hip:gfx942", 1, 32, "float16"),
    ],
    /^error .*T=float32\); make/,
  ],
  ["it is the one config that was asked for", [compilation("hip:gfx942", 0, 96)], /^error /],
  [
    "the other one does not compile",
    [compilation("hip:gfx942", 0, 96), failed("hip:gfx942", 1)],
    /^error .*98304 bytes/,
  ],
])("is an error where %s", (_, compilations, message) => {
  const found = said(...compilations);
  expect(found.ok).toBe(false);
  expect(found.said[0]).toMatch(message);
  expect(found.said.filter((text) => text.startsWith("warning"))).toEqual([]);
});

it("does so for registers too", () => {
  expect(said(compilation("cuda:90", 0, 8, "float32", 32), compilation("cuda:90", 1, 8))).toEqual({
    ok: true,
    said: [expect.stringMatching(/^warning .*too few registers .*passes over it/)],
  });
});
