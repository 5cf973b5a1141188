/** Triton's `tl.full` compiles with no 8-bit float but 0. */
import { expect, test } from "vitest";
import { compile, kernel, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float8e5]);

function filled(fill: (dtype: typeof T) => unknown): string {
  const made = kernel(
    "filled",
    {
      params: { y: tensor.inout(T, ["N"]) },
      grid: ({ N }) => [tl.cdiv(N, 16)],
    },
    ({ y }) => tl.store(y.at(tl.programId(0).mul(16).add(tl.arange(0, 16))), fill(T) as never),
  );
  try {
    return compile(made).python;
  } catch (error) {
    return String((error as Error).message);
  }
}

test("a tile of 8-bit floats is filled with 0 alone", () => {
  const refused =
    /full: Triton fills no .* with a number but 0; write tl\.full\(shape, value, tl\.float32\)\.to\(dtype\)/;
  // @ts-expect-error full: Triton fills no T{float16, float8e5} with a number but 0
  expect(filled((dtype) => tl.full([16], 0.5, dtype))).toMatch(refused);
  // @ts-expect-error full: Triton fills no float8e4nv with a number but 0
  expect(filled(() => tl.full([16], 1, tl.float8e4nv))).toMatch(refused);
  expect(filled((dtype) => tl.full([16], 0, dtype))).toContain("tl.full(");
  expect(filled((dtype) => tl.full([16], 0.5, tl.float32).to(dtype))).toContain(".to(");
});
