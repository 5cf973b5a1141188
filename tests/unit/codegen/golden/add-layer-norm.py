"""The sum of x and residual, and its layer normalization over the last axis, with
gradients.

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
    configs=[triton.Config({}, num_warps=num_warps) for num_warps in (4, 8, 16)],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def add_layer_norm_forward_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    sum_ptr,
    mean_ptr,
    rstd_ptr,
    eps: tl.float32,
    N,
    stride_xm,
    stride_xn,
    stride_residual_m,
    stride_residual_n,
    stride_weight_n,
    stride_bias_n,
    stride_ym,
    stride_yn,
    stride_sum_m,
    stride_sum_n,
    stride_mean_m,
    stride_rstd_m,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    # Columns past the end count neither in the mean nor in the variance.
    mask = cols < N
    left = tl.load(x_ptr + row * stride_xm + cols * stride_xn, mask=mask, other=0.0).to(
        tl.float32
    )
    right = tl.load(
        residual_ptr + row * stride_residual_m + cols * stride_residual_n,
        mask=mask,
        other=0.0,
    ).to(tl.float32)
    # What is normalized is the sum as it is. Rows of few elements would lose digits
    # with a rounded one.
    values = left + right
    tl.store(
        sum_ptr + row * stride_sum_m + cols * stride_sum_n,
        values.to(y_ptr.dtype.element_ty),
        mask=mask,
    )
    average = tl.sum(values, axis=0) / tl.cast(N, tl.float32)
    centered = tl.where(mask, values - average, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, axis=0) / tl.cast(N, tl.float32) + eps)
    tl.store(mean_ptr + row * stride_mean_m, average)
    tl.store(rstd_ptr + row * stride_rstd_m, scale)
    w = tl.load(weight_ptr + cols * stride_weight_n, mask=mask, other=0.0).to(
        tl.float32
    )
    b = tl.load(bias_ptr + cols * stride_bias_n, mask=mask, other=0.0).to(tl.float32)
    tl.store(
        y_ptr + row * stride_ym + cols * stride_yn,
        (centered * scale * w + b).to(y_ptr.dtype.element_ty),
        mask=mask,
    )


def _add_layer_norm_forward_meta(x, residual, weight, bias, eps=1e-5):
    """Checks the arguments of add_layer_norm_forward, and allocates its results."""
    _check_operands(
        "add_layer_norm_forward", x=x, residual=residual, weight=weight, bias=bias
    )
    if (
        x.ndim != 2
        or residual.shape != x.shape
        or weight.shape != x.shape[1:]
        or bias.shape != weight.shape
    ):
        raise ValueError(
            "add_layer_norm_forward: x, residual, weight and bias must have "
            f"shapes [M, N], [M, N], [N] and [N], got {x.shape}, "
            f"{residual.shape}, {weight.shape} and {bias.shape}"
        )
    M, N = x.shape
    _check_dtypes(
        "add_layer_norm_forward",
        (torch.float16, torch.bfloat16, torch.float32),
        x=x,
        residual=residual,
        weight=weight,
        bias=bias,
    )
    return (
        x.new_empty((M, N)),
        x.new_empty((M, N)),
        x.new_empty((M,), dtype=torch.float32),
        x.new_empty((M,), dtype=torch.float32),
    )


def _add_layer_norm_forward(x, residual, weight, bias, eps=1e-5):
    """sum = x + residual and y = (sum - mean) * rstd * weight + bias, with mean and
    rstd of each row.
    """
    y, sum, mean, rstd = _add_layer_norm_forward_meta(x, residual, weight, bias, eps)
    _check_float("add_layer_norm_forward: eps", eps, torch.float32)
    M, N = x.shape
    if M == 0:
        return y, sum, mean, rstd

    tensors = {
        "x": x,
        "residual": residual,
        "weight": weight,
        "bias": bias,
        "y": y,
        "sum": sum,
        "mean": mean,
        "rstd": rstd,
    }
    _check_reach("add_layer_norm_forward", **tensors)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N < 1 or (BLOCK_N & (BLOCK_N - 1)) != 0 or BLOCK_N > 2**20:
        raise ValueError(
            "add_layer_norm_forward: BLOCK_N must be a power of two, at most "
            f"2**20, got {BLOCK_N}"
        )

    with torch.cuda.device(x.get_device()):
        add_layer_norm_forward_kernel[(M,)](
            *tensors.values(), eps, N, *_strides(tensors), BLOCK_N=BLOCK_N
        )
    return y, sum, mean, rstd


@triton.autotune(
    configs=[triton.Config({}, num_warps=num_warps) for num_warps in (4, 8, 16)],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def add_layer_norm_gradients_kernel(
    dy_ptr,
    dsum_ptr,
    sum_ptr,
    weight_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dw_partial_ptr,
    db_partial_ptr,
    M,
    N,
    GROUPS,
    stride_dy_m,
    stride_dy_n,
    stride_dsum_m,
    stride_dsum_n,
    stride_sum_m,
    stride_sum_n,
    stride_weight_n,
    stride_mean_m,
    stride_rstd_m,
    stride_dx_m,
    stride_dx_n,
    stride_dw_partial_groups,
    stride_dw_partial_n,
    stride_db_partial_groups,
    stride_db_partial_n,
    BLOCK_N: tl.constexpr,
):
    group = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    w = tl.load(weight_ptr + cols * stride_weight_n, mask=mask, other=0.0).to(
        tl.float32
    )
    dw_sum = tl.zeros([BLOCK_N], dtype=tl.float32)
    db_sum = tl.zeros([BLOCK_N], dtype=tl.float32)
    for m in tl.range(group, M, GROUPS, num_stages=3):
        gradient = tl.load(
            dy_ptr + m * stride_dy_m + cols * stride_dy_n, mask=mask, other=0.0
        ).to(tl.float32)
        scale = tl.load(rstd_ptr + m * stride_rstd_m)
        normalized = (
            tl.load(
                sum_ptr + m * stride_sum_m + cols * stride_sum_n, mask=mask, other=0.0
            ).to(tl.float32)
            - tl.load(mean_ptr + m * stride_mean_m)
        ) * scale
        weighted = gradient * w
        # What the norm takes away: the shares of the gradient that lie along x and
        # along ones.
        along_x = tl.sum(weighted * normalized, axis=0) / tl.cast(N, tl.float32)
        along_one = tl.sum(weighted, axis=0) / tl.cast(N, tl.float32)
        past = tl.load(
            dsum_ptr + m * stride_dsum_m + cols * stride_dsum_n, mask=mask, other=0.0
        ).to(tl.float32)
        through = (weighted - normalized * along_x - along_one) * scale
        tl.store(
            dx_ptr + m * stride_dx_m + cols * stride_dx_n,
            (through + past).to(dx_ptr.dtype.element_ty),
            mask=mask,
        )
        dw_sum += gradient * normalized
        db_sum += gradient
    tl.store(
        dw_partial_ptr + group * stride_dw_partial_groups + cols * stride_dw_partial_n,
        dw_sum,
        mask=mask,
    )
    tl.store(
        db_partial_ptr + group * stride_db_partial_groups + cols * stride_db_partial_n,
        db_sum,
        mask=mask,
    )


def _add_layer_norm_gradients_meta(dy, dsum, sum, weight, mean, rstd, GROUPS):
    """Checks the arguments of add_layer_norm_gradients, and allocates its results."""
    _check_operands(
        "add_layer_norm_gradients",
        dy=dy,
        dsum=dsum,
        sum=sum,
        weight=weight,
        mean=mean,
        rstd=rstd,
    )
    if (
        dy.ndim != 2
        or dsum.shape != dy.shape
        or sum.shape != dy.shape
        or weight.shape != dy.shape[1:]
        or mean.shape != dy.shape[:1]
        or rstd.shape != mean.shape
    ):
        raise ValueError(
            "add_layer_norm_gradients: dy, dsum, sum, weight, mean and rstd must "
            "have shapes [M, N], [M, N], [M, N], [N], [M] and [M], got "
            f"{dy.shape}, {dsum.shape}, {sum.shape}, {weight.shape}, {mean.shape} "
            f"and {rstd.shape}"
        )
    M, N = dy.shape
    _check_dtypes(
        "add_layer_norm_gradients",
        (torch.float16, torch.bfloat16, torch.float32),
        dy=dy,
        dsum=dsum,
        sum=sum,
        weight=weight,
    )
    _check_dtypes("add_layer_norm_gradients", (torch.float32,), mean=mean, rstd=rstd)
    return (
        dy.new_empty((M, N)),
        dy.new_empty((GROUPS, N), dtype=torch.float32),
        dy.new_empty((GROUPS, N), dtype=torch.float32),
    )


def _add_layer_norm_gradients(dy, dsum, sum, weight, mean, rstd, GROUPS):
    """The gradient of the sum, with what reaches it past the norm, and each group's
    sums of those of weight and bias.
    """
    dx, dw_partial, db_partial = _add_layer_norm_gradients_meta(
        dy, dsum, sum, weight, mean, rstd, GROUPS
    )
    _check_int("add_layer_norm_gradients: GROUPS", GROUPS, 0, 2**31 - 1)
    M, N = dy.shape
    if M * N == 0 and GROUPS * N == 0:
        return dx, dw_partial, db_partial

    tensors = {
        "dy": dy,
        "dsum": dsum,
        "sum": sum,
        "weight": weight,
        "mean": mean,
        "rstd": rstd,
        "dx": dx,
        "dw_partial": dw_partial,
        "db_partial": db_partial,
    }
    _check_reach("add_layer_norm_gradients", **tensors)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N > 2**20:
        raise ValueError(
            f"add_layer_norm_gradients: BLOCK_N must be at most 2**20, got {BLOCK_N}"
        )
    if not GROUPS >= 1:
        raise ValueError(
            "add_layer_norm_gradients: a requirement does not hold: GROUPS >= 1 "
            f"with GROUPS = {GROUPS}"
        )

    with torch.cuda.device(dy.get_device()):
        add_layer_norm_gradients_kernel[(GROUPS,)](
            *tensors.values(), M, N, GROUPS, *_strides(tensors), BLOCK_N=BLOCK_N
        )
    return dx, dw_partial, db_partial


@torch.library.custom_op("tilescript::add_layer_norm", mutates_args=())
def add_layer_norm_op(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    return _add_layer_norm_forward(x, residual, weight, bias, eps)


@add_layer_norm_op.register_fake
def _(x, residual, weight, bias, eps=1e-5):
    return _add_layer_norm_forward_meta(x, residual, weight, bias, eps)


@torch.library.custom_op("tilescript::add_layer_norm_backward", mutates_args=())
def add_layer_norm_backward_op(
    grad_y: torch.Tensor,
    grad_sum: torch.Tensor,
    weight: torch.Tensor,
    sum: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    needs_weight: bool,
    needs_bias: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    dx, dw_partial, db_partial = _add_layer_norm_gradients(
        grad_y, grad_sum, sum, weight, mean, rstd, 132
    )
    if needs_weight:
        grad_weight = dw_partial.sum(0).to(grad_sum.dtype)
    else:
        grad_weight = grad_y.new_empty(0)
    if needs_bias:
        grad_bias = db_partial.sum(0).to(grad_sum.dtype)
    else:
        grad_bias = grad_y.new_empty(0)
    return dx, grad_weight, grad_bias


@add_layer_norm_backward_op.register_fake
def _(grad_y, grad_sum, weight, sum, mean, rstd, needs_weight, needs_bias):
    dx, dw_partial, db_partial = _add_layer_norm_gradients_meta(
        grad_y, grad_sum, sum, weight, mean, rstd, 132
    )
    if needs_weight:
        grad_weight = dw_partial.sum(0).to(grad_sum.dtype)
    else:
        grad_weight = grad_y.new_empty(0)
    if needs_bias:
        grad_bias = db_partial.sum(0).to(grad_sum.dtype)
    else:
        grad_bias = grad_y.new_empty(0)
    return dx, grad_weight, grad_bias


def _add_layer_norm_setup_context(ctx, inputs, output):
    _, _, weight, _, _ = inputs
    _, sum, mean, rstd = output
    ctx.save_for_backward(weight, sum, mean, rstd)
    ctx.mark_non_differentiable(mean, rstd)


def _add_layer_norm_backward(ctx, grad_y, grad_sum, *_):
    weight, sum, mean, rstd = ctx.saved_tensors
    needs_weight = ctx.needs_input_grad[2]
    needs_bias = ctx.needs_input_grad[3]
    grad_x, grad_weight, grad_bias = add_layer_norm_backward_op(
        grad_y, grad_sum, weight, sum, mean, rstd, needs_weight, needs_bias
    )
    return grad_x, grad_x, grad_weight, grad_bias, None


add_layer_norm_op.register_autograd(
    _add_layer_norm_backward, setup_context=_add_layer_norm_setup_context
)


def add_layer_norm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of x and residual, and its layer normalization over the last axis,
    with gradients.

    Args:
        x, residual: [M, N] float16 or bfloat16 or float32.
        weight, bias: [N] float16 or bfloat16 or float32.
        eps: a number, passed as float32.

    Returns:
        y: [M, N] float16 or bfloat16 or float32.
        sum: [M, N] float16 or bfloat16 or float32.
    """
    _refuse_tangents("add_layer_norm", x, residual, weight, bias)
    y, sum, _, _ = add_layer_norm_op(x, residual, weight, bias, eps)
    return y, sum


def reference_fn(x, residual, weight, bias, eps=1e-5):
    N = x.shape[1]
    sum = x.add(residual)
    return torch.nn.functional.layer_norm(sum, [N], weight, bias, eps), sum


SHAPES = [{"M": 128, "N": 1000}, {"M": 4096, "N": 8192}]


def get_inputs(M=128, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
        1e-5,
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


kernel_fn = add_layer_norm
