/**
 * The evaluator against Triton's interpreter, in CPU time: `npm run bench -- eval`. Runs every example at sizes that
 * property tests draw and writes bench/results/evaluator.json.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { resolve } from "node:path";
import fc from "fast-check";
import { build } from "tilescript";
import { cases, type CaseOptions } from "tilescript/testing";
import { bitonicTopk } from "../examples/bitonic-topk.js";
import { attentionWithGradients } from "../examples/attention-gradients.js";
import { dropout } from "../examples/dropout.js";
import { attention } from "../examples/flash-attention.js";
import { gemmPersistent } from "../examples/gemm-persistent.js";
import { gemmTma } from "../examples/gemm-tma.js";
import { gemm } from "../examples/gemm.js";
import { int4Gemm } from "../examples/int4-gemm.js";
import { jaggedSoftmax } from "../examples/jagged-softmax.js";
import { layerNorm } from "../examples/layer-norm.js";
import { chunkScan } from "../examples/mamba-chunk-scan.js";
import { maxPool3d } from "../examples/max-pool-3d.js";
import { moeGemm } from "../examples/moe-gemm.js";
import { pagedAttention } from "../examples/paged-attention.js";
import { softmax } from "../examples/softmax.js";
import { adamwStochastic } from "../examples/stochastic-rounding.js";
import { vectorAdd } from "../examples/vector-add.js";
import type { TestCase } from "../src/compiled/compiled-kernel.js";
import { definitionOf, type KernelDefinition } from "../src/dsl/definition.js";
import { type OperatorDefinition, traceOperator } from "../src/dsl/operator.js";
import { trace } from "../src/dsl/trace.js";
import { launchOf } from "../src/eval/bindings.js";
import { inputsOf } from "../src/eval/evaluate-case.js";
import { evaluateKernel } from "../src/eval/evaluate-kernel.js";
import { findPython } from "../src/runtime/worker/environment.js";
import { verifyRequest } from "../src/runtime/devices/request.js";
import { openWorkspace } from "../src/runtime/devices/device.js";

const CASES = 8;
/** Warm-up time: property tests run hundreds of cases, so V8 has compiled the loops for most of them. */
const WARMUP_MS = 500;
const GOALS = { rows: 10, gemm: 3 };

const examples: readonly (readonly [unknown, keyof typeof GOALS, CaseOptions])[] = [
  [vectorAdd, "rows", { maxSize: 3000 }],
  [adamwStochastic, "rows", { maxSize: 3000 }],
  [dropout, "rows", { maxSize: 3000 }],
  [softmax, "rows", { maxSize: 300 }],
  ...kernelsOf(layerNorm).map((kernel) => [kernel, "rows", { maxSize: 100 }] as const),
  [jaggedSoftmax, "rows", { maxSize: 200, maxWork: 2 ** 18 }],
  [bitonicTopk, "rows", { maxSize: 40 }],
  [maxPool3d, "rows", { maxSize: 16, maxWork: 2 ** 13 }],
  [gemm, "gemm", { maxSize: 130, maxWork: 2 ** 18 }],
  [gemmPersistent, "gemm", { maxSize: 130, maxWork: 2 ** 18 }],
  [gemmTma, "gemm", { maxSize: 130, maxWork: 2 ** 18 }],
  [int4Gemm, "gemm", { maxSize: 100, maxWork: 2 ** 12, sizes: { GROUPS: 1 } }],
  [chunkScan, "gemm", { maxSize: 70, maxWork: 2 ** 20, sizes: { STATE: 16, BATCH: 1, HEADS: 2 } }],
  [moeGemm, "gemm", { maxSize: 60, sizes: { BLOCK_M: 16, TOP_K: 2, E: 4 } }],
  [attention, "gemm", { maxSize: 150, maxWork: 2 ** 14, sizes: { HEAD_DIM: 32 } }],
  ...kernelsOf(attentionWithGradients).map(
    (kernel) => [kernel, "gemm", { maxSize: 150, maxWork: 2 ** 14, sizes: { HEAD_DIM: 32 } }] as const,
  ),
  [pagedAttention, "gemm", { maxSize: 4, maxWork: 2 ** 24, sizes: { HEAD_DIM: 64, PAGE_SIZE: 16, PAGES: 16 } }],
];

/** The kernels that an operator calls. */
function kernelsOf(operator: unknown): readonly KernelDefinition[] {
  const kernels: KernelDefinition[] = [];
  traceOperator(operator as OperatorDefinition, (kernel) => {
    kernels.push(kernel);
    return trace(kernel);
  });
  return kernels;
}

/** The lowest CPU time of a call, in milliseconds, over batches much longer than the clock's resolution. */
function cpuMs(work: () => unknown): number {
  const batch = (count: number): number => {
    const start = process.cpuUsage();
    for (let i = 0; i < count; i++) work();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000 / count;
  };
  const count = Math.max(1, Math.ceil(10 / batch(3)));
  return Math.min(...Array.from({ length: 5 }, () => batch(count)));
}

/** CPU time of the kernel alone, and of a property test's whole case. */
async function measure(kernel: unknown, testCases: readonly TestCase[]) {
  const compiledKernel = await build(kernel);
  const ir = trace(definitionOf(kernel));
  for (const end = Date.now() + WARMUP_MS; Date.now() < end;)
    testCases.forEach((testCase) => compiledKernel.evaluate(testCase));
  return testCases.map((testCase) => {
    const { layouts, absent, seed } = testCase;
    const inputs = inputsOf(ir, compiledKernel.signature, testCase);
    const execution = { ...launchOf(ir, testCase), inputs, layouts, absent, seed };
    return {
      kernel: cpuMs(() => evaluateKernel(ir, execution)),
      whole: cpuMs(() => compiledKernel.evaluate(testCase)),
    };
  });
}

const { environment } = await findPython();
if (!environment) {
  console.error("no Python with torch and triton was found; run npx tilescript setup");
  process.exit(3);
}

function interpret(requests: readonly unknown[]) {
  const { status, stdout } = spawnSync(environment!.python, [resolve(import.meta.dirname, "eval.py")], {
    input: JSON.stringify(requests),
    encoding: "utf8",
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, TRITON_INTERPRET: "1" },
  });
  if (status !== 0) throw new Error(`bench/eval.py ended with exit code ${status}`);
  return JSON.parse(stdout) as { versions: Record<string, string>; ms: number[] };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const round = (value: number): number => Number(value.toPrecision(3));
let versions = {};
const rows = [];
console.log(
  "CPU ms a case, means        Triton   evaluator     ratio      cases/s, with inputs, reference, comparison",
);
for (const [kernel, kind, options] of examples) {
  const compiledKernel = await build(kernel);
  const testCases = fc.sample(cases(compiledKernel, options), { numRuns: CASES, seed: 1 });
  const workspace = await openWorkspace(compiledKernel);
  const evaluatorTimes = await measure(kernel, testCases);
  const tritonTimes = interpret(
    testCases.map((testCase) =>
      verifyRequest(compiledKernel, workspace.module, testCase, { passOut: true, tolerance: {}, mode: "interpreter" }),
    ),
  );
  await workspace.remove();
  versions = tritonTimes.versions;
  const [triton, evaluator, whole] = [
    mean(tritonTimes.ms),
    mean(evaluatorTimes.map((t) => t.kernel)),
    mean(evaluatorTimes.map((t) => t.whole)),
  ];
  const row = {
    kernel: compiledKernel.signature.name,
    cases: testCases.length,
    sizes: testCases.map(({ sizes }) => sizes),
    tritonMs: round(triton),
    evaluatorMs: round(evaluator),
    ratio: round(triton / evaluator),
    goal: GOALS[kind],
    wholeCaseMs: round(whole),
    casesPerSecond: round(1000 / whole),
  };
  rows.push(row);
  console.log(
    `  ${row.kernel.padEnd(20)} ${triton.toFixed(2).padStart(11)} ${evaluator.toFixed(3).padStart(11)} ${(triton / evaluator).toFixed(1).padStart(8)}x (goal ${row.goal}x) ${(1000 / whole).toFixed(0).padStart(8)}`,
  );
}

const report = {
  machine: `${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores`,
  date: new Date().toISOString().slice(0, 10),
  versions: { node: process.versions.node, ...versions },
  // CPU time, not wall-clock: the lowest of several runs of each case, then the mean over cases drawn with seed 1.
  rows,
};
const file = resolve(import.meta.dirname, "results/evaluator.json");
writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
