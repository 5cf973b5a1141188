"""The number of elements of x that are b, for each bin b.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# The maximum number of elements of a tile.
_MAX_TILE = 2**20
# The GPU that Triton's interpreter stands for: an NVIDIA H200.
_INTERPRETED_GPU = {
    "multi_processor_count": 132,
    "shared_memory_per_block_optin": 232448,
    "warp_size": 32,
    "major": 9,
    "minor": 0,
}


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
    _check_int("histogram: BINS", BINS, torch.int32, 0)
    with torch.no_grad():
        _check_tensors("histogram", {"x": x}, out=out)
    _check_strided("histogram: out", out, x=x)
    if x.ndim != 1:
        raise ValueError(f"histogram: x must have shape [N], got {list(x.shape)}")
    N = x.shape[0]
    counts = x.new_empty((BINS,)) if out is None else out
    if counts.shape != (BINS,):
        raise ValueError(
            f"histogram: out must have shape [BINS={BINS}], got {list(counts.shape)}"
        )
    _check_dtypes("histogram", (torch.int32,), x=x, out=counts)
    counts.zero_()
    if BINS == 0:
        return counts

    _check_reach("histogram", x=x, out=counts)
    multi_processor_count = _gpu_property(x.device, "multi_processor_count")
    BLOCK_BINS = triton.next_power_of_2(BINS)
    if BLOCK_BINS > _MAX_TILE:
        raise ValueError(
            f"histogram: BLOCK_BINS would be {BLOCK_BINS}; a tile holds "
            f"at most {_MAX_TILE} elements"
        )
    if not BLOCK_BINS >= BINS:
        raise ValueError(
            "histogram: a requirement does not hold: BLOCK_BINS >= BINS "
            f"with BLOCK_BINS = {BLOCK_BINS}, BINS = {BINS}"
        )

    def grid(meta):
        return (min(triton.cdiv(N, meta["BLOCK"]), multi_processor_count * 8),)

    with torch.cuda.device(x.get_device()):
        histogram_kernel[grid](
            x, counts, N, BINS, x.stride(0), counts.stride(0), BLOCK_BINS=BLOCK_BINS
        )
    return counts


def reference_fn(x: torch.Tensor, BINS: int):
    return torch.bincount(x, minlength=BINS)


SHAPES = [{"N": 100003, "BINS": 100}, {"N": 67108864, "BINS": 256}]


def get_inputs(N=100003, BINS=100):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randint(0, BINS, (N,), device=device, dtype=torch.int32), BINS]


def _check_tensors(name, required, /, **optional):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    first, device = "", None
    for key, x in {**required, **optional}.items():
        if x is None and key in optional:
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: {key} must be a tensor, got {x!r:.80}")
        if type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            kind = type(x).__name__
            raise TypeError(f"{name}: {key} must be a plain tensor, got a {kind}")
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(
                f"{name}: {key} is a lazily negated view; call .resolve_neg() first"
            )
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(
                f"{name} has no gradient for {key}; "
                "call it under torch.no_grad(), or with .detach()"
            )


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    (first, x), *others = tensors.items()
    if x.dtype not in expected:
        dtypes = " or ".join(map(str, expected))
        raise TypeError(f"{name}: {first} must be {dtypes}, got {x.dtype}")
    for key, y in others:
        if y.dtype != x.dtype:
            raise TypeError(
                f"{name}: {key} must be {x.dtype} as {first} is, got {y.dtype}"
            )


def _check_reach(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors whose offsets do not fit int32."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= _INT32_REACH:
            raise ValueError(
                f"{name}: {key} spans more elements than int32 offsets reach; "
                "build the kernel with { offsets: tl.int64 } for it"
            )


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    axes = () if written.is_contiguous() else zip(written.stride(), written.shape)
    reach = 0
    for step, size in sorted(axes):
        if size > 1 and step <= reach:
            raise ValueError(
                f"{label} has elements that share memory, with shape "
                f"{list(written.shape)} and strides {list(written.stride())}; "
                "give a tensor of its own"
            )
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _may_overlap(x: torch.Tensor, y: torch.Tensor) -> bool:
    """True unless the addresses of x and y lie apart, at least modulo a stride.

    The stride divides all larger ones, as that of a matrix's rows does for two columns.
    """
    if x.numel() == 0 or y.numel() == 0:
        return False
    if x.is_contiguous() and y.is_contiguous():
        return -y.nbytes < y.data_ptr() - x.data_ptr() < x.nbytes
    axes = [
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    ]
    steps = {step for z in axes for step, last in z if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_span, y_span = (
            sum(step * last for step, last in z if step < period) for z in axes
        )
        is_apart = x_span + x.itemsize <= gap <= period - y_span - y.itemsize
        if is_apart and not any(step % period for step in steps if step > period):
            return False
    return True


def _gpu_property(device, name):
    """A property of the GPU that a launch is for."""
    if _INTERPRETED:
        return _INTERPRETED_GPU[name]
    return getattr(torch.cuda.get_device_properties(device), name)


def _check_int(label, value, dtype, least=None):
    """Refuses a value that is no integer, or that the dtype cannot hold."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


kernel_fn = histogram
