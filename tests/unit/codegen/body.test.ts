/** Statements of the kernel: names, what is written where it is used, state, branches and loops. */
import { describe, expect, test } from "vitest";
import { bodyOf } from "../../support/emit.js";
import * as flow from "./fixtures/flow.js";

describe("a kernel's body", () => {
  test("should have the author's names as Python writes them", () => {
    expect(bodyOf(flow.names)).toMatchInlineSnapshot(`
      "block_start = tl.program_id(0) * BLOCK
      lambda_ = block_start + tl.arange(0, BLOCK)
      mask = lambda_ < N
      http_server2 = tl.load(x_ptr + lambda_, mask=mask, other=0.0)
      gro_e = http_server2 * 2.0
      value = gro_e + gro_e
      _tl = value * value
      tl_ = _tl + _tl
      n = tl_ * tl_
      x_ptr_1 = n + n
      _ = x_ptr_1 * x_ptr_1
      tl.store(y_ptr + lambda_, tl.where(mask, _, -_), mask=mask)"
    `);
  });

  test("should name the same thing alike in loops beside each other, and apart in nested ones", () => {
    expect(bodyOf(flow.shadowed)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, BLOCK)
      for i in range(limit):
          # In the first loop.
          offsets_1 = offsets + i
          value = tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
          tl.store(y_ptr + offsets_1, value * value, mask=offsets_1 < N)
      for i in range(limit):
          mask = i < N
          value = tl.load(x_ptr + i, mask=mask, other=0.0)
          for i_1 in range(0, limit, 2):
              offsets_1 = offsets + i_1
              value_1 = tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
              tl.store(y_ptr + offsets_1, value_1 * value_1, mask=offsets_1 < N)
          tl.store(y_ptr + i, value * value, mask=mask)"
    `);
  });

  test("should share names between branches only where they hold the same type", () => {
    expect(bodyOf(flow.arms)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, BLOCK)
      mask = offsets < N
      if limit > 2:
          value = tl.load(x_ptr + offsets, mask=mask, other=0.0)
          tl.store(y_ptr + offsets, value * value, mask=mask)
      else:
          mask_1 = (limit >= 0) & (limit < N)
          value_1 = tl.load(x_ptr + limit, mask=mask_1, other=0.0)
          tl.store(y_ptr + limit, value_1 * value_1, mask=mask_1)
      if FLAG:
          value = tl.load(x_ptr + offsets, mask=mask, other=0.0)
          tl.store(y_ptr + offsets, value * value, mask=mask)
      for i in range(limit):
          mask_1 = i < N
          value_1 = tl.load(x_ptr + i, mask=mask_1, other=0.0)
          tl.store(y_ptr + i, value_1 * value_1, mask=mask_1)"
    `);
  });

  test("should write what is used once where it is used, and move no load over a store", () => {
    expect(bodyOf(flow.order)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, BLOCK)
      # One use: written where it is used.
      mask = offsets < N
      tl.store(
          y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0) + 1.0, mask=mask
      )
      # A load before a store stays before it.
      offsets_1 = offsets + 1
      value = tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0) * 2.0
      tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

      tl.store(y_ptr + offsets_1, value, mask=offsets_1 < N)
      # What is computed before a loop is not computed again in it.
      offsets_2 = offsets + limit
      value_1 = tl.load(x_ptr + offsets, mask=mask, other=0.0) * 3.0
      for _ in range(limit):
          tl.store(y_ptr + offsets_2, value_1, mask=(offsets_2 >= 0) & (offsets_2 < N))"
    `);
  });

  test("should assign what tl.mut holds, and keep what was read before a write", () => {
    expect(bodyOf(flow.state)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, BLOCK)
      sum_ = tl.zeros([BLOCK], dtype=tl.float32)
      last = tl.zeros([BLOCK], dtype=tl.float32)
      for i in range(limit):
          offsets_1 = offsets + i
          value = tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
          # What was read before a write keeps its value.
          value_1 = sum_ * 2.0
          sum_ += value
          sum_ *= 0.5
          last = value_1 + last
      swap = sum_
      sum_ = last
      last = swap
      sum_ = tl.full([BLOCK], 0.0, dtype=tl.float32)
      tl.store(y_ptr + offsets, sum_ - last, mask=offsets < N)"
    `);
  });

  test("should give the results of branches their names", () => {
    expect(bodyOf(flow.branches)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, BLOCK)
      mask = offsets < N
      value = tl.load(x_ptr + offsets, mask=mask, other=0.0)
      if limit > 10:
          scaled = value * 2.0
      elif limit > 5:
          scaled = value * 3.0
      else:
          scaled = value
      if FLAG:
          low = scaled
          high = scaled + 1.0
      else:
          low = scaled - 1.0
          high = scaled
      if FLAG & (N > 4):
          tl.store(y_ptr + offsets, low, mask=mask)
      if not FLAG:
          tl.store(y_ptr + offsets, high, mask=mask)"
    `);
  });

  test("should write each range as shortly as Python does", () => {
    expect(bodyOf(flow.loops)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, BLOCK)
      half: tl.constexpr = BLOCK // 2
      total = tl.zeros([BLOCK], dtype=tl.float32)
      for i in range(limit):
          offsets_1 = offsets + i
          total += tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
      for i in range(1, limit):
          offsets_1 = offsets + i
          total += tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
      for i in tl.range(0, N, BLOCK, num_stages=3):
          offsets_1 = offsets + i
          total += tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
      for i_1 in tl.static_range(4):
          offsets_1 = offsets + i_1 * half
          offsets_2 = offsets - i_1 * half
          total = (
              total + tl.load(x_ptr + offsets_1, mask=offsets_1 < N, other=0.0)
          ) * tl.load(
              x_ptr + offsets_2, mask=(offsets_2 >= 0) & (offsets_2 < N), other=0.0
          )
      for _ in range(2):
          total *= 2.0
      tl.store(y_ptr + offsets, total, mask=offsets < N)
      offsets_3 = tl.arange(0, half)
      tl.store(y_ptr + offsets_3, tl.zeros([half], dtype=tl.float32), mask=offsets_3 < N)"
    `);
  });
});
