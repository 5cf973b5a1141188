"""softmax(q @ k^T / sqrt(head dim)) @ v for each head.

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


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=2),
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
    _check_tensors("attention", {"q": q, "k": k, "v": v}, out=out)
    _check_strided("attention: out", out, q=q, k=k, v=v)
    if q.ndim != 3 or k.shape != q.shape or v.shape != q.shape:
        raise ValueError(
            "attention: q, k and v must have shape [H, S, HEAD_DIM], got "
            f"{list(q.shape)}, {list(k.shape)} and {list(v.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    o = q.new_empty((H, S, HEAD_DIM)) if out is None else out
    if o.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention: out must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(o.shape)}"
        )
    _check_dtypes("attention", (torch.float16, torch.bfloat16), q=q, k=k, v=v, out=o)
    if H * S * HEAD_DIM == 0:
        return o

    _check_reach("attention", q=q, k=k, v=v, out=o)
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            f"attention: HEAD_DIM must be a power of two from 16 up, got {HEAD_DIM}"
        )
    _check_bfloat16("attention", q.dtype)

    def grid(meta):
        return _checked_grid(
            "attention", (triton.cdiv(S, meta["BLOCK_M"]), H), {1: "H"}
        )

    with torch.cuda.device(q.get_device()):
        attention_kernel[grid](
            q,
            k,
            v,
            o,
            S,
            *q.stride(),
            *k.stride(),
            *v.stride(),
            *o.stride(),
            HEAD_DIM=HEAD_DIM,
            CAUSAL=CAUSAL,
        )
    return o


def reference_fn(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, CAUSAL: bool = False
):
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


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    axes = () if written.is_contiguous() else zip(written.stride(), written.shape)
    reach = 0
    for step, size in sorted(axes):
        if size > 1 and step <= reach:
            raise ValueError(
                f"{label} has elements that share memory, with shape "
                f"{list(written.shape)} and strides {list(written.stride())}; "
                "give a tensor of its own"
            )
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _may_overlap(x: torch.Tensor, y: torch.Tensor) -> bool:
    """True unless the addresses of x and y lie apart, at least modulo a stride.

    The stride divides all larger ones, as that of a matrix's rows does for two columns.
    """
    if x.numel() == 0 or y.numel() == 0:
        return False
    if x.is_contiguous() and y.is_contiguous():
        return -y.nbytes < y.data_ptr() - x.data_ptr() < x.nbytes
    axes = [
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    ]
    steps = {step for z in axes for step, last in z if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_span, y_span = (
            sum(step * last for step, last in z if step < period) for z in axes
        )
        is_apart = x_span + x.itemsize <= gap <= period - y_span - y.itemsize
        if is_apart and not any(step % period for step in steps if step > period):
            return False
    return True


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


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


kernel_fn = attention
