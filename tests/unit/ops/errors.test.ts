/** What the new rules say, in the build and, where the type is known, in the editor. */
import { describe, expect, test } from "vitest";
import { kernel, libdevice, tensor, tl, TileScriptError } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

/** The sentence of the first error of a body over a float32 and an int32 tile. */
function sentence(body: (x: any, i: any) => unknown): string {
  try {
    compile(
      kernel("k", { params: { x: tensor(tl.float32, [4, 8]), i: tensor(tl.int32, [4, 8]) }, grid: () => [1] }, (({
        x,
        i,
      }: any) => {
        const [r, c] = [tl.arange(0, 4), tl.arange(0, 8)];
        body(tl.load(x.at(r, c)), tl.load(i.at(r, c)));
      }) as never),
    );
  } catch (error) {
    if (error instanceof TileScriptError) return error.diagnostics[0]!.message;
    throw error;
  }
  return "";
}

describe("the build says", () => {
  test.each<[string, (x: any, i: any) => unknown]>([
    ["fdiv: needs floats, got int32", (_, i) => tl.fdiv(i, i)],
    ["fdiv: it is either ieeeRounding or approx", (x) => tl.fdiv(x, 2, { ieeeRounding: true, approx: true })],
    ["eq: a comparison with NaN holds nowhere or everywhere; x.ne(x) holds where x is NaN", (x) => x.eq(NaN)],
    ["gt: a comparison with NaN holds nowhere or everywhere; x.ne(x) holds where x is NaN", (x) => tl.gt(NaN, x)],
    [
      "mul: a number is NaN, and so would each element be; if that is meant, write tl.full(x.shape, NaN, x.dtype)",
      (x) => x.mul((undefined as never) / 3),
    ],
    ["umulhi: needs integers of 32 or 64 bits, got float32", (x) => tl.umulhi(x, x)],
    ["sqrtRn: needs float32, got int32", (_, i) => tl.sqrtRn(i)],
    ["squeeze: axis 1 of [4, 8] is not 1", (x) => tl.squeeze(x, 1)],
    ["item: needs a tile of one element, this is [4, 8]; reduce it first, tl.sum(x)", (x) => tl.item(x)],
    ["permute: [0, 0] is not a permutation of the axes of [4, 8]", (x) => tl.permute(x, [0, 0])],
    ["expandDims: several axes are counted from the front, this is -1", (x) => x.expandDims([0, -1])],
    ["reshape: [4, 8] and [16] do not hold the same number of elements", (x) => tl.reshape(x, [16])],
    ["sort: sorts along the last axis only, the tile is [4, 8]; leave the axis out", (x) => tl.sort(x, 0)],
    ["topk: the last axis has 8 elements, not 16", (x) => tl.topk(x, 16)],
    ["histogram: needs int32 or uint32, got float32", (x) => tl.histogram(x, 8)],
    ["rand: the seed is a scalar, this is [4, 8]", (_, i) => tl.rand(i, i)],
    ["multipleOf: give one value for each axis of [4, 8]", (_, i) => tl.multipleOf(i, 8)],
    [
      "maxConstancy: a scalar has no elements in a row; give it a tile",
      (_, i) => tl.maxConstancy(tl.sum(i) as never, 1 as never),
    ],
    [
      "argmax: float8e5 has no arithmetic; cast with .to(tl.float16) or .to(tl.float32)",
      (x) => tl.argmax(x.to(tl.float8e5), 1),
    ],
    [
      "min: float8e5 has no arithmetic; cast with .to(tl.float16) or .to(tl.float32)",
      (x) => tl.min(x.to(tl.float8e5), 1, { returnIndices: true }),
    ],
    ["libdevice.asin: takes (float32), (float64), got (int32)", (_, i) => libdevice.asin(i)],
    [
      "to: fpDowncastRounding is for casts of floats to narrower floats",
      (_, i) => i.to(tl.float16, { fpDowncastRounding: "rtz" }),
    ],
    [
      'devicePrint: the prefix is a string of ASCII characters; write tl.devicePrint("x", x)',
      () => tl.devicePrint("é"),
    ],
    [
      "devicePrint: a GPU's printf takes % in the prefix for a value's place; leave it out",
      () => tl.devicePrint("50 %s"),
    ],
  ])("%s", (wanted, body) => expect(sentence(body)).toBe(wanted));
});

test("the editor refuses the same", () => {
  const never = () =>
    kernel("k", { params: { x: tensor(tl.int32, [8]) }, grid: () => [1] }, ({ x }) => {
      const i = tl.load(x.at(tl.arange(0, 8)));
      // @ts-expect-error needs floats
      tl.fma(i, 1, 2);
      // @ts-expect-error works on float32 and float64
      i.exp();
      // @ts-expect-error no arithmetic
      tl.argmax(i.to(tl.float16).to(tl.float8e5), 0);
      // @ts-expect-error no elements in a row
      tl.maxContiguous(tl.sum(i), 1);
      // @ts-expect-error no overload
      libdevice.asin(i);
      // @ts-expect-error not the same number of elements
      i.reshape([16]);
      // @ts-expect-error the last axis only
      tl.sort(i, 1);
      const [value, index] = i.to(tl.float16).max(0, { returnIndices: true });
      value satisfies import("tilescript").Scalar<"float16">;
      index satisfies import("tilescript").Scalar<"int32">;
      libdevice.pow(i.to(tl.float32), i) satisfies import("tilescript").Tile<"float32", [8]>;
    });
  expect(never).toBeTypeOf("function");
});
