import { describe, expect, it } from "vitest";
import { parseTypes, tritonName } from "../../../src/import/given-types.js";

const pointer = (dtype: string) => ({ kind: "pointer", dtype });
const constant = (of: string, value: unknown) => ({ kind: "constant", value: { what: "constant", of, value } });

describe("parseTypes", () => {
  it("should read pointers, numbers and constants", () => {
    expect(parseTypes("x_ptr:*fp16, n : i32,BLOCK=64,eps=1e-5,FLAG=True,b=None,act=relu")).toEqual({
      x_ptr: pointer("fp16"),
      n: { kind: "scalar", dtype: "i32" },
      BLOCK: constant("int", 64),
      eps: constant("float", 1e-5),
      FLAG: constant("bool", true),
      b: constant("NoneType", null),
      act: constant("str", "relu"),
    });
  });

  it("should read dtypes by either name, tuples, and strings with commas", () => {
    expect(parseTypes("x:*bfloat16,D=tl.float32,s=(1, 2),t='a,b',w=-9007199254740993")).toEqual({
      x: pointer("bf16"),
      D: { kind: "constant", value: { what: "dtype", dtype: "fp32" } },
      s: {
        kind: "constant",
        value: { what: "list", items: [constant("int", 1).value, constant("int", 2).value] },
      },
      t: constant("str", "a,b"),
      w: constant("int", "-9007199254740993"),
    });
  });

  it.each([
    ["x", /no NAME:TYPE or NAME=VALUE/],
    ["x:*fp17", /x:\*fp17 is no type; write \*fp16/],
    ["x:i32,x:i64", /gives x twice/],
    ["x=[1]", /is no value; write a number/],
  ])("should refuse %s", (text, why) => {
    expect(() => parseTypes(text)).toThrow(why);
  });
});

it("should name every dtype as Triton's signatures do", () => {
  const names = ["int1", "uint8", "int64", "float16", "bfloat16", "float32", "float8e4nv", "float8e5"];
  expect(names.map(tritonName)).toEqual(["i1", "u8", "i64", "fp16", "bf16", "fp32", "fp8e4nv", "fp8e5"]);
});
