"""Kernels with block pointers; the comment before each says what a call passes, and how many accesses become views.

Behind each stands the same kernel with pointers, `…_by_hand`, where there is one.
"""

import triton
import triton.language as tl


# 3 of 3
# a_ptr:*fp16,b_ptr:*fp16,c_ptr:*fp16,M:i32,N:i32,K:i32,am:i32,ak:i32,bk:i32,bn:i32,cm:i32,cn:i32,BM=16,BN=32,BK=16
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    a_block_ptr = tl.make_block_ptr(
        base=a_ptr, shape=(M, K), strides=(am, ak), offsets=(pm * BM, 0), block_shape=(BM, BK), order=(1, 0)
    )
    b_block_ptr = tl.make_block_ptr(b_ptr, (K, N), (bk, bn), (0, pn * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(a_block_ptr, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block_ptr, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, b)
        a_block_ptr = tl.advance(a_block_ptr, (0, BK))
        b_block_ptr = tl.advance(b_block_ptr, (BK, 0))
    c_block_ptr = tl.make_block_ptr(c_ptr, (M, N), (cm, cn), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(c_block_ptr, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def product_by_hand(
    a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a_ptrs = a_ptr + rm[:, None] * am + rk[None, :] * ak
        b_ptrs = b_ptr + rk[:, None] * bk + rn[None, :] * bn
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    c_ptrs = c_ptr + rm[:, None] * cm + rn[None, :] * cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


# 3 of 3
# x_ptr:*fp32,starts_ptr:*i64,y_ptr:*fp32,T:i32,H=4,BLOCK=16
@triton.jit
def named_together(x_ptr, starts_ptr, y_ptr, T, H: tl.constexpr, BLOCK: tl.constexpr):
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    start = tl.load(starts_ptr + i_b)
    x_block_ptr = tl.make_block_ptr(x_ptr + start, (H, T), (T, 1), (i_h, i_t * BLOCK), (1, BLOCK), (1, 0))
    y_block_ptr = tl.make_block_ptr(y_ptr + start, (H, T), (T, 1), (i_h, i_t * BLOCK), (1, BLOCK), (1, 0))
    tl.store(y_block_ptr, tl.load(x_block_ptr, boundary_check=(0, 1)), boundary_check=(0, 1))


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,M:i32,N:i32,xb:i32,xm:i32,xn:i32,yb:i32,ym:i32,yn:i32,BM=16,BN=32
@triton.jit
def batched(x_ptr, y_ptr, M, N, xb, xm, xn, yb, ym, yn, BM: tl.constexpr, BN: tl.constexpr):
    batch = tl.program_id(1)
    for start in range(0, M, BM):
        p_x = tl.make_block_ptr(x_ptr + batch * xb, (M, N), (xm, xn), (start, 0), (BM, BN), (1, 0))
        p_y = tl.make_block_ptr(y_ptr + batch * yb, (M, N), (ym, yn), (start, 0), (BM, BN), (1, 0))
        x = tl.load(p_x, boundary_check=(0, 1), padding_option="nan")
        tl.store(p_y, (x * 2).to(p_y.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def batched_by_hand(x_ptr, y_ptr, M, N, xb, xm, xn, yb, ym, yn, BM: tl.constexpr, BN: tl.constexpr):
    batch = tl.program_id(1)
    for start in range(0, M, BM):
        rm = start + tl.arange(0, BM)
        rn = tl.arange(0, BN)
        inside = (rm[:, None] < M) & (rn[None, :] < N)
        x = tl.load(x_ptr + batch * xb + rm[:, None] * xm + rn[None, :] * xn, mask=inside, other=float("nan"))
        tl.store(y_ptr + batch * yb + rm[:, None] * ym + rn[None, :] * yn, x * 2, mask=inside)


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,N:i32,first:i32,BLOCK=64
@triton.jit
def unchecked(x_ptr, y_ptr, N, first, BLOCK: tl.constexpr):
    x_bptr = tl.make_block_ptr(x_ptr, (N,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
    y_bptr = tl.make_block_ptr(y_ptr, (N,), (1,), (first,), (BLOCK,), order=(0,))
    tl.store(y_bptr, tl.load(x_bptr) + 1, boundary_check=(0,))


@triton.jit
def unchecked_by_hand(x_ptr, y_ptr, N, first, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offs)
    at = first + offs
    tl.store(y_ptr + at, x + 1, mask=(at >= 0) & (at < N))


@triton.jit
def tail(x_block_ptr, acc, turns, BLOCK: tl.constexpr):
    for _ in range(turns):
        acc += tl.load(x_block_ptr, boundary_check=(0,))
        x_block_ptr = tl.advance(x_block_ptr, (BLOCK,))
    return acc


# 1 of 1
# x_ptr:*fp32,y_ptr:*fp32,N:i32,turns:i32,BLOCK=32
@triton.jit
def passed_on(x_ptr, y_ptr, N, turns, BLOCK: tl.constexpr):
    x_block_ptr = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    acc = tail(x_block_ptr, acc, turns, BLOCK)
    tl.store(y_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def moved_part(x_block_ptr, y_ptr, first, turns, BLOCK: tl.constexpr):
    x_block_ptr = tl.advance(x_block_ptr, (first * BLOCK,))
    acc = tl.load(x_block_ptr)
    for _ in range(turns):
        x_block_ptr = tl.advance(x_block_ptr, (BLOCK,))
        acc += tl.load(x_block_ptr)
    tl.store(y_ptr + tl.arange(0, BLOCK), acc)


# 0 of 0
# x_ptr:*fp32,y_ptr:*fp32,N:i32,first:i32,turns:i32,BLOCK=32
@triton.jit
def moved_before_a_loop(x_ptr, y_ptr, N, first, turns, BLOCK: tl.constexpr):
    x_block_ptr = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    moved_part(x_block_ptr, y_ptr, first, turns, BLOCK)


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,N:i32,BLOCK=32
@triton.jit
def advanced_in_the_access(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    x_block_ptr = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        acc += tl.load(tl.advance(x_block_ptr, (start,)), boundary_check=(0,))
    y_block_ptr = tl.make_block_ptr(y_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    tl.store(y_block_ptr, acc, boundary_check=(0,))


# 1 of 2
# x_ptr:*fp32,z_ptr:*fp32,y_ptr:*fp32,N:i32,OTHER=True,BLOCK=32
@triton.jit
def chosen(x_ptr, z_ptr, y_ptr, N, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    if OTHER:
        p = tl.make_block_ptr(z_ptr, (N,), (1,), (at,), (BLOCK,), (0,))
    else:
        p = tl.make_block_ptr(x_ptr, (N,), (1,), (at,), (BLOCK,), (0,))
    y_bptr = tl.make_block_ptr(y_ptr, (N,), (1,), (at,), (BLOCK,), (0,))
    tl.store(y_bptr, tl.load(p, boundary_check=(0,), padding_option="zero"), boundary_check=(0,))


@triton.jit
def loaded_with(block_ptr, IS_CHECKED, padding):
    if IS_CHECKED:
        x = tl.load(block_ptr, boundary_check=(0,), padding_option=padding)
    else:
        x = tl.load(block_ptr)
    return x


# 1 of 1
# x_ptr:*fp16,y_ptr:*fp16,N:i32,IS_CHECKED=True,BLOCK=32
@triton.jit
def padding_of_a_helper(x_ptr, y_ptr, N, IS_CHECKED: tl.constexpr, BLOCK: tl.constexpr):
    x_block_ptr = tl.make_block_ptr(x_ptr, (N,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
    tl.store(y_ptr + tl.arange(0, BLOCK), loaded_with(x_block_ptr, IS_CHECKED, "zero"))


# 1 of 3
# x_ptr:*fp32,y_ptr:*fp32,N:i32,turns:i32,BLOCK=32
@triton.jit
def another_name(x_ptr, y_ptr, N, turns, BLOCK: tl.constexpr):
    ahead = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    ahead = tl.advance(ahead, (BLOCK,))
    behind = ahead
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in range(turns):
        ahead = tl.advance(ahead, (2 * BLOCK,))
        acc += tl.load(ahead, boundary_check=(0,)) - tl.load(behind, boundary_check=(0,))
        behind = tl.advance(behind, (BLOCK,))
    tl.store(y_ptr + tl.arange(0, BLOCK), acc)


# 1 of 3
# x_ptr:*fp32,y_ptr:*fp32,N:i32,SAME=True,BLOCK=32
@triton.jit
def another_name_in_an_arm(x_ptr, y_ptr, N, SAME: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    if SAME:
        second = first
    else:
        second = tl.make_block_ptr(x_ptr + N, (N,), (1,), (BLOCK,), (BLOCK,), (0,))
    x = tl.load(first, boundary_check=(0,)) + tl.load(second, boundary_check=(0,))
    tl.store(y_ptr + tl.arange(0, BLOCK), x)


# refused: a block pointer, outside of tl.load, tl.store and tl.advance
# x_ptr:*fp32,y_ptr:*fp32,N:i32,BLOCK=32
@triton.jit
def handed_back(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    pair = (tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,)), 1)
    tl.store(y_ptr + tl.arange(0, BLOCK), tl.load(pair[0], boundary_check=(0,)))
