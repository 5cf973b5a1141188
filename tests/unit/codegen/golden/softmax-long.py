"""Softmax over the last axis of a matrix, computed in float32.

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
        triton.Config(
            {"KEPT": 32768, "LANES": 1024, "ROUNDS": 1, "RESIDENT": 1}, num_warps=32
        ),
        triton.Config(
            {"KEPT": 32768, "LANES": 1024, "ROUNDS": 1, "RESIDENT": 2}, num_warps=32
        ),
        triton.Config(
            {"KEPT": 32768, "LANES": 1024, "ROUNDS": 2, "RESIDENT": 1}, num_warps=32
        ),
        triton.Config(
            {"KEPT": 16384, "LANES": 1024, "ROUNDS": 4, "RESIDENT": 1}, num_warps=32
        ),
        triton.Config(
            {"KEPT": 32768, "LANES": 512, "ROUNDS": 4, "RESIDENT": 1}, num_warps=16
        ),
        triton.Config(
            {"KEPT": 16384, "LANES": 512, "ROUNDS": 4, "RESIDENT": 2}, num_warps=16
        ),
        triton.Config(
            {"KEPT": 16384, "LANES": 512, "ROUNDS": 8, "RESIDENT": 1}, num_warps=16
        ),
        triton.Config(
            {"KEPT": 8192, "LANES": 256, "ROUNDS": 4, "RESIDENT": 4}, num_warps=8
        ),
        triton.Config(
            {"KEPT": 16384, "LANES": 256, "ROUNDS": 8, "RESIDENT": 2}, num_warps=8
        ),
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
    _check_tensors("softmax_long", {"x": x}, out=out)
    _check_strided("softmax_long: out", out, x=x)
    if x.ndim != 2:
        raise ValueError(f"softmax_long: x must have shape [M, N], got {list(x.shape)}")
    M, N = x.shape
    y = x.new_empty((M, N)) if out is None else out
    if y.shape != (M, N):
        raise ValueError(
            f"softmax_long: out must have shape [M={M}, N={N}], got {list(y.shape)}"
        )
    _check_dtypes(
        "softmax_long", (torch.float16, torch.bfloat16, torch.float32), x=x, out=y
    )
    if M * N == 0:
        return y

    _check_reach("softmax_long", x=x, out=y)
    multi_processor_count = _gpu_property(x.device, "multi_processor_count")
    _check_bfloat16("softmax_long", x.dtype)

    def grid(meta):
        return (
            triton.cdiv(
                M, max(triton.cdiv(M, multi_processor_count * meta["RESIDENT"]), 1)
            ),
        )

    with torch.cuda.device(x.get_device()):
        softmax_long_kernel[grid](x, y, M, N, *x.stride(), *y.stride())
    return y


def reference_fn(x: torch.Tensor):
    return torch.softmax(x, -1)


SHAPES = [{"M": 128, "N": 1000}, {"M": 2, "N": 40001}, {"M": 4096, "N": 65536}]


def get_inputs(M=128, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((M, N), device=device, dtype=torch.float16)]


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


def _check_bfloat16(name, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    if not (torch.bfloat16 in dtypes and triton.knobs.runtime.interpret):
        return
    from triton.runtime.interpreter import InterpreterBuilder

    # TileScript's runner corrects the interpreter, and says so here.
    if not hasattr(InterpreterBuilder, "has_bfloat16"):
        raise NotImplementedError(
            f"{name}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


kernel_fn = softmax_long
