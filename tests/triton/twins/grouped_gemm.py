"""A grouped matrix product written by hand: each program finds its tile among those of all groups."""

import triton
import triton.language as tl


@triton.jit
def grouped_gemm_kernel(
    a_desc,
    b_desc,
    ends_ptr,
    c_ptr,
    K,
    GROUPS,
    N,
    stride_c_total,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    num_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    start = 0
    for g in range(GROUPS):
        end = tl.load(ends_ptr + g)
        rows = end - start
        num_m = tl.cdiv(rows, BLOCK_M)
        if (tile >= 0) & (tile < num_m * num_n):
            first_m = tile % num_m * BLOCK_M
            first_n = tile // num_m * BLOCK_N
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                a = a_desc.load([start + first_m, k])
                b = b_desc.load([g, k, first_n]).reshape(BLOCK_K, BLOCK_N)
                acc = tl.dot(a, b, acc)
            offs_m = first_m + tl.arange(0, BLOCK_M)
            offs_n = first_n + tl.arange(0, BLOCK_N)
            c_ptrs = (
                c_ptr
                + (start + offs_m)[:, None] * stride_c_total
                + offs_n[None, :] * stride_cn
            )
            mask = (offs_m[:, None] < rows) & (offs_n[None, :] < N)
            tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)
        tile -= num_m * num_n
        start = end
