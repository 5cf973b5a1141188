"""The arc sine of each element, in radians; NaN outside [-1, 1].

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad
from triton.language.extra import libdevice

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


@triton.jit
def asin_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # CUDA's or HIP's, whichever Triton compiles for.
    mask = offsets < N
    tl.store(
        y_ptr + offsets,
        libdevice.asin(tl.load(x_ptr + offsets, mask=mask, other=0.0)),
        mask=mask,
    )


def asin(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The arc sine of each element, in radians; NaN outside [-1, 1].

    Args:
        x: [N] float32 in [-1, 1], contiguous.
        out: where to write [N] float32; allocated if None.
    """
    if x.ndim != 1:
        raise ValueError(f"asin: x must have shape [N], got {x.shape}")
    N = x.shape[0]
    y = torch.empty_like(x) if out is None else out
    if y.shape != (N,):
        raise ValueError(f"asin: out must have shape [N={N}], got {y.shape}")
    _check_dtypes("asin", (torch.float32,), x=x)
    _check_dtypes("asin", (torch.float32,), out=y)
    _check_contiguous("asin", x=x, out=y)
    _check_tensors("asin", x=x, out=y)
    _check_written("asin: out", out, x=x)
    if N == 0:
        return y

    with torch.cuda.device(x.get_device()):
        asin_kernel[(triton.cdiv(N, 1024),)](x, y, N, BLOCK=1024)
    return y


def reference_fn(x):
    return torch.asin(x)


SHAPES = [{"N": 98432}, {"N": 67108864}]


def get_inputs(N=98432):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.empty((N,), device=device, dtype=torch.float32).uniform_(-1, 1)]


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


def _check_contiguous(name, /, **tensors):
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(f"{name}: {key} must be contiguous; call .contiguous()")


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        first, last = (0, 0) if x is None else (x.data_ptr(), x.data_ptr() + x.nbytes)
        if max(start, first) < min(end, last):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


kernel_fn = asin
