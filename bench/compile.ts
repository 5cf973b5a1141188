/**
 * Measures builds: `npm run bench:compile`. Prints the time of trace + check + emit per example, warm and with the source
 * already indexed, the growth for kernels of 10 to 10,000 ops, and tsc's time on the examples.
 */
import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { gemm } from "../examples/gemm.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { compile } from "../src/pipeline/compile-kernel.js";
import { createSourceIndex } from "../src/source/source-index.js";

const source = createSourceIndex();

/** Median time of a few builds, in milliseconds. */
function buildTime(candidate: unknown, repeats: number): number {
  const times = Array.from({ length: repeats }, () => {
    const start = performance.now();
    compile(candidate, { source });
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[repeats >> 1]!;
}

/** A kernel of about `ops` ops: a chain of multiplications and additions. */
function chain(ops: number) {
  return kernel(
    `chain_${ops}`,
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 256 },
    },
    ({ x, y, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const value = tl.mut(tl.load(x.at(offsets)));
      for (let i = 0; i < ops / 2; i++) value.value = value.value.mul(1.5).add(i);
      tl.store(y.at(offsets), value.value);
    },
  );
}

console.log("trace + check + emit, warm (goal: at most 20 ms)");
for (const example of [vectorAdd, softmax, gemm]) {
  const first = performance.now();
  compile(example, { source });
  const cold = performance.now() - first;
  console.log(
    `  ${example.name.padEnd(12)} ${buildTime(example, 31).toFixed(1).padStart(7)} ms   (first ${cold.toFixed(0)} ms)`,
  );
}

console.log("growth (goal: linear)");
for (const ops of [10, 100, 1_000, 10_000]) {
  const time = buildTime(chain(ops), ops > 1000 ? 3 : 9);
  console.log(
    `  ${String(ops).padStart(6)} ops ${time.toFixed(1).padStart(8)} ms   ${((time * 1000) / ops).toFixed(1).padStart(7)} µs an op`,
  );
}

const start = performance.now();
const { status } = spawnSync("npx", ["tsc", "-p", "examples"], { stdio: "inherit" });
console.log(
  `tsc on the examples: ${((performance.now() - start) / 1000).toFixed(2)} s, exit ${status} (goal: at most 2 s)`,
);
