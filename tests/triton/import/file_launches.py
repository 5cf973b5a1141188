"""Kernels that are imported for types, in a file that launches them."""

import triton
import triton.language as tl


def divides(divisor, n):
    return n % divisor == 0


CONFIGS = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})]


# x_ptr:*fp32,bias_ptr:*fp32,y_ptr:*fp32,n:i32,EVEN=True,HAS_BIAS=True
@triton.heuristics(
    {"EVEN": lambda args: divides(args["BLOCK"], args["n"]), "HAS_BIAS": lambda args: args["bias_ptr"] is not None}
)
@triton.autotune(configs=CONFIGS, key=["n", "HAS_BIAS"])
@triton.jit
def tuned(x_ptr, bias_ptr, y_ptr, n, EVEN: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i) if EVEN else tl.load(x_ptr + i, mask=i < n)
    if HAS_BIAS:
        x += tl.load(bias_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x, mask=i < n)


# x_ptr:*fp32,s_ptr:*fp32,n:i32,eps:fp32
@triton.autotune(configs=CONFIGS, key=["n"], reset_to_zero=["s_ptr"])
@triton.jit(do_not_specialize=["eps"])
def in_place(x_ptr, s_ptr, n, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, x * 2 + eps, mask=i < n)
    tl.atomic_add(s_ptr, tl.sum(x))


def zero_total(nargs):
    if nargs["total_ptr"] is not None:
        nargs["total_ptr"].zero_()


def zero_n(nargs):
    nargs["total_ptr"][: nargs["n"]].zero_()


ZEROED = [triton.Config({"BLOCK": each}, pre_hook=zero_total) for each in (16, 32)]


# x_ptr:*fp32,total_ptr:*fp32,n:i32
@triton.autotune(configs=ZEROED, key=["n"])
@triton.jit
def zeroed(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n)))


# x_ptr:*fp32,total_ptr:*fp32,n:i32
@triton.autotune(configs=ZEROED, key=["n"])
@triton.jit
def zeroed_rows(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(1) * n + i, mask=i < n)
    tl.store(total_ptr + tl.program_id(1) * n + i, x, mask=i < n)


# x_ptr:*fp32,total_ptr:*fp32,n:i32
@triton.autotune(configs=[ZEROED[0], *CONFIGS], key=["n"])
@triton.jit
def zeroed_by_some(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n)))


# x_ptr:*fp32,total_ptr:*fp32,n:i32
@triton.autotune(configs=[triton.Config({"BLOCK": 16}, pre_hook=zero_n)], key=["n"])
@triton.jit
def zeroed_in_part(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n)))


# x_ptr:*fp32,y_ptr:*fp32,B=16
@triton.jit
def launched_twice(x_ptr, y_ptr, B: tl.constexpr):
    i = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


# x_ptr:*fp32,programs:i32
@triton.jit
def not_launched(x_ptr, programs):
    tl.store(x_ptr + tl.program_id(0) * programs, 1.0)


def launch(x, bias, y, s):
    n = x.numel()
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, bias, y, n)
    in_place[(triton.cdiv(n, 16), 1)](x, s, n, 0.5)
    zeroed[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, s, n)
    zeroed_rows[lambda meta: (triton.cdiv(n, meta["BLOCK"]), 4)](x, s, n)
    launched_twice[(n // 16, 2)](x, y, B=16)
    launched_twice[(n // 32, 2)](x, y, B=16)
