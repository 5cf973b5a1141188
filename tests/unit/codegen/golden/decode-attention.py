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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": BLOCK_N}, num_warps=num_warps, num_stages=num_stages)
        for BLOCK_N, num_warps, num_stages in [
            (64, 4, 3),
            (128, 4, 2),
            (32, 4, 4),
            (64, 2, 3),
        ]
    ],
    key=["G", "HEAD_DIM", "PAGE_SIZE", "SPLITS"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def attention_splits_kernel(
    q_ptr,
    k_cache_ptr,
    v_cache_ptr,
    block_tables_ptr,
    seq_lens_ptr,
    partial_ptr,
    lse_ptr,
    G,
    MAX_PAGES,
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
    stride_partial_b,
    stride_partial_h,
    stride_partial_splits,
    stride_partial_g,
    stride_partial_head_dim,
    stride_lse_b,
    stride_lse_h,
    stride_lse_splits,
    stride_lse_g,
    HEAD_DIM: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
    SPLITS: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    split = tl.program_id(0)
    head = tl.program_id(1)
    seq = tl.program_id(2)
    rg = tl.arange(0, BLOCK_G)
    rd = tl.arange(0, HEAD_DIM)
    mask_g = rg[:, None] < G
    query = tl.load(
        q_ptr
        + (seq * stride_qb + head * stride_qh)
        + (rg[:, None] * stride_qg + rd[None, :] * stride_q_head_dim),
        mask=mask_g,
        other=0.0,
    )
    seq_len = tl.load(seq_lens_ptr + seq * stride_seq_lens_b)
    # Splits are whole blocks, so the last ones of a short sequence may be empty.
    length = tl.cdiv(tl.cdiv(seq_len, SPLITS), BLOCK_N) * BLOCK_N
    first = split * length
    end = tl.minimum(first + length, seq_len)
    # Powers of two are cheaper than of e: log2(e) goes into the scale.
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32)) * 1.44269504
    best = tl.full([BLOCK_G], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_G], dtype=tl.float32)
    acc = tl.zeros([BLOCK_G, HEAD_DIM], dtype=tl.float32)
    block_tables_base = block_tables_ptr + seq * stride_block_tables_b
    k_cache_base = k_cache_ptr + head.to(tl.int64) * stride_k_cache_h
    v_cache_base = v_cache_ptr + head.to(tl.int64) * stride_v_cache_h
    for start in range(first, end, BLOCK_N):
        tokens = start + tl.arange(0, BLOCK_N)
        offsets = tokens // PAGE_SIZE
        pages = tl.load(
            block_tables_base + offsets * stride_block_tables_max_pages,
            mask=offsets < MAX_PAGES,
            other=0,
        )
        slots = tokens % PAGE_SIZE
        keys = tl.load(
            k_cache_base
            + (
                pages[:, None].to(tl.int64) * stride_k_cache_pages
                + slots[:, None].to(tl.int64) * stride_k_cache_page_size
                + rd[None, :].to(tl.int64) * stride_k_cache_head_dim
            ),
            mask=rd[None, :] < HEAD_DIM,
            other=0.0,
        )
        scores = tl.dot(query, tl.trans(keys)) * scale
        seen = tl.where(tokens[None, :] < end, scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(seen, axis=1))
        weights = tl.exp2(seen - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        values = tl.load(
            v_cache_base
            + (
                pages[:, None].to(tl.int64) * stride_v_cache_pages
                + slots[:, None].to(tl.int64) * stride_v_cache_page_size
                + rd[None, :].to(tl.int64) * stride_v_cache_head_dim
            ),
            mask=rd[None, :] < HEAD_DIM,
            other=0.0,
        )
        acc = tl.dot(weights.to(q_ptr.dtype.element_ty), values, acc * alpha[:, None])
        best = new_best
    is_empty = total == 0.0
    sums = tl.where(is_empty, 1.0, total)
    tl.store(
        partial_ptr
        + (
            seq * stride_partial_b
            + head * stride_partial_h
            + split * stride_partial_splits
        )
        + (rg[:, None] * stride_partial_g + rd[None, :] * stride_partial_head_dim),
        acc / sums[:, None],
        mask=mask_g,
    )
    tl.store(
        lse_ptr
        + (seq * stride_lse_b + head * stride_lse_h + split * stride_lse_splits)
        + rg * stride_lse_g,
        best + tl.log2(sums),
        mask=rg < G,
    )


def _attention_splits_meta(q, k_cache, v_cache, block_tables, seq_lens, SPLITS=16):
    """Checks the arguments of attention_splits, and allocates its results."""
    _check_operands(
        "attention_splits",
        q=q,
        k_cache=k_cache,
        v_cache=v_cache,
        block_tables=block_tables,
        seq_lens=seq_lens,
    )
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
            "attention_splits: q, k_cache, v_cache, block_tables and seq_lens "
            "must have shapes [B, H, G, HEAD_DIM], [PAGES, PAGE_SIZE, H, "
            "HEAD_DIM], [PAGES, PAGE_SIZE, H, HEAD_DIM], [B, MAX_PAGES] and [B], "
            f"got {q.shape}, {k_cache.shape}, {v_cache.shape}, "
            f"{block_tables.shape} and {seq_lens.shape}"
        )
    B, H, G, HEAD_DIM = q.shape
    _check_dtypes(
        "attention_splits",
        (torch.float16, torch.bfloat16),
        q=q,
        k_cache=k_cache,
        v_cache=v_cache,
    )
    _check_dtypes(
        "attention_splits", (torch.int32,), block_tables=block_tables, seq_lens=seq_lens
    )
    return (
        q.new_empty((B, H, SPLITS, G, HEAD_DIM), dtype=torch.float32),
        q.new_empty((B, H, SPLITS, G), dtype=torch.float32),
    )


def _attention_splits(q, k_cache, v_cache, block_tables, seq_lens, SPLITS=16):
    """Attention of each query to the keys of each split, and the base-2 logarithm of
    its sum of exponentials.
    """
    partial, lse = _attention_splits_meta(
        q, k_cache, v_cache, block_tables, seq_lens, SPLITS
    )
    _check_int("attention_splits: SPLITS", SPLITS, 0, 2**31 - 1)
    B, H, G, HEAD_DIM = q.shape
    PAGE_SIZE = k_cache.shape[1]
    MAX_PAGES = block_tables.shape[1]
    if B * H * SPLITS * G == 0:
        return partial, lse

    tensors = {
        "q": q,
        "k_cache": k_cache,
        "v_cache": v_cache,
        "block_tables": block_tables,
        "seq_lens": seq_lens,
        "partial": partial,
        "lse": lse,
    }
    _check_reach(
        "attention_splits",
        q=q,
        block_tables=block_tables,
        seq_lens=seq_lens,
        partial=partial,
        lse=lse,
    )
    if PAGE_SIZE >= 2**31 - 2**20:
        raise ValueError(
            f"attention_splits: PAGE_SIZE is {PAGE_SIZE}, and the kernel counts "
            "up to it in int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_splits: HEAD_DIM must be a power of two from 16 up, got "
            f"{HEAD_DIM}"
        )
    BLOCK_G = max(triton.next_power_of_2(G), 16)
    if BLOCK_G > 2**20:
        raise ValueError(
            f"attention_splits: BLOCK_G must be at most 2**20, got {BLOCK_G}"
        )
    if not (MAX_PAGES * PAGE_SIZE <= 1073741824 and SPLITS <= 128):
        raise ValueError(
            "attention_splits: a requirement does not hold: MAX_PAGES * "
            "PAGE_SIZE <= 1073741824 and SPLITS <= 128 with MAX_PAGES = "
            f"{MAX_PAGES}, PAGE_SIZE = {PAGE_SIZE}, SPLITS = {SPLITS}"
        )

    with torch.cuda.device(q.get_device()):
        attention_splits_kernel[_checked_grid("attention_splits", (SPLITS, H, B))](
            *tensors.values(),
            G,
            MAX_PAGES,
            *_strides(tensors),
            HEAD_DIM=HEAD_DIM,
            PAGE_SIZE=PAGE_SIZE,
            SPLITS=SPLITS,
            BLOCK_G=BLOCK_G,
        )
    return partial, lse


@triton.jit
def attention_combine_kernel(
    partial_ptr,
    lse_ptr,
    o_ptr,
    SPLITS,
    stride_partial_b,
    stride_partial_h,
    stride_partial_splits,
    stride_partial_g,
    stride_partial_head_dim,
    stride_lse_b,
    stride_lse_h,
    stride_lse_splits,
    stride_lse_g,
    stride_ob,
    stride_oh,
    stride_og,
    stride_o_head_dim,
    OUT: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    row = tl.program_id(0)
    head = tl.program_id(1)
    seq = tl.program_id(2)
    splits = tl.arange(0, BLOCK_S)
    rd = tl.arange(0, HEAD_DIM)
    logs = tl.load(
        lse_ptr
        + (seq * stride_lse_b + head * stride_lse_h + row * stride_lse_g)
        + splits * stride_lse_splits,
        mask=splits < SPLITS,
        other=float("-inf"),
    )
    weights = tl.exp2(logs - tl.max(logs, axis=0))
    parts = tl.load(
        partial_ptr
        + (seq * stride_partial_b + head * stride_partial_h + row * stride_partial_g)
        + (
            splits[:, None] * stride_partial_splits
            + rd[None, :] * stride_partial_head_dim
        ),
        mask=splits[:, None] < SPLITS,
        other=0.0,
    )
    sum_ = tl.sum(parts * weights[:, None], axis=0)
    tl.store(
        o_ptr
        + (seq * stride_ob + head * stride_oh + row * stride_og)
        + rd * stride_o_head_dim,
        (sum_ / tl.sum(weights, axis=0)).to(OUT),
    )


def _attention_combine_meta(partial, lse, OUT):
    """Checks the arguments of attention_combine, and allocates its results."""
    _check_choice("attention_combine: OUT", OUT, torch.float16, torch.bfloat16)
    _check_operands("attention_combine", partial=partial, lse=lse)
    if partial.ndim != 5 or lse.shape != partial.shape[:4]:
        raise ValueError(
            "attention_combine: partial and lse must have shapes [B, H, SPLITS, "
            f"G, HEAD_DIM] and [B, H, SPLITS, G], got {partial.shape} and "
            f"{lse.shape}"
        )
    B, H, _, G, HEAD_DIM = partial.shape
    _check_dtypes("attention_combine", (torch.float32,), partial=partial, lse=lse)
    return partial.new_empty((B, H, G, HEAD_DIM), dtype=OUT)


def _attention_combine(partial, lse, OUT):
    """The sum of the splits' outputs, weighted by their sums of exponentials."""
    o = _attention_combine_meta(partial, lse, OUT)
    B, H, SPLITS, G, HEAD_DIM = partial.shape
    if B * H * G * HEAD_DIM == 0:
        return o

    _check_reach("attention_combine", partial=partial, lse=lse, out=o)
    if HEAD_DIM < 1 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            f"attention_combine: HEAD_DIM must be a power of two, got {HEAD_DIM}"
        )
    BLOCK_S = triton.next_power_of_2(SPLITS)
    if BLOCK_S < 1 or (BLOCK_S & (BLOCK_S - 1)) != 0 or BLOCK_S > 2**20:
        raise ValueError(
            "attention_combine: BLOCK_S must be a power of two, at most 2**20, "
            f"got {BLOCK_S}"
        )

    with torch.cuda.device(partial.get_device()):
        attention_combine_kernel[_checked_grid("attention_combine", (G, H, B))](
            partial,
            lse,
            o,
            SPLITS,
            *partial.stride(),
            *lse.stride(),
            *o.stride(),
            OUT=_TRITON_DTYPES[OUT],
            HEAD_DIM=HEAD_DIM,
            BLOCK_S=BLOCK_S,
            num_warps=4,
        )
    return o


@torch.library.custom_op("tilescript::decode_attention", mutates_args=())
def decode_attention_op(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    SPLITS: int = 16,
) -> torch.Tensor:
    partial, lse = _attention_splits(
        q, k_cache, v_cache, block_tables, seq_lens, SPLITS
    )
    return _attention_combine(partial, lse, q.dtype)


@decode_attention_op.register_fake
def _(q, k_cache, v_cache, block_tables, seq_lens, SPLITS=16):
    partial, lse = _attention_splits_meta(
        q, k_cache, v_cache, block_tables, seq_lens, SPLITS
    )
    return _attention_combine_meta(partial, lse, q.dtype)


def decode_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    SPLITS: int = 16,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim)) @ v for one query token a sequence; G query
    heads share a head of the cache.

    Args:
        q: [B, H, G, HEAD_DIM] float16 or bfloat16.
        k_cache, v_cache: [PAGES, PAGE_SIZE, H, HEAD_DIM] float16 or bfloat16.
        block_tables: [B, MAX_PAGES] int32 in [0, PAGES).
        seq_lens: [B] int32 in [1, MAX_PAGES * PAGE_SIZE + 1).
        SPLITS: an int that the kernel is compiled for.

    Returns:
        o: [B, H, G, HEAD_DIM] float16 or bfloat16.
    """
    _refuse_tangents("decode_attention", q, k_cache, v_cache)
    return decode_attention_op(q, k_cache, v_cache, block_tables, seq_lens, SPLITS)


def reference_fn(q, k_cache, v_cache, block_tables, seq_lens, SPLITS=16):
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
        "HEAD_DIM": 64,
        "PAGES": 16,
        "PAGE_SIZE": 16,
        "MAX_PAGES": 5,
    },
    {
        "B": 32,
        "H": 8,
        "G": 4,
        "HEAD_DIM": 128,
        "PAGES": 16384,
        "PAGE_SIZE": 16,
        "MAX_PAGES": 512,
    },
]


def get_inputs(B=3, H=2, G=4, HEAD_DIM=64, PAGES=16, PAGE_SIZE=16, MAX_PAGES=5):
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
        16,
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


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


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


kernel_fn = decode_attention
