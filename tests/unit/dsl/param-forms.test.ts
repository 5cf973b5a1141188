/** What params are declared with, for authors whose types are casts. */
import { expect, test } from "vitest";
import { constexpr, descriptor, kernel, op, pointer, scalar, tensor, tl } from "tilescript";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";

const [anyTensor, anyScalar, anyConstexpr] = [tensor as any, scalar as any, constexpr as any];

/** A kernel that copies x, with one param more or another part of the spec. */
function copy(param: () => unknown, more: object = {}) {
  const params = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), Z: param() };
  const spec = { params, grid: ({ N }: any) => [N], config: {}, ...more };
  const made = kernel(
    "copy",
    spec as never,
    (({ x, y }: any) => {
      const i = tl.inBounds(tl.programId(0));
      tl.store(y.at(i), tl.load(x.at(i)));
    }) as never,
  );
  return trace(definitionOf(made));
}

test.each<[() => unknown, string]>([
  [() => scalar(tl.int32, { default: 1.5 }), "scalar: the default is 1.5; give an integer that int32 holds"],
  [() => scalar(tl.int8, { default: 128 }), "scalar: the default is 128; give an integer that int8 holds"],
  [() => scalar(tl.uint8, { default: -1 }), "scalar: the default is -1; give an integer that uint8 holds"],
  [() => scalar(tl.uint64, { default: 2 ** 64 }), "scalar: the default is 18446744073709552000; give an integer that"],
  [() => scalar(tl.float16, { default: 1e6 }), "scalar: the default is 1000000; give a number that float16 holds"],
  [() => scalar(tl.float32, { default: 1e39 }), "scalar: the default is 1e+39; give a number that float32 holds"],
  [() => anyScalar(tl.float32, { default: "1" }), 'scalar: the default is "1"; give a number that float32 holds'],
  [() => scalar(tl.int1, { default: 2 }), "scalar: the default is 2; give 0 or 1"],
  [
    () => scalar(tl.int32, { default: 5, range: [1, 5] }),
    "scalar: the default 5 is outside its range; give one from 1 up to but not including 5",
  ],
  [() => constexpr.int({ default: 1.5 }), "constexpr.int: the default is 1.5; give an integer"],
  [() => constexpr.int({ default: 0, range: [1, 5] }), "constexpr.int: the default 0 is outside its range"],
  [() => constexpr.float({ default: -0 }), "constexpr.float: the default is -0, which Triton takes for 0; give 0, or"],
  [() => anyConstexpr.float({ default: true }), "constexpr.float: the default is true; give a number"],
  [() => anyConstexpr.bool({ default: "no" }), 'constexpr.bool: the default is "no"; give true or false'],
  [() => anyTensor(tl.float32, ["N"], { contiguous: 0 }), "tensor: contiguous is 0; give true or false"],
  [() => anyTensor.out(tl.float32, ["N"], { zeroed: "yes" }), 'tensor: zeroed is "yes"; give true or false'],
  [() => (pointer as any)(tl.float32, { zeroed: 1 }), "pointer: zeroed is 1; give true or false"],
  [() => anyTensor(tl.float32, ["N"], { offsets: "int64" }), 'tensor: offsets is "int64"; give tl.int32 or tl.int64'],
  [() => constexpr.launch(() => 1.5 as never), "copy: what computes Z must give an integer"],
  [() => anyConstexpr.launch(() => "a"), "copy: what computes Z must give an integer"],
  [
    () => anyTensor(tl.float32, ["N"], {}, { contiguous: true }),
    "tensor: it takes at most 3 arguments, and an object is one more; leave it out",
  ],
  [
    () => anyTensor(tl.float32, ["N"]).optional().optional(),
    "optional: this is optional already; write .optional() once",
  ],
  [() => (pointer as any)(tl.float32).optional().optional(), "optional: this is optional already"],
  [() => anyScalar(tl.int32).optional(), "scalar: a number or a choice has no .optional(); give it a default"],
  [() => anyConstexpr.int().optional(), "constexpr.int: a number or a choice has no .optional(); give it a default"],
  [() => anyConstexpr.string(["a"]).optional(), "constexpr.string: a number or a choice has no .optional()"],
  [() => anyConstexpr.fn({ f: () => 1 }).optional(), "constexpr.fn: a number or a choice has no .optional()"],
  [() => anyConstexpr.dtype([tl.int8]).optional(), "constexpr.dtype: a number or a choice has no .optional()"],
  [() => anyConstexpr().optional(), "constexpr: it has no .optional(), because no caller passes it"],
  [() => anyConstexpr.launch(() => 1).optional(), "constexpr.launch: it has no .optional(), because no caller"],
  [
    () => (descriptor as any)(tl.float32, ["N"], ["B"]).optional(),
    "descriptor: it has no .optional(); declare tensor(…).optional(), and make the descriptor in the kernel",
  ],
  [() => anyScalar(tl.int32, {}, 5), "scalar: it takes at most 2 arguments, and 5 is one more; leave it out"],
  [() => anyConstexpr.int({ default: 1 }, 5), "constexpr.int: it takes at most 1 argument, and 5 is one more"],
  [() => anyConstexpr.string(["a"], { defualt: "a" }), "constexpr.string: there is no option defualt; write default"],
  [() => anyConstexpr.dtype([tl.int8], { initial: tl.int8 }), "constexpr.dtype: there is no option initial"],
  [() => anyConstexpr.dtype([tl.int8], { default: "int8" }), 'constexpr.dtype: the default is "int8"; give a dtype'],
  [() => anyConstexpr.fn({ f: () => 1 }, { chosen: "f" }), "constexpr.fn: there is no option chosen"],
  [() => anyConstexpr.fn([() => 1]), "constexpr.fn: give the functions by name"],
  [
    () => (descriptor as any)(tl.float32, ["N"], ["B"], { padding: "nan" }),
    "descriptor: there is no option padding; it takes paddingOption",
  ],
  [() => scalar(tl.int32, { range: [0.5, 5] }), "scalar: the bounds of an integer's range are integers"],
  [() => constexpr.int({ range: [0, 5.5] }), "constexpr.int: the bounds of an integer's range are integers"],
])("a param that is declared wrong: %s", (param, message) => {
  expect(() => copy(param)).toThrow(message);
});

test.each<[() => unknown]>([
  [() => scalar(tl.int8, { default: -128 })],
  [() => scalar(tl.uint64, { default: 2 ** 63 })],
  [() => scalar(tl.float16, { default: 65504 })],
  [() => scalar(tl.float32, { default: -Infinity })],
  [() => scalar(tl.int1, { default: 1 })],
  [() => anyScalar(tl.int1, { default: false })],
  [() => scalar(tl.int32, { default: 1, range: [1, 5] })],
  [() => constexpr.float({ default: Number.NaN })],
  [() => constexpr.bool({ default: true })],
  [() => constexpr.launch(({ N }: any) => tl.where(N.gt(2), 8, 4))],
])("a param that is declared right: %s", (param) => {
  copy(param);
});

const FORM = () => constexpr.int({ default: 1 });

test.each<[object, string]>([
  [{ grid: ({ N }: any) => [N.gt(1)] }, "grid: an axis is a number of programs, an integer"],
  // oxlint-disable-next-line no-sparse-arrays
  [{ grid: () => [1, , 1] }, "this callback returns something other than sizes, constexprs and numbers"],
  [{ triton: 1n }, 'copy: triton is 1n; it is "3.6" or "3.9"'],
  [{ tolerance: [] }, "copy: tolerance is []; it is { rtol: 1e-3, atol: 1e-3 }"],
  [{ tolerance: { rtol: Infinity } }, 'copy: tolerance is {"rtol":"Infinity"}; it is'],
  [{ tolerance: 1n }, "copy: tolerance is 1n; it is { rtol: 1e-3, atol: 1e-3 }"],
])("a part of a spec that is written wrong: %s", (more, message) => {
  expect(() => copy(FORM, more)).toThrow(message);
});

test("what kernel and op drop without types is refused", () => {
  const spec = { params: { y: tensor.out(tl.float32, ["N"]) }, grid: () => [1], config: {} };
  const [anyKernel, anyOp] = [kernel as any, op as any];
  expect(() => anyKernel("copy", spec, () => undefined, 3)).toThrow(
    "copy: it is defined by 3 arguments, and 3 is one more; leave it out",
  );
  const params = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) };
  expect(() => anyOp("double", { params }, () => ({}), null)).toThrow(
    "double: the fourth argument is the function that gives gradients, not null; leave it out if there are none",
  );
  expect(() => anyOp("double", { params }, () => ({}), undefined, 5)).toThrow("double: it is defined by 4 arguments");
});
