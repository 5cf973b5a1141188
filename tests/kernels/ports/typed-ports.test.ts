/** Kernels as libraries write them, typed without `any`: right on the evaluator and the interpreter, compiled for sm_90. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { build, type TestCase } from "tilescript";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { type AotJob, compileAll } from "../../support/aot.js";
import { interpreter } from "../../support/cli.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { tritonPythons } from "../../support/python.js";
import { chunkLinearAttention } from "./chunk-linear-attention.js";
import { fp8BlockGemm } from "./fp8-block-gemm.js";
import { fusedMoe } from "./fused-moe.js";
import { groupQuant } from "./group-quant.js";

sampledTests("ports", "tests/kernels/ports", "src/dsl", "src/rules");

const moeSizes = { M: 11, N: 33, K: 70, E: 3, TOP_K: 2, BLOCK_M: 16 };
const scales = ["xScale", "wScale", "bias", "topkWeights"];
const moeCases: readonly TestCase[] = ["bfloat16", "float8e4nv", "int8"].flatMap((Q) =>
  [[], scales, ["bias", "topkWeights"]].map((absent) => ({
    sizes: moeSizes,
    dtypes: { Q },
    config: 0,
    seed: 3,
    absent,
  })),
);
const linearCases: readonly TestCase[] = [true, false].flatMap((NORMALIZE) =>
  [[], ["cuSeqlens"]].map((absent) => ({
    sizes: { TOTAL: 75, H: 2, D: 16, V: 32 },
    scalars: { SEQS: 3, LENGTH: 27 },
    constexprs: { NORMALIZE },
    dtypes: { T: "float16" },
    config: 0,
    seed: 3,
    absent,
  })),
);
const groupCases: readonly TestCase[] = [32, 24].map((GROUP) => ({
  sizes: { M: 5, N: 96 },
  scalars: { eps: 1e-6 },
  constexprs: { GROUP },
  dtypes: { T: "bfloat16" },
  config: 0,
  seed: 3,
}));

const blockCases: readonly TestCase[] = [128, 96].map((GROUP_N) => ({
  sizes: { M: 21, N: 150, K: 300 },
  constexprs: { GROUP_N },
  dtypes: {},
  config: 0,
  seed: 3,
}));

// The interpreter has no fp8; the evaluator's result counts there.
const moeInterpreted = moeCases.filter(({ dtypes }) => dtypes["Q"] !== "float8e4nv");

describe.each([
  ["fused-moe", fusedMoe, moeCases, { BLOCK_M: 16 }, moeInterpreted],
  ["chunk-linear-attention", chunkLinearAttention, linearCases, { D: 16, V: 32 }, linearCases],
  ["group-quant", groupQuant, groupCases, { BLOCK: 32 }, []],
  ["fp8-block-gemm", fp8BlockGemm, blockCases, { GROUP_K: 128 }, []],
] as const)("%s", { timeout: 300_000 }, (name, kernel, cases, dims, interpreted) => {
  test("has no any in its text", () => {
    const text = readFileSync(new URL(`./${name}.ts`, import.meta.url), "utf8");
    expect(text).not.toMatch(/\bany\b(?! length)|@ts-/);
  });

  test("is right on the evaluator, as written and as lowered", async () => {
    const compiled = await build(kernel);
    for (const at of cases) {
      const { findings, comparison } = compiled.evaluate(at, { lowered: true, tolerance: {} });
      expect({ at, findings, correct: comparison?.correct }).toEqual({ at, findings: [], correct: true });
    }
  });

  test("compiles for sm_90 in every arm", async () => {
    const compiled = await build(kernel);
    const jobs = cases.map((at): AotJob => {
      return {
        kernel: compiled,
        dtypes: at.dtypes,
        constexprs: { ...dims, ...at.constexprs },
        absent: at.absent ?? [],
      };
    });
    for (const { name: triton, python } of await tritonPythons()) {
      const answers = await compileAll(python, jobs);
      expect([triton, answers.map((answer) => answer.ok || answer.error)]).toEqual([triton, jobs.map(() => true)]);
    }
  });

  const device = interpreter();
  test.skipIf(interpreted.length === 0)("is right on Triton's interpreter", async () => {
    const compiled = await build(kernel);
    for (const at of interpreted) {
      const { status, by, problems, failure } = await verifyCase(compiled, device(), at);
      expect({ testCase: at, status, by, problems, failure }).toEqual({
        testCase: at,
        status: "passed",
        by: "python",
        problems: [],
      });
    }
  });
});
