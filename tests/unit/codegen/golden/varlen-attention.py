"""softmax(q @ k^T / sqrt(head dim)) @ v of each head, for the tokens of each
sequence.

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
    key=["TOTAL", "OFFSETS", "HEAD_DIM", "CAUSAL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def varlen_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    cu_seqlens_ptr,
    o_ptr,
    TOTAL,
    OFFSETS,
    stride_q_total,
    stride_qh,
    stride_q_head_dim,
    stride_k_total,
    stride_kh,
    stride_k_head_dim,
    stride_v_total,
    stride_vh,
    stride_v_head_dim,
    stride_cu_seqlens_offsets,
    stride_o_total,
    stride_oh,
    stride_o_head_dim,
    HEAD_DIM: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    head = tl.program_id(1)
    rd = tl.arange(0, HEAD_DIM)
    # Powers of two are cheaper than of e: log2(e) goes into the scale.
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32)) * 1.44269504
    # The next block of this program, counted from the first of the sequence.
    next_ = tl.program_id(0)
    q_base = q_ptr + head * stride_qh
    o_base = o_ptr + head * stride_oh
    for i in range(OFFSETS - 1):
        start = tl.load(cu_seqlens_ptr + i * stride_cu_seqlens_offsets)
        end = tl.load(cu_seqlens_ptr + (i + 1) * stride_cu_seqlens_offsets)
        blocks = tl.cdiv(end - start, BLOCK_M)
        for block in range(next_, blocks, PROGRAMS):
            first = start + block * BLOCK_M
            rm = first + tl.arange(0, BLOCK_M)
            is_row = (rm < end)[:, None]
            queries = tl.load(
                q_base + rm[:, None] * stride_q_total + rd[None, :] * stride_q_head_dim,
                mask=is_row,
                other=0.0,
            )
            best = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
            total = tl.zeros([BLOCK_M], dtype=tl.float32)
            acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
            # Under a causal mask, no query of the block attends to a key after its last
            # row.
            if CAUSAL:
                stop = tl.minimum(first + BLOCK_M, end)
            else:
                stop = end
            offsets = tl.arange(0, BLOCK_N)
            k_ptrs = (
                k_ptr
                + head * stride_kh
                + (
                    (start + offsets)[:, None] * stride_k_total
                    + rd[None, :] * stride_k_head_dim
                )
            )
            v_ptrs = (
                v_ptr
                + head * stride_vh
                + (
                    (start + offsets)[:, None] * stride_v_total
                    + rd[None, :] * stride_v_head_dim
                )
            )
            for n in range(start, stop, BLOCK_N):
                rn = n + offsets
                is_key = rn < end
                # TMA has no masks for a sequence that ends inside its tensor, so there
                # is no warp-specialized form.
                keys = tl.load(k_ptrs, mask=is_key[:, None], other=0.0)
                scores = tl.dot(queries, tl.trans(keys)) * scale
                seen = tl.where(is_key[None, :], scores, float("-inf"))
                if CAUSAL:
                    masked = tl.where(rm[:, None] >= rn[None, :], seen, float("-inf"))
                else:
                    masked = seen
                new_best = tl.maximum(best, tl.max(masked, axis=1))
                weights = tl.exp2(masked - new_best[:, None])
                alpha = tl.exp2(best - new_best)
                total = total * alpha + tl.sum(weights, axis=1)
                values = tl.load(v_ptrs, mask=is_key[:, None], other=0.0)
                acc = tl.dot(
                    weights.to(o_ptr.dtype.element_ty), values, acc * alpha[:, None]
                )
                best = new_best
                k_ptrs += BLOCK_N * stride_k_total
                v_ptrs += BLOCK_N * stride_v_total
            tl.store(
                o_base + rm[:, None] * stride_o_total + rd[None, :] * stride_o_head_dim,
                (acc / total[:, None]).to(o_ptr.dtype.element_ty),
                mask=is_row,
            )
        visited = tl.cdiv(tl.maximum(blocks - next_, 0), PROGRAMS)
        next_ = next_ + visited * PROGRAMS - blocks


def varlen_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens: torch.Tensor,
    PROGRAMS: int = 64,
    CAUSAL: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim)) @ v of each head, for the tokens of each
    sequence.

    Args:
        q, k, v: [TOTAL, H, HEAD_DIM] float16 or bfloat16.
        cu_seqlens: [OFFSETS] int32, rising from 0 to TOTAL.
        PROGRAMS: an int that the kernel is compiled for in [1, 65536).
        CAUSAL: a bool that the kernel is compiled for.
        out: where to write [TOTAL, H, HEAD_DIM] float16 or bfloat16; allocated if
            None.
    """
    _check_type("varlen_attention: PROGRAMS", PROGRAMS, int)
    _check_type("varlen_attention: CAUSAL", CAUSAL, bool)
    if q.ndim != 3 or k.shape != q.shape or v.shape != q.shape or cu_seqlens.ndim != 1:
        raise ValueError(
            "varlen_attention: q, k, v and cu_seqlens must have shapes [TOTAL, "
            "H, HEAD_DIM], [TOTAL, H, HEAD_DIM], [TOTAL, H, HEAD_DIM] and "
            f"[OFFSETS], got {q.shape}, {k.shape}, {v.shape} and "
            f"{cu_seqlens.shape}"
        )
    TOTAL, H, HEAD_DIM = q.shape
    OFFSETS = cu_seqlens.shape[0]
    o = q.new_empty((TOTAL, H, HEAD_DIM)) if out is None else out
    if o.shape != (TOTAL, H, HEAD_DIM):
        raise ValueError(
            f"varlen_attention: out must have shape [TOTAL={TOTAL}, H={H}, "
            f"HEAD_DIM={HEAD_DIM}], got {o.shape}"
        )
    tensors = {"q": q, "k": k, "v": v, "cu_seqlens": cu_seqlens, "out": o}
    _check_dtypes("varlen_attention", (torch.float16, torch.bfloat16), q=q, k=k, v=v)
    _check_dtypes("varlen_attention", (torch.int32,), cu_seqlens=cu_seqlens)
    _check_dtypes("varlen_attention", (q.dtype,), out=o)
    _check_tensors("varlen_attention", **tensors)
    _check_strided("varlen_attention: out", out, q=q, k=k, v=v, cu_seqlens=cu_seqlens)
    if TOTAL * H * HEAD_DIM == 0:
        return o

    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "varlen_attention: HEAD_DIM must be a power of two from 16 up, got "
            f"{HEAD_DIM}"
        )
    if not ((OFFSETS >= 2 or TOTAL == 0) and PROGRAMS >= 1 and PROGRAMS < 65536):
        raise ValueError(
            "varlen_attention: a requirement does not hold: (OFFSETS >= 2 or "
            "TOTAL == 0) and PROGRAMS >= 1 and PROGRAMS < 65536 with OFFSETS = "
            f"{OFFSETS}, TOTAL = {TOTAL}, PROGRAMS = {PROGRAMS}"
        )

    with torch.cuda.device(q.get_device()):
        varlen_attention_kernel[_checked_grid("varlen_attention", (PROGRAMS, H))](
            *tensors.values(),
            TOTAL,
            OFFSETS,
            *_strides(tensors),
            HEAD_DIM=HEAD_DIM,
            PROGRAMS=PROGRAMS,
            CAUSAL=CAUSAL,
        )
    return o


def reference_fn(q, k, v, cu_seqlens, PROGRAMS=64, CAUSAL=False):
    TOTAL = q.shape[0]
    queries = q.transpose(0, 1)
    keys = k.transpose(0, 1)
    values = v.transpose(0, 1)
    tokens = torch.arange(TOTAL, device=q.device)
    sequence = torch.searchsorted(cu_seqlens, tokens, right=True)
    is_before = tokens.unsqueeze(1).ge(tokens.mul(CAUSAL))
    mask = sequence.unsqueeze(1).eq(sequence).logical_and(is_before)
    attended = torch.nn.functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask
    )
    return attended.transpose(0, 1)


SHAPES = [
    {"TOTAL": 4096, "H": 8, "OFFSETS": 9, "HEAD_DIM": 64, "PROGRAMS": 64},
    {"TOTAL": 150, "H": 2, "OFFSETS": 4, "HEAD_DIM": 32, "PROGRAMS": 2},
]


def get_inputs(TOTAL=4096, H=8, OFFSETS=9, *, HEAD_DIM=64, PROGRAMS=64):
    device = "cpu" if _INTERPRETED else "cuda"
    cu_seqlens = (
        torch.randint(0, TOTAL + 1, (OFFSETS,), device=device, dtype=torch.int32)
        .sort()
        .values
    )
    cu_seqlens[0] = 0
    cu_seqlens[-1] = TOTAL
    return [
        torch.randn((TOTAL, H, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((TOTAL, H, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((TOTAL, H, HEAD_DIM), device=device, dtype=torch.float16),
        cu_seqlens,
        PROGRAMS,
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


kernel_fn = varlen_attention
