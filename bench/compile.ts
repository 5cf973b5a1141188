/**
 * Measures builds: `npm run bench -- compile`. Prints the time of trace + check + emit per example, warm and with the
 * source already indexed, of writing a module with a warp-specialized kernel, the growth for kernels of 10 to 10,000
 * ops, and tsc's time on the examples and the ports. Writes bench/results/compile.json.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { attention } from "../examples/flash-attention.js";
import { gemm } from "../examples/gemm.js";
import { relativeAttention } from "../examples/relative-attention.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { compile } from "../src/pipeline/compile-kernel.js";
import { createSourceIndex } from "../src/source/call-site-index.js";
import { root } from "../tests/support/tsc.js";
import { roundToTenth, writeReport } from "./write-report.js";

const source = createSourceIndex();

/**
 * Median and minimum time of a few repetitions, in milliseconds. On a machine with other work only the minimum is
 * reliable.
 */
function timeOf(work: () => unknown, repeats: number): { readonly median: number; readonly least: number } {
  const times = Array.from({ length: repeats }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  times.sort((a, b) => a - b);
  return { median: times[repeats >> 1]!, least: times[0]! };
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
const examples = [vectorAdd, softmax, gemm].map((example) => {
  const start = performance.now();
  compile(example, { source });
  const firstMs = performance.now() - start;
  const { median, least } = timeOf(() => compile(example, { source }), 61);
  console.log(
    `  ${example.name.padEnd(12)} ${median.toFixed(1).padStart(7)} ms   (least ${least.toFixed(1)}, first ${firstMs.toFixed(0)} ms)`,
  );
  return {
    kernel: example.name,
    warmMs: roundToTenth(median),
    leastMs: roundToTenth(least),
    firstMs: roundToTenth(firstMs),
  };
});

console.log("a module with a warp-specialized kernel, written again (goal: at most 50 ms)");
const specialized = [gemm, attention, relativeAttention].map((example) => {
  const built = compile(example, { source });
  const { median, least } = timeOf(() => built.emit({ warpSpecialize: "always" }), 21);
  console.log(`  ${example.name.padEnd(20)} ${median.toFixed(1).padStart(7)} ms   (least ${least.toFixed(1)})`);
  return { kernel: example.name, ms: roundToTenth(median), leastMs: roundToTenth(least) };
});

console.log("growth (goal: linear)");
const growth = [10, 100, 1_000, 10_000].map((ops) => {
  const candidate = chain(ops);
  const { least: time } = timeOf(() => compile(candidate, { source }), ops > 1000 ? 5 : 9);
  const microsecondsPerOp = (time * 1000) / ops;
  console.log(
    `  ${String(ops).padStart(6)} ops ${time.toFixed(1).padStart(8)} ms   ${microsecondsPerOp.toFixed(1).padStart(7)} µs an op`,
  );
  return { ops, ms: roundToTenth(time), microsecondsAnOp: roundToTenth(microsecondsPerOp) };
});

/** Like a project with the package installed: uses its declarations instead of its sources. */
function checkTypes(): { readonly seconds: number; readonly status: number | null } {
  const folder = mkdtempSync(join(root, "node_modules/.cache/tilescript-bench-"));
  const runTilescript = (...args: readonly string[]) =>
    spawnSync(join(root, "node_modules/.bin/tsc"), args, { stdio: "inherit", cwd: root });
  const paths = Object.fromEntries(
    [["tilescript", "index"] as const, ["tilescript/testing", "testing"] as const].map(([name, file]) => {
      return [name, [join(folder, `dist/${file}.d.ts`)]];
    }),
  );
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { paths },
    include: [join(root, "examples"), join(root, "tests/kernels/ports")],
    exclude: [join(root, "**/*.test.ts")],
  };
  try {
    runTilescript("-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", join(folder, "dist"));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const start = performance.now();
    const { status } = runTilescript("-p", folder);
    return { seconds: (performance.now() - start) / 1000, status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { seconds, status } = checkTypes();
console.log(`tsc on the examples and the ports: ${seconds.toFixed(2)} s, exit ${status} (goal: at most 2.5 s)`);
writeReport("compile", { examples, specialized, growth, tscOnExamplesAndPortsSeconds: roundToTenth(seconds) });
