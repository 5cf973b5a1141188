"""x / (1 - p) where a random number of the element is at least p, else 0. Its
gradient is itself, of dy.

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


@triton.jit(do_not_specialize=["seed"])
def dropout_kernel(x_ptr, y_ptr, p: tl.float32, seed: tl.int32, N, BLOCK: tl.constexpr):
    # Triton's interpreter ignores these annotations.
    p = tl.full([], p, tl.float32)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    values = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    stays = tl.rand(seed, offsets) >= p
    scaled = values / (1.0 - p)
    tl.store(
        y_ptr + offsets,
        tl.where(stays, scaled, 0.0).to(y_ptr.dtype.element_ty),
        mask=mask,
    )


def dropout(
    x: torch.Tensor, p: float = 0.5, seed: int = 0, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """x / (1 - p) where a random number of the element is at least p, else 0. Its
    gradient is itself, of dy.

    Args:
        x: [N] float16 or bfloat16 or float32, contiguous.
        p: a number, passed as float32.
        seed: a number, passed as int32.
        out: where to write [N] float16 or bfloat16 or float32; allocated if None.
    """
    _check_float("dropout: p", p, torch.float32)
    _check_int("dropout: seed", seed, -(2**31), 2**31 - 1)
    if x.ndim != 1:
        raise ValueError(f"dropout: x must have shape [N], got {x.shape}")
    N = x.shape[0]
    y = torch.empty_like(x) if out is None else out
    if y.shape != (N,):
        raise ValueError(f"dropout: out must have shape [N={N}], got {y.shape}")
    _check_dtypes("dropout", (torch.float16, torch.bfloat16, torch.float32), x=x)
    _check_dtypes("dropout", (x.dtype,), out=y)
    _check_contiguous("dropout", x=x, out=y)
    _check_tensors("dropout", x=x, out=y)
    _check_written("dropout: out", out, x=x)
    if N == 0:
        return y

    if not (p >= 0.0 and p < 1.0):
        raise ValueError(
            f"dropout: a requirement does not hold: p >= 0.0 and p < 1.0 with p = {p}"
        )

    with torch.cuda.device(x.get_device()):
        dropout_kernel[(triton.cdiv(N, 1024),)](x, y, p, seed, N, BLOCK=1024)
    return y


def reference_fn(x, p=0.5, seed=0):
    low = 0xFFFFFFFF
    c0 = torch.arange(x.numel(), device=x.device)
    c1 = c2 = c3 = torch.zeros_like(c0)
    k0, k1 = seed & low, 0
    for _ in range(10):
        a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c2 = (b >> 32 & low) ^ c1 ^ k0, (a >> 32 & low) ^ c3 ^ k1
        c1, c3 = b & low, a & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    random = torch.where(c0 < 1 << 31, c0, low - c0).float() * 4.6566127342e-10
    return torch.where(random >= p, x / (1 - p), 0)


SHAPES = [{"N": 100003}, {"N": 67108864}]


def get_inputs(N=100003):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((N,), device=device, dtype=torch.float16), 0.5, 0]


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


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    if torch.finfo(dtype).max < abs(value) < float("inf"):
        raise ValueError(f"{label} must fit {dtype}, got {value}")


kernel_fn = dropout
