"""The K largest of each row, the largest first, and their columns; of equal ones the
first columns.

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


def _prune_configs(configs, named_args, **kwargs):
    """The configs that meet the kernel's requirements."""
    args = {**named_args, **kwargs}
    K = args["K"]
    kept = []
    for config in configs:
        if config.kwargs["BLOCK_N"] >= K:
            kept.append(config)
    if not kept:
        raise ValueError(
            f"bitonic_topk: no config has BLOCK_N >= K with K={K}; add one that does"
        )
    return kept


@triton.jit
def merge(
    given, places, LOG_RUN: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Sorts runs of 2^LOG_RUN keys, each of which rises and then falls. Runs whose
    place has bit LOG_RUN set come out falling, the others rising: two neighbors
    are what the next longer merge begins with.
    """
    keys = given
    falls = (places >> LOG_RUN) & 1
    for bit in tl.static_range(LOG_RUN - 1, -1, -1):
        # Keys whose places differ in this bit are compared.
        pairs = tl.reshape(keys, [BLOCK_M, BLOCK_N // (2 << bit), 2, 1 << bit])
        low, high = tl.split(tl.permute(pairs, [0, 1, 3, 2]))
        others = tl.reshape(
            tl.permute(tl.join(high, low), [0, 1, 3, 2]), [BLOCK_M, BLOCK_N]
        )
        is_greater = (((places >> bit) & 1) != falls)[None, :]
        keys = tl.where(is_greater, tl.maximum(keys, others), tl.minimum(keys, others))
    return keys


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N}, num_warps=num_warps)
        for BLOCK_M, BLOCK_N, num_warps in [(4, 128, 4), (2, 256, 4), (1, 1024, 8)]
    ],
    key=["N", "K"],
    prune_configs_by={"early_config_prune": _prune_configs},
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.heuristics({"LOG_N": lambda args: (args["BLOCK_N"] - 1).bit_length()})
@triton.jit
def bitonic_topk_kernel(
    x_ptr,
    values_ptr,
    indices_ptr,
    M,
    N,
    K,
    stride_xm,
    stride_xn,
    stride_values_m,
    stride_values_k,
    stride_indices_m,
    stride_indices_k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    LOG_N: tl.constexpr,
    LOG_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    lanes = tl.arange(0, BLOCK_N)
    opposite = lanes ^ (1 << LOG_K)
    # Each run of 2^LOG_K lanes keeps the first keys of its own columns.
    best = tl.full([BLOCK_M, BLOCK_N], 9223372032559808512, dtype=tl.int64)
    mask_m = rows[:, None] < M
    for start in range(0, N, BLOCK_N):
        cols = start + lanes
        block = tl.load(
            x_ptr + rows[:, None] * stride_xm + cols[None, :] * stride_xn,
            mask=mask_m & (cols[None, :] < N),
            other=float("-inf"),
        ).to(tl.float32)
        # Floats as integers in the same order; the complement puts the largest first,
        # the column sets equal ones apart.
        bits = block.to(tl.int32, bitcast=True)
        ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        keys = ((~ordered).to(tl.int64) << 32) | cols[None, :].to(tl.int64)
        for i in tl.static_range(1, LOG_K + 1):
            keys = merge(keys, opposite, i, BLOCK_M, BLOCK_N)
        # Of two runs, one rising and one falling, the lesser of each pair are the first
        # of both, and rise and fall.
        best = merge(tl.minimum(best, keys), lanes, LOG_K, BLOCK_M, BLOCK_N)
    for i in tl.static_range(LOG_K + 1, LOG_N + 1):
        best = merge(best, lanes, i, BLOCK_M, BLOCK_N)
    ordered = ~(best >> 32).to(tl.int32)
    bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
    mask = mask_m & (lanes[None, :] < K)
    tl.store(
        values_ptr
        + (rows[:, None] * stride_values_m + lanes[None, :] * stride_values_k),
        bits.to(tl.float32, bitcast=True).to(values_ptr.dtype.element_ty),
        mask=mask,
    )
    tl.store(
        indices_ptr
        + (rows[:, None] * stride_indices_m + lanes[None, :] * stride_indices_k),
        best & 0xFFFFFFFF,
        mask=mask,
    )


def bitonic_topk(
    x: torch.Tensor,
    K: int,
    *,
    values: torch.Tensor | None = None,
    indices: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row, the largest first, and their columns; of equal ones
    the first columns.

    Args:
        x: [M, N] float32 or float16 or bfloat16.
        K: a size of the result.
        values: where to write [M, K] float32 or float16 or bfloat16; allocated if
            None.
        indices: where to write [M, K] int64; allocated if None.
    """
    _check_int("bitonic_topk: K", K, 0, 2**31 - 1)
    if x.ndim != 2:
        raise ValueError(f"bitonic_topk: x must have shape [M, N], got {x.shape}")
    M, N = x.shape
    values = x.new_empty((M, K)) if values is None else values
    indices = x.new_empty((M, K), dtype=torch.int64) if indices is None else indices
    if values.shape != (M, K) or indices.shape != (M, K):
        raise ValueError(
            f"bitonic_topk: values and indices must have shape [M={M}, K={K}], "
            f"got {values.shape} and {indices.shape}"
        )
    _check_dtypes("bitonic_topk", (torch.float32, torch.float16, torch.bfloat16), x=x)
    _check_dtypes("bitonic_topk", (x.dtype,), values=values)
    _check_dtypes("bitonic_topk", (torch.int64,), indices=indices)
    _check_tensors("bitonic_topk", x=x, values=values, indices=indices)
    _check_strided("bitonic_topk: values", values, x=x)
    _check_strided("bitonic_topk: indices", indices, x=x, values=values)
    if M * K == 0:
        return values, indices

    LOG_K = (K - 1).bit_length()
    if LOG_K > 2**20:
        raise ValueError(f"bitonic_topk: LOG_K must be at most 2**20, got {LOG_K}")
    if not K <= N:
        raise ValueError(
            f"bitonic_topk: a requirement does not hold: K <= N with K = {K}, N = {N}"
        )

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]),)

    with torch.cuda.device(x.get_device()):
        bitonic_topk_kernel[grid](
            x,
            values,
            indices,
            M,
            N,
            K,
            *x.stride(),
            *values.stride(),
            *indices.stride(),
            LOG_K=LOG_K,
        )
    return values, indices


def reference_fn(x, K):
    values, indices = torch.sort(x, dim=1, descending=True, stable=True)
    return values.narrow(1, 0, K), indices.narrow(1, 0, K)


SHAPES = [{"M": 4096, "N": 4096, "K": 32}, {"M": 5, "N": 300, "K": 10}]


def get_inputs(M=4096, N=4096, K=32):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((M, N), device=device, dtype=torch.float32), K]


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


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


kernel_fn = bitonic_topk
