/**
 * Kernels of people, ported, whose references go step by step and are Python therefore: Triton's interpreter compares
 * them, the evaluator checks their accesses, and each compiles for sm_90.
 */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { build, type TestCase } from "tilescript";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { verifyCase, deviceLimits } from "../../../src/runtime/verify/runner.js";
import { compileAll } from "../../support/aot.js";
import { interpreter } from "../../support/cli.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { tritonPythons } from "../../support/python.js";
import { gatedDeltaH } from "./gated-delta.js";
import { rejectionSample } from "./rejection-sample.js";

sampledTests("sequential ports", "src/codegen/body");

const delta = (T: string, absent: readonly string[], K = 96): TestCase => ({
  sizes: { TOTAL: 100, H: 1, HV: 2, K, V: 40, SEQS: 3 },
  scalars: { CHUNKS: 5 },
  dtypes: { T },
  absent,
  config: 0,
  seed: 3,
});
const sampled = (absent: readonly string[]): TestCase => ({
  sizes: { B: 5, TOKENS: 12, V: 33, LIMIT: 13 },
  dtypes: {},
  absent,
  config: 0,
  seed: 3,
});

const ports = [
  {
    name: "gated-delta",
    kernel: gatedDeltaH,
    cases: [delta("bfloat16", []), delta("float16", ["g", "h0", "vNew", "ht"]), delta("bfloat16", ["g", "vNew"], 40)],
    constexprs: { BT: 64, BV: 32 },
    types: { CHUNKS: "i32" },
  },
  {
    name: "rejection-sample",
    kernel: rejectionSample,
    cases: [sampled([]), sampled(["draftProbs"]), sampled(["draftProbs", "isGreedy"])],
    constexprs: {},
    types: {},
  },
] as const;

describe.each(ports)("$name", ({ name, kernel, cases, constexprs, types }) => {
  test("has no any", async () => {
    const text = await readFile(new URL(`${name}.ts`, import.meta.url), "utf8");
    expect(text.match(/\bany\b/g)).toBeNull();
  });

  test("its declared shapes are not left out as too large, though data end its loops", async () => {
    const { cases: planned, skipped: left } = planCases(await build(kernel), deviceLimits.interpreter, { seed: 0 });
    expect(planned.some(({ declaredIndex: declared }) => declared !== undefined)).toBe(true);
    expect(left.filter((each) => each.startsWith("declared"))).toEqual([]);
  });

  test.each(cases)("the evaluator finds no wrong access: %j", async (at) => {
    expect((await build(kernel)).evaluate(at, { lowered: true }).findings).toEqual([]);
  });

  test("Triton compiles it for sm_90", { timeout: 120_000 }, async () => {
    const compiled = await build(kernel);
    for (const { name: triton, python } of await tritonPythons()) {
      const jobs = cases.map((at) => ({
        kernel: compiled,
        dtypes: at.dtypes,
        absent: at.absent ?? [],
        constexprs: { ...constexprs, ...("K" in at.sizes && { K: at.sizes["K"]!, V: at.sizes["V"]! }) },
        types,
      }));
      const answers = await compileAll(python, jobs);
      expect(
        answers.map((answer) => answer.ok || answer.error),
        triton,
      ).toEqual(cases.map(() => true));
    }
  });

  const device = interpreter();

  test.each(cases)("Triton's interpreter agrees: %j", { timeout: 120_000 }, async (at) => {
    const { status, by, problems, failure } = await verifyCase(await build(kernel), device(), at);
    expect([status, by, problems, failure]).toEqual(["passed", "python", [], undefined]);
  });
});
