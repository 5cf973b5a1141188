"""softmax(q @ k^T / sqrt(head dim)) @ v for one query token a sequence; G query
heads share a head of the cache.

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
        for num_warps, num_stages in [(4, 3), (4, 2), (8, 2)]
    ],
    key=["G", "HEAD_DIM", "PAGE_SIZE"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def paged_attention_kernel(
    q_ptr,
    k_cache_ptr,
    v_cache_ptr,
    block_tables_ptr,
    seq_lens_ptr,
    o_ptr,
    G,
    stride_qb,
    stride_qh,
    stride_qg,
    stride_q_head_dim,
    stride_k_cache_pages,
    stride_k_cache_page_size,
    stride_k_cache_h,
    stride_k_cache_head_dim,
    stride_v_cache_pages,
    stride_v_cache_page_size,
    stride_v_cache_h,
    stride_v_cache_head_dim,
    stride_block_tables_b,
    stride_block_tables_max_pages,
    stride_seq_lens_b,
    stride_ob,
    stride_oh,
    stride_og,
    stride_o_head_dim,
    HEAD_DIM: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    BLOCK_G: tl.constexpr,
):
    seq = tl.program_id(0)
    head = tl.program_id(1)
    rg = tl.arange(0, BLOCK_G)
    rd = tl.arange(0, HEAD_DIM)
    mask_g = rg[:, None] < G
    queries = tl.load(
        q_ptr
        + (seq * stride_qb + head * stride_qh)
        + (rg[:, None] * stride_qg + rd[None, :] * stride_q_head_dim),
        mask=mask_g,
        other=0.0,
    )
    seq_len = tl.load(seq_lens_ptr + seq * stride_seq_lens_b)
    # Powers of two are cheaper than of e: log2(e) goes into the scale.
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32)) * 1.44269504
    best = tl.full([BLOCK_G], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_G], dtype=tl.float32)
    acc = tl.zeros([BLOCK_G, HEAD_DIM], dtype=tl.float32)
    block_tables_base = block_tables_ptr + seq * stride_block_tables_b
    k_cache_base = k_cache_ptr + head * stride_k_cache_h
    v_cache_base = v_cache_ptr + head * stride_v_cache_h
    for page in range(tl.cdiv(seq_len, PAGE_SIZE)):
        block = tl.load(block_tables_base + page * stride_block_tables_max_pages)
        slots = tl.arange(0, PAGE_SIZE)
        keys = tl.load(
            k_cache_base
            + block * stride_k_cache_pages
            + slots[:, None] * stride_k_cache_page_size
            + rd[None, :] * stride_k_cache_head_dim
        )
        scores = tl.dot(queries, tl.trans(keys)) * scale
        seen = tl.where(
            (page * PAGE_SIZE + slots)[None, :] < seq_len, scores, float("-inf")
        )
        new_best = tl.maximum(best, tl.max(seen, axis=1))
        weights = tl.exp2(seen - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        values = tl.load(
            v_cache_base
            + block * stride_v_cache_pages
            + slots[:, None] * stride_v_cache_page_size
            + rd[None, :] * stride_v_cache_head_dim
        )
        acc = tl.dot(weights.to(o_ptr.dtype.element_ty), values, acc * alpha[:, None])
        best = new_best
    tl.store(
        o_ptr
        + (seq * stride_ob + head * stride_oh)
        + (rg[:, None] * stride_og + rd[None, :] * stride_o_head_dim),
        (acc / total[:, None]).to(o_ptr.dtype.element_ty),
        mask=mask_g,
    )


def paged_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim)) @ v for one query token a sequence; G query
    heads share a head of the cache.

    Args:
        q: [B, H, G, HEAD_DIM] float16 or bfloat16.
        k_cache, v_cache: [PAGES, PAGE_SIZE, H, HEAD_DIM] float16 or bfloat16.
        block_tables: [B, MAX_PAGES] int32 in [0, PAGES).
        seq_lens: [B] int32 in [1, MAX_PAGES * PAGE_SIZE + 1).
        out: where to write [B, H, G, HEAD_DIM] float16 or bfloat16; allocated if
            None.
    """
    if (
        q.ndim != 4
        or k_cache.ndim != 4
        or k_cache.shape[2] != q.shape[1]
        or k_cache.shape[3] != q.shape[3]
        or v_cache.shape != k_cache.shape
        or block_tables.ndim != 2
        or block_tables.shape[0] != q.shape[0]
        or seq_lens.shape != q.shape[:1]
    ):
        raise ValueError(
            "paged_attention: q, k_cache, v_cache, block_tables and seq_lens "
            "must have shapes [B, H, G, HEAD_DIM], [PAGES, PAGE_SIZE, H, "
            "HEAD_DIM], [PAGES, PAGE_SIZE, H, HEAD_DIM], [B, MAX_PAGES] and [B], "
            f"got {q.shape}, {k_cache.shape}, {v_cache.shape}, "
            f"{block_tables.shape} and {seq_lens.shape}"
        )
    B, H, G, HEAD_DIM = q.shape
    PAGE_SIZE = k_cache.shape[1]
    MAX_PAGES = block_tables.shape[1]
    o = q.new_empty((B, H, G, HEAD_DIM)) if out is None else out
    if o.shape != (B, H, G, HEAD_DIM):
        raise ValueError(
            f"paged_attention: out must have shape [B={B}, H={H}, G={G}, "
            f"HEAD_DIM={HEAD_DIM}], got {o.shape}"
        )
    tensors = {
        "q": q,
        "k_cache": k_cache,
        "v_cache": v_cache,
        "block_tables": block_tables,
        "seq_lens": seq_lens,
        "out": o,
    }
    _check_dtypes(
        "paged_attention",
        (torch.float16, torch.bfloat16),
        q=q,
        k_cache=k_cache,
        v_cache=v_cache,
    )
    _check_dtypes(
        "paged_attention", (torch.int32,), block_tables=block_tables, seq_lens=seq_lens
    )
    _check_dtypes("paged_attention", (q.dtype,), out=o)
    _check_tensors("paged_attention", **tensors)
    _check_strided(
        "paged_attention: out",
        out,
        q=q,
        k_cache=k_cache,
        v_cache=v_cache,
        block_tables=block_tables,
        seq_lens=seq_lens,
    )
    if B * H * G * HEAD_DIM == 0:
        return o

    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "paged_attention: HEAD_DIM must be a power of two from 16 up, got "
            f"{HEAD_DIM}"
        )
    if PAGE_SIZE < 16 or (PAGE_SIZE & (PAGE_SIZE - 1)) != 0:
        raise ValueError(
            "paged_attention: PAGE_SIZE must be a power of two from 16 up, got "
            f"{PAGE_SIZE}"
        )
    BLOCK_G = max(triton.next_power_of_2(G), 16)
    if BLOCK_G > 2**20:
        raise ValueError(
            f"paged_attention: BLOCK_G must be at most 2**20, got {BLOCK_G}"
        )
    if not MAX_PAGES * PAGE_SIZE <= 1073741824:
        raise ValueError(
            "paged_attention: a requirement does not hold: MAX_PAGES * PAGE_SIZE "
            f"<= 1073741824 with MAX_PAGES = {MAX_PAGES}, PAGE_SIZE = {PAGE_SIZE}"
        )

    with torch.cuda.device(q.get_device()):
        paged_attention_kernel[_checked_grid("paged_attention", (B, H))](
            *tensors.values(),
            G,
            *_strides(tensors),
            HEAD_DIM=HEAD_DIM,
            PAGE_SIZE=PAGE_SIZE,
            BLOCK_G=BLOCK_G,
        )
    return o


def reference_fn(q, k_cache, v_cache, block_tables, seq_lens):
    B = q.shape[0]
    H = q.shape[1]
    HEAD_DIM = q.shape[3]
    PAGE_SIZE = k_cache.shape[1]
    MAX_PAGES = block_tables.shape[1]
    pages = block_tables.flatten()
    k = (
        k_cache.index_select(0, pages)
        .view(B, MAX_PAGES * PAGE_SIZE, H, HEAD_DIM)
        .transpose(1, 2)
    )
    scores = torch.matmul(q, k.mT).div(HEAD_DIM**0.5)
    unused = torch.arange(MAX_PAGES * PAGE_SIZE, device=q.device).ge(
        seq_lens.view(B, 1, 1, 1)
    )
    v = (
        v_cache.index_select(0, pages)
        .view(B, MAX_PAGES * PAGE_SIZE, H, HEAD_DIM)
        .transpose(1, 2)
    )
    return torch.matmul(torch.softmax(scores.masked_fill(unused, float("-inf")), -1), v)


SHAPES = [
    {
        "B": 3,
        "H": 2,
        "G": 4,
        "PAGES": 16,
        "MAX_PAGES": 5,
        "HEAD_DIM": 64,
        "PAGE_SIZE": 16,
    },
    {
        "B": 64,
        "H": 8,
        "G": 4,
        "PAGES": 8192,
        "MAX_PAGES": 128,
        "HEAD_DIM": 128,
        "PAGE_SIZE": 16,
    },
]


def get_inputs(B=3, H=2, G=4, PAGES=16, MAX_PAGES=5, *, HEAD_DIM=64, PAGE_SIZE=16):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((B, H, G, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn(
            (PAGES, PAGE_SIZE, H, HEAD_DIM), device=device, dtype=torch.float16
        ),
        torch.randn(
            (PAGES, PAGE_SIZE, H, HEAD_DIM), device=device, dtype=torch.float16
        ),
        torch.randint(0, PAGES, (B, MAX_PAGES), device=device, dtype=torch.int32),
        torch.randint(
            1, MAX_PAGES * PAGE_SIZE + 1, (B,), device=device, dtype=torch.int32
        ),
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


kernel_fn = paged_attention
