/** Literals, constexprs and sizes, whose dtypes differ between versions of Triton or with their values. */
import { describe, expect, test } from "vitest";
import { bodyOf } from "../../support/emit.js";
import * as numbers from "./fixtures/numbers.js";

describe("numbers", () => {
  test("should be floats among floats and exact", () => {
    expect(bodyOf(numbers.literals)).toMatchInlineSnapshot(`
      "cols = tl.arange(0, BLOCK)
      mask = cols < N
      x = tl.load(f_ptr + cols, mask=mask, other=0.0)
      tl.store(f_ptr + cols, ((x + 1.0) * -0.0 - 1e-5) / 3e38 + 1e21, mask=mask)
      tl.store(
          f_ptr + cols,
          tl.where(x < 0.0, float("-inf"), tl.where(x > 1.0, float("inf"), x)),
          mask=mask,
      )
      tl.store(
          h_ptr + cols, tl.load(h_ptr + cols, mask=mask, other=-1.0) * 2.0, mask=mask
      )
      tl.store(c_ptr + cols, tl.load(c_ptr + cols, mask=mask, other=0) + 1, mask=mask)
      tl.store(i_ptr + cols, tl.where(cols < 5, cols, 0), mask=mask)"
    `);
  });

  test("should name their dtype where Triton 3.6 would compare another number", () => {
    expect(bodyOf(numbers.compared)).toMatchInlineSnapshot(`
      "cols = tl.arange(0, BLOCK)
      mask = cols < N
      half = tl.load(h_ptr + cols, mask=mask, other=0.0)
      brain = tl.load(b_ptr + cols, mask=mask, other=0.0)
      small = tl.load(c_ptr + cols, mask=mask, other=0)
      double = tl.load(d_ptr + cols, mask=mask, other=0.0)
      exact = (half > 0.5) & (brain > 0.5) & (small < 5) & (double < 0.5)
      # One tenth is another number in each dtype.
      rounded = (
          (half > tl.full([], 0.1, tl.float16))
          & (brain > tl.full([], 0.1, tl.bfloat16))
          & (double < tl.full([], 0.1, tl.float64))
          & (tl.load(f_ptr + cols, mask=mask, other=0.0) < 0.1)
      )
      tl.store(i_ptr + cols, tl.where(exact & rounded, cols, 0), mask=mask)"
    `);
  });

  test("should name their dtype where Triton 3.6 would widen minimum and maximum", () => {
    expect(bodyOf(numbers.extremes)).toMatchInlineSnapshot(`
      "cols = tl.arange(0, BLOCK)
      mask = cols < N
      tl.store(
          f_ptr + cols,
          tl.maximum(tl.load(f_ptr + cols, mask=mask, other=0.0), 0.0),
          mask=mask,
      )
      tl.store(
          d_ptr + cols,
          tl.maximum(
              tl.load(d_ptr + cols, mask=mask, other=0.0), tl.full([], 0.1, tl.float64)
          ),
          mask=mask,
      )
      tl.store(
          h_ptr + cols,
          tl.maximum(
              tl.load(h_ptr + cols, mask=mask, other=0.0), tl.full([], 0.0, tl.float16)
          ),
          mask=mask,
      )
      tl.store(
          b_ptr + cols,
          tl.maximum(
              tl.load(b_ptr + cols, mask=mask, other=0.0), tl.full([], 0.0, tl.bfloat16)
          ).to(tl.bfloat16),
          mask=mask,
      )
      tl.store(
          b_ptr + cols,
          tl.minimum(
              tl.load(b_ptr + cols, mask=mask, other=0.0),
              tl.load(b_ptr + cols, mask=mask, other=0.0),
          ).to(tl.bfloat16),
          mask=mask,
      )
      tl.store(
          c_ptr + cols,
          tl.maximum(tl.load(c_ptr + cols, mask=mask, other=0), tl.full([], 0, tl.int8)),
          mask=mask,
      )
      tl.store(
          u_ptr + cols,
          tl.maximum(tl.load(u_ptr + cols, mask=mask, other=0), tl.full([], 1, tl.uint8)),
          mask=mask,
      )
      tl.store(
          i_ptr + cols,
          tl.minimum(tl.load(i_ptr + cols, mask=mask, other=0), BLOCK),
          mask=mask,
      )
      tl.store(
          l_ptr + cols,
          tl.minimum(tl.load(l_ptr + cols, mask=mask, other=0), 7),
          mask=mask,
      )
      tl.store(
          t_ptr + cols,
          tl.minimum(
              tl.load(t_ptr + cols, mask=mask, other=0.0),
              tl.full([], 1.0, t_ptr.dtype.element_ty),
          ).to(t_ptr.dtype.element_ty),
          mask=mask,
      )
      tl.store(
          f_ptr + cols,
          tl.maximum(tl.load(f_ptr + cols, mask=mask, other=0.0), EPS),
          mask=mask,
      )
      tl.store(
          h_ptr + cols,
          tl.maximum(
              tl.load(h_ptr + cols, mask=mask, other=0.0), tl.full([], EPS, tl.float16)
          ),
          mask=mask,
      )"
    `);
  });

  test("should be strong where a size of 1 would change a dtype or a value", () => {
    expect(bodyOf(numbers.sizes)).toMatchInlineSnapshot(`
      "# Triton's interpreter ignores these annotations.
      shift = tl.full([], shift, tl.uint64).to(tl.int64)
      cols = tl.arange(0, BLOCK)
      mask = cols < N
      # N is a weak constant where it is 1, and would leave these at 8 or 16 bits.
      tl.store(
          i_ptr + cols,
          tl.load(c_ptr + cols, mask=mask, other=0) + tl.full([], N, tl.int32),
          mask=mask,
      )
      tl.store(
          f_ptr + cols,
          tl.load(b_ptr + cols, mask=mask, other=0.0) * tl.full([], N * 2, tl.int32),
          mask=mask,
      )
      tl.store(
          i_ptr + cols,
          tl.where(
              mask, tl.load(c_ptr + cols, mask=mask, other=0), tl.full([], N, tl.int32)
          ),
          mask=mask,
      )
      # Here it means the same.
      tl.store(
          f_ptr + cols,
          (tl.load(f_ptr + cols, mask=mask, other=0.0) / N) * scale,
          mask=mask,
      )
      tl.store(i_ptr + cols, tl.load(i_ptr + cols, mask=mask, other=0) + N + 1, mask=mask)
      tl.store(
          c_ptr + cols,
          tl.load(c_ptr + cols, mask=mask, other=1),
          mask=mask & (tl.load(c_ptr + cols, mask=mask, other=0) < N),
      )
      # A constant of Python has no methods, and Python's \`//\`, \`/\` and \`~\` are not those
      # of a tile.
      tl.store(
          f_ptr + cols,
          tl.cast(N, tl.float32)
          + tl.full([], BLOCK, tl.float32)
          + tl.cast(N - 4, tl.float32),
          mask=mask,
      )
      tl.store(
          i_ptr + cols,
          tl.full([], N - 4, tl.int32) // 2 + N // 2 + tl.full([], N - 4, tl.int32) % 3,
          mask=mask,
      )
      tl.store(f_ptr + cols, tl.full([], N, tl.int32) / 2, mask=mask)
      tl.store(i_ptr + cols, 1, mask=mask & ~tl.full([], N < 2, tl.int1))
      tl.store(i_ptr + cols, (shift + N).to(tl.int32), mask=mask)"
    `);
  });

  test("should have the precision of products written down", () => {
    expect(bodyOf(numbers.products)).toMatchInlineSnapshot(`
      "rows = tl.arange(0, BLOCK)
      mask = (rows[:, None] < M) & (rows[None, :] < M)
      single = tl.load(
          a_ptr + (rows[:, None] * stride_a0 + rows[None, :] * stride_a1),
          mask=mask,
          other=0.0,
      )
      half = tl.load(
          h_ptr + (rows[:, None] * stride_h0 + rows[None, :] * stride_h1),
          mask=mask,
          other=0.0,
      )
      # The default for float32 has changed between versions, so it is written down.
      first = tl.dot(single, single, input_precision="tf32")
      second = tl.dot(single, single, first, input_precision="ieee")
      tl.store(
          y_ptr + (rows[:, None] * stride_y0 + rows[None, :] * stride_y1),
          tl.dot(half, half, second),
          mask=mask,
      )"
    `);
  });
});
