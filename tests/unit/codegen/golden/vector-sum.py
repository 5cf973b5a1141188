"""The sum of all elements of a vector, in float32.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": BLOCK}, num_warps=num_warps, num_stages=num_stages)
        for BLOCK, num_warps, num_stages in [(1024, 4, 4), (2048, 8, 4), (4096, 8, 3)]
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def partial_sums_kernel(
    x_ptr, sums_ptr, N, GROUPS, stride_sums_groups, BLOCK: tl.constexpr
):
    group = tl.program_id(0)
    # Each lane has a sum of its own: the lanes are added once, after the loop.
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(group * BLOCK, N, GROUPS * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < N, other=0.0).to(tl.float32)
    tl.store(sums_ptr + group * stride_sums_groups, tl.sum(total, axis=0))


def _partial_sums_meta(x, GROUPS):
    """Checks the arguments of partial_sums, and allocates its results."""
    _check_operands("partial_sums", x=x)
    if x.ndim != 1:
        raise ValueError(f"partial_sums: x must have shape [N], got {x.shape}")
    _check_dtypes("partial_sums", (torch.float32, torch.float16, torch.bfloat16), x=x)
    _check_contiguous("partial_sums", x=x)
    return x.new_empty((GROUPS,), dtype=torch.float32)


def _partial_sums(x, GROUPS):
    """The sum of every GROUPS-th block of x, from the group's own on."""
    sums = _partial_sums_meta(x, GROUPS)
    _check_int("partial_sums: GROUPS", GROUPS, 0, 2**31 - 1)
    N = x.shape[0]
    if GROUPS == 0:
        return sums

    _check_reach("partial_sums", x=x, out=sums)
    if not (GROUPS >= 1 and GROUPS < 2048):
        raise ValueError(
            "partial_sums: a requirement does not hold: GROUPS >= 1 and GROUPS < "
            f"2048 with GROUPS = {GROUPS}"
        )

    with torch.cuda.device(x.get_device()):
        partial_sums_kernel[(GROUPS,)](x, sums, N, GROUPS, sums.stride(0))
    return sums


@triton.jit
def sum_of_sums_kernel(
    sums_ptr, y_ptr, GROUPS, stride_sums_groups, BLOCK: tl.constexpr
):
    offsets = tl.arange(0, BLOCK)
    tl.store(
        y_ptr,
        tl.sum(
            tl.load(
                sums_ptr + offsets * stride_sums_groups,
                mask=offsets < GROUPS,
                other=0.0,
            ),
            axis=0,
        ),
    )


def _sum_of_sums_meta(sums):
    """Checks the arguments of sum_of_sums, and allocates its results."""
    _check_operands("sum_of_sums", sums=sums)
    if sums.ndim != 1:
        raise ValueError(
            f"sum_of_sums: sums must have shape [GROUPS], got {sums.shape}"
        )
    _check_dtypes("sum_of_sums", (torch.float32,), sums=sums)
    return sums.new_empty((1,))


def _sum_of_sums(sums):
    """The sum of a short vector, in one program."""
    y = _sum_of_sums_meta(sums)
    GROUPS = sums.shape[0]

    _check_reach("sum_of_sums", sums=sums, out=y)
    BLOCK = triton.next_power_of_2(GROUPS)
    if BLOCK < 1 or (BLOCK & (BLOCK - 1)) != 0 or BLOCK > 2**20:
        raise ValueError(
            f"sum_of_sums: BLOCK must be a power of two, at most 2**20, got {BLOCK}"
        )

    with torch.cuda.device(sums.get_device()):
        sum_of_sums_kernel[(1,)](sums, y, GROUPS, sums.stride(0), BLOCK=BLOCK)
    return y


@torch.library.custom_op("tilescript::vector_sum", mutates_args=())
def vector_sum_op(x: torch.Tensor) -> torch.Tensor:
    sums = _partial_sums(x, 1056)
    return _sum_of_sums(sums)


@vector_sum_op.register_fake
def _(x):
    sums = _partial_sums_meta(x, 1056)
    return _sum_of_sums_meta(sums)


def vector_sum(x: torch.Tensor) -> torch.Tensor:
    """The sum of all elements of a vector, in float32.

    Args:
        x: [N] float32 or float16 or bfloat16, contiguous.

    Returns:
        y: [1] float32.
    """
    _refuse_tangents("vector_sum", x)
    return vector_sum_op(x)


def reference_fn(x):
    return x.float().sum(0, keepdim=True)


SHAPES = [{"N": 100003}, {"N": 67108864}]


def get_inputs(N=100003):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((N,), device=device, dtype=torch.float32)]


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    found = {key: x.dtype for key, x in tensors.items()}
    if set(found.values()) not in [{dtype} for dtype in expected]:
        raise TypeError(f"{name}: needs one dtype of {expected}, got {found}")
    is_wrong = _INTERPRETED and not hasattr(triton, "has_bfloat16")
    if is_wrong and torch.bfloat16 in found.values():
        raise TypeError(f"{name}: Triton's interpreter computes bfloat16 wrongly")


def _check_contiguous(name, /, **tensors):
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(f"{name}: {key} must be contiguous; call .contiguous()")


def _check_reach(name, /, **tensors):
    """Refuses tensors whose offsets do not fit int32, with a tile behind them."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


def _check_operands(name, /, **tensors):
    """Refuses tensors that are not on one GPU. They may be traced."""
    device = None
    for key, x in tensors.items():
        if x is None:
            continue
        if x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        device = x.device if device is None else device
        is_traced = type(x) not in (torch.Tensor, torch.nn.Parameter)
        if x.device != device or not (x.is_cuda or _INTERPRETED or is_traced):
            raise ValueError(
                f"{name}: needs one GPU, or TRITON_INTERPRET=1, got {key} on {x.device}"
            )


def _refuse_tangents(name, *tensors):
    """Refuses tensors with tangents, which a PyTorch operator drops."""
    for x in tensors:
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError(f"{name} has no forward-mode gradient")


kernel_fn = vector_sum
