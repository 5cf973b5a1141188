"""Softmax over short rows written by hand: each program takes several rows at once, then others."""

import triton
import triton.language as tl


@triton.jit
def softmax_rows_kernel(
    x_ptr, y_ptr, M, N, stride_xm, stride_ym, ROWS: tl.constexpr, RESIDENT: tl.constexpr, BLOCK_N: tl.constexpr
):
    row_step = tl.num_programs(0) * ROWS
    offsets = tl.arange(0, BLOCK_N)
    for row_start in tl.range(tl.program_id(0) * ROWS, M, row_step, num_stages=2):
        rows = row_start + tl.arange(0, ROWS)
        mask = (rows[:, None] < M) & (offsets[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * stride_xm + offsets[None, :], mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
        y = numerator / tl.sum(numerator, axis=1)[:, None]
        tl.store(y_ptr + rows[:, None] * stride_ym + offsets[None, :], y, mask=mask)
