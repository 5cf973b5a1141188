/** Integers of references, which the evaluator computes in float64, against PyTorch: promotion, and what leaves a dtype. */
import { expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { evaluateReference } from "../../../src/torch/evaluate-torch.js";
import { UnsupportedByEvaluator } from "../../../src/torch/array.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { runScript, requirePython } from "../../support/python.js";
import { drawnCount } from "../../support/sampled-tests.js";
import { fc } from "../../support/property.js";

const dtypes = { int8: tl.int8, uint8: tl.uint8, int16: tl.int16, int32: tl.int32, int64: tl.int64 } as const;
type Name = keyof typeof dtypes;

/** The largest and smallest of a dtype, as far as the evaluator holds them, and some between. */
const elements: Readonly<Record<Name, readonly number[]>> = {
  int8: [127, -128, 100, -100, 7, -1, 3, 64],
  uint8: [255, 128, 200, 1, 7, 99, 3, 64],
  int16: [32767, -32768, 300, -129, 5, -1, 3, 64],
  int32: [2 ** 31 - 1, -(2 ** 31), 65599, -70000, 5, -1, 3, 64],
  int64: [2 ** 40, -(2 ** 33), 65599, -70000, 5, -1, 3, 64],
};

type Op = (x: any, y: any, torch: any) => any;
const ops: Readonly<Record<string, Op>> = {
  add: (x, y) => x.add(y),
  "add a number": (x) => x.add(100),
  sub: (x, y) => x.sub(y),
  mul: (x, y) => x.mul(y),
  "mul by a number": (x) => x.mul(65599),
  remainder: (x, y) => x.remainder(y),
  fmod: (x, y) => x.fmod(y),
  floor_divide: (x, y) => x.floor_divide(y),
  square: (x) => x.square(),
  neg: (x) => x.neg(),
  abs: (x) => x.abs(),
  maximum: (x, y, torch) => torch.maximum(x, y),
  clamp: (x) => x.clamp(-5, 90),
  bitwise_and: (x, y) => x.bitwise_and(y),
  bitwise_xor: (x, y) => x.bitwise_xor(y),
  bitwise_right_shift: (x) => x.bitwise_right_shift(1),
  where: (x, y, torch) => torch.where(x.gt(y), x, y),
  sum: (x) => x.sum(),
  cumsum: (x) => x.cumsum(0),
  amax: (x) => x.amax(0),
  unsqueeze: (x) => x.unsqueeze(0),
  "mul by truth values": (x, y) => x.mul(x.gt(y)),
  double: (x) => x.double(),
  div: (x, y) => x.double().div(y),
  "mul by a half": (x) => x.bitwise_and(127).mul(0.5),
  "to int16": (x) => x.to(tl.int16),
  "to int32": (x) => x.to(tl.int32),
};

const kernelOf = (a: Name, b: Name, first: Op, second: Op) =>
  kernel(
    "k",
    {
      params: { x: tensor(dtypes[a], [8]), y: tensor(dtypes[b], [8]), out: tensor.out(tl.float64, [8]) },
      grid: () => [1],
      reference: ({ x, y }: any, torch: any) => second(first(x, y, torch), y, torch),
    } as any,
    ({ out }: any) => tl.store(out.at(tl.arange(0, 8)), tl.zeros([8], tl.float64)),
  );

function outputsOf(a: Name, b: Name, first: Op, second: Op) {
  const { reference } = trace(definitionOf(kernelOf(a, b, first, second)));
  if (reference?.kind !== "recorded") throw new Error("not recorded");
  return reference.outputs;
}

/** These give floats, of which PyTorch has fewer digits. */
const ofFloats = new Set(["double", "div", "mul by a half"]);

/** The largest element of the dtype that a function casts to. */
const castLimits: Readonly<Record<string, number>> = { "to int16": 32767, "to int32": 2 ** 31 - 1 };

const names = Object.keys(dtypes) as Name[];
const op = fc.constantFrom(...Object.keys(ops));
const drawnCase = fc.record({ a: fc.constantFrom(...names), b: fc.constantFrom(...names), first: op, second: op });

test("two functions, one after the other", { timeout: 240_000 }, async () => {
  const count = drawnCount("pairs of functions of integers in references", 800, 60);
  const cases = fc.sample(drawnCase, { numRuns: count });
  const lines = cases.map(({ a, b, first, second }) => ({
    id: `${second} of ${first} of ${a} and ${b}`,
    module: compile(kernelOf(a, b, ops[first]!, ops[second]!)).python,
    inputs: [a, b].map((dtype) => ({ dtype, shape: [8], data: elements[dtype].map(String) })),
  }));
  const given: Readonly<Record<string, any>> = await runScript(
    await requirePython(),
    new URL("../ops/reference_cases.py", import.meta.url),
    lines,
  );
  let compared = 0;
  const wrong: string[] = [];
  cases.forEach(({ a, b, first, second }, at) => {
    const { id } = lines[at]!;
    const outputs = outputsOf(a, b, ops[first]!, ops[second]!);
    const inputOf = (dtype: Name) => ({
      dtype,
      shape: [8],
      data: dtype === "int64" ? BigInt64Array.from(elements[dtype], BigInt) : Int32Array.from(elements[dtype]),
    });
    const { error, data } = given[id];
    // PyTorch has no bits of floats.
    if (error !== undefined && (ofFloats.has(first) || ofFloats.has(second))) return;
    expect(error, id).toBeUndefined();
    try {
      const [result] = evaluateReference(outputs, { x: inputOf(a), y: inputOf(b) });
      const most = ofFloats.has(first) || ofFloats.has(second) ? 1e-6 : 0;
      const limit = castLimits[second];
      const floats =
        ofFloats.has(first) && limit !== undefined
          ? evaluateReference(
              outputsOf(a, b, ops[first]!, (x) => x),
              { x: inputOf(a), y: inputOf(b) },
            )[0]!.data
          : [];
      // PyTorch leaves the cast of a float beyond the range of an integer dtype undefined.
      const isUndefined = (x: number) => limit !== undefined && (Math.trunc(x) > limit || Math.trunc(x) < -limit - 1);
      const isRight = (x: number, i: number) =>
        isUndefined(Number(floats[i])) || Math.abs(x - Number(data[i])) <= most * Math.abs(x);
      if (!result!.data.every(isRight)) wrong.push(`${id}: ${result!.data.join(" ")} instead of ${data.join(" ")}`);
      compared++;
    } catch (failure) {
      // Beyond 2^53 the evaluator says that it does not know.
      if (!(failure instanceof UnsupportedByEvaluator)) throw failure;
    }
  });
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(cases.length / 2);
});
