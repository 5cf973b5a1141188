"""Dropout written by hand: the seed and an element's place decide whether it stays."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed"])
def dropout_kernel(x_ptr, y_ptr, p, seed, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    keep = tl.rand(seed, offsets) >= p
    y = tl.where(keep, x / (1 - p), 0.0)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)
