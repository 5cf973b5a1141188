"""softmax(q @ k^T / sqrt(head dim)) @ v for each head, with its gradients.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# Binaries and grids of earlier launches.
_LAUNCHES = {}


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


def _maxnreg(most):
    """The most registers that a thread may use: AMD's compiler takes no such option."""
    return {} if torch.version.hip else {"maxnreg": most}


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["q_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]
    args["d_out_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]


def _set_blocks_1(args):
    """Gives each descriptor the block of the config that is to run."""
    args["k_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]
    args["v_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]


def _refuse_recording(operator):
    """Refuses calls of an operator whose gradient PyTorch would leave out."""
    label = operator._name

    def checked(keyset, *args):
        wanted = [x.requires_grad for x in args if isinstance(x, torch.Tensor)]
        if torch.is_grad_enabled() and any(wanted):
            raise RuntimeError(
                f"{label}: what is written to a given tensor has no gradient; "
                "call it under torch.no_grad()"
            )
        with torch._C._AutoDispatchBelowAutograd():
            others = keyset & torch._C._after_autograd_keyset
            return operator._opoverload.redispatch(others, *args)

    for device in ("CPU", "CUDA", "Meta"):
        key = f"Autograd{device}"
        operator._lib.impl(label, checked, key, with_keyset=True)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3, **_maxnreg(128)
        ),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 32}, num_warps=4, num_stages=4),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=2),
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=_first_config if _INTERPRETED else None,
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


def attention_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    CAUSAL: bool = False,
    *,
    o: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o = softmax(q @ k^T / sqrt(head dim)) @ v, and the base-2 logarithm of each
    row's sum of exponentials.

    Args:
        q: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        k: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        CAUSAL: a bool that the kernel is compiled for.
        o: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if None.
        lse: where to write [H, S] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_type("attention_forward: CAUSAL", CAUSAL, bool)
    _check_tensor("attention_forward: q", q)
    _check_tensor("attention_forward: k", k)
    _check_tensor("attention_forward: v", v)
    if q.ndim != 3:
        raise ValueError(
            "attention_forward: q must have shape [H, S, HEAD_DIM], got "
            f"{list(q.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    if not q.is_contiguous():
        raise ValueError(
            "attention_forward: q must be contiguous, got strides "
            f"{q.stride()}; call .contiguous() first"
        )
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            "attention_forward: q must be torch.float16 or torch.bfloat16, "
            f"got {q.dtype}"
        )
    if k.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_forward: k must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(k.shape)}"
        )
    if not k.is_contiguous():
        raise ValueError(
            "attention_forward: k must be contiguous, got strides "
            f"{k.stride()}; call .contiguous() first"
        )
    if k.dtype != q.dtype:
        raise TypeError(
            f"attention_forward: k must be {q.dtype} as q is, got {k.dtype}"
        )
    if v.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_forward: v must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(v.shape)}"
        )
    if not v.is_contiguous():
        raise ValueError(
            "attention_forward: v must be contiguous, got strides "
            f"{v.stride()}; call .contiguous() first"
        )
    if v.dtype != q.dtype:
        raise TypeError(
            f"attention_forward: v must be {q.dtype} as q is, got {v.dtype}"
        )
    if _records_gradient("attention_forward", q, k, v, o, lse):
        return _without_gradient(attention_forward, (q, k, v, CAUSAL), given=(o, lse))
    device = q.device
    if k.device != device:
        raise ValueError(
            f"attention_forward: k must be on {device} as q is, got {k.device}"
        )
    if v.device != device:
        raise ValueError(
            f"attention_forward: v must be on {device} as q is, got {v.device}"
        )
    if q.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return attention_forward(q, k, v, CAUSAL, o=o, lse=lse)
    elif not (q.is_cpu and _INTERPRETED):
        raise ValueError(
            f"attention_forward: q must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if o is None:
        o = torch.empty_like(q)
    else:
        _check_out(
            "attention_forward: o",
            o,
            (H, S, HEAD_DIM),
            q.dtype,
            device,
            {"q": q, "k": k, "v": v},
        )
        if not o.is_contiguous():
            raise ValueError(
                "attention_forward: o must be contiguous, got strides "
                f"{o.stride()}; call .contiguous() first"
            )
    if lse is None:
        lse = q.new_empty((H, S), dtype=torch.float32)
    else:
        _check_out(
            "attention_forward: lse",
            lse,
            (H, S),
            torch.float32,
            device,
            {"q": q, "k": k, "v": v, "o": o},
        )
        if not lse.is_contiguous():
            raise ValueError(
                "attention_forward: lse must be contiguous, got strides "
                f"{lse.stride()}; call .contiguous() first"
            )
    if H * S == 0:
        return o, lse

    if H * S * HEAD_DIM >= _INT32_REACH:
        raise _beyond_int32("attention_forward: q")
    if H * S >= _INT32_REACH:
        raise _beyond_int32("attention_forward: lse")
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_forward: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )
    if _INTERPRETED:
        _check_bfloat16("attention_forward", q.dtype)

    def grid(meta):
        return triton.cdiv(S, meta["BLOCK_M"]), H

    _launch(
        attention_forward_kernel,
        grid,
        (q, k, v, o, lse),
        (S,),
        device,
        q.dtype,
        H,
        HEAD_DIM=HEAD_DIM,
        CAUSAL=CAUSAL,
    )
    return o, lse


def _attention_forward_fake(q, k, v, CAUSAL=False):
    """What torch.compile sees of attention_forward: shapes and dtypes."""
    H = q.shape[0]
    S = q.shape[1]
    HEAD_DIM = q.shape[2]
    return (
        torch.empty((H, S, HEAD_DIM), device=q.device, dtype=q.dtype),
        torch.empty((H, S), device=q.device, dtype=torch.float32),
    )


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


def attention_delta(
    o: torch.Tensor, d_out: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """delta = (o * do).sum(-1), in float32.

    Args:
        o: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        d_out: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        out: where to write [H, S] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("attention_delta: o", o)
    _check_tensor("attention_delta: d_out", d_out)
    if o.ndim != 3:
        raise ValueError(
            f"attention_delta: o must have shape [H, S, HEAD_DIM], got {list(o.shape)}"
        )
    H, S, HEAD_DIM = o.shape
    if not o.is_contiguous():
        raise ValueError(
            "attention_delta: o must be contiguous, got strides "
            f"{o.stride()}; call .contiguous() first"
        )
    if o.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"attention_delta: o must be torch.float16 or torch.bfloat16, got {o.dtype}"
        )
    if d_out.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_delta: d_out must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(d_out.shape)}"
        )
    if not d_out.is_contiguous():
        raise ValueError(
            "attention_delta: d_out must be contiguous, got strides "
            f"{d_out.stride()}; call .contiguous() first"
        )
    if d_out.dtype != o.dtype:
        raise TypeError(
            f"attention_delta: d_out must be {o.dtype} as o is, got {d_out.dtype}"
        )
    if _records_gradient("attention_delta", o, d_out, out):
        return _without_gradient(attention_delta, (o, d_out), given=(out,))
    device = o.device
    if d_out.device != device:
        raise ValueError(
            f"attention_delta: d_out must be on {device} as o is, got {d_out.device}"
        )
    if o.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return attention_delta(o, d_out, out=out)
    elif not (o.is_cpu and _INTERPRETED):
        raise ValueError(
            f"attention_delta: o must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        delta = o.new_empty((H, S), dtype=torch.float32)
    else:
        delta = _check_out(
            "attention_delta: out",
            out,
            (H, S),
            torch.float32,
            device,
            {"o": o, "d_out": d_out},
        )
        if not delta.is_contiguous():
            raise ValueError(
                "attention_delta: out must be contiguous, got strides "
                f"{delta.stride()}; call .contiguous() first"
            )
    if H * S == 0:
        return delta

    if H * S * HEAD_DIM >= _INT32_REACH:
        raise _beyond_int32("attention_delta: o")
    if H * S >= _INT32_REACH:
        raise _beyond_int32("attention_delta: out")
    if HEAD_DIM < 1 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            f"attention_delta: HEAD_DIM must be a power of two, got {HEAD_DIM}"
        )
    if _INTERPRETED:
        _check_bfloat16("attention_delta", o.dtype)

    def grid(meta):
        return triton.cdiv(S, meta["BLOCK_M"]), H

    _launch(
        attention_delta_kernel,
        grid,
        (o, d_out, delta),
        (S,),
        device,
        o.dtype,
        H,
        HEAD_DIM=HEAD_DIM,
        BLOCK_M=32,
    )
    return delta


def _attention_delta_fake(o, d_out):
    """What torch.compile sees of attention_delta: shapes and dtypes."""
    H = o.shape[0]
    S = o.shape[1]
    return torch.empty((H, S), device=o.device, dtype=torch.float32)


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK": 64, "STEP": 64}, num_warps=4, num_stages=2, pre_hook=_set_blocks
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 64},
            num_warps=4,
            num_stages=2,
            **_maxnreg(168),
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 32}, num_warps=4, num_stages=3, pre_hook=_set_blocks
        ),
        triton.Config(
            {"BLOCK": 128, "STEP": 32}, num_warps=4, num_stages=4, pre_hook=_set_blocks
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 16}, num_warps=8, num_stages=2, pre_hook=_set_blocks
        ),
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=_first_config if _INTERPRETED else None,
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
        offsets = tl.arange(0, STEP)
        lse_ptrs = lse_ptr + (head * S + first) + offsets
        delta_ptrs = delta_ptr + (head * S + first) + offsets
        for start in range(first, first + BLOCK, STEP):
            rm = start + offsets
            queries = tl.reshape(q_desc.load([head, start, 0]), [STEP, HEAD_DIM])
            gradient = tl.reshape(d_out_desc.load([head, start, 0]), [STEP, HEAD_DIM])
            # Weights of rows past the end are 0.
            mask = offsets < S - start
            log_sum = tl.load(lse_ptrs, mask=mask, other=float("inf"))
            unmasked = tl.exp2(
                tl.dot(keys, tl.trans(queries)) * to_base2 - log_sum[None, :]
            )
            weights = tl.where(rm[None, :] >= block[:, None], unmasked, 0.0)
            dv_sum = tl.dot(weights.to(dk_ptr.dtype.element_ty), gradient, dv_sum)
            some_delta = tl.load(delta_ptrs, mask=mask, other=0.0)
            change = tl.dot(values, tl.trans(gradient)) - some_delta[None, :]
            dk_sum = tl.dot(
                (weights * change).to(dk_ptr.dtype.element_ty), queries, dk_sum
            )
            lse_ptrs += STEP
            delta_ptrs += STEP
    if CAUSAL:
        below = first + BLOCK
    else:
        below = tl.full([], 0, dtype=tl.int32)
    rm = tl.arange(0, STEP)
    lse_ptrs = lse_ptr + (head * S + below) + rm
    delta_ptrs = delta_ptr + (head * S + below) + rm
    for start in range(below, S, STEP):
        queries = tl.reshape(q_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        gradient = tl.reshape(d_out_desc.load([head, start, 0]), [STEP, HEAD_DIM])
        mask = rm < S - start
        log_sum = tl.load(lse_ptrs, mask=mask, other=float("inf"))
        unmasked = tl.exp2(
            tl.dot(keys, tl.trans(queries)) * to_base2 - log_sum[None, :]
        )
        dv_sum = tl.dot(unmasked.to(dk_ptr.dtype.element_ty), gradient, dv_sum)
        some_delta = tl.load(delta_ptrs, mask=mask, other=0.0)
        change = tl.dot(values, tl.trans(gradient)) - some_delta[None, :]
        dk_sum = tl.dot(
            (unmasked * change).to(dk_ptr.dtype.element_ty), queries, dk_sum
        )
        lse_ptrs += STEP
        delta_ptrs += STEP
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


def attention_key_gradients(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    d_out: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
    CAUSAL: bool = False,
    *,
    dk: torch.Tensor | None = None,
    dv: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of k and v.

    Args:
        q: [H, S, HEAD_DIM] float16 or bfloat16.
        k: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        d_out: [H, S, HEAD_DIM] float16 or bfloat16.
        lse: [H, S] float32, contiguous.
        delta: [H, S] float32, contiguous.
        CAUSAL: a bool that the kernel is compiled for.
        dk: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.
        dv: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_type("attention_key_gradients: CAUSAL", CAUSAL, bool)
    _check_tensor("attention_key_gradients: q", q)
    _check_tensor("attention_key_gradients: k", k)
    _check_tensor("attention_key_gradients: v", v)
    _check_tensor("attention_key_gradients: d_out", d_out)
    _check_tensor("attention_key_gradients: lse", lse)
    _check_tensor("attention_key_gradients: delta", delta)
    if q.ndim != 3:
        raise ValueError(
            "attention_key_gradients: q must have shape [H, S, HEAD_DIM], "
            f"got {list(q.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            "attention_key_gradients: q must be torch.float16 or "
            f"torch.bfloat16, got {q.dtype}"
        )
    if k.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_key_gradients: k must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(k.shape)}"
        )
    if not k.is_contiguous():
        raise ValueError(
            "attention_key_gradients: k must be contiguous, got strides "
            f"{k.stride()}; call .contiguous() first"
        )
    if k.dtype != q.dtype:
        raise TypeError(
            f"attention_key_gradients: k must be {q.dtype} as q is, got {k.dtype}"
        )
    if v.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_key_gradients: v must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(v.shape)}"
        )
    if not v.is_contiguous():
        raise ValueError(
            "attention_key_gradients: v must be contiguous, got strides "
            f"{v.stride()}; call .contiguous() first"
        )
    if v.dtype != q.dtype:
        raise TypeError(
            f"attention_key_gradients: v must be {q.dtype} as q is, got {v.dtype}"
        )
    if d_out.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_key_gradients: d_out must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(d_out.shape)}"
        )
    if d_out.dtype != q.dtype:
        raise TypeError(
            f"attention_key_gradients: d_out must be {q.dtype} as q is, "
            f"got {d_out.dtype}"
        )
    if lse.shape != (H, S):
        raise ValueError(
            f"attention_key_gradients: lse must have shape [H={H}, "
            f"S={S}], got {list(lse.shape)}"
        )
    if not lse.is_contiguous():
        raise ValueError(
            "attention_key_gradients: lse must be contiguous, got "
            f"strides {lse.stride()}; call .contiguous() first"
        )
    if lse.dtype != torch.float32:
        raise TypeError(
            f"attention_key_gradients: lse must be torch.float32, got {lse.dtype}"
        )
    if delta.shape != (H, S):
        raise ValueError(
            f"attention_key_gradients: delta must have shape [H={H}, "
            f"S={S}], got {list(delta.shape)}"
        )
    if not delta.is_contiguous():
        raise ValueError(
            "attention_key_gradients: delta must be contiguous, got "
            f"strides {delta.stride()}; call .contiguous() first"
        )
    if delta.dtype != torch.float32:
        raise TypeError(
            f"attention_key_gradients: delta must be torch.float32, got {delta.dtype}"
        )
    if _records_gradient("attention_key_gradients", q, k, v, d_out, lse, delta, dk, dv):
        return _without_gradient(
            attention_key_gradients,
            (q, k, v, d_out, lse, delta, CAUSAL),
            given=(dk, dv),
        )
    device = q.device
    if k.device != device:
        raise ValueError(
            f"attention_key_gradients: k must be on {device} as q is, got {k.device}"
        )
    if v.device != device:
        raise ValueError(
            f"attention_key_gradients: v must be on {device} as q is, got {v.device}"
        )
    if d_out.device != device:
        raise ValueError(
            f"attention_key_gradients: d_out must be on {device} as q "
            f"is, got {d_out.device}"
        )
    if lse.device != device:
        raise ValueError(
            f"attention_key_gradients: lse must be on {device} as q "
            f"is, got {lse.device}"
        )
    if delta.device != device:
        raise ValueError(
            f"attention_key_gradients: delta must be on {device} as q "
            f"is, got {delta.device}"
        )
    if q.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return attention_key_gradients(
                    q, k, v, d_out, lse, delta, CAUSAL, dk=dk, dv=dv
                )
    elif not (q.is_cpu and _INTERPRETED):
        raise ValueError(
            "attention_key_gradients: q must be on a GPU, got "
            f"{device}; the CPU needs TRITON_INTERPRET=1, set before "
            "triton is imported"
        )

    if dk is None:
        dk = torch.empty_like(k)
    else:
        _check_out(
            "attention_key_gradients: dk",
            dk,
            (H, S, HEAD_DIM),
            q.dtype,
            device,
            {"q": q, "k": k, "v": v, "d_out": d_out, "lse": lse, "delta": delta},
        )
        if not dk.is_contiguous():
            raise ValueError(
                "attention_key_gradients: dk must be contiguous, got strides "
                f"{dk.stride()}; call .contiguous() first"
            )
    if dv is None:
        dv = torch.empty_like(k)
    else:
        _check_out(
            "attention_key_gradients: dv",
            dv,
            (H, S, HEAD_DIM),
            q.dtype,
            device,
            {
                "q": q,
                "k": k,
                "v": v,
                "d_out": d_out,
                "lse": lse,
                "delta": delta,
                "dk": dk,
            },
        )
        if not dv.is_contiguous():
            raise ValueError(
                "attention_key_gradients: dv must be contiguous, got strides "
                f"{dv.stride()}; call .contiguous() first"
            )
    if H * S * HEAD_DIM == 0:
        return dk, dv

    _check_descriptor("attention_key_gradients: q", q, 2)
    _check_descriptor("attention_key_gradients: d_out", d_out, 2)
    if H * S * HEAD_DIM >= _INT32_REACH:
        raise _beyond_int32("attention_key_gradients: k")
    if H * S >= _INT32_REACH:
        raise _beyond_int32("attention_key_gradients: lse")
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_key_gradients: HEAD_DIM must be a power of two "
            f"from 16 up, got {HEAD_DIM}"
        )
    if _INTERPRETED:
        _check_bfloat16("attention_key_gradients", q.dtype)
    q_desc = TensorDescriptor.from_tensor(q, [1, 1, 1])
    d_out_desc = TensorDescriptor.from_tensor(d_out, [1, 1, 1])

    def grid(meta):
        return triton.cdiv(S, meta["BLOCK"]), H

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


def _attention_key_gradients_fake(q, k, v, d_out, lse, delta, CAUSAL=False):
    """What torch.compile sees of attention_key_gradients: shapes and dtypes."""
    H = q.shape[0]
    S = q.shape[1]
    HEAD_DIM = q.shape[2]
    return (
        torch.empty((H, S, HEAD_DIM), device=q.device, dtype=q.dtype),
        torch.empty((H, S, HEAD_DIM), device=q.device, dtype=q.dtype),
    )


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK": 128, "STEP": 64},
            num_warps=8,
            num_stages=3,
            pre_hook=_set_blocks_1,
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 64}, num_warps=4, num_stages=3, pre_hook=_set_blocks_1
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 32}, num_warps=4, num_stages=3, pre_hook=_set_blocks_1
        ),
        triton.Config(
            {"BLOCK": 128, "STEP": 32},
            num_warps=8,
            num_stages=2,
            pre_hook=_set_blocks_1,
        ),
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=_first_config if _INTERPRETED else None,
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


def attention_query_gradients(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    d_out: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
    CAUSAL: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The gradient of q.

    Args:
        q: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        k: [H, S, HEAD_DIM] float16 or bfloat16.
        v: [H, S, HEAD_DIM] float16 or bfloat16.
        d_out: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        lse: [H, S] float32, contiguous.
        delta: [H, S] float32, contiguous.
        CAUSAL: a bool that the kernel is compiled for.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_type("attention_query_gradients: CAUSAL", CAUSAL, bool)
    _check_tensor("attention_query_gradients: q", q)
    _check_tensor("attention_query_gradients: k", k)
    _check_tensor("attention_query_gradients: v", v)
    _check_tensor("attention_query_gradients: d_out", d_out)
    _check_tensor("attention_query_gradients: lse", lse)
    _check_tensor("attention_query_gradients: delta", delta)
    if q.ndim != 3:
        raise ValueError(
            "attention_query_gradients: q must have shape [H, S, HEAD_DIM], "
            f"got {list(q.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    if not q.is_contiguous():
        raise ValueError(
            "attention_query_gradients: q must be contiguous, got "
            f"strides {q.stride()}; call .contiguous() first"
        )
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            "attention_query_gradients: q must be torch.float16 or "
            f"torch.bfloat16, got {q.dtype}"
        )
    if k.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_query_gradients: k must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(k.shape)}"
        )
    if k.dtype != q.dtype:
        raise TypeError(
            f"attention_query_gradients: k must be {q.dtype} as q is, got {k.dtype}"
        )
    if v.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_query_gradients: v must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(v.shape)}"
        )
    if v.dtype != q.dtype:
        raise TypeError(
            f"attention_query_gradients: v must be {q.dtype} as q is, got {v.dtype}"
        )
    if d_out.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_query_gradients: d_out must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(d_out.shape)}"
        )
    if not d_out.is_contiguous():
        raise ValueError(
            "attention_query_gradients: d_out must be contiguous, got "
            f"strides {d_out.stride()}; call .contiguous() first"
        )
    if d_out.dtype != q.dtype:
        raise TypeError(
            f"attention_query_gradients: d_out must be {q.dtype} as q "
            f"is, got {d_out.dtype}"
        )
    if lse.shape != (H, S):
        raise ValueError(
            f"attention_query_gradients: lse must have shape [H={H}, "
            f"S={S}], got {list(lse.shape)}"
        )
    if not lse.is_contiguous():
        raise ValueError(
            "attention_query_gradients: lse must be contiguous, got "
            f"strides {lse.stride()}; call .contiguous() first"
        )
    if lse.dtype != torch.float32:
        raise TypeError(
            f"attention_query_gradients: lse must be torch.float32, got {lse.dtype}"
        )
    if delta.shape != (H, S):
        raise ValueError(
            f"attention_query_gradients: delta must have shape [H={H}, "
            f"S={S}], got {list(delta.shape)}"
        )
    if not delta.is_contiguous():
        raise ValueError(
            "attention_query_gradients: delta must be contiguous, got "
            f"strides {delta.stride()}; call .contiguous() first"
        )
    if delta.dtype != torch.float32:
        raise TypeError(
            f"attention_query_gradients: delta must be torch.float32, got {delta.dtype}"
        )
    if _records_gradient("attention_query_gradients", q, k, v, d_out, lse, delta, out):
        return _without_gradient(
            attention_query_gradients,
            (q, k, v, d_out, lse, delta, CAUSAL),
            given=(out,),
        )
    device = q.device
    if k.device != device:
        raise ValueError(
            f"attention_query_gradients: k must be on {device} as q is, got {k.device}"
        )
    if v.device != device:
        raise ValueError(
            f"attention_query_gradients: v must be on {device} as q is, got {v.device}"
        )
    if d_out.device != device:
        raise ValueError(
            f"attention_query_gradients: d_out must be on {device} as "
            f"q is, got {d_out.device}"
        )
    if lse.device != device:
        raise ValueError(
            f"attention_query_gradients: lse must be on {device} as q "
            f"is, got {lse.device}"
        )
    if delta.device != device:
        raise ValueError(
            f"attention_query_gradients: delta must be on {device} as "
            f"q is, got {delta.device}"
        )
    if q.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return attention_query_gradients(
                    q, k, v, d_out, lse, delta, CAUSAL, out=out
                )
    elif not (q.is_cpu and _INTERPRETED):
        raise ValueError(
            "attention_query_gradients: q must be on a GPU, got "
            f"{device}; the CPU needs TRITON_INTERPRET=1, set before "
            "triton is imported"
        )

    if out is None:
        dq = torch.empty_like(q)
    else:
        dq = _check_out(
            "attention_query_gradients: out",
            out,
            (H, S, HEAD_DIM),
            q.dtype,
            device,
            {"q": q, "k": k, "v": v, "d_out": d_out, "lse": lse, "delta": delta},
        )
        if not dq.is_contiguous():
            raise ValueError(
                "attention_query_gradients: out must be contiguous, got "
                f"strides {dq.stride()}; call .contiguous() first"
            )
    if H * S * HEAD_DIM == 0:
        return dq

    _check_descriptor("attention_query_gradients: k", k, 2)
    _check_descriptor("attention_query_gradients: v", v, 2)
    if H * S * HEAD_DIM >= _INT32_REACH:
        raise _beyond_int32("attention_query_gradients: q")
    if H * S >= _INT32_REACH:
        raise _beyond_int32("attention_query_gradients: lse")
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_query_gradients: HEAD_DIM must be a power of two "
            f"from 16 up, got {HEAD_DIM}"
        )
    if _INTERPRETED:
        _check_bfloat16("attention_query_gradients", q.dtype)
    k_desc = TensorDescriptor.from_tensor(k, [1, 1, 1])
    v_desc = TensorDescriptor.from_tensor(v, [1, 1, 1])

    def grid(meta):
        return triton.cdiv(S, meta["BLOCK"]), H

    attention_query_gradients_kernel[grid](
        q, k_desc, v_desc, d_out, lse, delta, dq, S, HEAD_DIM=HEAD_DIM, CAUSAL=CAUSAL
    )
    return dq


def _attention_query_gradients_fake(q, k, v, d_out, lse, delta, CAUSAL=False):
    """What torch.compile sees of attention_query_gradients: shapes and dtypes."""
    H = q.shape[0]
    S = q.shape[1]
    HEAD_DIM = q.shape[2]
    return torch.empty((H, S, HEAD_DIM), device=q.device, dtype=q.dtype)


@torch.library.custom_op("tilescript::attention_with_gradients", mutates_args=())
def attention_with_gradients_op(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, CAUSAL: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """torch.ops.tilescript.attention_with_gradients."""
    _refuse_forward_mode("attention_with_gradients", q, k, v)
    return attention_forward(q, k, v, CAUSAL)


@attention_with_gradients_op.register_fake
def _attention_with_gradients_op_fake(q, k, v, CAUSAL=False):
    """What torch.compile sees of attention_with_gradients_op: shapes and dtypes."""
    return _attention_forward_fake(q, k, v, CAUSAL)


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
    """torch.ops.tilescript.attention_with_gradients_backward."""
    _refuse_forward_mode("attention_with_gradients_backward", grad_o, q, k, v, o, lse)
    q = q.contiguous()
    k = k.contiguous()
    v = v.contiguous()
    d_out = grad_o.contiguous()
    delta = attention_delta(o, d_out)
    if needs_k or needs_v:
        dk, dv = attention_key_gradients(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dk = grad_o.new_empty(0)
        dv = grad_o.new_empty(0)
    if needs_q:
        dq = attention_query_gradients(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dq = grad_o.new_empty(0)
    return dq, dk, dv


@attention_with_gradients_backward_op.register_fake
def _attention_with_gradients_backward_op_fake(
    grad_o, q, k, v, o, lse, CAUSAL, needs_q, needs_k, needs_v
):
    """What torch.compile sees of attention_with_gradients_backward_op: shapes and
    dtypes.
    """
    d_out = grad_o.contiguous()
    delta = _attention_delta_fake(o, d_out)
    if needs_k or needs_v:
        dk, dv = _attention_key_gradients_fake(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dk = grad_o.new_empty(0)
        dv = grad_o.new_empty(0)
    if needs_q:
        dq = _attention_query_gradients_fake(q, k, v, d_out, lse, delta, CAUSAL)
    else:
        dq = grad_o.new_empty(0)
    return dq, dk, dv


def _attention_with_gradients_setup_context(ctx, inputs, output):
    """Keeps what the gradient of attention_with_gradients needs."""
    q, k, v, CAUSAL = inputs
    o, lse = output
    ctx.save_for_backward(q, k, v, o, lse)
    ctx.CAUSAL = CAUSAL
    ctx.mark_non_differentiable(lse)


def _attention_with_gradients_backward(ctx, grad_o, *_):
    """The gradients of the inputs of attention_with_gradients."""
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


@torch.library.custom_op(
    "tilescript::attention_with_gradients_out", mutates_args=("out",)
)
def attention_with_gradients_out_op(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    CAUSAL: bool = False,
) -> None:
    """attention_with_gradients into tensors of the caller, as
    torch.ops.tilescript.attention_with_gradients_out.
    """
    _refuse_forward_mode("attention_with_gradients_out", q, k, v, out)
    if q.ndim != 3:
        raise ValueError(
            "attention_with_gradients: q must have shape [H, S, HEAD_DIM], "
            f"got {list(q.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    if not q.is_contiguous():
        raise ValueError(
            "attention_with_gradients: q must be contiguous, got strides "
            f"{q.stride()}; call .contiguous() first"
        )
    if k.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_with_gradients: k must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(k.shape)}"
        )
    if not k.is_contiguous():
        raise ValueError(
            "attention_with_gradients: k must be contiguous, got strides "
            f"{k.stride()}; call .contiguous() first"
        )
    if v.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_with_gradients: v must have shape [H={H}, "
            f"S={S}, HEAD_DIM={HEAD_DIM}], got {list(v.shape)}"
        )
    if not v.is_contiguous():
        raise ValueError(
            "attention_with_gradients: v must be contiguous, got strides "
            f"{v.stride()}; call .contiguous() first"
        )
    device = q.device
    _check_out(
        "attention_with_gradients: out",
        out,
        (H, S, HEAD_DIM),
        q.dtype,
        device,
        {"q": q, "k": k, "v": v},
    )
    if not out.is_contiguous():
        raise ValueError(
            "attention_with_gradients: out must be contiguous, got "
            f"strides {out.stride()}; call .contiguous() first"
        )
    attention_forward(q, k, v, CAUSAL, o=out)


_refuse_recording(attention_with_gradients_out_op)


def attention_with_gradients(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    CAUSAL: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim)) @ v for each head, with its gradients.

    Args:
        q: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        k: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        CAUSAL: a bool that the kernel is compiled for.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.

    Returns:
        o: [H, S, HEAD_DIM] float16 or bfloat16.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        o, _ = attention_with_gradients_op(q, k, v, CAUSAL)
        return o
    _refuse_gradient("attention_with_gradients", q, k, v, out)
    attention_with_gradients_out_op(q, k, v, out, CAUSAL)
    return out


def reference_fn(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, CAUSAL: bool = False
):
    """What attention_with_gradients computes, in PyTorch."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=CAUSAL)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [
    {"H": 32, "S": 1024, "HEAD_DIM": 64, "CAUSAL": False},
    {"H": 32, "S": 1024, "HEAD_DIM": 128, "CAUSAL": True},
    {"H": 2, "S": 200, "HEAD_DIM": 64, "CAUSAL": True},
]


def get_inputs(H=32, S=1024, HEAD_DIM=64, *, CAUSAL=False):
    """Fresh arguments for attention_with_gradients, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        CAUSAL,
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


def _check_descriptor(label, tensor, axis):
    """Refuses a tensor whose blocks the GPU's copy engine cannot address."""
    if 0 in tensor.shape:
        raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
    size, strides = tensor.element_size(), tensor.stride()
    if strides[axis] != 1:
        raise ValueError(
            f"{label} must have stride 1 on axis {axis}, got strides {list(strides)}; "
            "call .contiguous() first"
        )
    if any(s * size % 16 for i, s in enumerate(strides) if i != axis):
        raise ValueError(
            f"{label} must have strides of a multiple of 16 bytes on all axes but "
            f"{axis}, got {list(strides)} elements of {size} bytes; pad the tensor"
        )
    if tensor.data_ptr() % 16 != 0:
        raise ValueError(
            f"{label} must start at a multiple of 16 bytes; call .clone() first"
        )


def _records_gradient(label, *tensors):
    """Whether PyTorch would record a gradient of one of these."""
    if torch.autograd.forward_ad._current_level >= 0:
        _refuse_tangents(label, tensors)
    if torch.is_grad_enabled():
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                return True
    return False


def _refuse_forward_mode(label, *tensors):
    """Refuses a call whose results would have tangents, which an operator has not."""
    if torch.autograd.forward_ad._current_level < 0:
        return
    if torch._functorch.eager_transforms.JVP_NESTING > 0:
        raise NotImplementedError(f"{label} has no forward-mode gradient")
    _refuse_tangents(label, tensors)


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


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are no integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


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


kernel_fn = attention_with_gradients
