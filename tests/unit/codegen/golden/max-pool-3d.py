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
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": BLOCK}, num_warps=num_warps)
        for BLOCK, num_warps in [(128, 4), (256, 4), (512, 8)]
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
    if x.ndim != 5:
        raise ValueError(
            f"max_pool3d: x must have shape [N, C, D, H, W], got {x.shape}"
        )
    N, C, D, H, W = x.shape
    if not (
        STRIDE >= 1
        and STRIDE < 1024
        and PADDING >= 0
        and PADDING < 1024
        and PADDING * 2 <= KERNEL
        and D + PADDING * 2 >= KERNEL
        and H + PADDING * 2 >= KERNEL
        and W + PADDING * 2 >= KERNEL
    ):
        raise ValueError(
            "max_pool3d: a requirement does not hold: STRIDE >= 1 and STRIDE < "
            "1024 and PADDING >= 0 and PADDING < 1024 and PADDING * 2 <= KERNEL "
            "and D + PADDING * 2 >= KERNEL and H + PADDING * 2 >= KERNEL and W + "
            f"PADDING * 2 >= KERNEL with STRIDE = {STRIDE}, PADDING = {PADDING}, "
            f"KERNEL = {KERNEL}, D = {D}, H = {H}, W = {W}"
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
            f"max_pool3d: y and indices must have shape [N={N}, C={C}, OD={OD}, "
            f"OH={OH}, OW={OW}], got {y.shape} and {indices.shape}"
        )
    _check_dtypes("max_pool3d", (torch.float32, torch.float16, torch.bfloat16), x=x)
    _check_dtypes("max_pool3d", (x.dtype,), y=y)
    _check_dtypes("max_pool3d", (torch.int64,), indices=indices)
    _check_tensors("max_pool3d", x=x, y=y, indices=indices)
    _check_strided("max_pool3d: y", y, x=x)
    _check_strided("max_pool3d: indices", indices, x=x, y=y)
    if N * C * OD * OH * OW == 0:
        return y, indices

    def grid(meta):
        return _checked_grid(
            "max_pool3d", (N * C, triton.cdiv(OD * OH * OW, meta["BLOCK"]))
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


def reference_fn(x, KERNEL=3, STRIDE=2, PADDING=1):
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


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


kernel_fn = max_pool3d
