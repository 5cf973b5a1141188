/** `x.stride(axis)` is an int32 scalar, whatever declares the tensor's layout. */
import { expect, test } from "vitest";
import { kernel, tensor, tl, TileScriptError } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

/** The line that stores the stride of an axis, and what the build says where it refuses it. */
function stored(axis: 0 | 1 | 2, dims: readonly (string | number)[], options: object = {}): string {
  const built = kernel(
    "strides",
    { params: { x: tensor(tl.float32, dims as any, options), y: tensor.out(tl.int32, [1]) }, grid: () => [1] } as any,
    (({ x, y }: any) => {
      const stride = x.stride(axis);
      expect(stride.dtype.name).toBe("int32");
      tl.store(y.at(0), stride.add(0));
    }) as any,
  );
  try {
    return compile(built)
      .python.split("\n")
      .find((line) => line.includes("tl.store("))!
      .trim();
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.message;
  }
}

test("of a tensor with strides of its own it is an argument", () => {
  expect(stored(0, ["M", "N"])).toContain("stride_xm");
});

test("of a contiguous tensor it is a product of sizes, and 1 at the end", () => {
  expect(stored(0, ["M", "N", "K"], { contiguous: true })).toMatch(/N \* K/);
  expect(stored(1, ["M", "N", "K"], { contiguous: true })).toMatch(/K/);
  expect(stored(2, ["M", "N", "K"], { contiguous: true })).toMatch(/1/);
  expect(stored(0, ["M", 6], { contiguous: true })).toMatch(/6/);
});

test("a product that int32 may not hold is refused with the remedy", () => {
  const wide = { contiguous: true, offsets: tl.int64 };
  expect(stored(0, ["M", "N", "K"], wide)).toMatch(/multiply the sizes, N.to\(tl.int64\).mul\(K\)/);
  expect(stored(1, ["M", "N", "K"], wide)).toMatch(/tl.store/);
});
