"""Softmax of each column of values over the elements of each row; row i is
values[offsets[i]:offsets[i + 1]].

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
        triton.Config({"BLOCK_L": BLOCK_L, "BLOCK_D": BLOCK_D}, num_warps=4)
        for BLOCK_L, BLOCK_D in [(32, 64), (64, 32), (128, 16)]
    ],
    key=["D"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def jagged_softmax_kernel(
    values_ptr,
    offsets_ptr,
    out_ptr,
    D,
    stride_values_total,
    stride_values_d,
    stride_offsets_offsets,
    stride_out_total,
    stride_out_d,
    BLOCK_L: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    row = tl.program_id(0)
    start = tl.load(offsets_ptr + row * stride_offsets_offsets)
    end = tl.load(offsets_ptr + (row + 1) * stride_offsets_offsets)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    lanes = tl.arange(0, BLOCK_L)
    best = tl.full([BLOCK_D], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_D], dtype=tl.float32)
    mask_d = cols[None, :] < D
    for first in range(start, end, BLOCK_L):
        rows = first + lanes
        x = tl.load(
            values_ptr
            + rows[:, None] * stride_values_total
            + cols[None, :] * stride_values_d,
            mask=mask_d & (rows < end)[:, None],
            other=float("-inf"),
        ).to(tl.float32)
        new_best = tl.maximum(best, tl.max(x, axis=0))
        powers = tl.exp(x - new_best[None, :])
        total = total * tl.exp(best - new_best) + tl.sum(powers, axis=0)
        best = new_best
    for first in range(start, end, BLOCK_L):
        rows = first + lanes
        is_row = (rows < end)[:, None]
        mask = mask_d & is_row
        x = tl.load(
            values_ptr
            + rows[:, None] * stride_values_total
            + cols[None, :] * stride_values_d,
            mask=mask,
            other=float("-inf"),
        ).to(tl.float32)
        y = tl.exp(x - best[None, :]) / total[None, :]
        tl.store(
            out_ptr + rows[:, None] * stride_out_total + cols[None, :] * stride_out_d,
            y.to(out_ptr.dtype.element_ty),
            mask=mask,
        )


def jagged_softmax(
    values: torch.Tensor, offsets: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Softmax of each column of values over the elements of each row; row i is
    values[offsets[i]:offsets[i + 1]].

    Args:
        values: [TOTAL, D] float32 or float16 or bfloat16.
        offsets: [OFFSETS] int32, rising from 0 to TOTAL.
        out: where to write [TOTAL, D] float32 or float16 or bfloat16; allocated
            if None.
    """
    if values.ndim != 2 or offsets.ndim != 1:
        raise ValueError(
            "jagged_softmax: values and offsets must have shapes [TOTAL, D] and "
            f"[OFFSETS], got {values.shape} and {offsets.shape}"
        )
    TOTAL, D = values.shape
    OFFSETS = offsets.shape[0]
    out = values.new_empty((TOTAL, D)) if out is None else out
    if out.shape != (TOTAL, D):
        raise ValueError(
            f"jagged_softmax: out must have shape [TOTAL={TOTAL}, D={D}], got "
            f"{out.shape}"
        )
    _check_dtypes(
        "jagged_softmax", (torch.float32, torch.float16, torch.bfloat16), values=values
    )
    _check_dtypes("jagged_softmax", (torch.int32,), offsets=offsets)
    _check_dtypes("jagged_softmax", (values.dtype,), out=out)
    _check_tensors("jagged_softmax", values=values, offsets=offsets, out=out)
    _check_strided("jagged_softmax: out", out, values=values, offsets=offsets)
    if TOTAL * D == 0:
        return out

    if not (OFFSETS >= 2 or TOTAL == 0):
        raise ValueError(
            "jagged_softmax: a requirement does not hold: OFFSETS >= 2 or TOTAL "
            f"== 0 with OFFSETS = {OFFSETS}, TOTAL = {TOTAL}"
        )

    def grid(meta):
        return _checked_grid(
            "jagged_softmax", (OFFSETS - 1, triton.cdiv(D, meta["BLOCK_D"]))
        )

    with torch.cuda.device(values.get_device()):
        jagged_softmax_kernel[grid](
            values, offsets, out, D, *values.stride(), offsets.stride(0), *out.stride()
        )
    return out


def reference_fn(values, offsets):
    lengths = torch.diff(offsets)
    largest = torch.segment_reduce(values, "max", lengths=lengths).repeat_interleave(
        lengths, 0
    )
    powers = values.sub(largest).exp()
    return powers.div(
        torch.segment_reduce(powers, "sum", lengths=lengths).repeat_interleave(
            lengths, 0
        )
    )


SHAPES = [
    {"TOTAL": 16384, "D": 128, "OFFSETS": 65},
    {"TOTAL": 300, "D": 40, "OFFSETS": 9},
]


def get_inputs(TOTAL=16384, D=128, OFFSETS=65):
    device = "cpu" if _INTERPRETED else "cuda"
    offsets = (
        torch.randint(0, TOTAL + 1, (OFFSETS,), device=device, dtype=torch.int32)
        .sort()
        .values
    )
    offsets[0] = 0
    offsets[-1] = TOTAL
    return [torch.randn((TOTAL, D), device=device, dtype=torch.float32), offsets]


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


kernel_fn = jagged_softmax
