"""C = A @ B for a long K, accumulated in float32 in a fixed order.

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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages in [
            (128, 128, 64, 8, 3),
            (128, 128, 64, 4, 5),
            (128, 128, 128, 8, 3),
            (128, 256, 64, 8, 4),
            (128, 64, 128, 4, 4),
            (64, 128, 64, 4, 4),
            (64, 64, 64, 4, 4),
            (16, 128, 128, 4, 4),
        ]
    ],
    key=["M", "N", "K", "SPLITS"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def partial_products_kernel(
    a_ptr,
    b_ptr,
    parts_ptr,
    M,
    K,
    N,
    SPLITS,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_parts_splits,
    stride_parts_m,
    stride_parts_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    split = tl.program_id(1)
    rm = (pid // num_pid_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = (pid % num_pid_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows and columns wrap instead of being masked inside the loop; the store masks
    # what is left over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    start = split * BLOCK_K
    step = SPLITS * BLOCK_K
    # K's tail is masked and holds 0.
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (am[:, None] * stride_am + (start + rk)[None, :] * stride_ak)
    b_ptrs = b_ptr + ((start + rk)[:, None] * stride_bk + bn[None, :] * stride_bn)
    for k in range(start, K, step):
        acc = tl.dot(
            tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0),
            tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0.0),
            acc,
        )
        a_ptrs += step * stride_ak
        b_ptrs += step * stride_bk
    tl.store(
        parts_ptr
        + split.to(tl.int64) * stride_parts_splits
        + (
            rm[:, None].to(tl.int64) * stride_parts_m
            + rn[None, :].to(tl.int64) * stride_parts_n
        ),
        acc,
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


def _partial_products_meta(a, b, SPLITS):
    """Checks the arguments of partial_products, and allocates its results."""
    _check_operands("partial_products", a=a, b=b)
    if a.ndim != 2 or b.ndim != 2 or b.shape[0] != a.shape[1]:
        raise ValueError(
            "partial_products: a and b must have shapes [M, K] and [K, N], got "
            f"{a.shape} and {b.shape}"
        )
    M, _ = a.shape
    N = b.shape[1]
    _check_dtypes("partial_products", (torch.float16, torch.bfloat16), a=a, b=b)
    return a.new_empty((SPLITS, M, N), dtype=torch.float32)


def _partial_products(a, b, SPLITS):
    """A @ B in SPLITS parts: part s adds up every SPLITS-th block of K, from block s
    on.
    """
    parts = _partial_products_meta(a, b, SPLITS)
    _check_int("partial_products: SPLITS", SPLITS, 0, 2**31 - 1)
    M, K = a.shape
    N = b.shape[1]
    if SPLITS * M * N == 0:
        return parts

    _check_reach("partial_products", a=a, b=b)
    if M >= 2**31 - 2**20:
        raise ValueError(
            f"partial_products: M is {M}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )
    if N >= 2**31 - 2**20:
        raise ValueError(
            f"partial_products: N is {N}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )
    if not SPLITS >= 1:
        raise ValueError(
            "partial_products: a requirement does not hold: SPLITS >= 1 with "
            f"SPLITS = {SPLITS}"
        )

    def grid(meta):
        return _checked_grid(
            "partial_products",
            (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), SPLITS),
        )

    with torch.cuda.device(a.get_device()):
        partial_products_kernel[grid](
            a, b, parts, M, K, N, SPLITS, *a.stride(), *b.stride(), *parts.stride()
        )
    return parts


@triton.jit
def sum_of_parts_kernel(
    parts_ptr,
    c_ptr,
    SPLITS,
    N,
    stride_parts_splits,
    stride_parts_m,
    stride_parts_n,
    stride_cm,
    stride_cn,
    OUT: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    # 32 parts at once, so that no load waits for another.
    total = tl.zeros([32, BLOCK_N], dtype=tl.float32)
    parts_base = parts_ptr + row.to(tl.int64) * stride_parts_m
    for s in range(0, SPLITS, 32):
        offsets = s + tl.arange(0, 32)
        total += tl.load(
            parts_base
            + offsets[:, None].to(tl.int64) * stride_parts_splits
            + cols[None, :].to(tl.int64) * stride_parts_n,
            mask=(offsets[:, None] < SPLITS) & (cols[None, :] < N),
            other=0.0,
        )
    tl.store(
        c_ptr + row * stride_cm + cols * stride_cn,
        tl.sum(total, axis=0).to(OUT),
        mask=cols < N,
    )


def _sum_of_parts_meta(parts, OUT):
    """Checks the arguments of sum_of_parts, and allocates its results."""
    _check_choice("sum_of_parts: OUT", OUT, torch.float16, torch.bfloat16)
    _check_operands("sum_of_parts", parts=parts)
    if parts.ndim != 3:
        raise ValueError(
            f"sum_of_parts: parts must have shape [SPLITS, M, N], got {parts.shape}"
        )
    _, M, N = parts.shape
    _check_dtypes("sum_of_parts", (torch.float32,), parts=parts)
    return parts.new_empty((M, N), dtype=OUT)


def _sum_of_parts(parts, OUT):
    """The sum of the parts of each element, in the same order in every run."""
    c = _sum_of_parts_meta(parts, OUT)
    SPLITS, M, N = parts.shape
    if M * N == 0:
        return c

    _check_reach("sum_of_parts", out=c)
    if SPLITS >= 2**31 - 2**20:
        raise ValueError(
            f"sum_of_parts: SPLITS is {SPLITS}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )

    with torch.cuda.device(parts.get_device()):
        sum_of_parts_kernel[(M * triton.cdiv(N, 64),)](
            parts,
            c,
            SPLITS,
            N,
            *parts.stride(),
            *c.stride(),
            OUT=_TRITON_DTYPES[OUT],
            BLOCK_N=64,
        )
    return c


@torch.library.custom_op("tilescript::gemm_split_k", mutates_args=())
def gemm_split_k_op(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    parts = _partial_products(a, b, 32)
    return _sum_of_parts(parts, a.dtype)


@gemm_split_k_op.register_fake
def _(a, b):
    parts = _partial_products_meta(a, b, 32)
    return _sum_of_parts_meta(parts, a.dtype)


def gemm_split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """C = A @ B for a long K, accumulated in float32 in a fixed order.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.

    Returns:
        c: [M, N] float16 or bfloat16.
    """
    _refuse_tangents("gemm_split_k", a, b)
    return gemm_split_k_op(a, b)


def reference_fn(a, b):
    return torch.matmul(a, b)


SHAPES = [{"M": 64, "K": 4000, "N": 64}, {"M": 256, "K": 65536, "N": 256}]


def get_inputs(M=64, K=4000, N=64):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((K, N), device=device, dtype=torch.float16),
    ]


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    found = {key: x.dtype for key, x in tensors.items()}
    if set(found.values()) not in [{dtype} for dtype in expected]:
        raise TypeError(f"{name}: needs one dtype of {expected}, got {found}")
    is_wrong = _INTERPRETED and not hasattr(triton, "has_bfloat16")
    if is_wrong and torch.bfloat16 in found.values():
        raise TypeError(f"{name}: Triton's interpreter computes bfloat16 wrongly")


def _check_reach(name, /, **tensors):
    """Refuses tensors whose offsets do not fit int32, with a tile behind them."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _checked_grid(name, grid, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    most = (2**31 - 1, 65535, 65535)
    if any(count > limit for count, limit in zip(grid, most)):
        raise ValueError(f"{name}: a GPU launches at most {most} programs, got {grid}")
    return grid


def _check_choice(label, value, *choices):
    """Refuses a value that is none of the choices."""
    if type(value) is not type(choices[0]) or value not in choices:
        error = ValueError if type(value) is type(choices[0]) else TypeError
        allowed = " or ".join(map(repr, choices))
        raise error(f"{label} must be {allowed}, got {value!r:.80}")


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


def _check_operands(name, /, **tensors):
    """Refuses tensors that are not on one GPU. They may be traced."""
    device = None
    for key, x in tensors.items():
        if x is None:
            continue
        if x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        device = x.device if device is None else device
        is_traced = type(x) not in (torch.Tensor, torch.nn.Parameter)
        if x.device != device or not (x.is_cuda or _INTERPRETED or is_traced):
            raise ValueError(
                f"{name}: needs one GPU, or TRITON_INTERPRET=1, got {key} on {x.device}"
            )


def _refuse_tangents(name, *tensors):
    """Refuses tensors with tangents, which a PyTorch operator drops."""
    for x in tensors:
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError(f"{name} has no forward-mode gradient")


kernel_fn = gemm_split_k
