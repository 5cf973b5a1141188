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

  it("should read tuples of tuples, and dtypes as PyTorch and Triton write them", () => {
    const one = { what: "list", items: [constant("int", 1).value] };
    expect(parseTypes("s=((1),(1)), x : *torch.float16, D=torch.float32, y:*tl.int8,")).toEqual({
      s: { kind: "constant", value: { what: "list", items: [one, one] } },
      x: pointer("fp16"),
      D: { kind: "constant", value: { what: "dtype", dtype: "fp32" } },
      y: pointer("i8"),
    });
  });

  it("should read tensor descriptors with blocks of numbers and of constants", () => {
    expect(parseTypes("a_desc:tensordesc<fp16[BLOCK_M, 64]>,b:tensordesc<float32[32]>")).toEqual({
      a_desc: { kind: "descriptor", dtype: "fp16", block: ["BLOCK_M", 64] },
      b: { kind: "descriptor", dtype: "fp32", block: [32] },
    });
  });

  it.each([
    ["a:tensordesc<fp16>", "write a:tensordesc<fp16[BLOCK_M,64]>, with its block in numbers and constants"],
    ["a:tensordesc<half[64]>", "write a:tensordesc<fp16[BLOCK_M,64]>, with its block in numbers and constants"],
    ["a:tensordesc<fp16[2*B]>", "write a:tensordesc<fp16[BLOCK_M,64]>, with its block in numbers and constants"],
    ["a:TensorDescriptor", "write a:tensordesc<fp16[BLOCK_M,64]>, with its block in numbers and constants"],
    ["x", "each needs the name of its parameter, such as x:i32"],
    ["*fp32,i32", "each needs the name of its parameter, such as x:*fp32"],
    ['{"x":"*fp32"}', "write x:*fp16 for a pointer, n:i32 for a number, BLOCK=64 for a constant"],
    ["x:*fp17", "x:*fp17 is no type; write x:*fp16"],
    ["x:*half", "write x:*fp16"],
    ["x:int", "write x:i32"],
    ["x:", "write x:*fp16 for a pointer, or x:i32 for a number"],
    ["x:fp32*", "the star of a pointer stands first, x:*fp32"],
    ["x:**fp32", "a pointer to pointers is an array of addresses, x:*i64"],
    ["x:*fp32:16", "a divisor changes nothing here, x:*fp32"],
    ["x:(*fp32,*fp32)", "a parameter takes one pointer or number, or a tuple of constants, x=(1,2)"],
    ["x:i32,x:i64", "It gives x twice; leave out one of the two"],
    ["B:constexpr", "a constant is given by its value, such as B=64"],
    ["n:100", "a value stands behind =, n=100"],
    ["n:None", "a value stands behind =, n=None"],
    ["x=*fp32", "a type stands behind a colon, x:*fp32"],
    ["x:*fp32;n:i32", "separate parameters by commas, such as x:*fp32,n:i32"],
    ["B=64 n:i32", "separate parameters by commas, B=64,n:i32"],
    ["x=[1,2]", "write a tuple, x=(1,2)"],
    ["B=(64", '"B=(64" has a ) too many or too few'],
    ["B=64)", '"B=64)" has a ) too many or too few'],
    ["a='x", `"a='x" has a ' too many or too few`],
    ["f=lambda x: x", "@name of a function of the file"],
  ])("should refuse %s with what to write", (text, why) => {
    expect(() => parseTypes(text)).toThrow(`${why}.`);
  });
});

it("should name every dtype as Triton's signatures do", () => {
  const names = ["int1", "uint8", "int64", "float16", "bfloat16", "float32", "float8e4nv", "float8e5"];
  expect(names.map(tritonName)).toEqual(["i1", "u8", "i64", "fp16", "bf16", "fp32", "fp8e4nv", "fp8e5"]);
});
