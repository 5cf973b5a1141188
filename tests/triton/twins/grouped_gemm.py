"""A grouped matrix product written by hand: programs share out the tiles of all groups."""

import triton
import triton.language as tl


@triton.jit
def grouped_gemm_kernel(
    a_ptr,
    b_ptr,
    ends_ptr,
    c_ptr,
    K,
    GROUPS,
    N,
    stride_a_total,
    stride_ak,
    stride_b_groups,
    stride_bk,
    stride_bn,
    stride_c_total,
    stride_cn,
    PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    num_n = tl.cdiv(N, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    next_tile = tl.program_id(0)
    start = 0
    for g in range(GROUPS):
        end = tl.load(ends_ptr + g)
        rows = end - start
        tiles = tl.cdiv(rows, BLOCK_M) * num_n
        for tile in range(next_tile, tiles, PROGRAMS):
            offs_m = tile // num_n * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_n = tile % num_n * BLOCK_N + tl.arange(0, BLOCK_N)
            offs_am = start + offs_m % rows
            offs_bn = offs_n % N
            a_ptrs = a_ptr + offs_am[:, None] * stride_a_total + offs_k * stride_ak
            b_ptrs = (
                b_ptr
                + g * stride_b_groups
                + offs_k[:, None] * stride_bk
                + offs_bn[None, :] * stride_bn
            )
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
                b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
                acc = tl.dot(a, b, acc)
                a_ptrs += BLOCK_K * stride_ak
                b_ptrs += BLOCK_K * stride_bk
            offs_cm = start + offs_m
            c_ptrs = (
                c_ptr
                + offs_cm[:, None] * stride_c_total
                + offs_n[None, :] * stride_cn
            )
            mask = (offs_m[:, None] < rows) & (offs_n[None, :] < N)
            tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)
        next_tile += tl.cdiv(max(tiles - next_tile, 0), PROGRAMS) * PROGRAMS - tiles
        start = end
