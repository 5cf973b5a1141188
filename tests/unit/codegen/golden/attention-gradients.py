"""softmax(q @ k^T / sqrt(head dim)) @ v for each head, with its gradients.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad
from triton.tools.tensor_descriptor import TensorDescriptor

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["q_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]
    args["d_out_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]


def _set_blocks_1(args):
    """Gives each descriptor the block of the config that is to run."""
    args["k_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]
    args["v_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N},
            num_warps=num_warps,
            num_stages=num_stages,
            maxnreg=None if torch.version.hip else maxnreg,
        )
        for BLOCK_M, BLOCK_N, num_warps, num_stages, maxnreg in [
            (128, 64, 8, 3, None),
            (64, 64, 4, 3, None),
            (64, 64, 4, 3, 128),
            (128, 128, 8, 3, None),
            (128, 64, 4, 3, None),
            (128, 32, 4, 4, None),
            (128, 64, 8, 2, None),
        ]
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def attention_forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1)
    first = tl.program_id(0) * BLOCK_M
    rm = first + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD_DIM)
    mask_s = rm[:, None] < S
    queries = tl.load(
        q_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32)) * 1.4426950408889634
    best = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    if CAUSAL:
        edge = first
        end = tl.minimum(first + BLOCK_M, S)
    else:
        edge = S
        end = S
    whole = (edge // BLOCK_N) * BLOCK_N
    rn = tl.arange(0, BLOCK_N)
    k_ptrs = k_ptr + (head * (S * HEAD_DIM) + rn[None, :] * HEAD_DIM + rd[:, None])
    v_ptrs = v_ptr + (head * (S * HEAD_DIM) + rn[:, None] * HEAD_DIM + rd[None, :])
    for _ in range(0, whole, BLOCK_N):
        products = tl.dot(queries, tl.load(k_ptrs))
        new_best = tl.maximum(best, tl.max(products, axis=1) * scale)
        weights = tl.exp2(products * scale - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        acc = tl.dot(
            weights.to(o_ptr.dtype.element_ty), tl.load(v_ptrs), acc * alpha[:, None]
        )
        best = new_best
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
    offsets = tl.arange(0, BLOCK_N)
    k_ptrs_1 = (
        k_ptr
        + head * (S * HEAD_DIM)
        + ((whole + offsets)[None, :] * HEAD_DIM + rd[:, None])
    )
    v_ptrs_1 = (
        v_ptr
        + head * (S * HEAD_DIM)
        + ((whole + offsets)[:, None] * HEAD_DIM + rd[None, :])
    )
    for start in range(whole, end, BLOCK_N):
        columns = start + offsets
        products = tl.dot(
            queries, tl.load(k_ptrs_1, mask=offsets[None, :] < S - start, other=0.0)
        )
        if CAUSAL:
            scores = tl.where(rm[:, None] >= columns[None, :], products, float("-inf"))
        else:
            scores = tl.where(columns[None, :] < S, products, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, axis=1) * scale)
        weights = tl.exp2(scores * scale - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        acc = tl.dot(
            weights.to(o_ptr.dtype.element_ty),
            tl.load(v_ptrs_1, mask=offsets[:, None] < S - start, other=0.0),
            acc * alpha[:, None],
        )
        best = new_best
        k_ptrs_1 += BLOCK_N * HEAD_DIM
        v_ptrs_1 += BLOCK_N * HEAD_DIM

    tl.store(
        o_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        (acc / total[:, None]).to(o_ptr.dtype.element_ty),
        mask=mask_s,
    )
    tl.store(lse_ptr + head * S + rm, best + tl.log2(total), mask=rm < S)


def _attention_forward_meta(q, k, v, CAUSAL=False):
    """Checks the arguments of attention_forward, and allocates its results."""
    _check_operands("attention_forward", q=q, k=k, v=v)
    if q.ndim != 3 or k.shape != q.shape or v.shape != q.shape:
        raise ValueError(
            "attention_forward: q, k and v must have shape [H, S, HEAD_DIM], got "
            f"{q.shape}, {k.shape} and {v.shape}"
        )
    H, S, _ = q.shape
    _check_dtypes("attention_forward", (torch.float16, torch.bfloat16), q=q, k=k, v=v)
    _check_contiguous("attention_forward", q=q, k=k, v=v)
    return torch.empty_like(q), q.new_empty((H, S), dtype=torch.float32)


def _attention_forward(q, k, v, CAUSAL=False):
    """o = softmax(q @ k^T / sqrt(head dim)) @ v, and the base-2 logarithm of each
    row's sum of exponentials.
    """
    o, lse = _attention_forward_meta(q, k, v, CAUSAL)
    _check_type("attention_forward: CAUSAL", CAUSAL, bool)
    H, S, HEAD_DIM = q.shape
    if H * S == 0:
        return o, lse

    _check_reach("attention_forward", q=q, lse=lse)
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_forward: HEAD_DIM must be a power of two from 16 up, got "
            f"{HEAD_DIM}"
        )

    def grid(meta):
        return _checked_grid("attention_forward", (triton.cdiv(S, meta["BLOCK_M"]), H))

    with torch.cuda.device(q.get_device()):
        attention_forward_kernel[grid](
            q, k, v, o, lse, S, HEAD_DIM=HEAD_DIM, CAUSAL=CAUSAL
        )
    return o, lse


@triton.jit
def attention_delta_kernel(
    o_ptr, d_out_ptr, delta_ptr, S, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr
):
    head = tl.program_id(1)
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD_DIM)
    mask_s = rm[:, None] < S
    out = tl.load(
        o_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    ).to(tl.float32)
    gradient = tl.load(
        d_out_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    ).to(tl.float32)
    tl.store(delta_ptr + head * S + rm, tl.sum(out * gradient, axis=1), mask=rm < S)


def _attention_delta_meta(o, d_out):
    """Checks the arguments of attention_delta, and allocates its results."""
    _check_operands("attention_delta", o=o, d_out=d_out)
    if o.ndim != 3 or d_out.shape != o.shape:
        raise ValueError(
            "attention_delta: o and d_out must have shape [H, S, HEAD_DIM], got "
            f"{o.shape} and {d_out.shape}"
        )
    H, S, _ = o.shape
    _check_dtypes("attention_delta", (torch.float16, torch.bfloat16), o=o, d_out=d_out)
    _check_contiguous("attention_delta", o=o, d_out=d_out)
    return o.new_empty((H, S), dtype=torch.float32)


def _attention_delta(o, d_out):
    """delta = (o * do).sum(-1), in float32."""
    delta = _attention_delta_meta(o, d_out)
    H, S, HEAD_DIM = o.shape
    if H * S == 0:
        return delta

    _check_reach("attention_delta", o=o, out=delta)
    if HEAD_DIM < 1 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            f"attention_delta: HEAD_DIM must be a power of two, got {HEAD_DIM}"
        )

    with torch.cuda.device(o.get_device()):
        attention_delta_kernel[
            _checked_grid("attention_delta", (triton.cdiv(S, 32), H))
        ](o, d_out, delta, S, HEAD_DIM=HEAD_DIM, BLOCK_M=32)
    return delta


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK": BLOCK, "STEP": STEP},
            num_warps=num_warps,
            num_stages=num_stages,
            maxnreg=None if torch.version.hip else maxnreg,
            pre_hook=_set_blocks,
        )
        for BLOCK, STEP, num_warps, num_stages, maxnreg in [
            (64, 64, 4, 2, None),
            (64, 64, 4, 2, 168),
            (64, 32, 4, 3, None),
            (128, 32, 4, 4, None),
            (128, 64, 8, 2, None),
            (64, 64, 8, 2, None),
        ]
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def attention_key_gradients_kernel(
    q_desc,
    k_ptr,
    v_ptr,
    d_out_desc,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    head = tl.program_id(1)
    first = tl.program_id(0) * BLOCK
    block = first + tl.arange(0, BLOCK)
    rd = tl.arange(0, HEAD_DIM)
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    to_base2 = scale * 1.4426950408889634

    mask_s = block[:, None] < S
    keys = tl.load(
        k_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    values = tl.load(
        v_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    dk_sum = tl.zeros([BLOCK, HEAD_DIM], dtype=tl.float32)
    dv_sum = tl.zeros([BLOCK, HEAD_DIM], dtype=tl.float32)
    if CAUSAL:
        top = first
        below = first + BLOCK
    else:
        top = tl.full([], 0, dtype=tl.int32)
        below = tl.full([], 0, dtype=tl.int32)
    offsets = tl.arange(0, STEP)
    lse_ptrs = lse_ptr + (head * S + top) + offsets
    delta_ptrs = delta_ptr + (head * S + top) + offsets
    for start in range(top, below, STEP):
        rm = start + offsets
        # Rows of q and dO past the end are 0, and what is multiplied by them adds
        # nothing.
        queries = tl.reshape(q_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        gradient = tl.reshape(d_out_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        mask = offsets < S - start
        log_sum = tl.load(lse_ptrs, mask=mask, other=0.0)
        unmasked = tl.exp2(
            tl.dot(keys, tl.trans(queries)) * to_base2 - log_sum[None, :]
        )
        weights = tl.where(rm[None, :] >= block[:, None], unmasked, 0.0)
        dv_sum = tl.dot(weights.to(dk_ptr.dtype.element_ty), gradient, dv_sum)
        some_delta = tl.load(delta_ptrs, mask=mask, other=0.0)
        change = tl.dot(values, tl.trans(gradient)) - some_delta[None, :]
        dk_sum = tl.dot((weights * change).to(dk_ptr.dtype.element_ty), queries, dk_sum)
        lse_ptrs += STEP
        delta_ptrs += STEP
    rm = tl.arange(0, STEP)
    lse_ptrs_1 = lse_ptr + (head * S + below) + rm
    delta_ptrs_1 = delta_ptr + (head * S + below) + rm
    for start in range(below, S, STEP):
        queries = tl.reshape(q_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        gradient = tl.reshape(d_out_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        mask = rm < S - start
        log_sum = tl.load(lse_ptrs_1, mask=mask, other=0.0)
        unmasked = tl.exp2(
            tl.dot(keys, tl.trans(queries)) * to_base2 - log_sum[None, :]
        )
        dv_sum = tl.dot(unmasked.to(dk_ptr.dtype.element_ty), gradient, dv_sum)
        some_delta = tl.load(delta_ptrs_1, mask=mask, other=0.0)
        change = tl.dot(values, tl.trans(gradient)) - some_delta[None, :]
        dk_sum = tl.dot(
            (unmasked * change).to(dk_ptr.dtype.element_ty), queries, dk_sum
        )
        lse_ptrs_1 += STEP
        delta_ptrs_1 += STEP
    tl.store(
        dk_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        (dk_sum * scale).to(dk_ptr.dtype.element_ty),
        mask=mask_s,
    )
    tl.store(
        dv_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        dv_sum.to(dk_ptr.dtype.element_ty),
        mask=mask_s,
    )


def _attention_key_gradients_meta(q, k, v, d_out, lse, delta, CAUSAL=False):
    """Checks the arguments of attention_key_gradients, and allocates its results."""
    _check_operands(
        "attention_key_gradients", q=q, k=k, v=v, d_out=d_out, lse=lse, delta=delta
    )
    if (
        q.ndim != 3
        or k.shape != q.shape
        or v.shape != q.shape
        or d_out.shape != q.shape
        or lse.shape != q.shape[:2]
        or delta.shape != lse.shape
    ):
        raise ValueError(
            "attention_key_gradients: q, k, v, d_out, lse and delta must have "
            "shapes [H, S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, "
            f"HEAD_DIM], [H, S] and [H, S], got {q.shape}, {k.shape}, {v.shape}, "
            f"{d_out.shape}, {lse.shape} and {delta.shape}"
        )
    _check_dtypes(
        "attention_key_gradients",
        (torch.float16, torch.bfloat16),
        q=q,
        k=k,
        v=v,
        d_out=d_out,
    )
    _check_dtypes("attention_key_gradients", (torch.float32,), lse=lse, delta=delta)
    _check_contiguous("attention_key_gradients", k=k, v=v, lse=lse, delta=delta)
    return torch.empty_like(k), torch.empty_like(k)


def _attention_key_gradients(q, k, v, d_out, lse, delta, CAUSAL=False):
    """The gradients of k and v."""
    dk, dv = _attention_key_gradients_meta(q, k, v, d_out, lse, delta, CAUSAL)
    _check_type("attention_key_gradients: CAUSAL", CAUSAL, bool)
    H, S, HEAD_DIM = q.shape
    if H * S * HEAD_DIM == 0:
        return dk, dv

    _check_descriptor("attention_key_gradients: q", q, 2)
    _check_descriptor("attention_key_gradients: d_out", d_out, 2)
    _check_reach("attention_key_gradients", k=k, lse=lse)
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_key_gradients: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )
    q_desc = TensorDescriptor.from_tensor(q, [1, 1, 1])
    d_out_desc = TensorDescriptor.from_tensor(d_out, [1, 1, 1])

    def grid(meta):
        return _checked_grid(
            "attention_key_gradients", (triton.cdiv(S, meta["BLOCK"]), H)
        )

    with torch.cuda.device(q.get_device()):
        attention_key_gradients_kernel[grid](
            q_desc,
            k,
            v,
            d_out_desc,
            lse,
            delta,
            dk,
            dv,
            S,
            HEAD_DIM=HEAD_DIM,
            CAUSAL=CAUSAL,
        )
    return dk, dv


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK": BLOCK, "STEP": STEP},
            num_warps=num_warps,
            num_stages=num_stages,
            pre_hook=_set_blocks_1,
        )
        for BLOCK, STEP, num_warps, num_stages in [
            (128, 64, 8, 3),
            (64, 64, 4, 3),
            (64, 32, 4, 3),
            (128, 32, 8, 2),
            (128, 32, 8, 3),
        ]
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def attention_query_gradients_kernel(
    q_ptr,
    k_desc,
    v_desc,
    d_out_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    head = tl.program_id(1)
    # Under a causal mask the last rows see most keys: their programs begin.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK
    block = first + tl.arange(0, BLOCK)
    rd = tl.arange(0, HEAD_DIM)
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    to_base2 = scale * 1.4426950408889634

    mask_s = block[:, None] < S
    queries = tl.load(
        q_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    gradient = tl.load(
        d_out_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    mask = block < S
    log_sum = tl.load(lse_ptr + head * S + block, mask=mask, other=float("inf"))
    row_delta = tl.load(delta_ptr + head * S + block, mask=mask, other=0.0)
    dq_sum = tl.zeros([BLOCK, HEAD_DIM], dtype=tl.float32)
    if CAUSAL:
        edge = first
        end = tl.minimum(first + BLOCK, S)
    else:
        edge = S
        end = S
    whole = (edge // STEP) * STEP
    for start in range(0, whole, STEP):
        keys = tl.reshape(k_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        values = tl.reshape(v_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        unmasked = tl.exp2(
            tl.dot(queries, tl.trans(keys)) * to_base2 - log_sum[:, None]
        )
        change = tl.dot(gradient, tl.trans(values)) - row_delta[:, None]
        dq_sum = tl.dot((unmasked * change).to(dq_ptr.dtype.element_ty), keys, dq_sum)
    for start in range(whole, end, STEP):
        keys = tl.reshape(k_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        values = tl.reshape(v_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        unmasked = tl.exp2(
            tl.dot(queries, tl.trans(keys)) * to_base2 - log_sum[:, None]
        )
        rn = start + tl.arange(0, STEP)
        if CAUSAL:
            result = tl.where(block[:, None] >= rn[None, :], unmasked, 0.0)
        else:
            result = tl.where(rn[None, :] < S, unmasked, 0.0)
        change = tl.dot(gradient, tl.trans(values)) - row_delta[:, None]
        dq_sum = tl.dot((result * change).to(dq_ptr.dtype.element_ty), keys, dq_sum)
    tl.store(
        dq_ptr + head * (S * HEAD_DIM) + (block[:, None] * HEAD_DIM + rd[None, :]),
        (dq_sum * scale).to(dq_ptr.dtype.element_ty),
        mask=mask_s,
    )


def _attention_query_gradients_meta(q, k, v, d_out, lse, delta, CAUSAL=False):
    """Checks the arguments of attention_query_gradients, and allocates its results."""
    _check_operands(
        "attention_query_gradients", q=q, k=k, v=v, d_out=d_out, lse=lse, delta=delta
    )
    if (
        q.ndim != 3
        or k.shape != q.shape
        or v.shape != q.shape
        or d_out.shape != q.shape
        or lse.shape != q.shape[:2]
        or delta.shape != lse.shape
    ):
        raise ValueError(
            "attention_query_gradients: q, k, v, d_out, lse and delta must have "
            "shapes [H, S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, "
            f"HEAD_DIM], [H, S] and [H, S], got {q.shape}, {k.shape}, {v.shape}, "
            f"{d_out.shape}, {lse.shape} and {delta.shape}"
        )
    _check_dtypes(
        "attention_query_gradients",
        (torch.float16, torch.bfloat16),
        q=q,
        k=k,
        v=v,
        d_out=d_out,
    )
    _check_dtypes("attention_query_gradients", (torch.float32,), lse=lse, delta=delta)
    _check_contiguous(
        "attention_query_gradients", q=q, d_out=d_out, lse=lse, delta=delta
    )
    return torch.empty_like(q)


def _attention_query_gradients(q, k, v, d_out, lse, delta, CAUSAL=False):
    """The gradient of q."""
    dq = _attention_query_gradients_meta(q, k, v, d_out, lse, delta, CAUSAL)
    _check_type("attention_query_gradients: CAUSAL", CAUSAL, bool)
    H, S, HEAD_DIM = q.shape
    if H * S * HEAD_DIM == 0:
        return dq

    _check_descriptor("attention_query_gradients: k", k, 2)
    _check_descriptor("attention_query_gradients: v", v, 2)
    _check_reach("attention_query_gradients", q=q, lse=lse)
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_query_gradients: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )
    k_desc = TensorDescriptor.from_tensor(k, [1, 1, 1])
    v_desc = TensorDescriptor.from_tensor(v, [1, 1, 1])

    def grid(meta):
        return _checked_grid(
            "attention_query_gradients", (triton.cdiv(S, meta["BLOCK"]), H)
        )

    with torch.cuda.device(q.get_device()):
        attention_query_gradients_kernel[grid](
            q,
            k_desc,
            v_desc,
            d_out,
            lse,
            delta,
            dq,
            S,
            HEAD_DIM=HEAD_DIM,
            CAUSAL=CAUSAL,
        )
    return dq


@torch.library.custom_op("tilescript::attention_with_gradients", mutates_args=())
def attention_with_gradients_op(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, CAUSAL: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    return _attention_forward(q, k, v, CAUSAL)


@attention_with_gradients_op.register_fake
def _(q, k, v, CAUSAL=False):
    return _attention_forward_meta(q, k, v, CAUSAL)


@torch.library.custom_op(
    "tilescript::attention_with_gradients_backward", mutates_args=()
)
def attention_with_gradients_backward_op(
    grad_o: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    CAUSAL: bool,
    needs_q: bool,
    needs_k: bool,
    needs_v: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q = q.contiguous()
    k = k.contiguous()
    v = v.contiguous()
    d_out = grad_o.contiguous()
    delta = _attention_delta(o, d_out)
    if needs_k or needs_v:
        dk, dv = _attention_key_gradients(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dk = grad_o.new_empty(0)
        dv = grad_o.new_empty(0)
    if needs_q:
        dq = _attention_query_gradients(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dq = grad_o.new_empty(0)
    return dq, dk, dv


@attention_with_gradients_backward_op.register_fake
def _(grad_o, q, k, v, o, lse, CAUSAL, needs_q, needs_k, needs_v):
    q = q.contiguous()
    k = k.contiguous()
    v = v.contiguous()
    d_out = grad_o.contiguous()
    delta = _attention_delta_meta(o, d_out)
    if needs_k or needs_v:
        dk, dv = _attention_key_gradients_meta(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dk = grad_o.new_empty(0)
        dv = grad_o.new_empty(0)
    if needs_q:
        dq = _attention_query_gradients_meta(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dq = grad_o.new_empty(0)
    return dq, dk, dv


def _attention_with_gradients_setup_context(ctx, inputs, output):
    q, k, v, CAUSAL = inputs
    o, lse = output
    ctx.save_for_backward(q, k, v, o, lse)
    ctx.CAUSAL = CAUSAL
    ctx.mark_non_differentiable(lse)


def _attention_with_gradients_backward(ctx, grad_o, *_):
    q, k, v, o, lse = ctx.saved_tensors
    needs_q = ctx.needs_input_grad[0]
    needs_k = ctx.needs_input_grad[1]
    needs_v = ctx.needs_input_grad[2]
    grad_q, grad_k, grad_v = attention_with_gradients_backward_op(
        grad_o, q, k, v, o, lse, ctx.CAUSAL, needs_q, needs_k, needs_v
    )
    return grad_q, grad_k, grad_v, None


attention_with_gradients_op.register_autograd(
    _attention_with_gradients_backward,
    setup_context=_attention_with_gradients_setup_context,
)


def attention_with_gradients(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, CAUSAL: bool = False
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim)) @ v for each head, with its gradients.

    Args:
        q, k, v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        CAUSAL: a bool that the kernel is compiled for.

    Returns:
        o: [H, S, HEAD_DIM] float16 or bfloat16.
    """
    _refuse_tangents("attention_with_gradients", q, k, v)
    o, _ = attention_with_gradients_op(q, k, v, CAUSAL)
    return o


def reference_fn(q, k, v, CAUSAL=False):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=CAUSAL)


SHAPES = [
    {"H": 32, "S": 1024, "HEAD_DIM": 64, "CAUSAL": False},
    {"H": 32, "S": 1024, "HEAD_DIM": 128, "CAUSAL": True},
    {"H": 2, "S": 200, "HEAD_DIM": 64, "CAUSAL": True},
]


def get_inputs(H=32, S=1024, HEAD_DIM=64, *, CAUSAL=False):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        CAUSAL,
    ]


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


def _check_descriptor(label, tensor, axis, is_written=False):
    """Refuses a tensor whose blocks the GPU's copy engine cannot address."""
    if 0 in tensor.shape:
        raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
    strides = tensor.stride()
    if strides[axis] != 1:
        raise ValueError(
            f"{label} must have stride 1 on axis {axis}, got strides {strides}; "
            "call .contiguous() first"
        )
    others = [step for i, step in enumerate(strides) if i != axis]
    # Stores may write up to the next multiple of 16 bytes behind a row.
    if is_written:
        others.append(tensor.shape[axis])
    _check_described(label, tensor, *others)


def _check_described(label, tensor, *steps):
    """Refuses memory that no descriptor with these strides and rows can address."""
    if tensor.data_ptr() % 16:
        raise ValueError(f"{label} must start at a multiple of 16 bytes; call .clone()")
    for step in steps:
        if step * tensor.itemsize % 16:
            raise ValueError(
                f"{label} must have rows and strides of a multiple of 16 bytes, got "
                f"{step} elements of {tensor.itemsize} bytes; pad the rows"
            )


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


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


kernel_fn = attention_with_gradients
