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
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20


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
    _check_int("dropout: seed", seed, torch.int32)
    _check_tensors("dropout", {"x": x}, out=out)
    _check_written("dropout: out", out, x=x)
    if x.ndim != 1:
        raise ValueError(f"dropout: x must have shape [N], got {list(x.shape)}")
    N = x.shape[0]
    y = torch.empty_like(x) if out is None else out
    if y.shape != (N,):
        raise ValueError(f"dropout: out must have shape [N={N}], got {list(y.shape)}")
    _check_dtypes("dropout", (torch.float16, torch.bfloat16, torch.float32), x=x, out=y)
    _check_contiguous("dropout", x=x, out=y)
    if N == 0:
        return y

    _check_reach("dropout", x=x)
    if not p >= 0.0:
        raise ValueError(f"dropout: a requirement does not hold: p >= 0.0 with p = {p}")
    if not p < 1.0:
        raise ValueError(f"dropout: a requirement does not hold: p < 1.0 with p = {p}")
    _check_bfloat16("dropout", x.dtype)

    with torch.cuda.device(x.get_device()):
        dropout_kernel[(triton.cdiv(N, 1024),)](x, y, p, seed, N, BLOCK=1024)
    return y


def reference_fn(x: torch.Tensor, p: float = 0.5, seed: int = 0):
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


def _check_int(label, value, dtype, least=None):
    """Refuses a value that is no integer, or that the dtype cannot hold."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    # 65504 is the largest float16, the smallest maximum of all dtypes.
    is_large = 65504 < abs(value) < float("inf")
    if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
        raise ValueError(f"{label} must fit {dtype}, got {value}")


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


kernel_fn = dropout
