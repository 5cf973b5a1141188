"""softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# The maximum number of programs along each axis of a grid.
_MAX_GRID = (2**31 - 1, 65535, 65535)


def _maxnreg(count):
    """The limit on the registers of a thread: AMD's compiler takes no such option."""
    return {} if torch.version.hip else {"maxnreg": count}


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 32}, num_warps=4, num_stages=3, **_maxnreg(168)
        ),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_warps=8, num_stages=2),
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
    _check_tensors(
        "relative_attention", {"q": q, "k": k, "v": v, "bias": bias}, out=out
    )
    _check_written("relative_attention: out", out, q=q, k=k, v=v, bias=bias)
    if (
        q.ndim != 3
        or k.shape != q.shape
        or v.shape != q.shape
        or bias.ndim != 2
        or bias.shape[0] != q.shape[0]
    ):
        raise ValueError(
            "relative_attention: q, k, v and bias must have shapes [H, "
            "S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, HEAD_DIM] and [H, "
            f"DISTANCES], got {list(q.shape)}, {list(k.shape)}, "
            f"{list(v.shape)} and {list(bias.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    DISTANCES = S * 2 - 1
    if bias.shape[1] != DISTANCES:
        raise ValueError(
            f"relative_attention: bias must have shape [H={H}, "
            f"DISTANCES={DISTANCES}], got {list(bias.shape)}"
        )
    o = torch.empty_like(q) if out is None else out
    if o.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"relative_attention: out must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(o.shape)}"
        )
    _check_dtypes(
        "relative_attention",
        (torch.float16, torch.bfloat16),
        q=q,
        k=k,
        v=v,
        bias=bias,
        out=o,
    )
    _check_contiguous("relative_attention", q=q, k=k, v=v, bias=bias, out=o)
    if H * S * HEAD_DIM == 0:
        return o

    _check_reach("relative_attention", q=q, bias=bias)
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "relative_attention: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )
    _check_bfloat16("relative_attention", q.dtype)

    def grid(meta):
        return _checked_grid(
            "relative_attention", (triton.cdiv(S, meta["BLOCK_M"]), H), {1: "H"}
        )

    with torch.cuda.device(q.get_device()):
        relative_attention_kernel[grid](
            q, k, v, bias, o, S, DISTANCES, HEAD_DIM=HEAD_DIM
        )
    return o


def reference_fn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor):
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


def _check_tensors(name, required, /, **optional):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    first, device = "", None
    for key, x in {**required, **optional}.items():
        if x is None and key in optional:
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: {key} must be a tensor, got {x!r:.80}")
        if type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            kind = type(x).__name__
            raise TypeError(f"{name}: {key} must be a plain tensor, got a {kind}")
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(
                f"{name}: {key} is a lazily negated view; call .resolve_neg() first"
            )
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(
                f"{name} has no gradient for {key}; "
                "call it under torch.no_grad(), or with .detach()"
            )


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    (first, x), *others = tensors.items()
    if x.dtype not in expected:
        dtypes = " or ".join(map(str, expected))
        raise TypeError(f"{name}: {first} must be {dtypes}, got {x.dtype}")
    for key, y in others:
        if y.dtype != x.dtype:
            raise TypeError(
                f"{name}: {key} must be {x.dtype} as {first} is, got {y.dtype}"
            )


def _check_contiguous(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(
                f"{name}: {key} must be contiguous, got strides {x.stride()}; "
                "call .contiguous() first"
            )


def _check_reach(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors whose offsets do not fit int32."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= _INT32_REACH:
            raise ValueError(
                f"{name}: {key} spans more elements than int32 offsets reach; "
                "build the kernel with { offsets: tl.int64 } for it"
            )


def _checked_grid(name, grid, lengths, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    for axis, length in lengths.items():
        if grid[axis] > _MAX_GRID[axis]:
            raise ValueError(
                f"{name}: axis {axis} of the grid has {length} = {grid[axis]} programs "
                f"and a GPU launches at most {_MAX_GRID[axis]}; pass the tensors in "
                "parts, or give the kernel a grid with a shorter axis"
            )
    return grid


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        if x is not None and max(start, x.data_ptr()) < min(
            end, x.data_ptr() + x.nbytes
        ):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _check_bfloat16(name, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    if not (torch.bfloat16 in dtypes and triton.knobs.runtime.interpret):
        return
    from triton.runtime.interpreter import InterpreterBuilder

    # TileScript's runner corrects the interpreter, and says so here.
    if not hasattr(InterpreterBuilder, "has_bfloat16"):
        raise NotImplementedError(
            f"{name}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


kernel_fn = relative_attention
