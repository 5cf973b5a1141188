/** The examples as cases: what the evaluator says of each at sizes that property tests draw. */
import fc from "fast-check";
import { build } from "tilescript";
import { cases, type CaseOptions } from "tilescript/testing";
import type { TestCase as At, CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { OperatorDefinition } from "../../../src/dsl/operator.js";
import { trace } from "../../../src/dsl/trace.js";
import { inputsOf } from "../../../src/eval/evaluate-case.js";
import { makeInputs } from "../../../src/eval/make-inputs.js";
import { type DTypeName, isInt } from "../../../src/types/dtype.js";
import { magnitude } from "../../../src/eval/compare-outputs.js";
import { verifyRequest } from "../../../src/runtime/devices/request.js";
import { examples } from "../../support/examples.js";
import { type Case, encode } from "./cases.js";
import { exact } from "./exactness.js";

/** Sizes that an example has besides those that may be anything. */
export const SIZES: Readonly<Record<string, CaseOptions>> = {
  "vector-add": { maxSize: 3000 },
  softmax: { maxSize: 300 },
  "softmax-long": { maxSize: 300 },
  gemm: { maxSize: 130, maxWork: 2 ** 18 },
  "gemm-persistent": { maxSize: 130, maxWork: 2 ** 18 },
  "gemm-tma": { maxSize: 130, maxWork: 2 ** 18 },
  "gemm-persistent-tma": { maxSize: 130, maxWork: 2 ** 18 },
  "linear-gelu": { maxSize: 130, maxWork: 2 ** 18 },
  "gemm-block-scaled": { maxSize: 40, maxWork: 2 ** 12 },
  "grouped-gemm": { maxSize: 60, maxWork: 2 ** 16 },
  "flash-attention": { maxSize: 150, maxWork: 2 ** 14, sizes: { HEAD_DIM: 32 } },
  "attention-gradients": { maxSize: 100, maxWork: 2 ** 14, sizes: { HEAD_DIM: 32 } },
  "relative-attention": { maxSize: 150, maxWork: 2 ** 14, sizes: { HEAD_DIM: 32 } },
  "mamba-chunk-scan": { maxSize: 7, maxWork: 2 ** 14, sizes: { STATE: 128 } },
  "int4-gemm": { maxSize: 5 },
  "paged-attention": { maxSize: 6, sizes: { HEAD_DIM: 64, PAGE_SIZE: 16 } },
  "moe-gemm": { maxSize: 9, sizes: { BLOCK_M: 16 } },
  "max-pool-3d": { maxSize: 9 },
  "stochastic-rounding": { maxSize: 3000 },
  dropout: { maxSize: 3000 },
  asin: { maxSize: 3000 },
};

/** Examples that ask what they are compiled for, which the evaluator cannot say. */
export const NOT_EVALUATED: readonly string[] = ["dependent-launch"];

export const evaluatedExamples = examples.filter((each) => !NOT_EVALUATED.includes(each.name));

/** So many cases of every example, an operator's kernels each on their own too. */
export async function exampleCases(
  each: number,
  seed: number,
  chosen: readonly (typeof examples)[number][] = evaluatedExamples,
): Promise<Case[]> {
  const found: Case[] = [];
  for (const { name, kernel } of chosen) {
    const compiled = await build(kernel);
    const inputs = (at: At) =>
      kernel instanceof OperatorDefinition
        ? makeInputs(compiled.signature, at, known(compiled, at))
        : inputsOf(trace(definitionOf(kernel)), compiled.signature, at);
    found.push(...casesOf(name, compiled, inputs, each, seed));
    for (const part of compiled.parts ?? [])
      found.push(...casesOf(name, part, (at) => makeInputs(part.signature, at, known(part, at)), each, seed));
  }
  return found;
}

const known = (kernel: CompiledKernel, at: At) => ({ sizes: kernel.sizes(at), ranges: kernel.ranges(at) });

function casesOf(
  example: string,
  compiled: CompiledKernel,
  inputsAt: (at: At) => ReturnType<typeof makeInputs>,
  each: number,
  seed: number,
): Case[] {
  const { signature } = compiled;
  const drawn = cases(compiled, { maxSize: 60, ...SIZES[example], layouts: ["contiguous"] });
  return fc.sample(drawn, { numRuns: each, seed }).map((at, i) => {
    const inputs = inputsAt(at);
    const { outputs, findings, unchecked } = compiled.evaluate(at, { inputs });
    if (findings.length > 0) throw new Error(`${signature.name}: ${findings[0]!.message}`);
    if (Object.keys(outputs).length === 0) throw new Error(`${signature.name}: ${unchecked.join()}`);
    const request = verifyRequest(compiled, "", at, { passOut: false, tolerance: {}, mode: "cuda" });
    const written = signature.tensors.filter(({ role, name }) => role !== "in" && !at.absent?.includes(name));
    return {
      id: `${signature.name} ${i}`,
      example,
      module: compiled.python,
      jits: request.jits,
      config: at.config,
      inputs: request.inputs.map((tensor) => encode(tensor.python, inputs[tensor.name]!)),
      arguments: request.arguments,
      outputs: written.map(({ name, python }) => {
        const encoded = encode(python, outputs[name]!);
        if (isInt(encoded.dtype as DTypeName)) return { ...encoded, rule: exact };
        const { rtol, atol, rms = 0 } = request.tolerances[python]!;
        const scale = magnitude(outputs[name]!.data as Float32Array);
        return { ...encoded, rule: { kind: "close" as const, rtol, atol: atol + rms * scale } };
      }),
      unlike: {},
    };
  });
}
