"""softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

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
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N},
            num_warps=num_warps,
            num_stages=num_stages,
            maxnreg=None if torch.version.hip else maxnreg,
        )
        for BLOCK_M, BLOCK_N, num_warps, num_stages, maxnreg in [
            (128, 64, 8, 3, None),
            (128, 64, 4, 3, None),
            (128, 32, 4, 3, 168),
            (64, 64, 4, 3, None),
            (64, 32, 4, 3, None),
            (64, 32, 8, 2, None),
        ]
    ],
    key=["S", "HEAD_DIM"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def relative_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    o_ptr,
    S,
    DISTANCES,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1)
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD_DIM)
    # Rows past the end, which are not stored, take the biases of the last one.
    last_distance = tl.minimum(rm, S - 1) + S - 1
    mask_s = rm[:, None] < S
    queries = tl.load(
        q_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    best = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)

    offsets = tl.arange(0, BLOCK_N)
    whole = (S // BLOCK_N) * BLOCK_N
    k_ptrs = k_ptr + (head * (S * HEAD_DIM) + offsets[None, :] * HEAD_DIM + rd[:, None])
    bias_base = bias_ptr + head * DISTANCES
    v_ptrs = v_ptr + (head * (S * HEAD_DIM) + offsets[:, None] * HEAD_DIM + rd[None, :])
    for start in range(0, whole, BLOCK_N):
        products = tl.dot(queries, tl.load(k_ptrs))
        # From each row to the first key, less how far a key lies behind it.
        distances = tl.load(
            bias_base + (last_distance - start)[:, None] - offsets[None, :]
        )
        biased = products * scale + distances.to(tl.float32)
        new_best = tl.maximum(best, tl.max(biased, axis=1) * 1.4426950408889634)
        weights = tl.exp2(biased * 1.4426950408889634 - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        acc = tl.dot(
            weights.to(o_ptr.dtype.element_ty), tl.load(v_ptrs), acc * alpha[:, None]
        )
        best = new_best
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
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
    for start in range(whole, S, BLOCK_N):
        columns = start + offsets
        products = tl.dot(
            queries, tl.load(k_ptrs_1, mask=offsets[None, :] < S - start, other=0.0)
        )
        offsets_1 = (last_distance - start)[:, None]
        distance = offsets_1 - offsets[None, :]
        distances = tl.load(
            bias_base + offsets_1 - offsets[None, :],
            mask=(distance >= 0) & (distance < DISTANCES),
            other=0.0,
        )
        biased = products * scale + distances.to(tl.float32)
        scores = tl.where(columns[None, :] < S, biased, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, axis=1) * 1.4426950408889634)
        weights = tl.exp2(scores * 1.4426950408889634 - new_best[:, None])
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


def relative_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

    Args:
        q, k, v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        bias: [H, DISTANCES] float16 or bfloat16, contiguous.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.
    """
    if (
        q.ndim != 3
        or k.shape != q.shape
        or v.shape != q.shape
        or bias.ndim != 2
        or bias.shape[0] != q.shape[0]
    ):
        raise ValueError(
            "relative_attention: q, k, v and bias must have shapes [H, S, "
            "HEAD_DIM], [H, S, HEAD_DIM], [H, S, HEAD_DIM] and [H, DISTANCES], "
            f"got {q.shape}, {k.shape}, {v.shape} and {bias.shape}"
        )
    H, S, HEAD_DIM = q.shape
    DISTANCES = S * 2 - 1
    if bias.shape[1] != DISTANCES:
        raise ValueError(
            f"relative_attention: bias must have shape [H={H}, "
            f"DISTANCES={DISTANCES}], got {bias.shape}"
        )
    o = torch.empty_like(q) if out is None else out
    if o.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"relative_attention: out must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {o.shape}"
        )
    _check_dtypes(
        "relative_attention", (torch.float16, torch.bfloat16), q=q, k=k, v=v, bias=bias
    )
    _check_dtypes("relative_attention", (q.dtype,), out=o)
    _check_contiguous("relative_attention", q=q, k=k, v=v, bias=bias, out=o)
    _check_tensors("relative_attention", q=q, k=k, v=v, bias=bias, out=o)
    _check_written("relative_attention: out", out, q=q, k=k, v=v, bias=bias)
    if H * S * HEAD_DIM == 0:
        return o

    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "relative_attention: HEAD_DIM must be a power of two from 16 up, got "
            f"{HEAD_DIM}"
        )

    def grid(meta):
        return _checked_grid("relative_attention", (triton.cdiv(S, meta["BLOCK_M"]), H))

    with torch.cuda.device(q.get_device()):
        relative_attention_kernel[grid](
            q, k, v, bias, o, S, DISTANCES, HEAD_DIM=HEAD_DIM
        )
    return o


def reference_fn(q, k, v, bias):
    H = q.shape[0]
    S = q.shape[1]
    i = torch.arange(S, device=q.device)
    distances = i.unsqueeze(1).sub(i).add(S).sub(1)
    mask = bias.index_select(1, distances.flatten()).reshape(H, S, S)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


SHAPES = [{"H": 8, "S": 1024, "HEAD_DIM": 64}, {"H": 2, "S": 200, "HEAD_DIM": 64}]


def get_inputs(H=8, S=1024, *, HEAD_DIM=64):
    device = "cpu" if _INTERPRETED else "cuda"
    DISTANCES = S * 2 - 1
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, DISTANCES), device=device, dtype=torch.float16),
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


kernel_fn = relative_attention
