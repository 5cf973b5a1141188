"""The sum of two vectors in a dependent launch, written by hand for GPUs that have it."""

import triton
import triton.language as tl


@triton.jit
def dependent_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    tl.extra.cuda.gdc_wait()
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(z_ptr + offsets, x + y, mask=mask)
