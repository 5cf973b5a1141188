/** Views as pointers and masks. */
import { describe, expect, test } from "vitest";
import { bodyOf } from "../../support/emit.js";
import * as addresses from "./fixtures/addresses.js";

describe("addresses", () => {
  test("should transpose a view by its axes", () => {
    expect(bodyOf(addresses.transposed)).toMatchInlineSnapshot(`
      "rm = tl.program_id(0) * BM + tl.arange(0, BM)
      rn = tl.program_id(1) * BN + tl.arange(0, BN)
      mask_m = rm[None, :] < M
      mask_n = rn[:, None] < N
      tl.store(
          y_ptr + (rn[:, None] * stride_yn + rm[None, :] * stride_ym),
          tl.load(
              x_ptr + (rm[None, :] * stride_xm + rn[:, None] * stride_xn),
              mask=mask_m & mask_n,
              other=0.0,
          ),
          mask=mask_n & mask_m,
      )"
    `);
  });

  test("should broadcast the indices of a gather, and mask below where an index may be negative", () => {
    expect(bodyOf(addresses.gathered)).toMatchInlineSnapshot(`
      "rm = tl.program_id(0) * BM + tl.arange(0, BM)
      rh = tl.arange(0, HEAD)
      picked = tl.load(rows_ptr + rm * stride_rows_m, mask=rm < M, other=0)
      tile = tl.load(
          x_ptr + (picked[:, None] * stride_xn + rh[None, :] * stride_x_head),
          mask=(picked[:, None] >= 0) & (picked[:, None] < N) & (rh[None, :] < HEAD),
          other=0.0,
      )
      tl.store(
          y_ptr + (rm[:, None] * stride_ym + rh[None, :] * stride_y_head),
          tile,
          mask=rm[:, None] < M,
      )"
    `);
  });

  test("should add rows and columns of a dense index to the pointer one after the other in products", () => {
    expect(bodyOf(addresses.diagonals)).toMatchInlineSnapshot(`
      "row = tl.program_id(0) * B + tl.arange(0, B)
      col = tl.program_id(1) * B + tl.arange(0, B)
      far = row + (M - 1)
      lanes = tl.arange(0, B)
      sum_ = tl.zeros([B, B], dtype=tl.float32)
      b_ptrs = b_ptr + (lanes[:, None] * N + col[None, :])
      mask_n = col[None, :] < N
      for start in range(0, M, B):
          k = start + lanes
          offsets = (far - start)[:, None]
          down = offsets - lanes[None, :]
          factors = tl.load(x_ptr + offsets - lanes[None, :]) + tl.load(
              x_ptr + row[:, None] + k[None, :],
              mask=row[:, None] + k[None, :] < L,
              other=0.0,
          )
          mask = (down >= 0) & (down < L)
          others = tl.load(
              strided_ptr + down * stride_strided_l, mask=mask, other=0.0
          ) + tl.load(long_ptr + down, mask=mask, other=0.0)
          sum_ = tl.dot(
              factors + others,
              tl.load(b_ptrs, mask=(lanes[:, None] < M - start) & mask_n, other=0.0),
              sum_,
          )
          b_ptrs += B * N
      # Not in a loop that multiplies.
      offsets = row[:, None] + col[None, :]
      last = tl.load(x_ptr + offsets, mask=offsets < L, other=0.0).to(tl.float32)
      tl.store(
          y_ptr + (row[:, None] * stride_ym + col[None, :] * stride_yn),
          sum_ + last,
          mask=(row[:, None] < M) & mask_n,
      )"
    `);
  });

  test("should compare no index with what its range, a claim or its axis says", () => {
    expect(bodyOf(addresses.promised)).toMatchInlineSnapshot(`
      "rm = tl.program_id(0) * BM + tl.arange(0, BM)
      mask = rm < M
      picked = tl.load(rows_ptr + rm * stride_rows_m, mask=mask, other=0)
      missing = tl.load(rows_ptr + rm * stride_rows_m, mask=mask, other=-1)
      cols = rm % K
      bits = (picked & 0xFF00) | tl.load(count_ptr)
      tile = tl.load(
          x_ptr + (picked[:, None] * stride_xn + cols[None, :] * stride_xk),
          mask=picked[:, None] < N,
          other=0.0,
      )
      last = tl.load(
          x_ptr + (missing[:, None] * stride_xn + cols[None, :] * stride_xk),
          mask=(missing[:, None] >= 0) & (missing[:, None] < N),
          other=0.0,
      )
      tl.store(
          y_ptr + (bits[:, None] * stride_ym + cols[None, :] * stride_yk),
          tile + last,
          mask=(bits[:, None] >= 0) & (bits[:, None] < M),
      )"
    `);
  });

  test("should cast to int64 what is multiplied by a stride", () => {
    expect(bodyOf(addresses.wide)).toMatchInlineSnapshot(`
      "row = tl.program_id(0)
      cols = tl.arange(0, BN)
      index = Z - 1
      mask = cols < N
      index_1 = N - 1
      tl.store(
          y_ptr + row.to(tl.int64) * N + cols,
          tl.load(
              x_ptr
              + index.to(tl.int64) * stride_xz
              + row.to(tl.int64) * stride_xm
              + cols.to(tl.int64) * stride_xn,
              mask=(index >= 0) & mask,
              other=0.0,
          )
          + tl.load(
              x_ptr + row.to(tl.int64) * stride_xm + index_1.to(tl.int64) * stride_xn,
              mask=(0 < Z) & (index_1 >= 0),
              other=0.0,
          ),
          mask=mask,
      )"
    `);
  });

  test("should add what all lanes share to the pointer as one offset, with a block's first lane if it is not negative", () => {
    expect(bodyOf(addresses.blocks)).toMatchInlineSnapshot(`
      "row = tl.program_id(1)
      head = tl.program_id(2)
      lanes = tl.arange(0, B)
      first = tl.load(firsts_ptr + row * stride_firsts_m)
      x_base = x_ptr + (row * stride_xm + head * stride_xh)
      sum_ = tl.load(x_base + (first + lanes) * stride_xn)
      for k in range(0, N, B):
          sum_ += tl.load(x_base + (k + lanes) * stride_xn)
      tl.store(
          y_ptr
          + (row * stride_ym + head * stride_yh + tl.program_id(0) * B * stride_yn)
          + lanes * stride_yn,
          sum_,
      )"
    `);
  });

  test("should mask below where an index may be negative, and join the author's mask", () => {
    expect(bodyOf(addresses.signs)).toMatchInlineSnapshot(`
      "rm = tl.program_id(0) * BM + tl.arange(0, BM)
      # An index that may be negative has a lower bound in its mask.
      offsets = rm - 1
      left = tl.load(
          x_ptr + offsets * stride_xm,
          mask=(offsets >= 0) & (offsets < M),
          other=1.0,
          cache_modifier=".ca",
      )
      mask = rm < M
      even = tl.load(
          x_ptr + rm * stride_xm,
          mask=mask & (rm % 2 == 0),
          other=0.0,
          eviction_policy="evict_last",
      )
      tl.store(y_ptr + rm * stride_ym, left + even, mask=mask)"
    `);
  });

  test("should leave pointers to the author", () => {
    expect(bodyOf(addresses.raw)).toMatchInlineSnapshot(`
      "rm = tl.program_id(0) * BM + tl.arange(0, BM)
      ptrs = x_ptr + rm * stride_xm
      value = tl.load(ptrs, mask=rm < M, other=0.0)
      first = tl.load(p_ptr + 1).to(tl.float32)
      moving = y_ptr + rm * stride_ym
      for _ in range(2):
          tl.store(moving, value + first, mask=rm < M)
          moving += 0"
    `);
  });

  test("should set up the pointers of a loop with constexprs that its body computes", () => {
    expect(bodyOf(addresses.halves)).toMatchInlineSnapshot(`
      "rm = tl.arange(0, B)
      sum_ = tl.zeros([B, B], dtype=tl.float32)
      # Both constexprs are computed in the loop, before which the pointers are set up.
      rk = tl.arange(0, B * 2)
      x_ptrs = x_ptr + (rm[:, None] * stride_xm + rk[None, :] * stride_xk)
      mask_m = rm[:, None] < M
      for k in range(tl.cdiv(K, B * 2)):
          tile = tl.load(x_ptrs, mask=mask_m & (rk[None, :] < K - k * (B * 2)), other=0.0)
          sum_ = tl.dot(tile, tl.trans(tile), sum_)
          x_ptrs += B * 2 * stride_xk
      tl.store(
          y_ptr + (rm[:, None] * stride_ym + rm[None, :] * stride_yn),
          sum_,
          mask=mask_m & (rm[None, :] < N),
      )"
    `);
  });

  test("should add what a loop changes to the pointer after what stays, so that the loop does not add that up", () => {
    expect(bodyOf(addresses.pages)).toMatchInlineSnapshot(`
      "row = tl.program_id(0)
      head = tl.program_id(1)
      rd = tl.arange(0, D)
      last = tl.zeros([D], dtype=tl.float16)
      table_ptrs = table_ptr + row * stride_table_b
      cache_base = cache_ptr + head * stride_cache_h
      for _ in range(P):
          page = tl.load(table_ptrs)
          last = tl.load(cache_base + page * stride_cache_n + rd * stride_cache_d)
          table_ptrs += stride_table_p
      tl.store(y_ptr + (row * stride_yb + head * stride_yh) + rd * stride_yd, last)"
    `);
  });

  test("should call what memory gives a value, also where it is an integer without a name", () => {
    expect(bodyOf(addresses.twice)).toMatchInlineSnapshot(`
      "offsets = tl.arange(0, B * 2)
      offsets_1 = tl.arange(0, B)
      value = tl.load(x_ptr + offsets_1 * stride_xn, mask=offsets_1 < N, other=0)
      tl.store(
          y_ptr + offsets * stride_y_n2, tl.interleave(value, value), mask=offsets < N2
      )"
    `);
  });
});
