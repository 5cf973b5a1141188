/** A scalar has its declared dtype wherever the kernel runs, whatever its value needs. */
import { beforeAll, describe, expect, test } from "vitest";
import { kernel, scalar, tensor, tl } from "tilescript";
import { compile } from "../../src/pipeline/compile-kernel.js";
import { type DTypeName, dtypeTable } from "../../src/types/dtype.js";
import { type Case, caseFor } from "./random/cases.js";
import { exact } from "./random/exactness.js";
import { checked } from "./random/jobs.js";
import { interpreted, type Summary } from "./random/python.js";

const VALUES: Readonly<Partial<Record<DTypeName, readonly number[]>>> = {
  int8: [0, 1, 5, -1, 127, -128],
  int16: [0, 1, 5, -1, 2 ** 15 - 1, -(2 ** 15)],
  int32: [0, 1, 5, -1, 2 ** 31 - 1, -(2 ** 31)],
  int64: [0, 1, 5, -1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 63 - 1024, -(2 ** 63)],
  uint8: [0, 1, 3, 255],
  uint16: [0, 1, 3, 2 ** 16 - 1],
  uint32: [0, 1, 3, 2 ** 31, 2 ** 32 - 1],
  uint64: [0, 1, 3, 2 ** 31, 2 ** 63, 2 ** 64 - 2048],
  float16: [0, -0, 1, 0.1, 65504, 2 ** -24, NaN, -Infinity],
  bfloat16: [0, -0, 1, 0.1, 2 ** 127, 2 ** -133, -Infinity],
  float32: [0, -0, 1, 0.1, 3, 2 ** 24 + 1, 2 ** 127, -1e30, 2 ** -149, NaN, -Infinity],
  float64: [0, -0, 1, 0.1, 3, 2 ** 53 - 1, 2 ** 1023, -1e30, 5e-324, NaN, -Infinity],
};
const OUTPUTS = ["bits", "sum", "tiny", "half"] as const;

/** Stores the bits of the scalar and of its double, and its sum with a tile of int8 and one of float16. */
function observed(dtype: DTypeName) {
  const bits = `int${dtypeTable[dtype].bits}` as "int8" | "int16" | "int32" | "int64";
  const dtypes = { bits, sum: bits, tiny: "float64", half: "float64" } as const;
  const outputs = OUTPUTS.map((name) => [name, tensor.out(tl[dtypes[name]], [4])] as const);
  return {
    kernel: kernel(
      "observed",
      { params: { ...Object.fromEntries(outputs), s: scalar(tl[dtype]) }, grid: () => [1] } as never,
      (({ s, ...args }: Record<string, any>) => {
        const lanes = tl.arange(0, 4);
        const found: Record<string, any> = {
          bits: tl.broadcastTo(s.to(tl[bits], { bitcast: true }), [4]),
          sum: tl.broadcastTo(s.add(s).to(tl[bits], { bitcast: true }), [4]),
          tiny: lanes.to(tl.int8).add(s).to(tl.float64),
          half: lanes.to(tl.float16).add(s).to(tl.float64),
        };
        for (const name of OUTPUTS) tl.store(args[name].at(lanes), found[name]);
      }) as never,
    ),
    outputs: OUTPUTS.map((name) => ({ name, dtype: dtypes[name], shape: [4], partial: false, rule: exact })),
    sizes: {},
    scalars: {},
  };
}

const cases = Object.entries(VALUES).flatMap(([name, values]) => {
  const dtype = name as DTypeName;
  const built = checked(observed(dtype));
  return values.map((value): Case => {
    const found = caseFor(1, { ...built, scalars: { s: value } });
    if ("left" in found) throw new Error(found.why);
    return { ...found, id: `${dtype} ${Object.is(value, -0) ? "-0" : value}`, unlike: {} };
  });
});

describe.each([
  { where: "the runner's interpreter", corrected: true, compared: cases },
  // Triton's own interpreter computes no bfloat16, and the wrapper says so.
  { where: "Triton's interpreter", corrected: false, compared: cases.filter(({ id }) => !id.startsWith("bfloat16")) },
])("a scalar on $where", ({ corrected, compared }) => {
  let found: Summary;
  beforeAll(async () => {
    found = await interpreted(compared, { corrected });
  }, 300_000);

  test("has its declared dtype, whatever its value needs", () => {
    const { kernels, agree, failures } = found;
    expect({ kernels, agree, failures }).toEqual({ kernels: compared.length, agree: compared.length, failures: [] });
  });
});

const emitted = (dtype: DTypeName, body: (x: any, s: any) => any, stored: DTypeName = dtype): string => {
  const { python } = compile(
    kernel(
      "emitted",
      {
        params: { x: tensor(tl[dtype], [4]), y: tensor.out(tl[stored], [4]), s: scalar(tl[dtype]) },
        grid: () => [1],
      } as never,
      (({ x, y, s }: any) => {
        const lanes = tl.arange(0, 4);
        tl.store(y.at(lanes), body(tl.load(x.at(lanes)), s));
      }) as never,
    ),
  );
  return python.slice(python.indexOf("def emitted_kernel"), python.indexOf("\ndef emitted("));
};

describe("the first line of a kernel", () => {
  test("casts a scalar whose dtype a result depends on", () => {
    expect(emitted("float32", (x, s) => x.mul(tl.exp(s)))).toContain("    s = tl.full([], s, tl.float32)\n");
    expect(emitted("int8", (x, s) => x.add(s))).toContain("    s = tl.full([], s, tl.int8)\n");
  });

  test("casts no float that an operator brings to the dtype of a tile", () => {
    expect(emitted("float32", (x, s) => x.add(s))).not.toContain("tl.full");
  });

  test("casts no int32", () => {
    expect(emitted("int32", (x, s) => x.add(s.mul(3)))).not.toContain("tl.full");
  });

  test("rounds to bfloat16, where Triton's launcher would truncate", () => {
    const kernel = emitted("bfloat16", (x, s) => x.mul(s));
    expect(kernel).toContain("s: tl.float32");
    expect(kernel).toContain("    s = tl.full([], s, tl.bfloat16)\n");
  });
});
