"""Kernels that are not imported, each beside the same kernel with what the message says to write instead."""

import triton
import triton.language as tl


# x:*fp32,y:*fp32,B=16
@triton.jit
def comprehension(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    pair = (tl.load(x + at), tl.load(x + B + at))
    # refused: a list comprehension; write out its items
    doubled = [each * 2 for each in pair]
    tl.store(y + at, doubled[0] + doubled[1])


# x:*fp32,y:*fp32,B=16
@triton.jit
def comprehension_mended(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    pair = (tl.load(x + at), tl.load(x + B + at))
    doubled = (pair[0] * 2, pair[1] * 2)
    tl.store(y + at, doubled[0] + doubled[1])


# x:*fp32,y:*fp32,n:i32,B=16
@triton.jit
def assigned_inside(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    # refused: an assignment in an expression; assign on a line of its own
    a = tl.load(x + (i := at + n))
    tl.store(y + i, a)


# x:*fp32,y:*fp32,n:i32,B=16
@triton.jit
def assigned_inside_mended(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    i = at + n
    a = tl.load(x + i)
    tl.store(y + i, a)


# x:*fp32,y:*fp32,n:i32,B=16
@triton.jit
def carried_list(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    pair = (tl.load(x + at), tl.load(x + B + at))
    # refused: pair, which a loop or branch changes, is a list; write a name for each of its items
    for _ in range(n):
        pair = (pair[1], pair[0] * 2)
    tl.store(y + at, pair[0])


# x:*fp32,y:*fp32,n:i32,B=16
@triton.jit
def carried_list_mended(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    first, second = (tl.load(x + at), tl.load(x + B + at))
    for _ in range(n):
        first, second = (second, first * 2)
    tl.store(y + at, first)


# x:*fp32,y:*fp32,N=3,B=16
@triton.jit
def unrolled(x, y, N: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    parts = ()
    # refused: a loop whose copies differ in types or in items of a list, and whose bounds are no numbers; fix them with --specialize
    for k in tl.static_range(N):
        parts += (tl.load(x + k * B + at),)
    tl.store(y + at, parts[0] + parts[2])


# x:*fp32,y:*fp32,FLAG=True,B=16
@triton.jit
def dtype_of_arm(x, y, FLAG: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    # refused: kind, which is a dtype in one arm; cast to it in each arm
    if FLAG:
        kind: tl.constexpr = tl.float16
    else:
        kind: tl.constexpr = tl.bfloat16
    tl.store(y + at, tl.load(x + at).to(kind).to(tl.float32))


# x:*fp32,y:*fp32,FLAG=True,B=16
@triton.jit
def dtype_of_arm_mended(x, y, FLAG: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    if FLAG:
        a = tl.load(x + at).to(tl.float16).to(tl.float32)
    else:
        a = tl.load(x + at).to(tl.bfloat16).to(tl.float32)
    tl.store(y + at, a)
