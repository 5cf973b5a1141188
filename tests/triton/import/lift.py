"""Kernels with pointer arithmetic; the comments before each say what a call passes, and how many accesses become views."""

import triton
import triton.language as tl


# 3 of 3
# x_ptr:*fp32,y_ptr:*fp32,z_ptr:*fp32,count:i32,BLOCK=256
@triton.jit
def sums(x_ptr, y_ptr, z_ptr, count, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    inside = at < count
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside, other=1.0)
    tl.store(z_ptr + at, x * y, mask=inside)


# 2 of 2
# x_ptr:*fp16,y_ptr:*fp16,stride_x:i32,stride_y:i32,width:i32,BLOCK=128
@triton.jit
def rows(x_ptr, y_ptr, stride_x, stride_y, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    start = x_ptr + row * stride_x
    x = tl.load(start + cols, mask=cols < width, other=-float("inf"))
    tl.store(y_ptr + row * stride_y + cols, x - tl.max(x, axis=0), mask=cols < width)


# 2 of 2
# a_ptr:*fp32,b_ptr:*fp32,M:i32,N:i32,a_m:i32,a_n:i32,b_m:i32,b_n:i32,BM=32,BN=16
@triton.jit
def blocks(a_ptr, b_ptr, M, N, a_m, a_n, b_m, b_n, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    a = tl.load(a_ptr + rm[:, None] * a_m + rn[None, :] * a_n, mask=inside, other=0.0)
    tl.store(b_ptr + (rm[:, None] * b_m + rn[None, :] * b_n), a + 1, mask=inside)


# 3 of 3
# x_ptr:*fp32,w_ptr:*fp32,stride:i32,width:i32,BLOCK=64
@triton.jit
def moved_before(x_ptr, w_ptr, stride, width, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(0) * stride
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + cols, mask=cols < width)
        x = tl.load(x_ptr + cols, mask=cols < width)
        tl.store(x_ptr + cols, x * w, mask=cols < width)


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,height:i32,width:i32,BM=16,BN=32
@triton.jit
def packed(x_ptr, y_ptr, height, width, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    at = rm[:, None] * width + rn[None, :]
    inside = (rm < height)[:, None] & (rn < width)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=inside, other=0.0) * 2, mask=inside)


# 1 of 3
# x_ptr:*fp32,y_ptr:*fp32,stride:i32,width:i32,BLOCK=32
@triton.jit
def partly(x_ptr, y_ptr, stride, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < width, other=0.0)
    for _ in range(3):
        x += tl.load(x_ptr + cols * stride + cols)
    tl.store(y_ptr + cols, x + stride, mask=cols > row)


# 0 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def other_masks(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at <= count, other=0.0)
    at += 1
    tl.store(y_ptr + at - 1, x, mask=at < count)


# 0 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def shifted_masks(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at + 1 < count, other=0.0)
    tl.store(y_ptr + at, x, mask=tl.arange(0, BLOCK) < count)


# 0 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def moving(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for start in range(0, count, BLOCK):
        x = tl.load(x_ptr + at, mask=at < count - start)
        tl.store(y_ptr + at, x, mask=at < count - start)
        x_ptr += BLOCK
        y_ptr += BLOCK
