/** Evaluates kernels in tests of the evaluator. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { TestCase, EvaluateOptions, Evaluation, Finding, TensorData } from "../../src/compiled/compiled-kernel.js";
import { signatureOf } from "../../src/codegen/module/signature.js";
import { definitionOf } from "../../src/dsl/definition.js";
import { trace } from "../../src/dsl/trace.js";
import { evaluateCase } from "../../src/eval/evaluate-case.js";
import type { Tolerances } from "../../src/eval/compare-reference.js";

const DEFAULT_CASE = { dtypes: {}, config: 0, seed: 1 };

/** Evaluates one test case of a kernel before lowering. */
export function evaluate(
  kernel: unknown,
  testCase: Partial<TestCase> & Pick<TestCase, "sizes">,
  inputs: Readonly<Record<string, TensorData>> = {},
  tolerance: Tolerances = { rtol: 1e-5, atol: 1e-5 },
  options: Omit<EvaluateOptions, "inputs" | "tolerance" | "lowered"> = {},
): Evaluation {
  const ir = trace(definitionOf(kernel));
  return evaluateCase(ir, signatureOf(ir), { ...DEFAULT_CASE, ...testCase }, tolerance, { ...options, inputs });
}

export function float32s(...values: readonly number[]): TensorData {
  return { dtype: "float32", shape: [values.length], data: Float32Array.from(values) };
}

/** The line of a test file with the comment `// MARK`. */
export function lineOf(test: string, mark: string): number {
  const lines = readFileSync(fileURLToPath(test), "utf8").split("\n");
  return 1 + lines.findIndex((line) => line.includes(`// ${mark}`));
}

/** Expects exactly one finding, and returns it. */
export function onlyFinding({ findings }: Evaluation): Finding {
  expect(findings.map(({ code, message }) => `${code}: ${message}`)).toHaveLength(1);
  return findings[0]!;
}
