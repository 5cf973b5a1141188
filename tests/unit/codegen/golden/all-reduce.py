"""The sum of the vectors of up to eight ranks, in float32, in the order of the
ranks.

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
        triton.Config({"BLOCK": BLOCK}, num_warps=num_warps)
        for BLOCK, num_warps in [(512, 2), (1024, 4), (4096, 8)]
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def all_reduce_kernel(
    rank0_ptr,
    rank1_ptr,
    rank2_ptr,
    rank3_ptr,
    rank4_ptr,
    rank5_ptr,
    rank6_ptr,
    rank7_ptr,
    y_ptr,
    N,
    BLOCK: tl.constexpr,
):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < N
    total = tl.load(rank0_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank1_ptr is not None:
        total += tl.load(rank1_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank2_ptr is not None:
        total += tl.load(rank2_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank3_ptr is not None:
        total += tl.load(rank3_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank4_ptr is not None:
        total += tl.load(rank4_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank5_ptr is not None:
        total += tl.load(rank5_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank6_ptr is not None:
        total += tl.load(rank6_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank7_ptr is not None:
        total += tl.load(rank7_ptr + places, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + places, total.to(y_ptr.dtype.element_ty), mask=mask)


def all_reduce(
    rank0: torch.Tensor,
    rank1: torch.Tensor | None = None,
    rank2: torch.Tensor | None = None,
    rank3: torch.Tensor | None = None,
    rank4: torch.Tensor | None = None,
    rank5: torch.Tensor | None = None,
    rank6: torch.Tensor | None = None,
    rank7: torch.Tensor | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The sum of the vectors of up to eight ranks, in float32, in the order of the
    ranks.

    Args:
        rank0: [N] bfloat16 or float16 or float32, contiguous.
        rank1, rank2, rank3, rank4, rank5, rank6, rank7: [N] bfloat16 or float16
            or float32, contiguous, or None.
        out: where to write [N] bfloat16 or float16 or float32; allocated if None.
    """
    if rank0.ndim != 1:
        raise ValueError(f"all_reduce: rank0 must have shape [N], got {rank0.shape}")
    N = rank0.shape[0]
    if rank1 is not None:
        if rank1.shape != (N,):
            raise ValueError(
                f"all_reduce: rank1 must have shape [N={N}], got {rank1.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank1=rank1)
        _check_contiguous("all_reduce", rank1=rank1)
    if rank2 is not None:
        if rank2.shape != (N,):
            raise ValueError(
                f"all_reduce: rank2 must have shape [N={N}], got {rank2.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank2=rank2)
        _check_contiguous("all_reduce", rank2=rank2)
    if rank3 is not None:
        if rank3.shape != (N,):
            raise ValueError(
                f"all_reduce: rank3 must have shape [N={N}], got {rank3.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank3=rank3)
        _check_contiguous("all_reduce", rank3=rank3)
    if rank4 is not None:
        if rank4.shape != (N,):
            raise ValueError(
                f"all_reduce: rank4 must have shape [N={N}], got {rank4.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank4=rank4)
        _check_contiguous("all_reduce", rank4=rank4)
    if rank5 is not None:
        if rank5.shape != (N,):
            raise ValueError(
                f"all_reduce: rank5 must have shape [N={N}], got {rank5.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank5=rank5)
        _check_contiguous("all_reduce", rank5=rank5)
    if rank6 is not None:
        if rank6.shape != (N,):
            raise ValueError(
                f"all_reduce: rank6 must have shape [N={N}], got {rank6.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank6=rank6)
        _check_contiguous("all_reduce", rank6=rank6)
    if rank7 is not None:
        if rank7.shape != (N,):
            raise ValueError(
                f"all_reduce: rank7 must have shape [N={N}], got {rank7.shape}"
            )
        _check_dtypes("all_reduce", (rank0.dtype,), rank7=rank7)
        _check_contiguous("all_reduce", rank7=rank7)
    y = torch.empty_like(rank0) if out is None else out
    if y.shape != (N,):
        raise ValueError(f"all_reduce: out must have shape [N={N}], got {y.shape}")
    _check_dtypes(
        "all_reduce", (torch.bfloat16, torch.float16, torch.float32), rank0=rank0
    )
    _check_dtypes("all_reduce", (rank0.dtype,), out=y)
    _check_contiguous("all_reduce", rank0=rank0, out=y)
    _check_tensors(
        "all_reduce",
        rank0=rank0,
        rank1=rank1,
        rank2=rank2,
        rank3=rank3,
        rank4=rank4,
        rank5=rank5,
        rank6=rank6,
        rank7=rank7,
        out=y,
    )
    _check_written(
        "all_reduce: out",
        out,
        rank0=rank0,
        rank1=rank1,
        rank2=rank2,
        rank3=rank3,
        rank4=rank4,
        rank5=rank5,
        rank6=rank6,
        rank7=rank7,
    )
    if N == 0:
        return y

    def grid(meta):
        return (triton.cdiv(N, meta["BLOCK"]),)

    with torch.cuda.device(rank0.get_device()):
        all_reduce_kernel[grid](
            rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7, y, N
        )
    return y


def reference_fn(
    rank0,
    rank1=None,
    rank2=None,
    rank3=None,
    rank4=None,
    rank5=None,
    rank6=None,
    rank7=None,
):
    N = rank0.shape[0]
    return (
        rank0.float()
        .add(
            (torch.zeros([N], device=rank0.device) if rank1 is None else rank1).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank2 is None else rank2).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank3 is None else rank3).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank4 is None else rank4).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank5 is None else rank5).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank6 is None else rank6).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank7 is None else rank7).float()
        )
        .to(rank0.dtype)
    )


SHAPES = [{"N": 100003}, {"N": 1048576}]


def get_inputs(N=100003):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
    ]


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


kernel_fn = all_reduce
