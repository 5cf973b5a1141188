"""Softmax over the last axis of a matrix, of rows that are short.

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
        triton.Config({"ROWS": ROWS, "RESIDENT": RESIDENT}, num_warps=num_warps)
        for ROWS, RESIDENT, num_warps in [
            (1, 8, 4),
            (2, 8, 4),
            (4, 4, 4),
            (4, 8, 4),
            (8, 4, 8),
        ]
    ],
    key=["M", "N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def softmax_rows_kernel(
    x_ptr,
    y_ptr,
    M,
    N,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    ROWS: tl.constexpr,
    RESIDENT: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    cols = tl.arange(0, BLOCK_N)
    first = tl.program_id(0) * ROWS
    for start in tl.range(first, M, tl.num_programs(0) * ROWS, num_stages=2):
        rows = start + tl.arange(0, ROWS)
        # Columns past the end are -inf: they change neither the maximum nor the sum.
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        values = tl.load(
            x_ptr + rows[:, None] * stride_xm + cols[None, :] * stride_xn,
            mask=mask,
            other=float("-inf"),
        )
        numerator = tl.exp(values - tl.max(values, axis=1)[:, None])
        tl.store(
            y_ptr + rows[:, None] * stride_ym + cols[None, :] * stride_yn,
            numerator / tl.sum(numerator, axis=1)[:, None],
            mask=mask,
        )


def softmax_rows(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax over the last axis of a matrix, of rows that are short.

    Args:
        x: [M, N] float32.
        out: where to write [M, N] float32; allocated if None.
    """
    if x.ndim != 2:
        raise ValueError(f"softmax_rows: x must have shape [M, N], got {x.shape}")
    M, N = x.shape
    y = x.new_empty((M, N)) if out is None else out
    if y.shape != (M, N):
        raise ValueError(
            f"softmax_rows: out must have shape [M={M}, N={N}], got {y.shape}"
        )
    _check_dtypes("softmax_rows", (torch.float32,), x=x)
    _check_dtypes("softmax_rows", (torch.float32,), out=y)
    _check_tensors("softmax_rows", x=x, out=y)
    _check_strided("softmax_rows: out", out, x=x)
    if M * N == 0:
        return y

    multi_processor_count = _gpu_property(x.device, "multi_processor_count", 132)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N > 2**20:
        raise ValueError(f"softmax_rows: BLOCK_N must be at most 2**20, got {BLOCK_N}")

    def grid(meta):
        return (
            min(triton.cdiv(M, meta["ROWS"]), multi_processor_count * meta["RESIDENT"]),
        )

    with torch.cuda.device(x.get_device()):
        softmax_rows_kernel[grid](x, y, M, N, *x.stride(), *y.stride(), BLOCK_N=BLOCK_N)
    return y


def reference_fn(x):
    return torch.softmax(x, -1)


SHAPES = [{"M": 130, "N": 100}, {"M": 4096, "N": 1024}]


def get_inputs(M=130, N=100):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((M, N), device=device, dtype=torch.float32)]


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


kernel_fn = softmax_rows
