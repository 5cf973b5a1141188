"""The number of elements of x that are b, for each bin b.

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
# The properties of the GPU that Triton's interpreter stands for, if not an H200's.
_INTERPRETED_GPU = {}


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
    ],
    key=["N", "BINS"],
    reset_to_zero=["counts_ptr"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def histogram_kernel(
    x_ptr,
    counts_ptr,
    N,
    BINS,
    stride_xn,
    stride_counts_bins,
    BLOCK: tl.constexpr,
    BLOCK_BINS: tl.constexpr,
):
    bins = tl.arange(0, BLOCK_BINS)
    found = tl.zeros([BLOCK_BINS], dtype=tl.int32)
    for start in range(tl.program_id(0) * BLOCK, N, tl.num_programs(0) * BLOCK):
        places = start + tl.arange(0, BLOCK)
        mask = places < N
        found += tl.histogram(
            tl.load(x_ptr + places * stride_xn, mask=mask, other=0),
            BLOCK_BINS,
            mask=mask,
        )
    tl.atomic_add(
        counts_ptr + bins * stride_counts_bins, found, mask=bins < BINS, sem="relaxed"
    )


def histogram(
    x: torch.Tensor, BINS: int, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The number of elements of x that are b, for each bin b.

    Args:
        x: [N] int32 in [0, BINS).
        BINS: a size of the result.
        out: where to write [BINS] int32; allocated if None.
    """
    _check_int("histogram: BINS", BINS, 0, 2**31 - 1)
    if x.ndim != 1:
        raise ValueError(f"histogram: x must have shape [N], got {x.shape}")
    N = x.shape[0]
    counts = x.new_empty((BINS,)) if out is None else out
    if counts.shape != (BINS,):
        raise ValueError(
            f"histogram: out must have shape [BINS={BINS}], got {counts.shape}"
        )
    _check_dtypes("histogram", (torch.int32,), x=x)
    _check_dtypes("histogram", (torch.int32,), out=counts)
    with torch.no_grad():
        _check_tensors("histogram", x=x, out=counts)
    _check_strided("histogram: out", out, x=x)
    counts.zero_()
    if BINS == 0:
        return counts

    multi_processor_count = _gpu_property(x.device, "multi_processor_count", 132)
    BLOCK_BINS = triton.next_power_of_2(BINS)
    if BLOCK_BINS > 2**20:
        raise ValueError(
            f"histogram: BLOCK_BINS must be at most 2**20, got {BLOCK_BINS}"
        )

    def grid(meta):
        return (min(triton.cdiv(N, meta["BLOCK"]), multi_processor_count * 8),)

    with torch.cuda.device(x.get_device()):
        histogram_kernel[grid](
            x, counts, N, BINS, x.stride(0), counts.stride(0), BLOCK_BINS=BLOCK_BINS
        )
    return counts


def reference_fn(x, BINS):
    return torch.bincount(x, minlength=BINS)


SHAPES = [{"N": 100003, "BINS": 100}, {"N": 67108864, "BINS": 256}]


def get_inputs(N=100003, BINS=100):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randint(0, BINS, (N,), device=device, dtype=torch.int32), BINS]


def _check_tensors(name, wide=(), /, **tensors):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    plain, device = torch.Tensor.__torch_dispatch__, None
    for key, x in tensors.items():
        if x is None:
            continue
        if getattr(type(x), "__torch_dispatch__", None) is not plain:
            raise TypeError(f"{name}: {key} must be a plain tensor, got {type(x)}")
        if x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        device = x.device if device is None else device
        if x.device != device or not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: needs one GPU, or TRITON_INTERPRET=1, got {key} on {x.device}"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(f"{name}: {key} is lazily negated; call .resolve_neg()")
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(f"{name} has no gradient for {key}; use torch.no_grad()")
        # Masked lanes may lie up to a tile behind the last element.
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20 and key not in wide:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    found = {key: x.dtype for key, x in tensors.items()}
    if set(found.values()) not in [{dtype} for dtype in expected]:
        raise TypeError(f"{name}: needs one dtype of {expected}, got {found}")
    is_wrong = _INTERPRETED and not hasattr(triton, "has_bfloat16")
    if is_wrong and torch.bfloat16 in found.values():
        raise TypeError(f"{name}: Triton's interpreter computes bfloat16 wrongly")


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    reach = 0
    for step, size in sorted(zip(written.stride(), written.shape)):
        if size > 1 and step <= reach:
            raise ValueError(f"{label} has elements that share memory")
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


def _may_overlap(x, y):
    """True unless x and y lie apart, at least modulo a stride that divides the rest."""
    if x.numel() == 0 or y.numel() == 0:
        return False
    x_axes, y_axes = (
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    )
    steps = {step for step, last in x_axes + y_axes if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_end = x.itemsize + sum(s * n for s, n in x_axes if s < period)
        y_end = y.itemsize + sum(s * n for s, n in y_axes if s < period)
        is_nested = not any(step % period for step in steps if step > period)
        if is_nested and x_end <= gap <= period - y_end:
            return False
    return True


def _gpu_property(device, name, interpreted):
    """A property of the GPU that a launch is for, or what stands for it."""
    if _INTERPRETED:
        return _INTERPRETED_GPU.get(name, interpreted)
    return getattr(torch.cuda.get_device_properties(device), name)


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


kernel_fn = histogram
