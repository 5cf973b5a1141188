"""RMS normalization over the last axis of a matrix, with its gradient.

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
    configs=[triton.Config({}, num_warps=num_warps) for num_warps in (2, 4, 8, 16)],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def rms_norm_forward_kernel(
    x_ptr,
    weight_ptr,
    y_ptr,
    rstd_ptr,
    eps: tl.float32,
    N,
    stride_xm,
    stride_xn,
    stride_weight_n,
    stride_ym,
    stride_yn,
    stride_rstd_m,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    # Zeros past the end add nothing to the sum of squares. A row is read once, but an
    # H200 is faster with this hint than with `evict_first` or none.
    mask = cols < N
    values = tl.load(
        x_ptr + row * stride_xm + cols * stride_xn,
        mask=mask,
        other=0.0,
        eviction_policy="evict_last",
    ).to(tl.float32)
    # Asked for before the sum, so that it is there when the sum is.
    w = tl.load(
        weight_ptr + cols * stride_weight_n,
        mask=mask,
        other=0.0,
        eviction_policy="evict_last",
    )
    mean_square = tl.sum(values * values, axis=0) / tl.cast(N, tl.float32)
    scale = tl.rsqrt(mean_square + eps)
    tl.store(rstd_ptr + row * stride_rstd_m, scale)
    tl.store(
        y_ptr + row * stride_ym + cols * stride_yn,
        (values * scale * w.to(tl.float32)).to(y_ptr.dtype.element_ty),
        mask=mask,
    )


def _rms_norm_forward_meta(x, weight, eps=1e-6):
    """Checks the arguments of rms_norm_forward, and allocates its results."""
    _check_operands("rms_norm_forward", x=x, weight=weight)
    if x.ndim != 2 or weight.shape != x.shape[1:]:
        raise ValueError(
            "rms_norm_forward: x and weight must have shapes [M, N] and [N], got "
            f"{x.shape} and {weight.shape}"
        )
    M, N = x.shape
    _check_dtypes(
        "rms_norm_forward",
        (torch.float16, torch.bfloat16, torch.float32),
        x=x,
        weight=weight,
    )
    return x.new_empty((M, N)), x.new_empty((M,), dtype=torch.float32)


def _rms_norm_forward(x, weight, eps=1e-6):
    """y = x * rstd * weight with rstd = 1 / sqrt(mean(x²) + eps) of each row."""
    y, rstd = _rms_norm_forward_meta(x, weight, eps)
    _check_float("rms_norm_forward: eps", eps, torch.float32)
    M, N = x.shape
    if M == 0:
        return y, rstd

    tensors = {"x": x, "weight": weight, "y": y, "rstd": rstd}
    _check_reach("rms_norm_forward", **tensors)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N < 1 or (BLOCK_N & (BLOCK_N - 1)) != 0 or BLOCK_N > 2**20:
        raise ValueError(
            "rms_norm_forward: BLOCK_N must be a power of two, at most 2**20, "
            f"got {BLOCK_N}"
        )

    with torch.cuda.device(x.get_device()):
        rms_norm_forward_kernel[(M,)](
            *tensors.values(), eps, N, *_strides(tensors), BLOCK_N=BLOCK_N
        )
    return y, rstd


@triton.autotune(
    configs=[triton.Config({}, num_warps=num_warps) for num_warps in (4, 8, 16)],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def rms_norm_gradients_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    rstd_ptr,
    dx_ptr,
    dw_partial_ptr,
    M,
    N,
    GROUPS,
    stride_dy_m,
    stride_dy_n,
    stride_xm,
    stride_xn,
    stride_weight_n,
    stride_rstd_m,
    stride_dx_m,
    stride_dx_n,
    stride_dw_partial_groups,
    stride_dw_partial_n,
    BLOCK_N: tl.constexpr,
):
    group = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    w = tl.load(weight_ptr + cols * stride_weight_n, mask=mask, other=0.0).to(
        tl.float32
    )
    dw_sum = tl.zeros([BLOCK_N], dtype=tl.float32)
    for m in tl.range(group, M, GROUPS, num_stages=3):
        gradient = tl.load(
            dy_ptr + m * stride_dy_m + cols * stride_dy_n, mask=mask, other=0.0
        ).to(tl.float32)
        values = tl.load(
            x_ptr + m * stride_xm + cols * stride_xn, mask=mask, other=0.0
        ).to(tl.float32)
        scale = tl.load(rstd_ptr + m * stride_rstd_m)
        normalized = values * scale
        weighted = gradient * w
        # What the norm takes away: the share of the gradient that lies along x.
        along_x = tl.sum(weighted * normalized, axis=0) / tl.cast(N, tl.float32)
        tl.store(
            dx_ptr + m * stride_dx_m + cols * stride_dx_n,
            ((weighted - normalized * along_x) * scale).to(dx_ptr.dtype.element_ty),
            mask=mask,
        )
        dw_sum += gradient * normalized
    tl.store(
        dw_partial_ptr + group * stride_dw_partial_groups + cols * stride_dw_partial_n,
        dw_sum,
        mask=mask,
    )


def _rms_norm_gradients_meta(dy, x, weight, rstd, GROUPS):
    """Checks the arguments of rms_norm_gradients, and allocates its results."""
    _check_operands("rms_norm_gradients", dy=dy, x=x, weight=weight, rstd=rstd)
    if (
        dy.ndim != 2
        or x.shape != dy.shape
        or weight.shape != dy.shape[1:]
        or rstd.shape != dy.shape[:1]
    ):
        raise ValueError(
            "rms_norm_gradients: dy, x, weight and rstd must have shapes [M, N], "
            f"[M, N], [N] and [M], got {dy.shape}, {x.shape}, {weight.shape} and "
            f"{rstd.shape}"
        )
    M, N = dy.shape
    _check_dtypes(
        "rms_norm_gradients",
        (torch.float16, torch.bfloat16, torch.float32),
        dy=dy,
        x=x,
        weight=weight,
    )
    _check_dtypes("rms_norm_gradients", (torch.float32,), rstd=rstd)
    return dy.new_empty((M, N)), dy.new_empty((GROUPS, N), dtype=torch.float32)


def _rms_norm_gradients(dy, x, weight, rstd, GROUPS):
    """The gradient of x, and for each group of rows the sum of theirs of weight."""
    dx, dw_partial = _rms_norm_gradients_meta(dy, x, weight, rstd, GROUPS)
    _check_int("rms_norm_gradients: GROUPS", GROUPS, 0, 2**31 - 1)
    M, N = dy.shape
    if M * N == 0 and GROUPS * N == 0:
        return dx, dw_partial

    tensors = {
        "dy": dy,
        "x": x,
        "weight": weight,
        "rstd": rstd,
        "dx": dx,
        "dw_partial": dw_partial,
    }
    _check_reach("rms_norm_gradients", **tensors)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N > 2**20:
        raise ValueError(
            f"rms_norm_gradients: BLOCK_N must be at most 2**20, got {BLOCK_N}"
        )
    if not GROUPS >= 1:
        raise ValueError(
            "rms_norm_gradients: a requirement does not hold: GROUPS >= 1 with "
            f"GROUPS = {GROUPS}"
        )

    with torch.cuda.device(dy.get_device()):
        rms_norm_gradients_kernel[(GROUPS,)](
            *tensors.values(), M, N, GROUPS, *_strides(tensors), BLOCK_N=BLOCK_N
        )
    return dx, dw_partial


@torch.library.custom_op("tilescript::rms_norm", mutates_args=())
def rms_norm_op(
    x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    return _rms_norm_forward(x, weight, eps)


@rms_norm_op.register_fake
def _(x, weight, eps=1e-6):
    return _rms_norm_forward_meta(x, weight, eps)


@torch.library.custom_op("tilescript::rms_norm_backward", mutates_args=())
def rms_norm_backward_op(
    grad_y: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    rstd: torch.Tensor,
    needs_weight: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    dx, dw_partial = _rms_norm_gradients(grad_y, x, weight, rstd, 132)
    if needs_weight:
        grad_weight = dw_partial.sum(0).to(grad_y.dtype)
    else:
        grad_weight = grad_y.new_empty(0)
    return dx, grad_weight


@rms_norm_backward_op.register_fake
def _(grad_y, x, weight, rstd, needs_weight):
    dx, dw_partial = _rms_norm_gradients_meta(grad_y, x, weight, rstd, 132)
    if needs_weight:
        grad_weight = dw_partial.sum(0).to(grad_y.dtype)
    else:
        grad_weight = grad_y.new_empty(0)
    return dx, grad_weight


def _rms_norm_setup_context(ctx, inputs, output):
    x, weight, _ = inputs
    _, rstd = output
    ctx.save_for_backward(x, weight, rstd)
    ctx.mark_non_differentiable(rstd)


def _rms_norm_backward(ctx, grad_y, *_):
    x, weight, rstd = ctx.saved_tensors
    needs_weight = ctx.needs_input_grad[1]
    grad_x, grad_weight = rms_norm_backward_op(grad_y, x, weight, rstd, needs_weight)
    return grad_x, grad_weight, None


rms_norm_op.register_autograd(_rms_norm_backward, setup_context=_rms_norm_setup_context)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """RMS normalization over the last axis of a matrix, with its gradient.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        weight: [N] float16 or bfloat16 or float32.
        eps: a number, passed as float32.

    Returns:
        y: [M, N] float16 or bfloat16 or float32.
    """
    _refuse_tangents("rms_norm", x, weight)
    y, _ = rms_norm_op(x, weight, eps)
    return y


def reference_fn(x, weight, eps=1e-6):
    N = x.shape[1]
    return torch.nn.functional.rms_norm(x, [N], weight, eps)


SHAPES = [{"M": 128, "N": 1000}, {"M": 4096, "N": 8192}]


def get_inputs(M=128, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
        1e-6,
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


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    if torch.finfo(dtype).max < abs(value) < float("inf"):
        raise ValueError(f"{label} must fit {dtype}, got {value}")


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


kernel_fn = rms_norm
