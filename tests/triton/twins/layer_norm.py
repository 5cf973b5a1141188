"""Layer normalization and its gradients written by hand, for rows and vectors that lie without gaps."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_forward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    mean_ptr,
    rstd_ptr,
    eps,
    N,
    stride_xm,
    stride_ym,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    x = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(weight_ptr + cols, mask=mask).to(tl.float32)
    b = tl.load(bias_ptr + cols, mask=mask).to(tl.float32)
    y = x * rstd * w + b
    tl.store(
        y_ptr + row * stride_ym + cols, y.to(y_ptr.dtype.element_ty), mask=mask
    )


@triton.jit
def layer_norm_gradients_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dw_partial_ptr,
    db_partial_ptr,
    M,
    N,
    GROUPS,
    stride_dy_m,
    stride_xm,
    stride_dx_m,
    stride_dw_partial_groups,
    stride_db_partial_groups,
    BLOCK_N: tl.constexpr,
):
    group = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    w = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK_N,), dtype=tl.float32)
    db = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for row in tl.range(group, M, GROUPS, num_stages=3):
        dy = tl.load(dy_ptr + row * stride_dy_m + cols, mask=mask, other=0.0)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=mask, other=0.0)
        dy = dy.to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        x_hat = (x.to(tl.float32) - tl.load(mean_ptr + row)) * rstd
        wdy = w * dy
        c1 = tl.sum(wdy * x_hat, axis=0) / N
        c2 = tl.sum(wdy, axis=0) / N
        dx = (wdy - x_hat * c1 - c2) * rstd
        tl.store(
            dx_ptr + row * stride_dx_m + cols,
            dx.to(dx_ptr.dtype.element_ty),
            mask=mask,
        )
        dw += dy * x_hat
        db += dy
    tl.store(dw_partial_ptr + group * stride_dw_partial_groups + cols, dw, mask=mask)
    tl.store(db_partial_ptr + group * stride_db_partial_groups + cols, db, mask=mask)


@triton.jit
def column_sums_kernel(
    a_ptr,
    b_ptr,
    a_sum_ptr,
    b_sum_ptr,
    R,
    N,
    stride_ar,
    stride_br,
    OUT: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.arange(0, BLOCK_R)
    a = tl.zeros((BLOCK_R, BLOCK_N), dtype=tl.float32)
    b = tl.zeros((BLOCK_R, BLOCK_N), dtype=tl.float32)
    for i in range(0, R, BLOCK_R):
        mask = (i + rows[:, None] < R) & (cols[None, :] < N)
        offsets = i + rows[:, None]
        a += tl.load(a_ptr + offsets * stride_ar + cols[None, :], mask=mask, other=0.0)
        b += tl.load(b_ptr + offsets * stride_br + cols[None, :], mask=mask, other=0.0)
    tl.store(a_sum_ptr + cols, tl.sum(a, axis=0).to(OUT), mask=cols < N)
    tl.store(b_sum_ptr + cols, tl.sum(b, axis=0).to(OUT), mask=cols < N)
