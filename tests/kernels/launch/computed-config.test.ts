/** Configs, grids and options of a launch that follow from sizes and from properties of the GPU. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { build, compile, constexpr, kernel, NDArray, tensor, tl, type TestCase } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { compileRequest } from "../../../src/runtime/devices/request.js";
import { parseTargets } from "../../../src/runtime/system/gpu-targets.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { compileAll } from "../../support/aot.js";
import { interpreter } from "../../support/cli.js";
import { testModules, tritonPythons } from "../../support/python.js";

sampledTests("launches", "src/codegen/wrapper", "python/runtime");

/** Persistent: as many programs as the GPU runs at a time, each of which takes every so many tiles. */
const scaled = kernel(
  "scaled",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      BLOCK: constexpr(),
      WIDE: constexpr.bool({ default: false }),
    },
    grid: ({ N, BLOCK, device }) => [tl.minimum(device.multiProcessorCount, tl.cdiv(N, BLOCK))],
    config: ({ N, device }) => ({
      BLOCK: tl.minimum(tl.nextPowerOf2(tl.maximum(N, 16)), 64),
      WIDE: device.sharedMemoryPerBlockOptin.ge(200_000),
      numWarps: tl.where(N.ge(512), tl.minimum(N, 2), 1),
      numStages: 2,
    }),
    reference: ({ x }) => x.mul(2),
    shapes: [{ N: 1000 }],
  },
  ({ x, y, N, BLOCK, WIDE }) => {
    for (const start of tl.range(tl.programId(0).mul(BLOCK), N, tl.numPrograms(0).mul(BLOCK))) {
      const i = start.add(tl.arange(0, BLOCK));
      const value = tl.load(x.at(i));
      tl.store(
        y.at(i),
        tl.when(WIDE, () => value.mul(2)).otherwise(() => value.add(value)),
      );
    }
  },
);
const at = (N: number, gpu: TestCase["gpu"] = {}): TestCase => ({ sizes: { N }, dtypes: {}, gpu, config: 0, seed: 1 });

describe("evaluation", () => {
  test("a launch has the properties of an H200, or those that are stated", async () => {
    const { evaluate, constexprs, work } = await build(scaled);
    for (const gpu of [
      {},
      { multiProcessorCount: 1 },
      { multiProcessorCount: 3, sharedMemoryPerBlockOptin: 100_000 },
    ]) {
      const { findings, comparison } = evaluate(at(1000, gpu), { lowered: true });
      expect([gpu, findings, comparison?.correct]).toEqual([gpu, [], true]);
    }
    expect(constexprs(at(1000))).toEqual({ BLOCK: 64, WIDE: true });
    expect(constexprs(at(9, { sharedMemoryPerBlockOptin: 99_000 }))).toEqual({ BLOCK: 16, WIDE: false });
    // Fewer programs each do more.
    const [many, one] = [work(at(1000)), work(at(1000, { multiProcessorCount: 1 }))];
    expect(one.lanes).toBeLessThanOrEqual(many.lanes);
  });

  test("a call states the GPU, and sets what the config computes", async () => {
    const x = NDArray.of([1, 2, 3, 4]);
    const { outputs } = await scaled.check({ x }, { gpu: { multiProcessorCount: 1 }, BLOCK: 2, numWarps: 1 });
    expect([...outputs.y.data]).toEqual([2, 4, 6, 8]);
  });

  test("an option out of its range is refused", () => {
    const { refusal } = compile(option(({ N }) => ({ BLOCK: 16, numWarps: tl.minimum(N, 64) })));
    expect(refusal(at(3))).toBe("numWarps must be a power of two up to 32, got 3");
    expect(refusal(at(64))).toBe("numWarps must be a power of two up to 32, got 64");
    expect(refusal(at(4))).toBeUndefined();
    const stages = compile(option(({ N }) => ({ BLOCK: 16, numStages: N.sub(5) })));
    expect(stages.refusal(at(5))).toBe("numStages must be positive, got 0");
  });
});

/** A copy whose config is this. */
function option(config: (meta: any) => any, more: object = {}) {
  return kernel(
    "copied",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), ...more },
      grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
      config,
    } as any,
    ({ x, y, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(i)));
    },
  );
}

test("the wrapper computes the config and asks the GPU", async () => {
  const { python } = await build(scaled);
  const launch = python.slice(python.indexOf("    multi_processor_count ="), python.indexOf("    return y\n\n\n"));
  expect(launch).toMatchInlineSnapshot(`
    "    multi_processor_count = _gpu_property(x.device, "multi_processor_count", 132)
        BLOCK = min(triton.next_power_of_2(max(N, 16)), 64)
        if BLOCK > 2**20:
            raise ValueError(f"scaled: BLOCK must be at most 2**20, got {BLOCK}")
        WIDE = shared_memory_per_block_optin >= 200000
        num_warps = min(N, 2) if N >= 512 else 1
        if num_warps not in (1, 2, 4, 8, 16, 32):
            raise ValueError(
                f"scaled: num_warps must be a power of two up to 32, got {num_warps}"
            )

        with torch.cuda.device(x.get_device()):
            scaled_kernel[(min(multi_processor_count, triton.cdiv(N, BLOCK)),)](
                x,
                y,
                N,
                x.stride(0),
                y.stride(0),
                BLOCK=BLOCK,
                WIDE=WIDE,
                num_stages=2,
                num_warps=num_warps,
            )
    "
  `);
});

describe("the build refuses", () => {
  const refused = (config: (meta: any) => any, more?: object) => () => compile(option(config, more));

  test("values of another kind, unknown names, a missing size, a circle, no object", () => {
    expect(refused(({ N }) => ({ BLOCK: N.mod(2).eq(0) }))).toThrow("what computes BLOCK must give an integer");
    expect(refused(({ N }) => ({ BLOCK: 16, BLOK: N }))).toThrow("BLOK");
    expect(refused(() => ({ numWarps: 4 }))).toThrow("BLOCK");
    expect(refused(() => ({ BLOCK: 16, numWarps: 3 }))).toThrow("numWarps");
    expect(refused(({ BLOCK }) => ({ BLOCK: BLOCK.mul(2) }))).toThrow("BLOCK is computed from itself");
    expect(refused(() => 16)).toThrow("config must be an object");
  });

  test("what JavaScript decides", () => {
    expect(refused(({ N }) => ({ BLOCK: N.gt(2048) ? 128 : 64 }))).toThrow("nothing uses this truth value");
  });

  test("properties of the device where it is not known", () => {
    const heuristic = () =>
      compile(
        kernel(
          "even",
          {
            params: {
              x: tensor(tl.float32, ["N"]),
              y: tensor.out(tl.float32, ["N"]),
              BLOCK: constexpr(),
              E: constexpr.bool(),
            },
            grid: () => [1],
            config: { BLOCK: 16 },
            heuristics: { E: ({ device }: any) => device.major.ge(9) },
          } as any,
          () => undefined,
        ),
      );
    expect(heuristic).toThrow("E is computed where the device is not known");
  });
});

test("cases have few multiprocessors, too", async () => {
  const built = await build(scaled);
  const drawn = fc.sample(cases(built), { seed: 1, numRuns: 30 });
  expect(new Set(drawn.map(({ gpu }) => gpu?.multiProcessorCount))).toEqual(new Set([1, 3, 132]));
  const limits = { elements: 1e6, work: 1e9, op: 0, exhaustive: false };
  const planned = planCases(built, limits, { seed: 1 }).cases.map((each) => each.testCase.gpu?.multiProcessorCount);
  expect(new Set(planned)).toEqual(new Set([undefined, 3]));
});

test("a target states its own limits", async () => {
  const [target] = parseTargets("cuda:86");
  const { gpu } = compileRequest(await build(scaled), "", at(8), target!);
  expect(gpu).toMatchObject({ major: 8, minor: 6, shared_memory_per_block_optin: 99 * 1024, warp_size: 32 });
});

test("Triton compiles it for sm_90", { timeout: 120_000 }, async () => {
  const compiled = await build(scaled);
  for (const { name, python: executable } of await tritonPythons()) {
    const answers = await compileAll(
      executable,
      [true, false].map((WIDE) => ({ kernel: compiled, constexprs: { BLOCK: 64, WIDE } })),
    );
    expect(
      answers.map((answer) => answer.ok || answer.error),
      name,
    ).toEqual([true, true]);
  }
});

describe("on Triton's interpreter", { timeout: 120_000 }, () => {
  const device = interpreter();

  test.each([{}, { multiProcessorCount: 1 }, { sharedMemoryPerBlockOptin: 1 }])("it is right with %j", async (gpu) => {
    const { status, by, failure } = await verifyCase(await build(scaled), device(), at(1000, gpu));
    expect([status, by, failure]).toEqual(["passed", "python", undefined]);
  });

  test("wrappers compute, refuse and launch", async () => {
    const warps = compile(option(({ N }) => ({ BLOCK: 16, numWarps: tl.minimum(N, 64) })));
    const said = await testModules(new URL("computed_config.py", import.meta.url), {
      scaled: await build(scaled),
      warps,
    });
    expect(said).toMatch(/\nOK\n?$/);
  });
});
