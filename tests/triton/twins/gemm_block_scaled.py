"""A block-scaled matrix product written by hand: pointers move along K, as those of the scales do."""

import triton
import triton.language as tl


@triton.jit
def gemm_block_scaled_kernel(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    K,
    GROUPS,
    N,
    stride_am,
    stride_ak,
    stride_a_scale_m,
    stride_a_scale_groups,
    stride_bn,
    stride_bk,
    stride_b_scale_n,
    stride_b_scale_groups,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_G: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    offs_g = tl.arange(0, BLOCK_G)
    rows = (offs_m % M)[:, None]
    cols = (offs_n % N)[:, None]
    a_ptrs = a_ptr + rows * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + cols * stride_bn + offs_k[None, :] * stride_bk
    a_scale_ptrs = (
        a_scale_ptr
        + rows * stride_a_scale_m
        + offs_g[None, :] * stride_a_scale_groups
    )
    b_scale_ptrs = (
        b_scale_ptr
        + cols * stride_b_scale_n
        + offs_g[None, :] * stride_b_scale_groups
    )
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        mask_k = offs_k[None, :] < K - k * BLOCK_K
        mask_g = offs_g[None, :] < GROUPS - k * BLOCK_G
        a = tl.load(a_ptrs, mask=mask_k, other=0.0)
        b = tl.load(b_ptrs, mask=mask_k, other=0.0)
        a_scale = tl.load(a_scale_ptrs, mask=mask_g, other=0)
        b_scale = tl.load(b_scale_ptrs, mask=mask_g, other=0)
        acc = tl.dot_scaled(a, a_scale, "e4m3", b.T, b_scale, "e4m3", acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
        a_scale_ptrs += BLOCK_G * stride_a_scale_groups
        b_scale_ptrs += BLOCK_G * stride_b_scale_groups
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)
