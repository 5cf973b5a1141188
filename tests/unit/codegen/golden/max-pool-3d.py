"""The maximum of each KERNEL^3 window of x, STRIDE apart, and its place in the
volume D x H x W.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

# PLR0124: NaN alone differs from itself.
# ruff: noqa: PLR0124

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
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=4),
        triton.Config({"BLOCK": 512}, num_warps=8),
    ],
    key=["OD", "OH", "OW", "KERNEL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def max_pool3d_kernel(
    x_ptr,
    y_ptr,
    indices_ptr,
    C,
    D,
    H,
    W,
    OD,
    OH,
    OW,
    stride_xn,
    stride_xc,
    stride_xd,
    stride_xh,
    stride_xw,
    stride_yn,
    stride_yc,
    stride_y_od,
    stride_y_oh,
    stride_y_ow,
    stride_indices_n,
    stride_indices_c,
    stride_indices_od,
    stride_indices_oh,
    stride_indices_ow,
    KERNEL: tl.constexpr,
    STRIDE: tl.constexpr,
    PADDING: tl.constexpr,
    BLOCK: tl.constexpr,
):
    volume = tl.program_id(0)
    n = volume // C
    c = volume % C
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    od = offsets // (OW * OH)
    oh = (offsets // OW) % OH
    ow = offsets % OW
    first_d = od * STRIDE - PADDING
    first_h = oh * STRIDE - PADDING
    first_w = ow * STRIDE - PADDING
    best = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    # The first element of the window in the volume: the maximum if all are -inf.
    d0 = tl.maximum(first_d, 0)
    h0 = tl.maximum(first_h, 0)
    w0 = tl.maximum(first_w, 0)
    place = (d0 * H + h0) * W + w0
    x_base = x_ptr + (n * stride_xn + c * stride_xc)
    for kd in tl.static_range(KERNEL):
        for kh in tl.static_range(KERNEL):
            for kw in tl.static_range(KERNEL):
                d = first_d + kd
                h = first_h + kh
                w = first_w + kw
                value = tl.load(
                    x_base + (d * stride_xd + h * stride_xh + w * stride_xw),
                    mask=(d >= 0) & (d < D) & (h >= 0) & (h < H) & (w >= 0) & (w < W),
                    other=float("-inf"),
                ).to(tl.float32)
                # NaN is the maximum of a window that has one, as in PyTorch.
                better = (value > best) | (value != value)
                best = tl.where(better, value, best)
                place = tl.where(better, (d * H + h) * W + w, place)
    mask = od < OD
    tl.store(
        y_ptr
        + (n * stride_yn + c * stride_yc)
        + (od * stride_y_od + oh * stride_y_oh + ow * stride_y_ow),
        best.to(y_ptr.dtype.element_ty),
        mask=mask,
    )
    tl.store(
        indices_ptr
        + (n * stride_indices_n + c * stride_indices_c)
        + (od * stride_indices_od + oh * stride_indices_oh + ow * stride_indices_ow),
        place.to(tl.int64),
        mask=mask,
    )


def max_pool3d(
    x: torch.Tensor,
    KERNEL: int = 3,
    STRIDE: int = 2,
    PADDING: int = 1,
    *,
    y: torch.Tensor | None = None,
    indices: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum of each KERNEL^3 window of x, STRIDE apart, and its place in the
    volume D x H x W.

    Args:
        x: [N, C, D, H, W] float32 or float16 or bfloat16.
        KERNEL: an int that the kernel is compiled for.
        STRIDE: an int that the kernel is compiled for in [1, 1024).
        PADDING: an int that the kernel is compiled for in [0, 1024).
        y: where to write [N, C, OD, OH, OW] float32 or float16 or bfloat16;
            allocated if None.
        indices: where to write [N, C, OD, OH, OW] int64; allocated if None.
    """
    _check_type("max_pool3d: KERNEL", KERNEL, int)
    _check_type("max_pool3d: STRIDE", STRIDE, int)
    _check_type("max_pool3d: PADDING", PADDING, int)
    _check_tensors("max_pool3d", {"x": x}, y=y, indices=indices)
    _check_strided("max_pool3d: y", y, x=x)
    _check_strided("max_pool3d: indices", indices, x=x, y=y)
    if x.ndim != 5:
        raise ValueError(
            f"max_pool3d: x must have shape [N, C, D, H, W], got {list(x.shape)}"
        )
    N, C, D, H, W = x.shape
    if not STRIDE >= 1:
        raise ValueError(
            "max_pool3d: a requirement does not hold: STRIDE >= 1 with "
            f"STRIDE = {STRIDE}"
        )
    if not STRIDE < 1024:
        raise ValueError(
            "max_pool3d: a requirement does not hold: STRIDE < 1024 with "
            f"STRIDE = {STRIDE}"
        )
    if not PADDING >= 0:
        raise ValueError(
            "max_pool3d: a requirement does not hold: PADDING >= 0 with "
            f"PADDING = {PADDING}"
        )
    if not PADDING < 1024:
        raise ValueError(
            "max_pool3d: a requirement does not hold: PADDING < 1024 "
            f"with PADDING = {PADDING}"
        )
    if not PADDING * 2 <= KERNEL:
        raise ValueError(
            "max_pool3d: a requirement does not hold: PADDING * 2 <= "
            f"KERNEL with PADDING = {PADDING}, KERNEL = {KERNEL}"
        )
    if not D + PADDING * 2 >= KERNEL:
        raise ValueError(
            "max_pool3d: a requirement does not hold: D + PADDING * 2 >= "
            f"KERNEL with D = {D}, PADDING = {PADDING}, KERNEL = {KERNEL}"
        )
    if not H + PADDING * 2 >= KERNEL:
        raise ValueError(
            "max_pool3d: a requirement does not hold: H + PADDING * 2 >= "
            f"KERNEL with H = {H}, PADDING = {PADDING}, KERNEL = {KERNEL}"
        )
    if not W + PADDING * 2 >= KERNEL:
        raise ValueError(
            "max_pool3d: a requirement does not hold: W + PADDING * 2 >= "
            f"KERNEL with W = {W}, PADDING = {PADDING}, KERNEL = {KERNEL}"
        )
    OD = (D + PADDING * 2 - KERNEL) // STRIDE + 1
    OH = (H + PADDING * 2 - KERNEL) // STRIDE + 1
    OW = (W + PADDING * 2 - KERNEL) // STRIDE + 1
    y = x.new_empty((N, C, OD, OH, OW)) if y is None else y
    indices = (
        x.new_empty((N, C, OD, OH, OW), dtype=torch.int64)
        if indices is None
        else indices
    )
    if y.shape != (N, C, OD, OH, OW) or indices.shape != (N, C, OD, OH, OW):
        raise ValueError(
            f"max_pool3d: y and indices must have shape [N={N}, C={C}, "
            f"OD={OD}, OH={OH}, OW={OW}], got {list(y.shape)} and "
            f"{list(indices.shape)}"
        )
    _check_dtypes(
        "max_pool3d", (torch.float32, torch.float16, torch.bfloat16), x=x, y=y
    )
    _check_dtypes("max_pool3d", (torch.int64,), indices=indices)
    if N * C * OD * OH * OW == 0:
        return y, indices

    _check_reach("max_pool3d", x=x, y=y, indices=indices)
    _check_bfloat16("max_pool3d", x.dtype)

    def grid(meta):
        return _checked_grid(
            "max_pool3d",
            (N * C, triton.cdiv(OD * OH * OW, meta["BLOCK"])),
            {1: "cdiv(OD * OH * OW, BLOCK)"},
        )

    with torch.cuda.device(x.get_device()):
        max_pool3d_kernel[grid](
            x,
            y,
            indices,
            C,
            D,
            H,
            W,
            OD,
            OH,
            OW,
            *x.stride(),
            *y.stride(),
            *indices.stride(),
            KERNEL=KERNEL,
            STRIDE=STRIDE,
            PADDING=PADDING,
        )
    return y, indices


def reference_fn(x: torch.Tensor, KERNEL: int = 3, STRIDE: int = 2, PADDING: int = 1):
    return torch.nn.functional.max_pool3d(
        x, KERNEL, STRIDE, PADDING, return_indices=True
    )


SHAPES = [
    {"N": 2, "C": 3, "D": 9, "H": 14, "W": 13, "KERNEL": 3, "STRIDE": 2, "PADDING": 1},
    {"N": 2, "C": 3, "D": 8, "H": 10, "W": 12, "KERNEL": 2, "STRIDE": 2, "PADDING": 0},
    {
        "N": 16,
        "C": 64,
        "D": 16,
        "H": 56,
        "W": 56,
        "KERNEL": 3,
        "STRIDE": 2,
        "PADDING": 1,
    },
]


def get_inputs(N=2, C=3, D=9, H=14, W=13, *, KERNEL=3, STRIDE=2, PADDING=1):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((N, C, D, H, W), device=device, dtype=torch.float32),
        KERNEL,
        STRIDE,
        PADDING,
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


kernel_fn = max_pool3d
