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
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20


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
    _check_tensors("asin", {"x": x}, out=out)
    _check_written("asin: out", out, x=x)
    if x.ndim != 1:
        raise ValueError(f"asin: x must have shape [N], got {list(x.shape)}")
    N = x.shape[0]
    y = torch.empty_like(x) if out is None else out
    if y.shape != (N,):
        raise ValueError(f"asin: out must have shape [N={N}], got {list(y.shape)}")
    _check_dtypes("asin", (torch.float32,), x=x, out=y)
    _check_contiguous("asin", x=x, out=y)
    if N == 0:
        return y

    _check_reach("asin", x=x)

    with torch.cuda.device(x.get_device()):
        asin_kernel[(triton.cdiv(N, 1024),)](x, y, N, BLOCK=1024)
    return y


def reference_fn(x: torch.Tensor):
    return torch.asin(x)


SHAPES = [{"N": 98432}, {"N": 67108864}]


def get_inputs(N=98432):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.empty((N,), device=device, dtype=torch.float32).uniform_(-1, 1)]


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


def _check_contiguous(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(
                f"{name}: {key} must be contiguous, got strides {x.stride()}; "
                "call .contiguous() first"
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


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        if x is not None and max(start, x.data_ptr()) < min(
            end, x.data_ptr() + x.nbytes
        ):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


kernel_fn = asin
