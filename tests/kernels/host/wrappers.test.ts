/** The host side of emitted modules, run: on Triton's interpreter with real PyTorch, and by the evaluator. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sampleCases, sampledTests } from "../../support/sampled-tests.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { verify } from "../../../src/runtime/verify/plan-cases.js";
import * as argumentKernels from "./argument-kernels.js";
import * as kernels from "./kernels.js";
import { buildAll } from "../../support/build.js";
import { testModules } from "../../support/python.js";
import type { Device } from "../../../src/runtime/devices/device.js";

sampledTests("wrappers on PyTorch", "src/codegen/wrapper", "python/runtime");

let built: { readonly [N in keyof typeof kernels]: CompiledKernel };
let device: Device;

beforeAll(async () => {
  built = await buildAll(kernels);
  device = await openDevice({ device: "interpreter" });
}, 60_000);
afterAll(() => closeDevice(device));

test("wrappers take and refuse what they should", { timeout: 120_000 }, async () => {
  const cached = { python: built.signed.emit({ launch: "fast" }).python };
  const said = await testModules(new URL("wrappers.py", import.meta.url), { ...built, cached });
  expect(said).toMatch(/\nOK\n?$/);
});

test("what wrappers say of tensors of every kind, of numbers and of gradients", { timeout: 120_000 }, async () => {
  const { numbers, ...others } = await buildAll(argumentKernels);
  // `numbers` is a module of Python's own.
  const said = await testModules(new URL("arguments.py", import.meta.url), { ...others, numbers_: numbers });
  expect(said).toMatch(/\nOK\n?$/);
});

/** Every so manieth refusal, from the first, the second and so on. */
const PARTS = ["0", "1", "2", "3"];
const mutated = sampleCases("parts of the mutations of wrappers' functions", PARTS, {
  key: (part) => part,
  sources: () => ["python/runtime/checks.py"],
  perRun: 1,
  hasOwnTests: true,
  minimum: 0,
});

test.each(mutated)(
  "each refusal of the functions that a wrapper calls has a test that fails without it: part %s",
  { timeout: 300_000 },
  async (part) => {
    const { numbers, ...others } = await buildAll(argumentKernels);
    const cached = { python: built.signed.emit({ launch: "fast" }).python };
    const modules = { ...built, ...others, numbers_: numbers, cached };
    const said = await testModules(
      new URL("mutated_checks.py", import.meta.url),
      modules,
      true,
      part,
      String(PARTS.length),
    );
    // PyTorch's warnings come first.
    const [, count, survivors] = /^(\d+) mutants\n?([^]*)$/m.exec(said) ?? [];
    expect(survivors, said).toBe("");
    expect(Number(count)).toBeGreaterThan(15);
  },
);

describe("verification covers flags, choices and dtypes", () => {
  const names = (Object.keys(kernels) as (keyof typeof kernels)[]).filter((name) => name !== "asked");
  test.each(names)("%s", { timeout: 120_000 }, async (name) => {
    const { outcomes } = await verify(built[name], device, { selection: { seed: 1 } });
    const failed = outcomes.filter(({ status }) => status !== "passed");
    expect(failed.map(({ testCase: at, failure, problems }) => ({ testCase: at, failure, problems }))).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(3);
  });
});

test.each(["float16", "int32", "uint8"])("%s is asked for its width and kind", async (W) => {
  const at = { sizes: { N: 3 }, dtypes: { W }, config: 0, seed: 1 };
  expect(await verifyCase(built.asked, device, at)).toMatchObject({ status: "passed", by: "python" });
});

describe("the evaluator agrees with the reference", () => {
  test.each(["reflecting", "even", "moments", "pruned"] as const)("%s", (name) => {
    const { signature, configs } = built[name];
    const members = signature.dtypes.T ?? ["float32"];
    for (const [config] of configs.entries())
      for (const T of members) {
        const at = { sizes: { M: 3, N: 60 }, dtypes: { T }, config, seed: 3 };
        const { comparison, findings } = built[name].evaluate(at);
        expect({ name, T, config, correct: comparison?.correct, findings }).toMatchObject({
          correct: true,
          findings: [],
        });
      }
  });

  test("a kernel without inputs", () => {
    const at = { sizes: { M: 2, N: 3 }, dtypes: {}, scalars: { step: 2 }, config: 0, seed: 0 };
    const { outputs, findings } = built.ramp.evaluate(at);
    expect({ y: [...outputs.y!.data], findings }).toEqual({ y: [0, 2, 4, 0, 2, 4], findings: [] });
  });

  test("flags and choices", () => {
    const { evaluate } = built.choices;
    const x = { dtype: "float32", shape: [3], data: Float32Array.of(1, -2, 3) };
    const run = (constexprs: Record<string, number | boolean | string>, OUT = "float32") => {
      const at = { sizes: { N: 3 }, dtypes: { OUT }, constexprs: { TIMES: 1, ...constexprs }, config: 0, seed: 0 };
      const { y } = evaluate(at, { inputs: { x } }).outputs;
      return { dtype: y!.dtype, values: [...y!.data].map(Number) };
    };
    expect(run({})).toEqual({ dtype: "float32", values: [2.5, -3.5, 6.5] });
    expect(run({ TIMES: 3, NEGATE: true })).toEqual({ dtype: "float32", values: [-6.5, 11.5, -18.5] });
    expect(run({ ACTIVATION: "relu", SHIFT: 0 }, "float16")).toEqual({ dtype: "float16", values: [2, 0, 6] });
    expect(run({ ACTIVATION: "square" })).toEqual({ dtype: "float32", values: [6.25, 12.25, 42.25] });
  });

  test("what a dtype is asked", () => {
    const answer = (W: string) => {
      const { outputs } = built.asked.evaluate(
        { sizes: { N: 1 }, dtypes: { W }, config: 0, seed: 0 },
        {
          inputs: {
            x: { dtype: W, shape: [1], data: W === "float16" ? Float32Array.of(5) : Int32Array.of(5) } as never,
          },
        },
      );
      return Number(outputs.y!.data[0]);
    };
    expect([answer("float16"), answer("int32"), answer("uint8")]).toEqual([1064, 2032, 133]);
  });
});
