"""y_l = exp(decay_l) c_l · state + skip x_l + Σ_{s ≤ l} exp(decay_l - decay_s) (c_l
· b_s) dt_s x_s, for each chunk and head.

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
            {"BLOCK_L": BLOCK_L, "BLOCK_S": 64, "BLOCK_D": 64},
            num_warps=num_warps,
            num_stages=3,
        )
        for BLOCK_L, num_warps in [(128, 4), (64, 4), (128, 8)]
    ],
    key=["CHUNK", "HEAD_DIM", "STATE"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def mamba_chunk_scan_kernel(
    x_ptr,
    dt_ptr,
    decay_ptr,
    b_ptr,
    c_ptr,
    state_ptr,
    skip_ptr,
    y_ptr,
    CHUNKS,
    CHUNK,
    HEAD_DIM,
    stride_x_batch,
    stride_x_chunks,
    stride_x_chunk,
    stride_x_heads,
    stride_x_head_dim,
    stride_dt_batch,
    stride_dt_chunks,
    stride_dt_chunk,
    stride_dt_heads,
    stride_decay_batch,
    stride_decay_chunks,
    stride_decay_chunk,
    stride_decay_heads,
    stride_b_batch,
    stride_b_chunks,
    stride_b_chunk,
    stride_b_state,
    stride_c_batch,
    stride_c_chunks,
    stride_c_chunk,
    stride_c_state,
    stride_state_batch,
    stride_state_chunks,
    stride_state_heads,
    stride_state_state,
    stride_state_head_dim,
    stride_skip_heads,
    stride_y_batch,
    stride_y_chunks,
    stride_y_chunk,
    stride_y_heads,
    stride_y_head_dim,
    STATE: tl.constexpr,
    BLOCK_L: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    blocks_d = tl.cdiv(HEAD_DIM, BLOCK_D)
    pid_l = tl.program_id(0) // blocks_d
    pid_d = tl.program_id(0) % blocks_d
    batch = tl.program_id(1) // CHUNKS
    chunk = tl.program_id(1) % CHUNKS
    head = tl.program_id(2)
    rl = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    rd = pid_d * BLOCK_D + tl.arange(0, BLOCK_D)
    rn = tl.arange(0, STATE)
    mask_chunk = rl[:, None] < CHUNK
    queries = tl.load(
        c_ptr
        + (batch * stride_c_batch + chunk * stride_c_chunks)
        + (rl[:, None] * stride_c_chunk + rn[None, :] * stride_c_state),
        mask=mask_chunk,
        other=0.0,
    )
    decay_l = tl.load(
        decay_ptr
        + (
            batch * stride_decay_batch
            + chunk * stride_decay_chunks
            + head * stride_decay_heads
        )
        + rl * stride_decay_chunk,
        mask=rl < CHUNK,
        other=0.0,
    )
    mask_head_dim = rd[None, :] < HEAD_DIM
    entering = tl.load(
        state_ptr
        + (
            batch * stride_state_batch
            + chunk * stride_state_chunks
            + head * stride_state_heads
        )
        + (rn[:, None] * stride_state_state + rd[None, :] * stride_state_head_dim),
        mask=mask_head_dim,
        other=0.0,
    )
    lanes = tl.arange(0, BLOCK_S)
    acc = tl.dot(queries, entering) * tl.exp(decay_l)[:, None]
    b_ptrs = b_ptr + (
        batch * stride_b_batch
        + chunk * stride_b_chunks
        + lanes[:, None] * stride_b_chunk
        + rn[None, :] * stride_b_state
    )
    decay_ptrs = decay_ptr + (
        batch * stride_decay_batch
        + chunk * stride_decay_chunks
        + lanes * stride_decay_chunk
        + head * stride_decay_heads
    )
    dt_ptrs = dt_ptr + (
        batch * stride_dt_batch
        + chunk * stride_dt_chunks
        + lanes * stride_dt_chunk
        + head * stride_dt_heads
    )
    x_ptrs = x_ptr + (
        batch * stride_x_batch
        + chunk * stride_x_chunks
        + lanes[:, None] * stride_x_chunk
        + head * stride_x_heads
        + rd[None, :] * stride_x_head_dim
    )
    # A place sees those before it and itself: blocks to the right of the diagonal are
    # left out.
    for start in range(0, tl.minimum((pid_l + 1) * BLOCK_L, CHUNK), BLOCK_S):
        rs = start + lanes
        mask = lanes[:, None] < CHUNK - start
        keys = tl.load(b_ptrs, mask=mask, other=0.0)
        mask_1 = lanes < CHUNK - start
        decay_s = tl.load(decay_ptrs, mask=mask_1, other=0.0)
        step = tl.load(dt_ptrs, mask=mask_1, other=0.0)
        gap = tl.where(
            rl[:, None] >= rs[None, :],
            decay_l[:, None] - decay_s[None, :],
            float("-inf"),
        )
        weights = tl.dot(queries, tl.trans(keys)) * tl.exp(gap) * step[None, :]
        acc = tl.dot(
            weights.to(y_ptr.dtype.element_ty),
            tl.load(x_ptrs, mask=mask & mask_head_dim, other=0.0),
            acc,
        )
        b_ptrs += BLOCK_S * stride_b_chunk
        decay_ptrs += BLOCK_S * stride_decay_chunk
        dt_ptrs += BLOCK_S * stride_dt_chunk
        x_ptrs += BLOCK_S * stride_x_chunk
    mask = mask_chunk & mask_head_dim
    own = tl.load(
        x_ptr
        + (batch * stride_x_batch + chunk * stride_x_chunks + head * stride_x_heads)
        + (rl[:, None] * stride_x_chunk + rd[None, :] * stride_x_head_dim),
        mask=mask,
        other=0.0,
    ).to(tl.float32)
    out = acc + own * tl.load(skip_ptr + head * stride_skip_heads)
    tl.store(
        y_ptr
        + (batch * stride_y_batch + chunk * stride_y_chunks + head * stride_y_heads)
        + (rl[:, None] * stride_y_chunk + rd[None, :] * stride_y_head_dim),
        out.to(y_ptr.dtype.element_ty),
        mask=mask,
    )


def mamba_chunk_scan(
    x: torch.Tensor,
    dt: torch.Tensor,
    decay: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    state: torch.Tensor,
    skip: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """y_l = exp(decay_l) c_l · state + skip x_l + Σ_{s ≤ l} exp(decay_l - decay_s)
    (c_l · b_s) dt_s x_s, for each chunk and head.

    Args:
        x: [BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM] float16 or bfloat16.
        dt: [BATCH, CHUNKS, CHUNK, HEADS] float32 in [0, 0.1].
        decay: [BATCH, CHUNKS, CHUNK, HEADS] float32 in [-1, 0].
        b, c: [BATCH, CHUNKS, CHUNK, STATE] float16 or bfloat16 in [-1, 1].
        state: [BATCH, CHUNKS, HEADS, STATE, HEAD_DIM] float16 or bfloat16.
        skip: [HEADS] float32.
        out: where to write [BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM] float16 or
            bfloat16; allocated if None.
    """
    if (
        x.ndim != 5
        or dt.shape != x.shape[:4]
        or decay.shape != dt.shape
        or b.ndim != 4
        or b.shape[:3] != x.shape[:3]
        or c.shape != b.shape
        or state.ndim != 5
        or state.shape[:2] != x.shape[:2]
        or state.shape[2] != x.shape[3]
        or state.shape[3] != b.shape[3]
        or state.shape[4] != x.shape[4]
        or skip.shape != x.shape[3:4]
    ):
        raise ValueError(
            "mamba_chunk_scan: x, dt, decay, b, c, state and skip must have "
            "shapes [BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM], [BATCH, CHUNKS, "
            "CHUNK, HEADS], [BATCH, CHUNKS, CHUNK, HEADS], [BATCH, CHUNKS, "
            "CHUNK, STATE], [BATCH, CHUNKS, CHUNK, STATE], [BATCH, CHUNKS, "
            f"HEADS, STATE, HEAD_DIM] and [HEADS], got {x.shape}, {dt.shape}, "
            f"{decay.shape}, {b.shape}, {c.shape}, {state.shape} and {skip.shape}"
        )
    BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM = x.shape
    STATE = b.shape[3]
    y = x.new_empty((BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM)) if out is None else out
    if y.shape != (BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM):
        raise ValueError(
            f"mamba_chunk_scan: out must have shape [BATCH={BATCH}, "
            f"CHUNKS={CHUNKS}, CHUNK={CHUNK}, HEADS={HEADS}, "
            f"HEAD_DIM={HEAD_DIM}], got {y.shape}"
        )
    tensors = {
        "x": x,
        "dt": dt,
        "decay": decay,
        "b": b,
        "c": c,
        "state": state,
        "skip": skip,
        "out": y,
    }
    _check_dtypes(
        "mamba_chunk_scan", (torch.float16, torch.bfloat16), x=x, b=b, c=c, state=state
    )
    _check_dtypes("mamba_chunk_scan", (torch.float32,), dt=dt, decay=decay, skip=skip)
    _check_dtypes("mamba_chunk_scan", (x.dtype,), out=y)
    _check_tensors("mamba_chunk_scan", **tensors)
    _check_strided(
        "mamba_chunk_scan: out",
        out,
        x=x,
        dt=dt,
        decay=decay,
        b=b,
        c=c,
        state=state,
        skip=skip,
    )
    if BATCH * CHUNKS * CHUNK * HEADS * HEAD_DIM == 0:
        return y

    if STATE < 16 or (STATE & (STATE - 1)) != 0:
        raise ValueError(
            f"mamba_chunk_scan: STATE must be a power of two from 16 up, got {STATE}"
        )

    def grid(meta):
        return _checked_grid(
            "mamba_chunk_scan",
            (
                triton.cdiv(CHUNK, meta["BLOCK_L"])
                * triton.cdiv(HEAD_DIM, meta["BLOCK_D"]),
                BATCH * CHUNKS,
                HEADS,
            ),
        )

    with torch.cuda.device(x.get_device()):
        mamba_chunk_scan_kernel[grid](
            *tensors.values(), CHUNKS, CHUNK, HEAD_DIM, *_strides(tensors), STATE=STATE
        )
    return y


def reference_fn(x, dt, decay, b, c, state, skip):
    by_head = decay.transpose(2, 3)
    passed = by_head.unsqueeze(-1).sub(by_head.unsqueeze(-2)).exp().tril()
    inner = torch.einsum("zcln,zcsn,zchls,zcsh,zcshd->zclhd", c, b, passed, dt, x)
    carried = torch.einsum("zclh,zcln,zchnd->zclhd", decay.exp(), c, state)
    return inner.add(carried).add(x.mul(skip.unsqueeze(1)))


SHAPES = [
    {"BATCH": 2, "CHUNKS": 8, "CHUNK": 256, "HEADS": 24, "HEAD_DIM": 64, "STATE": 128},
    {"BATCH": 1, "CHUNKS": 2, "CHUNK": 150, "HEADS": 2, "HEAD_DIM": 40, "STATE": 128},
]


def get_inputs(BATCH=2, CHUNKS=8, CHUNK=256, HEADS=24, HEAD_DIM=64, *, STATE=128):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn(
            (BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM), device=device, dtype=torch.float16
        ),
        torch.empty(
            (BATCH, CHUNKS, CHUNK, HEADS), device=device, dtype=torch.float32
        ).uniform_(0, 0.1),
        torch.empty(
            (BATCH, CHUNKS, CHUNK, HEADS), device=device, dtype=torch.float32
        ).uniform_(-1, 0),
        torch.empty(
            (BATCH, CHUNKS, CHUNK, STATE), device=device, dtype=torch.float16
        ).uniform_(-1, 1),
        torch.empty(
            (BATCH, CHUNKS, CHUNK, STATE), device=device, dtype=torch.float16
        ).uniform_(-1, 1),
        torch.randn(
            (BATCH, CHUNKS, HEADS, STATE, HEAD_DIM), device=device, dtype=torch.float16
        ),
        torch.randn((HEADS,), device=device, dtype=torch.float32),
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


kernel_fn = mamba_chunk_scan
