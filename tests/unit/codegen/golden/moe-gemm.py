"""out[t, k] = x[t] @ w[expert of t's choice k]^T, times the choice's routing weight
where weights are given.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import torch
import triton
import triton.language as tl

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# Binaries and grids of earlier launches.
_LAUNCHES = {}


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3
        ),
        triton.Config(
            {"BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3
        ),
        triton.Config(
            {"BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 1}, num_warps=4, num_stages=3
        ),
        triton.Config(
            {"BLOCK_N": 64, "BLOCK_K": 128, "GROUP_M": 8}, num_warps=4, num_stages=3
        ),
        triton.Config(
            {"BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}, num_warps=4, num_stages=4
        ),
    ],
    key=["M", "N", "K", "BLOCK_M"],
    do_bench=_first_config if _INTERPRETED else None,
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

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_int("moe_gemm: TOP_K", TOP_K, torch.int32, 0)
    _check_tensor("moe_gemm: x", x)
    _check_tensor("moe_gemm: w", w)
    _check_tensor("moe_gemm: sorted_token_ids", sorted_token_ids)
    _check_tensor("moe_gemm: expert_ids", expert_ids)
    _check_tensor("moe_gemm: num_tokens_post_padded", num_tokens_post_padded)
    if x.ndim != 2:
        raise ValueError(f"moe_gemm: x must have shape [M, K], got {list(x.shape)}")
    M, K = x.shape
    if x.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"moe_gemm: x must be torch.float16 or torch.bfloat16, got {x.dtype}"
        )
    if w.ndim != 3 or w.shape[2] != K:
        raise ValueError(
            f"moe_gemm: w must have shape [E, N, K={K}], got {list(w.shape)}"
        )
    E = w.shape[0]
    N = w.shape[1]
    if w.dtype != x.dtype:
        raise TypeError(f"moe_gemm: w must be {x.dtype} as x is, got {w.dtype}")
    if sorted_token_ids.ndim != 2:
        raise ValueError(
            "moe_gemm: sorted_token_ids must have shape [BLOCKS, BLOCK_M], "
            f"got {list(sorted_token_ids.shape)}"
        )
    BLOCK_M = sorted_token_ids.shape[1]
    if not sorted_token_ids.is_contiguous():
        raise ValueError(
            "moe_gemm: sorted_token_ids must be contiguous, got strides "
            f"{sorted_token_ids.stride()}; call .contiguous() first"
        )
    if sorted_token_ids.dtype != torch.int32:
        raise TypeError(
            "moe_gemm: sorted_token_ids must be torch.int32, got "
            f"{sorted_token_ids.dtype}"
        )
    if expert_ids.ndim != 1:
        raise ValueError(
            "moe_gemm: expert_ids must have shape [BLOCKS], got "
            f"{list(expert_ids.shape)}"
        )
    if expert_ids.dtype != torch.int32:
        raise TypeError(
            f"moe_gemm: expert_ids must be torch.int32, got {expert_ids.dtype}"
        )
    if num_tokens_post_padded.shape != (1,):
        raise ValueError(
            "moe_gemm: num_tokens_post_padded must have shape [1], got "
            f"{list(num_tokens_post_padded.shape)}"
        )
    if num_tokens_post_padded.dtype != torch.int32:
        raise TypeError(
            "moe_gemm: num_tokens_post_padded must be torch.int32, got "
            f"{num_tokens_post_padded.dtype}"
        )
    BLOCKS = triton.cdiv(M * TOP_K + E * (BLOCK_M - 1), BLOCK_M)
    if topk_weights is not None:
        _check_tensor("moe_gemm: topk_weights", topk_weights)
        if topk_weights.shape != (M, TOP_K):
            raise ValueError(
                f"moe_gemm: topk_weights must have shape [M={M}, "
                f"TOP_K={TOP_K}], got {list(topk_weights.shape)}"
            )
        if topk_weights.dtype != torch.float32:
            raise TypeError(
                "moe_gemm: topk_weights must be torch.float32, got "
                f"{topk_weights.dtype}"
            )
    if sorted_token_ids.shape[0] != BLOCKS:
        raise ValueError(
            f"moe_gemm: sorted_token_ids must have shape [BLOCKS={BLOCKS}, "
            f"BLOCK_M={BLOCK_M}], got {list(sorted_token_ids.shape)}"
        )
    if expert_ids.shape[0] != BLOCKS:
        raise ValueError(
            f"moe_gemm: expert_ids must have shape [BLOCKS={BLOCKS}], "
            f"got {list(expert_ids.shape)}"
        )
    if _records_gradient("moe_gemm", x, w, topk_weights, out):
        return _without_gradient(
            moe_gemm,
            (
                x,
                w,
                sorted_token_ids,
                expert_ids,
                num_tokens_post_padded,
                TOP_K,
                topk_weights,
            ),
            given=(out,),
        )
    device = x.device
    if w.device != device:
        raise ValueError(f"moe_gemm: w must be on {device} as x is, got {w.device}")
    if topk_weights is not None and topk_weights.device != device:
        raise ValueError(
            f"moe_gemm: topk_weights must be on {device} as x is, got "
            f"{topk_weights.device}"
        )
    if sorted_token_ids.device != device:
        raise ValueError(
            f"moe_gemm: sorted_token_ids must be on {device} as x is, "
            f"got {sorted_token_ids.device}"
        )
    if expert_ids.device != device:
        raise ValueError(
            f"moe_gemm: expert_ids must be on {device} as x is, got {expert_ids.device}"
        )
    if num_tokens_post_padded.device != device:
        raise ValueError(
            f"moe_gemm: num_tokens_post_padded must be on {device} as "
            f"x is, got {num_tokens_post_padded.device}"
        )
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return moe_gemm(
                    x,
                    w,
                    sorted_token_ids,
                    expert_ids,
                    num_tokens_post_padded,
                    TOP_K,
                    topk_weights,
                    out=out,
                )
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"moe_gemm: x must be on a GPU, got {device}; the CPU "
            "needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        out = x.new_empty((M, TOP_K, N))
    else:
        _check_out(
            "moe_gemm: out",
            out,
            (M, TOP_K, N),
            x.dtype,
            device,
            {
                "x": x,
                "w": w,
                "topk_weights": topk_weights,
                "sorted_token_ids": sorted_token_ids,
                "expert_ids": expert_ids,
                "num_tokens_post_padded": num_tokens_post_padded,
            },
        )
    if M * TOP_K * N == 0:
        return out

    stride_xm, stride_xk = x.stride()
    stride_we, stride_wn, stride_wk = w.stride()
    stride_topk_weights_m, stride_topk_weights_top_k = (
        (0, 0) if topk_weights is None else topk_weights.stride()
    )
    stride_expert_ids_blocks = expert_ids.stride(0)
    stride_num_tokens_post_padded_0 = num_tokens_post_padded.stride(0)
    stride_out_m, stride_out_top_k, stride_out_n = out.stride()
    if (M - 1) * stride_xm + (K - 1) * stride_xk >= _INT32_REACH:
        raise _beyond_int32("moe_gemm: x")
    if (
        topk_weights is not None
        and (M - 1) * stride_topk_weights_m + (TOP_K - 1) * stride_topk_weights_top_k
        >= _INT32_REACH
    ):
        raise _beyond_int32("moe_gemm: topk_weights")
    if BLOCKS * BLOCK_M >= _INT32_REACH:
        raise _beyond_int32("moe_gemm: sorted_token_ids")
    if (BLOCKS - 1) * stride_expert_ids_blocks >= _INT32_REACH:
        raise _beyond_int32("moe_gemm: expert_ids")
    if (1 - 1) * stride_num_tokens_post_padded_0 >= _INT32_REACH:
        raise _beyond_int32("moe_gemm: num_tokens_post_padded")
    if (M - 1) * stride_out_m + (TOP_K - 1) * stride_out_top_k + (
        N - 1
    ) * stride_out_n >= _INT32_REACH:
        raise _beyond_int32("moe_gemm: out")
    if K >= _INT32_REACH:
        raise _uncountable("moe_gemm", K=K)
    if BLOCK_M < 1 or (BLOCK_M & (BLOCK_M - 1)) != 0:
        raise ValueError(f"moe_gemm: BLOCK_M must be a power of two, got {BLOCK_M}")
    if _INTERPRETED:
        _check_bfloat16("moe_gemm", x.dtype)

    def grid(meta):
        return (BLOCKS * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        moe_gemm_kernel,
        grid,
        (x, w, topk_weights, sorted_token_ids, expert_ids, num_tokens_post_padded, out),
        (
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
        ),
        device,
        x.dtype,
        BLOCK_M=BLOCK_M,
    )
    return out


def reference_fn(
    x: torch.Tensor,
    w: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    TOP_K: int,
    topk_weights: torch.Tensor | None = None,
):
    """What moe_gemm computes, in PyTorch."""
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


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [
    {"M": 19, "K": 40, "E": 4, "N": 33, "TOP_K": 2, "BLOCK_M": 16},
    {"M": 4096, "K": 2048, "E": 8, "N": 4096, "TOP_K": 2, "BLOCK_M": 128},
]


def get_inputs(M=19, K=40, E=4, N=33, TOP_K=2, *, BLOCK_M=16):
    """Fresh arguments for moe_gemm, of a typical size."""
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


def _launch(kernel, grid, tensors, numbers, /, *others, **options):
    """Launches kernel[grid](*tensors, *numbers, **options).

    Triton takes long to find the binary for a call. This function remembers the
    binary and the grid of each call, and uses them again for calls alike. others
    tell such calls apart beside the arguments: the device, the dtypes, and the
    sizes that set the grid but are not passed to the kernel.
    """
    if _INTERPRETED or torch.compiler.is_compiling():
        kernel[grid](*tensors, *numbers, **options)
        return None
    key = id(kernel), *others, *_launch_key(tensors, numbers, options)
    found = _LAUNCHES.get(key)
    if found:
        binary, place, constants = found
        binary[place](*tensors, *numbers, *constants)
        return found
    chosen = {}

    def chosen_grid(meta):
        chosen.update(meta)
        return grid(meta) if callable(grid) else grid

    binary = kernel[chosen_grid](*tensors, *numbers, **options)
    constants = tuple(chosen.values())[len(tensors) + len(numbers) :]
    found = binary, (*chosen_grid(chosen), 1, 1)[:3], constants
    if len(_LAUNCHES) >= 4096:
        _LAUNCHES.clear()
    _LAUNCHES[key] = found
    return found


def _launch_key(tensors, numbers, options):
    """What Triton compiles for, given dtypes: equal keys are launches of one binary."""
    places = [x if x is None else x.data_ptr() % 16 for x in tensors]
    return *places, *numbers, *options.values()


def _records_gradient(label, *tensors):
    """Whether PyTorch would record a gradient of one of these."""
    if torch.autograd.forward_ad._current_level >= 0:
        _refuse_tangents(label, tensors)
    if torch.is_grad_enabled():
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                return True
    return False


def _refuse_tangents(label, tensors):
    """Refuses tensors with a tangent, which a kernel would drop."""
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            continue
        if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(f"{label} has no forward-mode gradient")


def _without_gradient(kernel, inputs, updated=(), given=(), **options):
    """Calls the kernel; a backward through its results is an error."""
    if any(isinstance(tensor, torch.Tensor) for tensor in given):
        _refuse_gradient(kernel.__name__, *inputs, *given)
    for tensor in updated:
        if tensor is not None and tensor.is_leaf and tensor.requires_grad:
            raise RuntimeError(
                f"{kernel.__name__}: a leaf that requires grad is updated in place; "
                "call it under torch.no_grad()"
            )
    return _WithoutGradient.apply(kernel, updated, options, *inputs)


class _WithoutGradient(torch.autograd.Function):
    """A kernel whose gradient nobody has written."""

    @staticmethod
    def forward(kernel, updated, options, *inputs):
        return kernel(*inputs, **options)

    @staticmethod
    def setup_context(ctx, inputs, output):
        kernel, updated, *_ = inputs
        ctx.name = kernel.__name__
        ctx.mark_dirty(*(tensor for tensor in updated if tensor is not None))

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            f"{ctx.name} has no backward; call it under torch.no_grad(), or inside a "
            "torch.autograd.Function that has one"
        )


def _refuse_gradient(label, *tensors):
    """Refuses to write where PyTorch would record a gradient."""
    wanted = [x.requires_grad for x in tensors if isinstance(x, torch.Tensor)]
    if torch.is_grad_enabled() and any(wanted):
        raise RuntimeError(
            f"{label}: a result that is written to a given tensor has no gradient; "
            "give none, or call it under torch.no_grad()"
        )


def _check_tensor(label, tensor):
    """Refuses what does not lie in memory as its shape and strides say."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{label} must be a tensor, got {tensor!r:.80}")
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        kind = type(tensor).__name__
        raise TypeError(f"{label} must be a plain tensor, got one of type {kind}")
    if tensor.is_nested or tensor.layout != torch.strided:
        kind = "a nested one" if tensor.is_nested else tensor.layout
        raise TypeError(f"{label} must be a dense tensor, got {kind}")
    if not torch.compiler.is_dynamo_compiling() and tensor.is_neg():
        raise ValueError(f"{label} is a lazily negated view; call .resolve_neg() first")


def _check_int(label, value, dtype, least=None):
    """Refuses what is no integer, and what its dtype does not hold."""
    if type(value) is not int:
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


def _check_bfloat16(label, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    from triton.runtime.interpreter import InterpreterBuilder

    is_right = hasattr(InterpreterBuilder, "has_bfloat16")
    if torch.bfloat16 in dtypes and triton.knobs.runtime.interpret and not is_right:
        raise NotImplementedError(
            f"{label}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


def _beyond_int32(label):
    """The error for a tensor whose offsets do not fit int32."""
    return ValueError(
        f"{label} spans more elements than int32 offsets reach; "
        "build the kernel with { offsets: tl.int64 } for it"
    )


def _uncountable(label, **sizes):
    """The error for a size that the kernel does not count up to."""
    name = max(sizes, key=sizes.get)
    return ValueError(
        f"{label}: {name} is {sizes[name]}, and the kernel "
        "counts up to it in int32; compute the indices in tl.int64: "
        "tl.programId(0).to(tl.int64), and sizes likewise"
    )


def _check_out(label, out, shape, dtype, device, others):
    """The tensor that a result is to be written to, if it can be."""
    _check_tensor(label, out)
    if out.shape != shape:
        raise ValueError(
            f"{label} must have shape {list(shape)}, got {list(out.shape)}"
        )
    if out.dtype != dtype:
        raise TypeError(f"{label} must be {dtype}, got {out.dtype}")
    if out.device != device:
        raise ValueError(f"{label} must be on {device}, got {out.device}")
    _check_memory(label, out, others)
    return out


def _check_memory(label, written, others):
    """Refuses to write what overlaps itself or another tensor; tells autograd of it."""
    start = written.data_ptr()
    if written.is_contiguous():
        end = start + written.nbytes
    elif _nest(_axes(written.stride(), written.shape)):
        end = _end(written)
    else:
        raise ValueError(
            f"{label} has elements that share memory, with shape {list(written.shape)} "
            f"and strides {list(written.stride())}; give a tensor of its own"
        )
    for name, other in others.items():
        if other is None or other.data_ptr() >= end or _end(other) <= start:
            continue
        if _overlaps(written, other, other.data_ptr() - start):
            raise ValueError(
                f"{label} shares memory with {name}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _overlaps(x, y, distance):
    """Whether x and y, distance bytes apart, may have elements in common."""
    if x.numel() == 0 or y.numel() == 0:
        return False
    axes = _axes(x.stride(), x.shape, y.shape)
    steps, rest = divmod(distance, x.element_size())
    alike = x.stride() == y.stride() and x.element_size() == y.element_size()
    return not alike or rest > 0 or not _nest(axes) or _reaches(steps, axes)


def _end(x):
    """The address of the byte after the last of x."""
    if x.is_contiguous():
        return x.data_ptr() + x.nbytes
    last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape))
    return x.data_ptr() + (last + 1) * x.element_size()


def _axes(strides, *shapes):
    """Axes longer than 1, each as (stride, *lengths), in falling order."""
    axes = zip(strides, *shapes)
    return sorted((axis for axis in axes if max(axis[1:]) > 1), reverse=True)


def _nest(axes):
    """Whether each stride steps over all that the axes inside it reach."""
    reach = 0
    for stride, *lengths in reversed(axes):
        if stride <= reach:
            return False
        reach += stride * (max(lengths) - 1)
    return True


def _reaches(distance, axes):
    """Whether elements of two equally strided tensors lie this far apart."""
    if not axes:
        return distance == 0
    (stride, before, after), *inner = axes
    steps = (-distance // stride, -distance // stride + 1)
    return any(
        -before < step < after and _reaches(distance + step * stride, inner)
        for step in steps
    )


kernel_fn = moe_gemm
