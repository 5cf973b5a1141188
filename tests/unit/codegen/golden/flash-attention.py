"""softmax(q @ k^T / sqrt(head dim)) @ v for each head.

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
            {"BLOCK_M": BLOCK_M, "BLOCK_N": 64},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, num_warps, num_stages in [(128, 8, 3), (64, 4, 3), (128, 8, 2)]
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    S,
    stride_qh,
    stride_qs,
    stride_q_head_dim,
    stride_kh,
    stride_ks,
    stride_k_head_dim,
    stride_vh,
    stride_vs,
    stride_v_head_dim,
    stride_oh,
    stride_os,
    stride_o_head_dim,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    head = tl.program_id(1)
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD_DIM)
    mask_s = rm[:, None] < S
    queries = tl.load(
        q_ptr
        + head * stride_qh
        + (rm[:, None] * stride_qs + rd[None, :] * stride_q_head_dim),
        mask=mask_s,
        other=0.0,
    )
    # Powers of two are cheaper than of e: log2(e) goes into the scale.
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32)) * 1.44269504
    best = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    offsets = tl.arange(0, BLOCK_N)
    k_ptrs = k_ptr + (
        head * stride_kh
        + offsets[:, None] * stride_ks
        + rd[None, :] * stride_k_head_dim
    )
    v_ptrs = v_ptr + (
        head * stride_vh
        + offsets[:, None] * stride_vs
        + rd[None, :] * stride_v_head_dim
    )
    for start in range(0, S, BLOCK_N):
        rn = start + offsets
        mask = offsets[:, None] < S - start
        keys = tl.load(k_ptrs, mask=mask, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        seen = tl.where(rn[None, :] < S, scores, float("-inf"))
        if CAUSAL:
            masked = tl.where(rm[:, None] >= rn[None, :], seen, float("-inf"))
        else:
            masked = seen
        new_best = tl.maximum(best, tl.max(masked, axis=1))
        weights = tl.exp2(masked - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        acc = tl.dot(
            weights.to(o_ptr.dtype.element_ty),
            tl.load(v_ptrs, mask=mask, other=0.0),
            acc * alpha[:, None],
        )
        best = new_best
        k_ptrs += BLOCK_N * stride_ks
        v_ptrs += BLOCK_N * stride_vs
    tl.store(
        o_ptr
        + head * stride_oh
        + (rm[:, None] * stride_os + rd[None, :] * stride_o_head_dim),
        (acc / total[:, None]).to(o_ptr.dtype.element_ty),
        mask=mask_s,
    )


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    CAUSAL: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim)) @ v for each head.

    Args:
        q, k, v: [H, S, HEAD_DIM] float16 or bfloat16.
        CAUSAL: a bool that the kernel is compiled for.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.
    """
    _check_type("attention: CAUSAL", CAUSAL, bool)
    if q.ndim != 3 or k.shape != q.shape or v.shape != q.shape:
        raise ValueError(
            "attention: q, k and v must have shape [H, S, HEAD_DIM], got "
            f"{q.shape}, {k.shape} and {v.shape}"
        )
    H, S, HEAD_DIM = q.shape
    o = q.new_empty((H, S, HEAD_DIM)) if out is None else out
    if o.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention: out must have shape [H={H}, S={S}, HEAD_DIM={HEAD_DIM}], "
            f"got {o.shape}"
        )
    tensors = {"q": q, "k": k, "v": v, "out": o}
    _check_dtypes("attention", (torch.float16, torch.bfloat16), q=q, k=k, v=v)
    _check_dtypes("attention", (q.dtype,), out=o)
    _check_tensors("attention", **tensors)
    _check_strided("attention: out", out, q=q, k=k, v=v)
    if H * S * HEAD_DIM == 0:
        return o

    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            f"attention: HEAD_DIM must be a power of two from 16 up, got {HEAD_DIM}"
        )

    def grid(meta):
        return _checked_grid("attention", (triton.cdiv(S, meta["BLOCK_M"]), H))

    with torch.cuda.device(q.get_device()):
        attention_kernel[grid](
            *tensors.values(), S, *_strides(tensors), HEAD_DIM=HEAD_DIM, CAUSAL=CAUSAL
        )
    return o


def reference_fn(q, k, v, CAUSAL=False):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=CAUSAL)


SHAPES = [{"H": 8, "S": 1024, "HEAD_DIM": 64}, {"H": 2, "S": 200, "HEAD_DIM": 64}]


def get_inputs(H=8, S=1024, *, HEAD_DIM=64):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        False,
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


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


kernel_fn = attention
