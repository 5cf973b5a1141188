"""Kernels that a script launches with and without arguments, and what scripts do beside a launch."""

import torch
import triton
import triton.language as tl


@triton.jit
def flags_of_given_pointers(
    x, y, bias, scale, n, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    if HAS_SCALE:
        scale += n
        a *= tl.load(scale)
    if HAS_BIAS:
        b = tl.load(bias + at, mask=at < n)
    a = a + b if HAS_BIAS else a - 1
    tl.store(y + at, a, mask=at < n)


@triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned(x, y, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > 0.5
    tl.store(y + at, tl.where(kept, tl.load(x + at, mask=at < n), 0.0), mask=at < n)


class Strided:
    """What Triton takes for a tensor: it has an address and a dtype."""

    def __init__(self, base):
        self.dtype, self.base = base.dtype, base

    def data_ptr(self):
        return self.base.data_ptr()


def scaled(x, bias=None, scale=None):
    y = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 64),)
    flags_of_given_pointers[grid](Strided(x), y, bias, scale, n, bias is not None, scale is not None, BLOCK=64)
    return y


def dropped(x):
    y = torch.empty_like(x)
    seed = int(torch.cuda.default_generators[0].get_state().view(torch.int64)[0])
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel(), seed)
    # A wrapper may ask what was chosen.
    return y, triton.cdiv(x.numel(), tuned.best_config.kwargs["BLOCK"])


x = torch.randn(200, device="cuda")
low, high = triton.testing.do_bench(lambda: dropped(x), quantiles=[0.2, 0.8])
scaled(x)
scaled(x, bias=x)
scaled(x, bias=x, scale=x)
