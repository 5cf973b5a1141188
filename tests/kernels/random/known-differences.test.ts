/**
 * What random kernels leave out, because who runs them does otherwise than a compiled kernel of Triton 3.9, and what they
 * are kept from doing, because no rule gives its result. Where one of these fails, the two agree now: take its entry away.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { kernel, libdevice, tensor, tl } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { compileAll } from "../../support/aot.js";
import { tritonPythons } from "../../support/python.js";
import { type Case, caseFor } from "./cases.js";
import { exact } from "./exactness.js";
import { checked } from "./jobs.js";
import { differences, unlike } from "./known-differences.js";
import { interpreted, type Summary } from "./python.js";

sampledTests("known differences");

const made = (body: (x: any, args: any) => any, more: object = {}) =>
  checked({
    kernel: kernel(
      "unlike",
      {
        params: { x: tensor(tl.float32, [16]), y: tensor.out(tl.float32, [16]), ...more },
        grid: () => [1],
      } as never,
      (({ x, y, ...args }: any) => {
        const lanes = tl.arange(0, 16);
        tl.store(y.at(lanes), body(tl.load(x.at(lanes)), args).to(tl.float32));
      }) as never,
    ),
    outputs: [{ name: "y", dtype: "float32", shape: [16], partial: false, rule: exact }],
    sizes: {},
    scalars: {},
  });

/** Rows of a code of e5m2, with scales of 1, times columns of a number. */
const scaled = (code: number, dtype: any, format: string, number: number) =>
  made(() =>
    tl.max(
      (tl.dotScaled as any)(
        tl.full([16, 64], code, tl.uint8),
        tl.full([16, 2], 127, tl.uint8),
        "e5m2",
        tl.full([64, 16], number, dtype),
        null,
        format,
      ),
      1,
    ),
  );

/** By what the entry says, one or more kernels. */
const kernels: Readonly<Record<string, Readonly<Record<string, ReturnType<typeof made>>>>> = {
  "float8 is computed on bit patterns": { cast: made((x) => x.to(tl.float8e5)) },
  "dot_scaled takes its operands through float16 and loses digits of subnormal ones": {
    "the least number of e5m2": scaled(1, tl.float16, "fp16", 1),
    "a subnormal float16": scaled(0x3c, tl.float16, "fp16", 2 ** -16),
    "a bfloat16 too small for float16": scaled(0x3c, tl.bfloat16, "bf16", 2 ** -30),
  },
  "gather takes no truth values for indices": { gather: made((x) => tl.gather(x, x.gt(0), 0)) },
  "it has no map_elementwise": { map: made((x) => tl.mapElementwise((a: any) => a.add(1), x)) },
};
const onInterpreter = Object.entries(kernels).flatMap(([why, each]) =>
  Object.entries(each).map(([name, kernel]) => ({ why, name, kernel })),
);

describe("Triton's interpreter", () => {
  let found: Summary;
  beforeAll(async () => {
    const cases = [...onInterpreter, { kernel: made((x) => libdevice.ceil(x)) }].map(({ kernel }, i) => {
      const of = caseFor(i, kernel);
      if ("left" in of) throw new Error(of.why);
      return { ...of, unlike: {} };
    });
    found = await interpreted(cases);
  }, 60_000);
  const fails = (i: number): boolean => found.failures.some(({ id }) => id === String(i));

  test.each(onInterpreter.map((each, i) => ({ ...each, i })))("is no witness: $why ($name)", ({ why, kernel, i }) => {
    expect(fails(i)).toBe(true);
    expect(unlike(kernel.ir).interpreter).toBe(why);
  });

  test("is not compared for libdevice, which is compared with a GPU elsewhere", () => {
    expect(fails(onInterpreter.length)).toBe(true);
  });

  test("is wrong about each entry in one of these kernels", () => {
    const entries = differences.filter(({ place }) => place === "interpreter").map(({ why }) => why);
    expect(Object.keys(kernels)).toEqual(entries);
  });

  test("is a witness of what it does like a compiled kernel", async () => {
    const plain = made((x) => x.mul(2));
    expect(unlike(plain.ir)).toEqual({});
    const { agree, failures } = await interpreted([caseFor(1, plain) as Case]);
    expect({ agree, failures }).toEqual({ agree: 1, failures: [] });
  });
});

test("the evaluator's dot_scaled has every digit of subnormal operands", () => {
  const values = onInterpreter
    .filter(({ why }) => why.startsWith("dot_scaled"))
    .map(({ kernel }) => (caseFor(1, kernel) as Case).outputs[0]!)
    .map((output) => ("data" in output ? Buffer.from(output.data, "base64").readFloatLE() : undefined));
  expect(values).toEqual([64 * 2 ** -16, 64 * 2 ** -16, 64 * 2 ** -30]);
});

/** The answer of each version of Triton. */
async function compiled(...kernel: Parameters<typeof made>) {
  const jobs = [{ kernel: made(...kernel).compiled }];
  const found: Record<string, { ttir: string; ptx: string; error: string }> = {};
  for (const { name, python } of await tritonPythons())
    found[name] = { ttir: "", ptx: "", error: "", ...(await compileAll(python, jobs))[0]! };
  return found;
}

describe("compiled by Triton", { timeout: 120_000 }, () => {
  const older = process.env["TILESCRIPT_PYTHON36"] !== undefined;

  test.runIf(older)("3.6, a product of float64 whose operands were widened stops the compiler", async () => {
    const z = { z: tensor(tl.int8, [16, 16]) };
    const found = await compiled((_, args) => {
      const wide = tl.load(args.z.at(tl.arange(0, 16), tl.arange(0, 16))).to(tl.float64);
      return tl.max(tl.dot(wide, wide), 0);
    }, z);
    expect([found["3.6"]!.error === "", found["3.9"]!.error === ""]).toEqual([false, true]);
  });

  test("-x of a float is a subtraction from 0 in 3.6, so that -x of 0 is 0", async () => {
    const found = await compiled((x) => x.neg());
    expect(found["3.9"]!.ttir).toContain("arith.negf");
    if (older) expect(found["3.6"]!.ttir).toMatch(/arith\.subf %cst\S*, /);
  });

  test("a float x % y is x - trunc(x / y) * y, so that a remainder of 0 has no sign of x", async () => {
    for (const { ptx } of Object.values(await compiled((x) => x.mod(3)))) {
      expect(ptx).toMatch(/div\.rn\.f32[\s\S]*cvt\.rzi\.f32\.f32[\s\S]*fma\.rn\.f32/);
      expect(ptx).not.toContain("copysign");
    }
  });

  test("ceil and floor take a subnormal for a zero", async () => {
    for (const { ptx } of Object.values(await compiled((x) => tl.ceil(x).add(tl.floor(x.mul(3)))))) {
      expect(ptx).toContain("cvt.rpi.ftz.f32.f32");
      expect(ptx).toContain("cvt.rmi.ftz.f32.f32");
    }
  });

  test("an argmax compares the indices of equal elements only with tieBreakLeft", async () => {
    const comparisons = async (tieBreakLeft: boolean) =>
      Object.values(await compiled((x) => x.add(tl.argmax(x, 0, { tieBreakLeft }).to(tl.float32)))).map(({ ttir }) =>
        ttir.includes("arith.cmpi slt"),
      );
    expect(new Set(await comparisons(true))).toEqual(new Set([true]));
    expect(new Set(await comparisons(false))).toEqual(new Set([false]));
  });
});
