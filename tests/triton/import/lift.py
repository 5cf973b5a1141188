"""Kernels with pointer arithmetic; comments say what a call passes, and how many accesses become views."""

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


# 2 of 3
# x_ptr:*fp32,y_ptr:*fp32,stride:i32,width:i32,BLOCK=32
@triton.jit
def partly(x_ptr, y_ptr, stride, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < width, other=0.0)
    for _ in range(3):
        x += tl.load(x_ptr + cols * stride + cols)
    tl.store(y_ptr + cols, x + stride, mask=cols > row)


# 1 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def other_masks(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at <= count, other=0.0)
    at += 1
    tl.store(y_ptr + at - 1, x, mask=at < count)


# 1 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def shifted_masks(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at + 1 < count, other=0.0)
    tl.store(y_ptr + at, x, mask=tl.arange(0, BLOCK) < count)


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def moving(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for start in range(0, count, BLOCK):
        x = tl.load(x_ptr + at, mask=at < count - start)
        tl.store(y_ptr + at, x, mask=at < count - start)
        x_ptr += BLOCK
        y_ptr += BLOCK


# 3 of 3
# a_ptr:*fp16,b_ptr:*fp16,c_ptr:*fp32,M:i32,N:i32,K:i32,am:i32,ak:i32,bk:i32,bn:i32,cm:i32,cn:i32,BM=16,BN=32,BK=16
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    rn = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + (rm[:, None] * am + rk[None, :] * ak)
    b_ptrs = b_ptr + (rk[:, None] * bk + rn[None, :] * bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=rk[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * ak
        b_ptrs += BK * bk
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c_ptr + cm * rm[:, None] + cn * rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,first:i32,last:i32,stride:i32,BLOCK=32
@triton.jit
def stepped(x_ptr, y_ptr, first, last, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + first * stride + offs
    for start in range(first, last, BLOCK):
        x_ptrs += BLOCK * stride
        x = tl.load(x_ptrs, mask=offs < last)
        tl.store(y_ptr + start * stride + offs, x, mask=offs < last)


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,heads:i32,stride:i32,D=64,BLOCK=32
@triton.jit
def constants(x_ptr, y_ptr, heads, stride, D: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, D)
    inside = (rows[:, None] < heads) & (cols[None, :] < D)
    at = rows[:, None] * D + cols[None, :]
    x = tl.load(x_ptr + tl.program_id(1) * stride * D + at, mask=inside)
    tl.store(y_ptr + at, x, mask=inside)


# 1 of 2
# x_ptr:*fp32,y_ptr:*fp32,count:i32,BLOCK=32
@triton.jit
def moved_unevenly(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for turn in range(count):
        x = tl.load(x_ptr + at)
        tl.store(y_ptr + tl.arange(0, BLOCK), x)
        x_ptr += turn


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,turns:i32,stride:i32,BLOCK=32
@triton.jit
def backwards(x_ptr, y_ptr, turns, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + (turns - 1) * stride + offs
    for i in range(turns - 1, -1, -1):
        x = tl.load(x_ptrs, mask=offs < stride, other=0.0)
        tl.store(y_ptr + i * stride + offs, x, mask=offs < stride)
        x_ptrs -= stride


# 1 of 2
# x_ptr:*fp32,y_ptr:*fp32,K:i32,stride:i32,BLOCK=32
@triton.jit
def counted_down(x_ptr, y_ptr, K, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + offs * stride
    for k in range(K, 0, -BLOCK):
        x = tl.load(x_ptrs, mask=offs < k, other=0.0)
        tl.store(y_ptr + k + offs, x)
        x_ptrs += BLOCK * stride


# 4 of 4
# x_ptr:*fp32,stride:i32,HEADS=3,D=48,PAD_HEADS=4,PAD=64
@triton.jit
def halves(x_ptr, stride, HEADS: tl.constexpr, D: tl.constexpr, PAD_HEADS: tl.constexpr, PAD: tl.constexpr):
    x_ptr += tl.program_id(0) * stride
    heads = tl.arange(0, PAD_HEADS)[:, None]
    first = heads * D + tl.arange(0, PAD // 2)[None, :]
    mask = (heads < HEADS) & (tl.arange(0, PAD // 2)[None, :] < D // 2)
    second = first + D // 2
    left = tl.load(x_ptr + first, mask=mask, other=0.0)
    right = tl.load(x_ptr + second, mask=mask, other=0.0)
    tl.store(x_ptr + first, left - right, mask=mask)
    tl.store(x_ptr + second, left + right, mask=mask)


# 2 of 2
# x_ptr:*fp32,y_ptr:*fp32,row:i32,stride:i32,D=32
@triton.jit
def one_row(x_ptr, y_ptr, row, stride, D: tl.constexpr):
    at = row * stride + tl.arange(0, D)[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


# 2 of 2
# q_ptr:*fp32,stride_t:i32,stride_h:i32,stride_d:i32,head:i32,heads:i32,tokens:i32,D=32,BLOCK=16
@triton.jit
def one_head(q_ptr, stride_t, stride_h, stride_d, head, heads, tokens, D: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = rows[:, None, None] * stride_t + head * stride_h + tl.arange(0, D)[None, None, :] * stride_d
    inside = (head < heads) & (rows[:, None, None] < tokens)
    q = tl.load(q_ptr + at, mask=inside, other=0.0)
    tl.store(q_ptr + at, q * 2, mask=inside)


# 3 of 3
# x_ptr:*fp32,bias_ptr:*fp32,sum_ptr:*fp32,n:i32,BLOCK=32
@triton.jit
def left_out(x_ptr, bias_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offs, mask=offs < n, other=0.0)
    tl.store(sum_ptr, tl.sum(x))


# 4 of 4
# x_ptr:*fp32,y_ptr:*fp32,z_ptr:*fp32,stride:i32,n:i32,SCALED=True,BLOCK=32
@triton.jit
def flagged(x_ptr, y_ptr, z_ptr, stride, n, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    if not SCALED:
        z_ptr += row * stride
    else:
        y_ptr += row * stride
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    if SCALED:
        y = tl.load(y_ptr + offs, mask=offs < n, other=0.0)
        tl.store(y_ptr + offs, x * y, mask=offs < n)
    if not SCALED:
        tl.store(z_ptr + offs, x, mask=offs < n)


# 1 of 2
# x_ptr:*fp32,y_ptr:*fp32,stride:i32,n:i32,SCALED=True,BLOCK=32
@triton.jit
def otherwise_flagged(x_ptr, y_ptr, stride, n, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    if SCALED:
        y_ptr += tl.program_id(0) * stride
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n, other=0.0), mask=offs < n)


# 3 of 3
# x_ptr:*fp32,at_ptr:*i32,y_ptr:*fp32,n:i32,BLOCK=32
@triton.jit
def anywhere(x_ptr, at_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.load(at_ptr + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=(at >= 0) & (at < n))


def launch(x, y, heads, stride):
    constants[(triton.cdiv(heads, 32), 1)](x, y, heads, stride, D=64, BLOCK=32)
