"""softmax(q @ k^T / sqrt(head dim)) @ v for one query token a sequence; G query
heads share a head of the cache.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import functools
import threading

import torch
import triton
import triton.language as tl

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# Elements that a tile of Triton may have.
_MAX_TILE = 2**20
# Binaries and grids of earlier launches.
_LAUNCHES = {}


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


@triton.autotune(
    configs=[
        triton.Config({}, num_warps=4, num_stages=3),
        triton.Config({}, num_warps=4, num_stages=2),
        triton.Config({}, num_warps=8, num_stages=2),
    ],
    key=["G", "HEAD_DIM", "PAGE_SIZE"],
    do_bench=_first_config if _INTERPRETED else None,
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
        k_cache: [PAGES, PAGE_SIZE, H, HEAD_DIM] float16 or bfloat16.
        v_cache: [PAGES, PAGE_SIZE, H, HEAD_DIM] float16 or bfloat16.
        block_tables: [B, MAX_PAGES] int32 in [0, PAGES).
        seq_lens: [B] int32 in [1, MAX_PAGES * PAGE_SIZE + 1).
        out: where to write [B, H, G, HEAD_DIM] float16 or bfloat16; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("paged_attention: q", q)
    _check_tensor("paged_attention: k_cache", k_cache)
    _check_tensor("paged_attention: v_cache", v_cache)
    _check_tensor("paged_attention: block_tables", block_tables)
    _check_tensor("paged_attention: seq_lens", seq_lens)
    if q.ndim != 4:
        raise ValueError(
            "paged_attention: q must have shape [B, H, G, HEAD_DIM], got "
            f"{list(q.shape)}"
        )
    B, H, G, HEAD_DIM = q.shape
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"paged_attention: q must be torch.float16 or torch.bfloat16, got {q.dtype}"
        )
    if k_cache.ndim != 4 or k_cache.shape[2] != H or k_cache.shape[3] != HEAD_DIM:
        raise ValueError(
            "paged_attention: k_cache must have shape [PAGES, PAGE_SIZE, "
            f"H={H}, HEAD_DIM={HEAD_DIM}], got {list(k_cache.shape)}"
        )
    PAGES = k_cache.shape[0]
    PAGE_SIZE = k_cache.shape[1]
    if k_cache.dtype != q.dtype:
        raise TypeError(
            f"paged_attention: k_cache must be {q.dtype} as q is, got {k_cache.dtype}"
        )
    if v_cache.shape != (PAGES, PAGE_SIZE, H, HEAD_DIM):
        raise ValueError(
            f"paged_attention: v_cache must have shape [PAGES={PAGES}, "
            f"PAGE_SIZE={PAGE_SIZE}, H={H}, HEAD_DIM={HEAD_DIM}], "
            f"got {list(v_cache.shape)}"
        )
    if v_cache.dtype != q.dtype:
        raise TypeError(
            f"paged_attention: v_cache must be {q.dtype} as q is, got {v_cache.dtype}"
        )
    if block_tables.ndim != 2 or block_tables.shape[0] != B:
        raise ValueError(
            f"paged_attention: block_tables must have shape [B={B}, "
            f"MAX_PAGES], got {list(block_tables.shape)}"
        )
    MAX_PAGES = block_tables.shape[1]
    if block_tables.dtype != torch.int32:
        raise TypeError(
            "paged_attention: block_tables must be torch.int32, got "
            f"{block_tables.dtype}"
        )
    if seq_lens.shape != (B,):
        raise ValueError(
            f"paged_attention: seq_lens must have shape [B={B}], "
            f"got {list(seq_lens.shape)}"
        )
    if seq_lens.dtype != torch.int32:
        raise TypeError(
            f"paged_attention: seq_lens must be torch.int32, got {seq_lens.dtype}"
        )
    if _records_gradient("paged_attention", q, k_cache, v_cache, out):
        return _without_gradient(
            paged_attention, (q, k_cache, v_cache, block_tables, seq_lens), given=(out,)
        )
    device = q.device
    if k_cache.device != device:
        raise ValueError(
            f"paged_attention: k_cache must be on {device} as q is, "
            f"got {k_cache.device}"
        )
    if v_cache.device != device:
        raise ValueError(
            f"paged_attention: v_cache must be on {device} as q is, "
            f"got {v_cache.device}"
        )
    if block_tables.device != device:
        raise ValueError(
            f"paged_attention: block_tables must be on {device} as q "
            f"is, got {block_tables.device}"
        )
    if seq_lens.device != device:
        raise ValueError(
            f"paged_attention: seq_lens must be on {device} as q is, "
            f"got {seq_lens.device}"
        )
    if q.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return paged_attention(
                    q, k_cache, v_cache, block_tables, seq_lens, out=out
                )
    elif not (q.is_cpu and _INTERPRETED):
        raise ValueError(
            f"paged_attention: q must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        o = q.new_empty((B, H, G, HEAD_DIM))
    else:
        o = _check_out(
            "paged_attention: out",
            out,
            (B, H, G, HEAD_DIM),
            q.dtype,
            device,
            {
                "q": q,
                "k_cache": k_cache,
                "v_cache": v_cache,
                "block_tables": block_tables,
                "seq_lens": seq_lens,
            },
        )
    if B * H * G * HEAD_DIM == 0:
        return o

    stride_qb, stride_qh, stride_qg, stride_q_head_dim = q.stride()
    (
        stride_k_cache_pages,
        stride_k_cache_page_size,
        stride_k_cache_h,
        stride_k_cache_head_dim,
    ) = k_cache.stride()
    (
        stride_v_cache_pages,
        stride_v_cache_page_size,
        stride_v_cache_h,
        stride_v_cache_head_dim,
    ) = v_cache.stride()
    stride_block_tables_b, stride_block_tables_max_pages = block_tables.stride()
    stride_seq_lens_b = seq_lens.stride(0)
    stride_ob, stride_oh, stride_og, stride_o_head_dim = o.stride()
    if (B - 1) * stride_qb + (H - 1) * stride_qh + (G - 1) * stride_qg + (
        HEAD_DIM - 1
    ) * stride_q_head_dim >= _INT32_REACH:
        raise _beyond_int32("paged_attention: q")
    if (PAGES - 1) * stride_k_cache_pages + (
        PAGE_SIZE - 1
    ) * stride_k_cache_page_size + (H - 1) * stride_k_cache_h + (
        HEAD_DIM - 1
    ) * stride_k_cache_head_dim >= _INT32_REACH:
        raise _beyond_int32("paged_attention: k_cache")
    if (PAGES - 1) * stride_v_cache_pages + (
        PAGE_SIZE - 1
    ) * stride_v_cache_page_size + (H - 1) * stride_v_cache_h + (
        HEAD_DIM - 1
    ) * stride_v_cache_head_dim >= _INT32_REACH:
        raise _beyond_int32("paged_attention: v_cache")
    if (B - 1) * stride_block_tables_b + (
        MAX_PAGES - 1
    ) * stride_block_tables_max_pages >= _INT32_REACH:
        raise _beyond_int32("paged_attention: block_tables")
    if (B - 1) * stride_seq_lens_b >= _INT32_REACH:
        raise _beyond_int32("paged_attention: seq_lens")
    if (B - 1) * stride_ob + (H - 1) * stride_oh + (G - 1) * stride_og + (
        HEAD_DIM - 1
    ) * stride_o_head_dim >= _INT32_REACH:
        raise _beyond_int32("paged_attention: out")
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "paged_attention: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )
    if PAGE_SIZE < 16 or (PAGE_SIZE & (PAGE_SIZE - 1)) != 0:
        raise ValueError(
            "paged_attention: PAGE_SIZE must be a power of two from 16 "
            f"up, got {PAGE_SIZE}"
        )
    BLOCK_G = max(triton.next_power_of_2(G), 16)
    if BLOCK_G > _MAX_TILE:
        raise ValueError(
            f"paged_attention: BLOCK_G would be {BLOCK_G}; a tile "
            f"holds at most {_MAX_TILE} elements"
        )
    if not MAX_PAGES * PAGE_SIZE <= 1073741824:
        raise ValueError(
            "paged_attention: a requirement does not hold: MAX_PAGES * "
            f"PAGE_SIZE <= 1073741824 with MAX_PAGES = {MAX_PAGES}, "
            f"PAGE_SIZE = {PAGE_SIZE}"
        )
    if _INTERPRETED:
        _check_bfloat16("paged_attention", q.dtype)

    _launch(
        paged_attention_kernel,
        (B, H),
        (q, k_cache, v_cache, block_tables, seq_lens, o),
        (
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
        ),
        device,
        q.dtype,
        B,
        H,
        HEAD_DIM=HEAD_DIM,
        PAGE_SIZE=PAGE_SIZE,
        BLOCK_G=BLOCK_G,
    )
    return o


def reference_fn(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
):
    """What paged_attention computes, in PyTorch."""
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


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
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
    """Fresh arguments for paged_attention, of a typical size."""
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


class _Told(threading.local):
    """The launches of a thread, while it asks for them."""

    launches = None


# Repeated calls: the rest of the module makes them cost what their launch costs.
_TOLD = _Told()
_checked, _plain_launch = (paged_attention, _launch)


@functools.wraps(_checked)
def _repeated(q, k_cache, v_cache, block_tables, seq_lens, *, out=None):
    """paged_attention, at the cost of its launch where an earlier call was alike.

    Calls are alike if all that the checks and the launch depend on is equal but
    the addresses. Of these, the alignment is checked here, and that nothing
    overlaps what is written. Any other call goes through the checks.
    """
    if torch.compiler.is_dynamo_compiling():
        return _checked(q, k_cache, v_cache, block_tables, seq_lens, out=out)
    try:
        key = (
            q.shape,
            k_cache.shape,
            v_cache.is_nested,
            block_tables.shape,
            seq_lens.is_nested,
            None if out is None else out.is_nested,
        )
        found = _LAUNCHES.get(key, ())
    except (AttributeError, RuntimeError, TypeError):
        # An argument is no tensor, or no number: the checks say so.
        key, found = (None, ())
    given = (
        (q, k_cache, v_cache, block_tables, seq_lens)
        if out is None
        else (q, k_cache, v_cache, block_tables, seq_lens, out)
    )
    for check, state, sizes, empty, launch in found:
        if check(*given) and not _is_special(paged_attention_kernel, *state):
            o = empty[0]() if out is None else out
            q_at, k_cache_at, v_cache_at, block_tables_at, seq_lens_at, o_at = (
                q.data_ptr(),
                k_cache.data_ptr(),
                v_cache.data_ptr(),
                block_tables.data_ptr(),
                seq_lens.data_ptr(),
                o.data_ptr(),
            )
            if (
                (q_at | k_cache_at | v_cache_at | block_tables_at | seq_lens_at | o_at)
                % 16
                == 0
                and not -sizes[5] < o_at - q_at < sizes[0]
                and not -sizes[5] < o_at - k_cache_at < sizes[1]
                and not -sizes[5] < o_at - v_cache_at < sizes[2]
                and not -sizes[5] < o_at - block_tables_at < sizes[3]
                and not -sizes[5] < o_at - seq_lens_at < sizes[4]
            ):
                if out is not None:
                    torch._C._increment_version((o,))
                launch(q_at, k_cache_at, v_cache_at, block_tables_at, seq_lens_at, o_at)
                return o
    return _keep(key, given, q, k_cache, v_cache, block_tables, seq_lens, out=out)


def _is_special(wanted, kernel, is_only, device, needs_no_grad):
    """Whether a call asks for more than a launch, or for another kernel's."""
    runtime = triton.knobs.runtime
    try:
        is_heard = runtime.launch_enter_hook.calls or runtime.launch_exit_hook.calls
    except AttributeError:
        return True
    return (
        is_heard
        or kernel is not wanted
        or not (is_only or torch._C._cuda_getDevice() == device)
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.autograd.forward_ad._current_level >= 0
        or (needs_no_grad and torch.is_grad_enabled())
    )


def _keep(key, given, /, *arguments, **outputs):
    """Calls the wrapper, and keeps what it launches for later calls of the key.

    Nothing is kept without a key, nor for a call that a plan is kept for.

    The first call of a key leaves only the key: a number may never come again. A
    wrapper that calls itself, for a gradient or for another GPU, tells no launch.
    """
    kept = _LAUNCHES.get(key)
    if kept is None and key is not None:
        if len(_LAUNCHES) >= 4096:
            _LAUNCHES.clear()
        _LAUNCHES[key] = ()
    if kept is None or len(kept) == 8 or any(check(*given) for check, *_ in kept):
        return _checked(*arguments, **outputs)
    told = _TOLD.launches = []
    try:
        results = _checked(*arguments, **outputs)
    finally:
        _TOLD.launches = None
    if len(told) == 1:
        _LAUNCHES[key] = (*kept, *_plans(given, results, *told[0]))
    return results


def _told_launch(kernel, grid, tensors, numbers, /, *others, **options):
    """What _launch does; a launch is told to who asks."""
    found = _plain_launch(kernel, grid, tensors, numbers, *others, **options)
    if found and _TOLD.launches is not None:
        _TOLD.launches.append((kernel, tensors, numbers, *found))


def _plans(given, results, kernel, tensors, numbers, binary, grid, constants):
    """What later calls need to launch the same: one plan, or none.

    A plan without a kernel says that Triton's launcher is not of a known form, so
    that the launch is never made this way.
    """
    if any(x.data_ptr() % 16 for x in tensors):
        return
    if any(type(x) not in (torch.Tensor, torch.nn.Parameter) for x in given):
        return
    try:
        torch._C._increment_version(())
        check = _guard(given)
    except (AttributeError, ImportError, RuntimeError, TypeError):
        return
    if not check(*given):
        return
    index = given[0].device.index
    is_only = torch.cuda.device_count() == 1
    try:
        launch = _launcher(binary, grid, len(tensors), (*numbers, *constants), index)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        launch = None
    needs_no_grad = any(x.requires_grad for x in given)
    state = (kernel if launch else None, is_only, index, needs_no_grad)
    sizes = [_end(x) - x.data_ptr() for x in tensors]
    made = results if isinstance(results, tuple) else (results,)
    empty = [
        x
        if x is None
        else functools.partial(
            torch.empty_strided, x.shape, x.stride(), dtype=x.dtype, device=x.device
        )
        for x in made
    ]
    yield check, state, sizes, empty, launch


def _guard(tensors):
    """A function that says whether others differ from these in address and values
    alone.

    It compares what torch.compile guards a graph's inputs by: type, dtype,
    device, sizes, strides, requires_grad, and all by which PyTorch chooses an
    implementation.
    """
    from torch._C._dynamo.guards import TensorGuards

    guards = TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
    return guards.check


def _launcher(binary, grid, count, numbers, device):
    """A function of addresses that makes the launch, or None if there can be none.

    It calls the function in C that Triton's launcher calls, with the same
    arguments, which a copy of the launcher shows. Hooks are left out: there is
    none to hear of it.
    """
    shown, calls = object.__new__(type(binary.run)), []
    for name, value in vars(binary.run).items():
        if name.endswith(("scratch_size", "_enabled")) and value:
            return None
        setattr(shown, name, value)
    launch, shown.launch = shown.launch, lambda *given: calls.append(given)
    if not isinstance(launch, type(len)):
        return None
    stream, *silent = marks = [object() for _ in range(4)]
    arguments = [*(object() for _ in range(count)), *numbers]
    shown(*grid, stream, binary.function, binary.packed_metadata, *silent, *arguments)
    (given,) = calls
    is_packed = isinstance(given[-1], tuple) and len(given[-1]) == len(arguments)
    fixed = given[:-1] if is_packed else given[: -len(arguments)]
    last = given[-1] if is_packed else given[len(fixed) :]
    is_known = all(x is y for x, y in zip(last, arguments))
    if not is_known or sum(any(x is mark for mark in marks) for x in fixed) != 4:
        return None
    place = next(i for i, x in enumerate(fixed) if x is stream)
    fixed = [None if any(x is mark for mark in silent) else x for x in fixed]
    before, after = fixed[:place], fixed[place + 1 :]

    def call(*addresses):
        stream = torch._C._cuda_getCurrentRawStream(device)
        if is_packed:
            launch(*before, stream, *after, (*addresses, *numbers))
        else:
            launch(*before, stream, *after, *addresses, *numbers)

    call.binary = binary
    return call


if (
    torch.version.cuda
    and not _INTERPRETED
    and triton.__version__.startswith(("3.6.", "3.7.", "3.8.", "3.9."))
):
    paged_attention, _launch = (_repeated, _told_launch)
kernel_fn = paged_attention
