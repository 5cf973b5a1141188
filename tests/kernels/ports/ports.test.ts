/** Kernels of people, ported: right on the evaluator and on Triton's interpreter, and compiled for sm_90. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { build, type TestCase } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { compileAll } from "../../support/aot.js";
import { interpreter } from "../../support/cli.js";
import { tritonPythons } from "../../support/python.js";
import { rotaryCache } from "./rotary-cache.js";
import { statePassing } from "./state-passing.js";
import { topPeers } from "./topk-peers.js";

sampledTests("ports", "src/codegen/wrapper", "python/runtime");

const rotary = (PICTURES: number, T: string, absent: readonly string[] = []): TestCase => ({
  sizes: { TOKENS: 5, Q_HEADS: 3, K_HEADS: 2, HALF: 6, P: 32, SLOTS: 9 },
  dtypes: { T },
  constexprs: { PICTURES, HEIGHTS: 2, WIDTHS: 4 },
  absent,
  config: 0,
  seed: 3,
});
const peers = (absent: readonly string[], gpu: TestCase["gpu"] = {}): TestCase => ({
  sizes: { M: 7, N: 100, WORLD: 4 },
  dtypes: {},
  constexprs: { RANK: 2 },
  absent,
  gpu,
  config: 0,
  seed: 3,
});
const states = (T: string, absent: readonly string[] = [], config = 0): TestCase => ({
  sizes: { BATCH: 2, CHUNKS: 3, HEADS: 2, DIM: 300 },
  dtypes: { T },
  constexprs: {},
  absent,
  config,
  seed: 3,
});
const caches = ["slots", "keyCache", "valueCache"];

const ports = [
  {
    name: "rotary-cache",
    kernel: rotaryCache,
    cases: [
      rotary(0, "float32"),
      rotary(1, "float32"),
      rotary(1, "bfloat16", ["kOut"]),
      rotary(0, "float32", caches),
      rotary(1, "float32", ["keyCache"]),
      rotary(0, "bfloat16", [...caches, "kOut"]),
    ],
    constexprs: { BLOCK: 8 },
  },
  {
    name: "state-passing",
    kernel: statePassing,
    cases: [states("float16"), states("bfloat16", ["initial"], 1)],
    constexprs: {},
  },
  {
    name: "topk-peers",
    kernel: topPeers,
    cases: [
      peers([]),
      peers(["peer2", "peer3"], { multiProcessorCount: 2 }),
      peers(["peer0", "peer1", "peer2", "peer3"], { multiProcessorCount: 1 }),
    ],
    constexprs: { BLOCK: 128 },
  },
] as const;

describe.each(ports)("$name", ({ name, kernel, cases, constexprs }) => {
  test("has no any", async () => {
    const text = await readFile(new URL(`${name}.ts`, import.meta.url), "utf8");
    expect(text.match(/\bany\b/g)).toBeNull();
  });

  test.each(cases)("the evaluator finds it right: %j", async (at) => {
    const { findings, comparison, unchecked } = (await build(kernel)).evaluate(at, { lowered: true });
    expect([findings, comparison?.correct, unchecked]).toEqual([[], true, []]);
  });

  test("Triton compiles it for sm_90", { timeout: 120_000 }, async () => {
    const compiled = await build(kernel);
    for (const { name: triton, python } of await tritonPythons()) {
      const jobs = cases.map((at) => ({
        kernel: compiled,
        dtypes: at.dtypes,
        absent: at.absent ?? [],
        constexprs: { ...at.constexprs, ...constexprs },
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
