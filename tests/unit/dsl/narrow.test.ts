/** Code by dtype: an arm that a dtype excludes is not typed for it. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl, type Tile } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

const T = tl.dtype("T", [tl.int8, tl.float16, tl.bfloat16]);
const params = { x: tensor(T, [32, 32]), y: tensor.out(tl.float32, [32, 32]) };
const grid = (): [number] => [1];

test("each dtype takes the arm that is written for it", () => {
  const product = kernel(
    "product",
    { params, grid, reference: ({ x }, torch) => torch.matmul(x.to(tl.float32), x.to(tl.float32)) },
    ({ x, y }) => {
      const at = tl.arange(0, 32);
      const a = tl.load(x.at(at, at));
      const c = tl
        .when(T.is(tl.int8), () => {
          const sum: Tile<"int32", [32, 32]> = tl.dot(a.as(tl.int8), a.as(tl.int8));
          return sum.to(tl.float32);
        })
        .otherwise(() => {
          const F = T.only(tl.float16, tl.bfloat16);
          return tl.dot(a.as(F), a.as(F));
        });
      tl.store(y.at(at, at), c);
    },
  );
  const { python, evaluate } = compile(product);
  expect(python).toContain("if x_ptr.dtype.element_ty == tl.int8:");
  for (const name of ["int8", "float16", "bfloat16"]) {
    const { findings, comparison } = evaluate(
      { sizes: {}, dtypes: { T: name }, config: 0, seed: 1 },
      { lowered: true, tolerance: { rtol: 1e-5 } },
    );
    expect({ name, findings, correct: comparison?.correct }).toEqual({ name, findings: [], correct: true });
  }
});

test("the build refuses a dtype that reaches the wrong arm", () => {
  const wrong = kernel("wrong", { params, grid }, ({ x, y }) => {
    const at = tl.arange(0, 32);
    const a = tl.load(x.at(at, at));
    tl.when(T.is(tl.float16).not(), () => tl.store(y.at(at, at), a.as(tl.int8).to(tl.float32)));
  });
  expect(() => compile(wrong)).toThrow(
    "as: this is bfloat16, not int8 (with T = bfloat16); cast with .to(tl.int8), or write it in an arm of tl.when(T.is(tl.int8), …)",
  );
  const unguarded = kernel("unguarded", { params, grid }, ({ x, y }) => {
    const at = tl.arange(0, 32);
    tl.store(y.at(at, at), tl.load(x.at(at, at)).as(tl.int8).to(tl.float32));
  });
  expect(() => compile(unguarded)).toThrow("as: this is float16, not int8");
  const fewer = kernel("fewer", { params, grid }, ({ x, y }) => {
    const at = tl.arange(0, 32);
    const a = tl.load(x.at(at, at));
    tl.when(T.is(tl.float16).not(), () => tl.store(y.at(at, at), a.as(T.only(tl.float16, tl.bfloat16)).to(tl.float32)));
  });
  expect(() => compile(fewer)).toThrow("as: this is int8, not T");
});

test("a condition on the dtype may stand beside others", () => {
  const both = kernel("both", { params: { ...params, FLAG: constexpr.bool() }, grid }, ({ x, y, FLAG }) => {
    const at = tl.arange(0, 32);
    const a = tl.load(x.at(at, at));
    tl.when(T.isInteger.and(FLAG), () => tl.store(y.at(at, at), a.as(tl.int8).to(tl.float32)))
      .elseWhen(T.isFloating, () => {
        const F = T.only(tl.float16, tl.bfloat16);
        tl.store(y.at(at, at), tl.sqrt(a.as(F).to(tl.float32)));
      })
      .otherwise(() => tl.store(y.at(at, at), 0));
  });
  expect(compile(both).python).toContain("elif x_ptr.dtype.element_ty.is_floating():");
});

test("a dtype that the variable cannot be is refused where it is written", () => {
  const strange = kernel("strange", { params, grid }, ({ x, y }) => {
    const at = tl.arange(0, 32);
    // @ts-expect-error as: float32 is none of int8, float16 or bfloat16, which T may be
    tl.store(y.at(at, at), tl.load(x.at(at, at)).as(tl.float32));
  });
  expect(() => compile(strange)).toThrow("as: float32 is none of int8, float16 or bfloat16, which T may be");
  expect(() => T.only(tl.float32)).toThrow("only: float32 is none of int8, float16 and bfloat16, which T may be");
  const asked = kernel("asked", { params, grid }, ({ x, y }) => {
    const at = tl.arange(0, 32);
    void x;
    const never: false = T.is(tl.float64);
    expect(never).toBe(false);
    tl.store(y.at(at, at), 0);
  });
  compile(asked);
});
