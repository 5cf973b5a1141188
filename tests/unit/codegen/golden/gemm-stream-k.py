"""C = A @ B, accumulated in float32 in a fixed order, with the same work for each
multiprocessor.

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
        triton.Config({}, num_warps=num_warps, num_stages=num_stages)
        for num_warps, num_stages in [(8, 3), (8, 4), (4, 4)]
    ],
    key=["M", "N", "K"],
    restore_value=["c_ptr", "pieces_ptr"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def streamed_products_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    pieces_ptr,
    M,
    K,
    N,
    PROGRAMS,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    stride_pieces_programs,
    stride_pieces_1,
    stride_pieces_2,
    stride_pieces_3,
):
    program = tl.program_id(0)
    rows = tl.arange(0, 128)
    cols = tl.arange(0, 128)
    num_pid_m = tl.cdiv(M, 128)
    num_pid_n = tl.cdiv(N, 128)
    steps = tl.cdiv(K, 64)
    all_steps = num_pid_m * num_pid_n * steps
    share = tl.cdiv(all_steps, PROGRAMS)
    first = program * share
    last = tl.minimum(first + share, all_steps)
    for tile in range(first // steps, tl.cdiv(last, steps)):
        begin = tl.maximum(first - tile * steps, 0)
        end = tl.minimum(last - tile * steps, steps)
        # Grouped order: programs that run at one time share rows of A in L2.
        pid_m, pid_n = tl.swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, 8
        )
        rm = pid_m * 128 + rows
        rn = pid_n * 128 + cols
        # Rows and columns wrap instead of being masked inside the loop; what is stored
        # to c is masked.
        am = rm % M
        bn = rn % N
        acc = tl.zeros([128, 128], dtype=tl.float32)
        start = begin * 64
        # K's tail is masked and holds 0.
        rk = tl.arange(0, 64)
        a_ptrs = a_ptr + (am[:, None] * stride_am + (start + rk)[None, :] * stride_ak)
        b_ptrs = b_ptr + ((start + rk)[:, None] * stride_bk + bn[None, :] * stride_bn)
        for k in range(start, end * 64, 64):
            acc = tl.dot(
                tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0),
                tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0.0),
                acc,
            )
            a_ptrs += 64 * stride_ak
            b_ptrs += 64 * stride_bk
        if end - begin == steps:
            tl.store(
                c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
                acc.to(c_ptr.dtype.element_ty),
                mask=(rm[:, None] < M) & (rn[None, :] < N),
            )
        else:
            slot = tl.where(begin == 0, 1, 0)
            tl.store(
                pieces_ptr
                + program * stride_pieces_programs
                + slot * stride_pieces_1
                + (rows[:, None] * stride_pieces_2 + cols[None, :] * stride_pieces_3),
                acc,
            )


def _streamed_products_meta(a, b, c, pieces):
    """Checks the arguments of streamed_products, and allocates its results."""
    _check_operands("streamed_products", a=a, b=b, c=c, pieces=pieces)
    if (
        a.ndim != 2
        or b.ndim != 2
        or b.shape[0] != a.shape[1]
        or c.ndim != 2
        or c.shape[0] != a.shape[0]
        or c.shape[1] != b.shape[1]
        or pieces.ndim != 4
        or pieces.shape[1] != 2
        or pieces.shape[2] != 128
        or pieces.shape[3] != 128
    ):
        raise ValueError(
            "streamed_products: a, b, c and pieces must have shapes [M, K], [K, "
            f"N], [M, N] and [PROGRAMS, 2, 128, 128], got {a.shape}, {b.shape}, "
            f"{c.shape} and {pieces.shape}"
        )
    _check_dtypes("streamed_products", (torch.float16, torch.bfloat16), a=a, b=b, c=c)
    _check_dtypes("streamed_products", (torch.float32,), pieces=pieces)


def _streamed_products(a, b, c, pieces):
    """Blocks of A @ B, each in as many pieces as there are programs that share it;
    whole ones go to c.
    """
    _streamed_products_meta(a, b, c, pieces)
    _check_strided("streamed_products: c", c, a=a, b=b)
    _check_strided("streamed_products: pieces", pieces, a=a, b=b, c=c)
    M, K = a.shape
    N = b.shape[1]
    PROGRAMS = pieces.shape[0]
    if M * N == 0 and PROGRAMS == 0:
        return c, pieces

    tensors = {"a": a, "b": b, "c": c, "pieces": pieces}
    _check_reach("streamed_products", **tensors)
    if not (
        K >= 1
        and PROGRAMS >= 1
        and triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(K, 64) <= 1073741824
    ):
        raise ValueError(
            "streamed_products: a requirement does not hold: K >= 1 and PROGRAMS "
            ">= 1 and triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(K, "
            f"64) <= 1073741824 with K = {K}, PROGRAMS = {PROGRAMS}, M = {M}, N = "
            f"{N}"
        )

    with torch.cuda.device(a.get_device()):
        streamed_products_kernel[(PROGRAMS,)](
            *tensors.values(), M, K, N, PROGRAMS, *_strides(tensors)
        )
    return c, pieces


@triton.jit
def sum_of_pieces_kernel(
    pieces_ptr,
    c_ptr,
    k: tl.int32,
    PROGRAMS,
    M,
    N,
    stride_pieces_programs,
    stride_pieces_1,
    stride_pieces_2,
    stride_pieces_3,
    stride_cm,
    stride_cn,
):
    tile = tl.program_id(0)
    num_pid_m = tl.cdiv(M, 128)
    num_pid_n = tl.cdiv(N, 128)
    steps = tl.cdiv(k, 64)
    share = tl.cdiv(num_pid_m * num_pid_n * steps, PROGRAMS)
    # The programs that have the first and the last step of the block.
    first = tile * steps // share
    last = ((tile + 1) * steps - 1) // share
    if first < last:
        rows = tl.program_id(1) * 32 + tl.arange(0, 32)
        cols = tl.arange(0, 128)
        total = tl.zeros([32, 128], dtype=tl.float32)
        for p in range(first, last + 1):
            slot = tl.where(p == first, 1, 0)
            total += tl.load(
                pieces_ptr
                + (p * stride_pieces_programs + slot * stride_pieces_1)
                + (rows[:, None] * stride_pieces_2 + cols[None, :] * stride_pieces_3)
            )
        pid_m, pid_n = tl.swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, 8
        )
        offsets = pid_m * 128 + rows
        offsets_1 = pid_n * 128 + cols
        tl.store(
            c_ptr + (offsets[:, None] * stride_cm + offsets_1[None, :] * stride_cn),
            total.to(c_ptr.dtype.element_ty),
            mask=(offsets[:, None] < M) & (offsets_1[None, :] < N),
        )


def _sum_of_pieces_meta(pieces, c, k):
    """Checks the arguments of sum_of_pieces, and allocates its results."""
    _check_operands("sum_of_pieces", pieces=pieces, c=c)
    if (
        pieces.ndim != 4
        or pieces.shape[1] != 2
        or pieces.shape[2] != 128
        or pieces.shape[3] != 128
        or c.ndim != 2
    ):
        raise ValueError(
            "sum_of_pieces: pieces and c must have shapes [PROGRAMS, 2, 128, "
            f"128] and [M, N], got {pieces.shape} and {c.shape}"
        )
    _check_dtypes("sum_of_pieces", (torch.float32,), pieces=pieces)
    _check_dtypes("sum_of_pieces", (torch.float16, torch.bfloat16), c=c)


def _sum_of_pieces(pieces, c, k):
    """The sum of the pieces of each block that several programs share, from the
    first of K to the last.
    """
    _sum_of_pieces_meta(pieces, c, k)
    _check_int("sum_of_pieces: k", k, -(2**31), 2**31 - 1)
    _check_strided("sum_of_pieces: pieces", pieces)
    _check_strided("sum_of_pieces: c", c, pieces=pieces)
    PROGRAMS = pieces.shape[0]
    M, N = c.shape
    if PROGRAMS == 0 and M * N == 0:
        return pieces, c

    _check_reach("sum_of_pieces", pieces=pieces, c=c)
    if not (
        k >= 1
        and k < 2147483584
        and PROGRAMS >= 1
        and triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(k, 64) <= 1073741824
    ):
        raise ValueError(
            "sum_of_pieces: a requirement does not hold: k >= 1 and k < "
            "2147483584 and PROGRAMS >= 1 and triton.cdiv(M, 128) * "
            "triton.cdiv(N, 128) * triton.cdiv(k, 64) <= 1073741824 with k = "
            f"{k}, PROGRAMS = {PROGRAMS}, M = {M}, N = {N}"
        )

    with torch.cuda.device(pieces.get_device()):
        sum_of_pieces_kernel[(triton.cdiv(M, 128) * triton.cdiv(N, 128), 4)](
            pieces, c, k, PROGRAMS, M, N, *pieces.stride(), *c.stride(), num_warps=4
        )
    return pieces, c


@torch.library.custom_op("tilescript::gemm_stream_k", mutates_args=())
def gemm_stream_k_op(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M = a.shape[0]
    K = a.shape[1]
    N = b.shape[1]
    c = torch.empty([M, N], dtype=a.dtype, device=a.device)
    pieces = torch.empty([132, 2, 128, 128], dtype=torch.float32, device=a.device)
    _streamed_products(a, b, c, pieces)
    _sum_of_pieces(pieces, c, K)
    return c


@gemm_stream_k_op.register_fake
def _(a, b):
    M = a.shape[0]
    K = a.shape[1]
    N = b.shape[1]
    c = torch.empty([M, N], dtype=a.dtype, device=a.device)
    pieces = torch.empty([132, 2, 128, 128], dtype=torch.float32, device=a.device)
    _streamed_products_meta(a, b, c, pieces)
    _sum_of_pieces_meta(pieces, c, K)
    return c


def gemm_stream_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """C = A @ B, accumulated in float32 in a fixed order, with the same work for
    each multiprocessor.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.

    Returns:
        c: [M, N] float16 or bfloat16.
    """
    _refuse_tangents("gemm_stream_k", a, b)
    return gemm_stream_k_op(a, b)


def reference_fn(a, b):
    return torch.matmul(a, b)


SHAPES = [{"M": 400, "K": 900, "N": 300}, {"M": 1536, "K": 8192, "N": 1536}]


def get_inputs(M=400, K=900, N=300):
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


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


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


kernel_fn = gemm_stream_k
