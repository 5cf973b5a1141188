"""Softmax over the last axis of a matrix, computed in float32.

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
        triton.Config(
            {"KEPT": KEPT, "LANES": LANES, "ROUNDS": ROUNDS, "RESIDENT": RESIDENT},
            num_warps=num_warps,
        )
        for KEPT, LANES, ROUNDS, RESIDENT, num_warps in [
            (32768, 1024, 1, 1, 32),
            (32768, 1024, 1, 2, 32),
            (32768, 1024, 2, 1, 32),
            (16384, 1024, 4, 1, 32),
            (32768, 512, 4, 1, 16),
            (16384, 512, 4, 2, 16),
            (16384, 512, 8, 1, 16),
            (8192, 256, 4, 4, 8),
            (16384, 256, 8, 2, 8),
        ]
    ],
    key=["M", "N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def softmax_long_kernel(
    x_ptr,
    y_ptr,
    M,
    N,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    KEPT: tl.constexpr,
    LANES: tl.constexpr,
    ROUNDS: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    step: tl.constexpr = ROUNDS * LANES * 4
    for m in range(tl.program_id(0), M, tl.num_programs(0)):
        offsets = tl.arange(0, KEPT)
        x_base = x_ptr + m * stride_xm
        kept = tl.load(
            x_base + offsets * stride_xn, mask=offsets < N, other=float("-inf")
        )
        first = tl.reshape(kept, [KEPT // (LANES * 4), LANES, 4]).to(tl.float32)
        # Each lane has a maximum and a sum of its own, so that no lane waits for
        # another inside the loop.
        best = tl.max(tl.max(first, axis=2), axis=0)
        # A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
        first_shift = tl.where(best == float("-inf"), 0.0, best)
        # `tl.exp` is several instructions: with it the loop would not be unrolled, with
        # its loads ahead.
        first_powers = tl.exp2(
            (first - first_shift[None, :, None]) * 1.4426950408889634
        )
        total = tl.sum(tl.sum(first_powers, axis=2), axis=0)
        for start in range(KEPT, N, step):
            offsets_1 = start + tl.arange(0, step)
            loaded = tl.load(
                x_base + offsets_1 * stride_xn,
                mask=offsets_1 < N,
                other=float("-inf"),
                eviction_policy="evict_last",
            )
            values = tl.reshape(loaded, [ROUNDS, LANES, 4]).to(tl.float32)
            new_best = tl.maximum(best, tl.max(tl.max(values, axis=2), axis=0))
            shift = tl.where(new_best == float("-inf"), 0.0, new_best)
            powers = tl.exp2((values - shift[None, :, None]) * 1.4426950408889634)
            rescale = tl.exp2((best - shift) * 1.4426950408889634)
            total = total * rescale + tl.sum(tl.sum(powers, axis=2), axis=0)
            best = new_best
        top = tl.max(best, axis=0)
        sum_ = tl.sum(total * tl.exp2((best - top) * 1.4426950408889634), axis=0)
        kept_powers = tl.exp2((kept.to(tl.float32) - top) * 1.4426950408889634)
        y_base = y_ptr + m * stride_ym
        tl.store(
            y_base + offsets * stride_yn,
            (kept_powers / sum_).to(y_ptr.dtype.element_ty),
            mask=offsets < N,
            eviction_policy="evict_first",
        )
        # Backwards: the end of the row was read last, and is the likeliest to lie in
        # the cache still.
        steps = tl.cdiv(tl.maximum(N - KEPT, 0), step)
        for i in range(steps):
            cols = KEPT + (steps - 1 - i) * step + tl.arange(0, step)
            mask = cols < N
            values = tl.load(
                x_base + cols * stride_xn,
                mask=mask,
                other=0.0,
                eviction_policy="evict_first",
            ).to(tl.float32)
            powers = tl.exp2((values - top) * 1.4426950408889634)
            tl.store(
                y_base + cols * stride_yn,
                (powers / sum_).to(y_ptr.dtype.element_ty),
                mask=mask,
                eviction_policy="evict_first",
            )


def softmax_long(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax over the last axis of a matrix, computed in float32.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        out: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.
    """
    if x.ndim != 2:
        raise ValueError(f"softmax_long: x must have shape [M, N], got {x.shape}")
    M, N = x.shape
    y = x.new_empty((M, N)) if out is None else out
    if y.shape != (M, N):
        raise ValueError(
            f"softmax_long: out must have shape [M={M}, N={N}], got {y.shape}"
        )
    _check_dtypes("softmax_long", (torch.float16, torch.bfloat16, torch.float32), x=x)
    _check_dtypes("softmax_long", (x.dtype,), out=y)
    _check_tensors("softmax_long", x=x, out=y)
    _check_strided("softmax_long: out", out, x=x)
    if M * N == 0:
        return y

    multi_processor_count = _gpu_property(x.device, "multi_processor_count", 132)

    def grid(meta):
        return (
            triton.cdiv(
                M, max(triton.cdiv(M, multi_processor_count * meta["RESIDENT"]), 1)
            ),
        )

    with torch.cuda.device(x.get_device()):
        softmax_long_kernel[grid](x, y, M, N, *x.stride(), *y.stride())
    return y


def reference_fn(x):
    return torch.softmax(x, -1)


SHAPES = [{"M": 128, "N": 1000}, {"M": 2, "N": 40001}, {"M": 4096, "N": 65536}]


def get_inputs(M=128, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((M, N), device=device, dtype=torch.float16)]


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


kernel_fn = softmax_long
