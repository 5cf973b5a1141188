/**
 * A tenth of an output's magnitude, a row, a factor or an operand: each of these mistakes fails in every example and every
 * dtype, on the evaluator and within the tolerances of every device. The examples as they are pass.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestCase, CompiledKernel, TensorData } from "../../../src/compiled/compiled-kernel.js";
import { type ExecutionMode, toleranceFor } from "../../../src/compiled/tolerance.js";
import { compareOutput, magnitude } from "../../../src/eval/compare-outputs.js";
import { type FloatDType, isFloat } from "../../../src/numerics/numeric-int.js";
import { round } from "../../../src/numerics/numeric-float.js";
import type { DTypeName } from "../../../src/types/dtype.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { interpreter } from "../../support/cli.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { type Change, type Faulty, faulty, type Stored } from "./faults.js";
import { buildRight, Seeded } from "./seed.js";

const tested = sampleCases("examples with seeded mistakes", faulty, {
  key: ({ example }) => example,
  sources: ({ example }) => [`examples/${example}.ts`],
  always: ["flash-attention", "softmax"],
  perRun: 14,
  hasOwnTests: true,
});
const files = tested.map((each) => [each.example, each] as const);

let seeded: Seeded;
beforeAll(() => void (seeded = new Seeded()));
afterAll(() => seeded.remove());

// The kernels of an operator, and helper functions, stand before it.
const subjectOf = ({ example, kernel }: Faulty) => ({
  file: `../../../examples/${example}.ts`,
  kernel,
  anywhere: true,
});
const right = (each: Faulty) => buildRight(subjectOf(each));
const wrong = async (each: Faulty, what: string, [from, to]: Change) =>
  (await seeded.build(subjectOf(each), { what, from, to })).compiled;

/** One case for each choice of dtypes. */
function casesOf({ signature }: CompiledKernel, { at }: Faulty): readonly TestCase[] {
  const scalars = Object.fromEntries(
    signature.scalars.flatMap(({ name, default: own }) => (own === undefined ? [] : [[name, own]])),
  );
  const all = Object.entries(signature.dtypes).reduce<readonly Record<string, string>[]>(
    (known, [name, members]) => known.flatMap((dtypes) => members.map((member) => ({ ...dtypes, [name]: member }))),
    [{}],
  );
  return all.map((dtypes) => ({ scalars, ...at, dtypes, config: 0, seed: 3 }));
}

const scaleOf = ({ data }: TensorData): number => magnitude(Float64Array.from(data as Float32Array, Number));
const isFloats = ({ dtype }: TensorData): boolean => isFloat(dtype as DTypeName);

/** The value with something done to it, in the text of the kernel. */
const storedAs = ({ value, cast }: Stored, changed: string): Change => [`${value}${cast}`, `${changed}${cast}`];

describe.each(files)("%s", (_, each) => {
  test("is right", async () => {
    const compiled = await right(each);
    for (const at of casesOf(compiled, each)) {
      const { findings, comparison } = compiled.evaluate(at);
      expect([at.dtypes, findings, comparison?.correct]).toEqual([at.dtypes, [], true]);
    }
  });

  test("is wrong by a tenth of the output's magnitude, and by far less", async () => {
    const compiled = await right(each);
    const [first] = casesOf(compiled, each);
    const { outputs } = compiled.evaluate(first!);
    for (const stored of each.stored) {
      const output = outputs[stored.output]!;
      const parts = !isFloats(output) ? [] : each.bits === undefined ? [0.1, 1e-5] : [0.1];
      const constants = isFloats(output) ? parts.map((part) => part * scaleOf(output)) : [1];
      for (const constant of constants) {
        const changed = storedAs(stored, `${stored.value}.add(${constant})`);
        fails(await wrong(each, `${constant} more in ${stored.output}`, changed), each);
      }
    }
  });

  test("is wrong where a row is missing", async () => {
    for (const stored of each.stored) {
      const changed = storedAs(stored, `tl.where(${stored.row}, ${stored.value}.mul(0), ${stored.value})`);
      fails(await wrong(each, `a row of ${stored.output} is 0`, changed), each);
    }
  });

  test.skipIf("none" in each.scale)("is wrong without its factor", async () => {
    fails(await wrong(each, "no factor", each.scale as Change), each);
  });

  test.skipIf("none" in each.swap)("is wrong with another operand", async () => {
    fails(await wrong(each, "another operand", each.swap as Change), each);
  });

  test("is wrong in what a device gives", async () => {
    const compiled = await right(each);
    for (const at of casesOf(compiled, each))
      for (const [name, output] of Object.entries(compiled.evaluate(at).outputs))
        for (const [fault, changed] of Object.entries(faultsOf(output)))
          for (const on of ["eval", "interpreter", "cuda"] as const)
            expect([name, fault, on, at.dtypes, agrees(compiled, at, name, output, changed, on)]).toEqual([
              name,
              fault,
              on,
              at.dtypes,
              false,
            ]);
  });
});

describe("Triton's interpreter", { timeout: 120_000 }, () => {
  const device = interpreter();
  const attention = faulty.find(({ example }) => example === "flash-attention")!;
  const [stored] = attention.stored;
  const verified = async (more: number) => {
    const compiled = await wrong(attention, `${more} more`, storedAs(stored!, `${stored!.value}.add(${more})`));
    const [at] = casesOf(compiled, attention);
    return verifyCase(compiled, device(), at!);
  };

  test("fails by its own numbers where an output is wrong by a tenth of its magnitude", async () => {
    const { status, comparisons } = await verified(0.03);
    expect([status, comparisons[0]?.finds]).toEqual(["failed", undefined]);
  });

  test("fails by the evaluator's where a mistake is as small as rounding", async () => {
    const { status, comparisons, by } = await verified(1e-5);
    expect([status, by, comparisons[0]?.finds]).toEqual(["failed", "python", "mistake"]);
  });

  test("passes what is right, and says that it was judged", async () => {
    expect(await verified(0)).toMatchObject({ status: "passed", isAlgorithmChecked: true, unchecked: [] });
  });
});

/** Expects that values alone tell of the mistake, in every dtype. */
function fails(compiled: CompiledKernel, each: Faulty): void {
  for (const at of casesOf(compiled, each)) {
    const { findings, comparison } = compiled.evaluate(at);
    expect([at.dtypes, findings, comparison?.correct]).toEqual([at.dtypes, [], false]);
    const isFloatWrong = each.stored.some(
      ({ output, cast }) => output === comparison?.worst?.output && cast !== ".to(tl.int64)",
    );
    if (each.bits === undefined && isFloatWrong) expect([at.dtypes, comparison?.finds]).toEqual([at.dtypes, "mistake"]);
  }
}

/** An output with mistakes that emitted code may make, rounded to its dtype. */
function faultsOf(output: TensorData): Record<string, Float64Array> {
  const values = Float64Array.from(output.data as Float32Array, Number);
  const { length } = values;
  const width = output.shape.length > 1 ? output.shape.at(-1)! : Math.ceil(length / 4);
  const rounded = (of: (x: number, i: number) => number): Float64Array =>
    isFloats(output) ? values.map(of).map(round(output.dtype as FloatDType)) : values.map(of);
  const step = isFloats(output) ? 0.1 * scaleOf(output) : 1;
  const stale = rounded((x, i) => (i < width ? values[i + width]! : x));
  return {
    "a constant more": rounded((x) => x + step),
    "a constant less": rounded((x) => x - step),
    "a row of zeros": rounded((x, i) => (i < width ? 0 : x)),
    "the next row": stale,
    "a factor of 1.25": rounded((x) => 1.25 * x),
  };
}

/** Whether a device's output passes within the tolerance of that device. What it is compared with is exact. */
function agrees(
  { signature, sizes }: CompiledKernel,
  at: TestCase,
  name: string,
  { dtype, shape, data }: TensorData,
  changed: Float64Array,
  on: ExecutionMode,
): boolean {
  const exact = { shape, data: Float64Array.from(data as Float32Array, Number) };
  const tolerance = toleranceFor(dtype, signature, { sizes: sizes(at), dtypes: at.dtypes }, on);
  return compareOutput(name, { dtype, shape, data: changed }, exact, tolerance).correct;
}
