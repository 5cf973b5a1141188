"""out[t, k] = x[t] @ w[expert of t's choice k]^T, times the choice's routing weight
where weights are given.

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
        triton.Config(
            {"BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K, "GROUP_M": GROUP_M},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages in [
            (128, 64, 8, 8, 3),
            (256, 64, 8, 8, 3),
            (128, 64, 1, 4, 3),
            (64, 128, 8, 4, 3),
            (64, 32, 8, 4, 4),
        ]
    ],
    key=["M", "N", "K", "BLOCK_M"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def moe_gemm_kernel(
    x_ptr,
    w_ptr,
    topk_weights_ptr,
    sorted_token_ids_ptr,
    expert_ids_ptr,
    num_tokens_post_padded_ptr,
    out_ptr,
    M,
    K,
    N,
    TOP_K,
    BLOCKS,
    stride_xm,
    stride_xk,
    stride_we,
    stride_wn,
    stride_wk,
    stride_topk_weights_m,
    stride_topk_weights_top_k,
    stride_expert_ids_blocks,
    stride_out_m,
    stride_out_top_k,
    stride_out_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Grouped order: neighboring programs share a block of tokens, and an expert's
    # matrix, in L2.
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    first_pid_m = (pid // num_pid_in_group) * GROUP_M
    group_size_m = tl.minimum(BLOCKS - first_pid_m, GROUP_M)
    pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
    pid_n = (pid % num_pid_in_group) // group_size_m
    if pid_m * BLOCK_M >= tl.load(num_tokens_post_padded_ptr):
        return

    choices = tl.load(sorted_token_ids_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))
    # What a block is filled up with is of token M, which the masks leave out.
    tokens = choices // TOP_K
    slots = choices % TOP_K
    expert = tl.load(expert_ids_ptr + pid_m * stride_expert_ids_blocks)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (tokens[:, None] * stride_xm + rk[None, :] * stride_xk)
    w_ptrs = w_ptr + (
        expert.to(tl.int64) * stride_we
        + bn[None, :].to(tl.int64) * stride_wn
        + rk[:, None].to(tl.int64) * stride_wk
    )
    for k in range(0, K, BLOCK_K):
        a = tl.load(
            x_ptrs, mask=(tokens[:, None] < M) & (rk[None, :] < K - k), other=0.0
        )
        b = tl.load(w_ptrs, mask=rk[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * tl.cast(stride_wk, tl.int64)
    if topk_weights_ptr is not None:
        acc *= tl.load(
            topk_weights_ptr
            + (tokens * stride_topk_weights_m + slots * stride_topk_weights_top_k),
            mask=tokens < M,
            other=0.0,
        )[:, None]
    place = out_ptr + (
        tokens[:, None] * stride_out_m
        + slots[:, None] * stride_out_top_k
        + rn[None, :] * stride_out_n
    )
    tl.store(
        place,
        acc.to(out_ptr.dtype.element_ty),
        mask=(tokens[:, None] < M) & (rn[None, :] < N),
    )


def moe_gemm(
    x: torch.Tensor,
    w: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    TOP_K: int,
    topk_weights: torch.Tensor | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """out[t, k] = x[t] @ w[expert of t's choice k]^T, times the choice's routing
    weight where weights are given.

    Args:
        x: [M, K] float16 or bfloat16.
        w: [E, N, K] float16 or bfloat16.
        topk_weights: [M, TOP_K] float32, or None.
        sorted_token_ids: [BLOCKS, BLOCK_M] int32 in [0, 2147483648), contiguous.
        expert_ids: [BLOCKS] int32 in [0, E).
        num_tokens_post_padded: [1] int32.
        TOP_K: a size of the result.
        out: where to write [M, TOP_K, N] float16 or bfloat16; allocated if None.
    """
    _check_int("moe_gemm: TOP_K", TOP_K, 0, 2**31 - 1)
    if (
        x.ndim != 2
        or w.ndim != 3
        or w.shape[2] != x.shape[1]
        or sorted_token_ids.ndim != 2
        or expert_ids.ndim != 1
        or num_tokens_post_padded.shape != (1,)
    ):
        raise ValueError(
            "moe_gemm: x, w, sorted_token_ids, expert_ids and "
            "num_tokens_post_padded must have shapes [M, K], [E, N, K], [BLOCKS, "
            f"BLOCK_M], [BLOCKS] and [1], got {x.shape}, {w.shape}, "
            f"{sorted_token_ids.shape}, {expert_ids.shape} and "
            f"{num_tokens_post_padded.shape}"
        )
    M, K = x.shape
    E = w.shape[0]
    N = w.shape[1]
    BLOCK_M = sorted_token_ids.shape[1]
    BLOCKS = triton.cdiv(M * TOP_K + E * (BLOCK_M - 1), BLOCK_M)
    if topk_weights is not None:
        if topk_weights.shape != (M, TOP_K):
            raise ValueError(
                f"moe_gemm: topk_weights must have shape [M={M}, TOP_K={TOP_K}], got "
                f"{topk_weights.shape}"
            )
        _check_dtypes("moe_gemm", (torch.float32,), topk_weights=topk_weights)
    if sorted_token_ids.shape[0] != BLOCKS or expert_ids.shape[0] != BLOCKS:
        raise ValueError(
            "moe_gemm: sorted_token_ids and expert_ids must have shapes "
            f"[BLOCKS={BLOCKS}, BLOCK_M={BLOCK_M}] and [BLOCKS={BLOCKS}], got "
            f"{sorted_token_ids.shape} and {expert_ids.shape}"
        )
    out = x.new_empty((M, TOP_K, N)) if out is None else out
    if out.shape != (M, TOP_K, N):
        raise ValueError(
            f"moe_gemm: out must have shape [M={M}, TOP_K={TOP_K}, N={N}], got "
            f"{out.shape}"
        )
    _check_dtypes("moe_gemm", (torch.float16, torch.bfloat16), x=x, w=w)
    _check_dtypes(
        "moe_gemm",
        (torch.int32,),
        sorted_token_ids=sorted_token_ids,
        expert_ids=expert_ids,
        num_tokens_post_padded=num_tokens_post_padded,
    )
    _check_dtypes("moe_gemm", (x.dtype,), out=out)
    _check_contiguous("moe_gemm", sorted_token_ids=sorted_token_ids)
    _check_tensors(
        "moe_gemm",
        ("w",),
        x=x,
        w=w,
        topk_weights=topk_weights,
        sorted_token_ids=sorted_token_ids,
        expert_ids=expert_ids,
        num_tokens_post_padded=num_tokens_post_padded,
        out=out,
    )
    _check_strided(
        "moe_gemm: out",
        out,
        x=x,
        w=w,
        topk_weights=topk_weights,
        sorted_token_ids=sorted_token_ids,
        expert_ids=expert_ids,
        num_tokens_post_padded=num_tokens_post_padded,
    )
    if M * TOP_K * N == 0:
        return out

    stride_topk_weights_m, stride_topk_weights_top_k = (
        (0, 0) if topk_weights is None else topk_weights.stride()
    )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"moe_gemm: K is {K}, and the kernel counts up to it in int32; "
            "compute the indices in tl.int64: tl.programId(0).to(tl.int64), and "
            "sizes likewise"
        )
    if BLOCK_M < 1 or (BLOCK_M & (BLOCK_M - 1)) != 0:
        raise ValueError(f"moe_gemm: BLOCK_M must be a power of two, got {BLOCK_M}")

    def grid(meta):
        return _checked_grid("moe_gemm", (BLOCKS * triton.cdiv(N, meta["BLOCK_N"]),))

    with torch.cuda.device(x.get_device()):
        moe_gemm_kernel[grid](
            x,
            w,
            topk_weights,
            sorted_token_ids,
            expert_ids,
            num_tokens_post_padded,
            out,
            M,
            K,
            N,
            TOP_K,
            BLOCKS,
            *x.stride(),
            *w.stride(),
            stride_topk_weights_m,
            stride_topk_weights_top_k,
            expert_ids.stride(0),
            *out.stride(),
            BLOCK_M=BLOCK_M,
        )
    return out


def reference_fn(
    x, w, sorted_token_ids, expert_ids, num_tokens_post_padded, TOP_K, topk_weights=None
):
    M = x.shape[0]
    N = w.shape[1]
    BLOCK_M = sorted_token_ids.shape[1]
    products = torch.matmul(x, w.mT).transpose(0, 1)
    experts = torch.zeros([M * TOP_K + 1], dtype=torch.int64, device=x.device)
    choices = sorted_token_ids.flatten().long()
    chosen = experts.scatter(
        0, choices, expert_ids.long().repeat_interleave(BLOCK_M, 0)
    ).narrow(0, 0, M * TOP_K)
    picked = products.gather(1, chosen.view(M, TOP_K, 1).expand(M, TOP_K, N))
    return picked.mul(
        (
            torch.ones([M, TOP_K], device=x.device)
            if topk_weights is None
            else topk_weights
        ).unsqueeze(-1)
    )


def draw_inputs(M, E, TOP_K, BLOCKS, BLOCK_M, device):
    """topk_weights, sorted_token_ids, expert_ids and num_tokens_post_padded of
    moe_gemm, at random.
    """
    topk_weights = torch.rand([M, TOP_K], device=device)
    expert = torch.randint(0, E, [M * TOP_K], device=device)
    counts = torch.bincount(expert, minlength=E)
    padded = counts.add(BLOCK_M - 1).div(BLOCK_M, rounding_mode="floor").mul(BLOCK_M)
    ends = padded.cumsum(0)
    gaps = ends.sub(padded).sub(counts.cumsum(0).sub(counts))
    order = torch.argsort(expert, stable=True)
    places = torch.arange(M * TOP_K, device=device).add(
        gaps.index_select(0, expert.index_select(0, order))
    )
    ids = torch.full([BLOCKS * BLOCK_M], M * TOP_K, device=device).scatter(
        0, places, order
    )
    sorted_token_ids = ids.view(BLOCKS, BLOCK_M)
    expert_ids = torch.searchsorted(
        ends, torch.arange(BLOCKS, device=device).mul(BLOCK_M), right=True
    ).clamp(0, E - 1)
    num_tokens_post_padded = padded.sum(0, keepdim=True)
    return (
        topk_weights.to(torch.float32),
        sorted_token_ids.to(torch.int32),
        expert_ids.to(torch.int32),
        num_tokens_post_padded.to(torch.int32),
    )


SHAPES = [
    {"M": 19, "K": 40, "E": 4, "N": 33, "TOP_K": 2, "BLOCK_M": 16},
    {"M": 4096, "K": 2048, "E": 8, "N": 4096, "TOP_K": 2, "BLOCK_M": 128},
]


def get_inputs(M=19, K=40, E=4, N=33, TOP_K=2, *, BLOCK_M=16):
    device = "cpu" if _INTERPRETED else "cuda"
    BLOCKS = triton.cdiv(M * TOP_K + E * (BLOCK_M - 1), BLOCK_M)
    topk_weights, sorted_token_ids, expert_ids, num_tokens_post_padded = draw_inputs(
        M, E, TOP_K, BLOCKS, BLOCK_M, device
    )
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((E, N, K), device=device, dtype=torch.float16),
        sorted_token_ids,
        expert_ids,
        num_tokens_post_padded,
        TOP_K,
        topk_weights,
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


def _checked_grid(name, grid, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    most = (2**31 - 1, 65535, 65535)
    if any(count > limit for count, limit in zip(grid, most)):
        raise ValueError(f"{name}: a GPU launches at most {most} programs, got {grid}")
    return grid


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


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


kernel_fn = moe_gemm
