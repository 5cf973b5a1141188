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
        triton.Config({"BLOCK_L": 32, "BLOCK_D": 64}, num_warps=4),
        triton.Config({"BLOCK_L": 64, "BLOCK_D": 32}, num_warps=4),
        triton.Config({"BLOCK_L": 128, "BLOCK_D": 16}, num_warps=4),
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
    _check_tensors("jagged_softmax", {"values": values, "offsets": offsets}, out=out)
    _check_strided("jagged_softmax: out", out, values=values, offsets=offsets)
    if values.ndim != 2 or offsets.ndim != 1:
        raise ValueError(
            "jagged_softmax: values and offsets must have shapes [TOTAL, "
            f"D] and [OFFSETS], got {list(values.shape)} and "
            f"{list(offsets.shape)}"
        )
    TOTAL, D = values.shape
    OFFSETS = offsets.shape[0]
    out = values.new_empty((TOTAL, D)) if out is None else out
    if out.shape != (TOTAL, D):
        raise ValueError(
            f"jagged_softmax: out must have shape [TOTAL={TOTAL}, D={D}], "
            f"got {list(out.shape)}"
        )
    _check_dtypes(
        "jagged_softmax",
        (torch.float32, torch.float16, torch.bfloat16),
        values=values,
        out=out,
    )
    _check_dtypes("jagged_softmax", (torch.int32,), offsets=offsets)
    if TOTAL * D == 0:
        return out

    _check_reach("jagged_softmax", values=values, offsets=offsets, out=out)
    if not (OFFSETS >= 2 or TOTAL == 0):
        raise ValueError(
            "jagged_softmax: a requirement does not hold: OFFSETS >= 2 "
            f"or TOTAL == 0 with OFFSETS = {OFFSETS}, TOTAL = {TOTAL}"
        )
    _check_bfloat16("jagged_softmax", values.dtype)

    def grid(meta):
        return _checked_grid(
            "jagged_softmax",
            (OFFSETS - 1, triton.cdiv(D, meta["BLOCK_D"])),
            {0: "OFFSETS - 1", 1: "cdiv(D, BLOCK_D)"},
        )

    with torch.cuda.device(values.get_device()):
        jagged_softmax_kernel[grid](
            values, offsets, out, D, *values.stride(), offsets.stride(0), *out.stride()
        )
    return out


def reference_fn(values: torch.Tensor, offsets: torch.Tensor):
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


kernel_fn = jagged_softmax
