"""Layer normalization over the last axis of a matrix, with its gradient.

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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    torch.float32: tl.float32,
}


@triton.autotune(
    configs=[triton.Config({}, num_warps=num_warps) for num_warps in (2, 4, 8, 16)],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def layer_norm_forward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    mean_ptr,
    rstd_ptr,
    eps: tl.float32,
    N,
    stride_xm,
    stride_xn,
    stride_weight_n,
    stride_bias_n,
    stride_ym,
    stride_yn,
    stride_mean_m,
    stride_rstd_m,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    # Columns past the end count neither in the mean nor in the variance.
    mask = cols < N
    values = tl.load(
        x_ptr + row * stride_xm + cols * stride_xn, mask=mask, other=0.0
    ).to(tl.float32)
    average = tl.sum(values, axis=0) / tl.cast(N, tl.float32)
    centered = tl.where(mask, values - average, 0.0)
    variance = tl.sum(centered * centered, axis=0) / tl.cast(N, tl.float32)
    scale = tl.rsqrt(variance + eps)
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


def _layer_norm_forward_meta(x, weight, bias, eps=1e-5):
    """Checks the arguments of layer_norm_forward, and allocates its results."""
    _check_operands("layer_norm_forward", x=x, weight=weight, bias=bias)
    if x.ndim != 2 or weight.shape != x.shape[1:] or bias.shape != weight.shape:
        raise ValueError(
            "layer_norm_forward: x, weight and bias must have shapes [M, N], [N] "
            f"and [N], got {x.shape}, {weight.shape} and {bias.shape}"
        )
    M, N = x.shape
    _check_dtypes(
        "layer_norm_forward",
        (torch.float16, torch.bfloat16, torch.float32),
        x=x,
        weight=weight,
        bias=bias,
    )
    return (
        x.new_empty((M, N)),
        x.new_empty((M,), dtype=torch.float32),
        x.new_empty((M,), dtype=torch.float32),
    )


def _layer_norm_forward(x, weight, bias, eps=1e-5):
    """y = (x - mean) * rstd * weight + bias over the last axis, with mean and rstd
    of each row.
    """
    y, mean, rstd = _layer_norm_forward_meta(x, weight, bias, eps)
    _check_float("layer_norm_forward: eps", eps, torch.float32)
    M, N = x.shape
    if M == 0:
        return y, mean, rstd

    tensors = {
        "x": x,
        "weight": weight,
        "bias": bias,
        "y": y,
        "mean": mean,
        "rstd": rstd,
    }
    _check_reach("layer_norm_forward", **tensors)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N < 1 or (BLOCK_N & (BLOCK_N - 1)) != 0 or BLOCK_N > 2**20:
        raise ValueError(
            "layer_norm_forward: BLOCK_N must be a power of two, at most 2**20, "
            f"got {BLOCK_N}"
        )

    with torch.cuda.device(x.get_device()):
        layer_norm_forward_kernel[(M,)](
            *tensors.values(), eps, N, *_strides(tensors), BLOCK_N=BLOCK_N
        )
    return y, mean, rstd


@triton.autotune(
    configs=[triton.Config({}, num_warps=num_warps) for num_warps in (4, 8, 16)],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def layer_norm_gradients_kernel(
    dy_ptr,
    x_ptr,
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
    stride_xm,
    stride_xn,
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
        values = tl.load(
            x_ptr + m * stride_xm + cols * stride_xn, mask=mask, other=0.0
        ).to(tl.float32)
        scale = tl.load(rstd_ptr + m * stride_rstd_m)
        normalized = (values - tl.load(mean_ptr + m * stride_mean_m)) * scale
        weighted = gradient * w
        # Past the end both gradient and weight are 0.
        along_x = tl.sum(weighted * normalized, axis=0) / tl.cast(N, tl.float32)
        along_one = tl.sum(weighted, axis=0) / tl.cast(N, tl.float32)
        result = (weighted - normalized * along_x - along_one) * scale
        tl.store(
            dx_ptr + m * stride_dx_m + cols * stride_dx_n,
            result.to(dx_ptr.dtype.element_ty),
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


def _layer_norm_gradients_meta(dy, x, weight, mean, rstd, GROUPS):
    """Checks the arguments of layer_norm_gradients, and allocates its results."""
    _check_operands(
        "layer_norm_gradients", dy=dy, x=x, weight=weight, mean=mean, rstd=rstd
    )
    if (
        dy.ndim != 2
        or x.shape != dy.shape
        or weight.shape != dy.shape[1:]
        or mean.shape != dy.shape[:1]
        or rstd.shape != mean.shape
    ):
        raise ValueError(
            "layer_norm_gradients: dy, x, weight, mean and rstd must have shapes "
            f"[M, N], [M, N], [N], [M] and [M], got {dy.shape}, {x.shape}, "
            f"{weight.shape}, {mean.shape} and {rstd.shape}"
        )
    M, N = dy.shape
    _check_dtypes(
        "layer_norm_gradients",
        (torch.float16, torch.bfloat16, torch.float32),
        dy=dy,
        x=x,
        weight=weight,
    )
    _check_dtypes("layer_norm_gradients", (torch.float32,), mean=mean, rstd=rstd)
    return (
        dy.new_empty((M, N)),
        dy.new_empty((GROUPS, N), dtype=torch.float32),
        dy.new_empty((GROUPS, N), dtype=torch.float32),
    )


def _layer_norm_gradients(dy, x, weight, mean, rstd, GROUPS):
    """The gradient of x, and for each group of rows the sum of theirs of weight and
    bias.
    """
    dx, dw_partial, db_partial = _layer_norm_gradients_meta(
        dy, x, weight, mean, rstd, GROUPS
    )
    _check_int("layer_norm_gradients: GROUPS", GROUPS, 0, 2**31 - 1)
    M, N = dy.shape
    if M * N == 0 and GROUPS * N == 0:
        return dx, dw_partial, db_partial

    tensors = {
        "dy": dy,
        "x": x,
        "weight": weight,
        "mean": mean,
        "rstd": rstd,
        "dx": dx,
        "dw_partial": dw_partial,
        "db_partial": db_partial,
    }
    _check_reach("layer_norm_gradients", **tensors)
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N > 2**20:
        raise ValueError(
            f"layer_norm_gradients: BLOCK_N must be at most 2**20, got {BLOCK_N}"
        )
    if not GROUPS >= 1:
        raise ValueError(
            "layer_norm_gradients: a requirement does not hold: GROUPS >= 1 with "
            f"GROUPS = {GROUPS}"
        )

    with torch.cuda.device(dy.get_device()):
        layer_norm_gradients_kernel[(GROUPS,)](
            *tensors.values(), M, N, GROUPS, *_strides(tensors), BLOCK_N=BLOCK_N
        )
    return dx, dw_partial, db_partial


@triton.jit
def column_sums_kernel(
    a_ptr,
    b_ptr,
    a_sum_ptr,
    b_sum_ptr,
    R,
    N,
    stride_ar,
    stride_an,
    stride_br,
    stride_bn,
    stride_a_sum_n,
    stride_b_sum_n,
    OUT: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    a_total = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)
    b_total = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)
    for r in range(0, R, BLOCK_R):
        rows = r + tl.arange(0, BLOCK_R)
        mask = (rows[:, None] < R) & (cols[None, :] < N)
        a_total += tl.load(
            a_ptr + rows[:, None] * stride_ar + cols[None, :] * stride_an,
            mask=mask,
            other=0.0,
        )
        b_total += tl.load(
            b_ptr + rows[:, None] * stride_br + cols[None, :] * stride_bn,
            mask=mask,
            other=0.0,
        )
    mask = cols < N
    tl.store(
        a_sum_ptr + cols * stride_a_sum_n, tl.sum(a_total, axis=0).to(OUT), mask=mask
    )
    tl.store(
        b_sum_ptr + cols * stride_b_sum_n, tl.sum(b_total, axis=0).to(OUT), mask=mask
    )


def _column_sums_meta(a, b, OUT):
    """Checks the arguments of column_sums, and allocates its results."""
    _check_choice("column_sums: OUT", OUT, torch.float16, torch.bfloat16, torch.float32)
    _check_operands("column_sums", a=a, b=b)
    if a.ndim != 2 or b.shape != a.shape:
        raise ValueError(
            f"column_sums: a and b must have shape [R, N], got {a.shape} and {b.shape}"
        )
    _, N = a.shape
    _check_dtypes("column_sums", (torch.float32,), a=a, b=b)
    return a.new_empty((N,), dtype=OUT), a.new_empty((N,), dtype=OUT)


def _column_sums(a, b, OUT):
    """The sums of a and of b over their rows, in the dtype that is asked for."""
    a_sum, b_sum = _column_sums_meta(a, b, OUT)
    R, N = a.shape
    if N == 0:
        return a_sum, b_sum

    tensors = {"a": a, "b": b, "a_sum": a_sum, "b_sum": b_sum}
    _check_reach("column_sums", **tensors)

    with torch.cuda.device(a.get_device()):
        column_sums_kernel[(triton.cdiv(N, 32),)](
            *tensors.values(),
            R,
            N,
            *_strides(tensors),
            OUT=_TRITON_DTYPES[OUT],
            BLOCK_R=32,
            BLOCK_N=32,
        )
    return a_sum, b_sum


@torch.library.custom_op("tilescript::layer_norm", mutates_args=())
def layer_norm_op(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _layer_norm_forward(x, weight, bias, eps)


@layer_norm_op.register_fake
def _(x, weight, bias, eps=1e-5):
    return _layer_norm_forward_meta(x, weight, bias, eps)


@torch.library.custom_op("tilescript::layer_norm_backward", mutates_args=())
def layer_norm_backward_op(
    grad_y: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    needs_weight: bool,
    needs_bias: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    # Each group of rows has its own sum. The second kernel adds these sums, always in
    # the same order.
    dx, dw_partial, db_partial = _layer_norm_gradients(
        grad_y, x, weight, mean, rstd, 132
    )
    if needs_weight or needs_bias:
        dw, db = _column_sums(dw_partial, db_partial, grad_y.dtype)
    else:
        dw = grad_y.new_empty(0)
        db = grad_y.new_empty(0)
    return dx, dw, db


@layer_norm_backward_op.register_fake
def _(grad_y, x, weight, mean, rstd, needs_weight, needs_bias):
    dx, dw_partial, db_partial = _layer_norm_gradients_meta(
        grad_y, x, weight, mean, rstd, 132
    )
    if needs_weight or needs_bias:
        dw, db = _column_sums_meta(dw_partial, db_partial, grad_y.dtype)
    else:
        dw = grad_y.new_empty(0)
        db = grad_y.new_empty(0)
    return dx, dw, db


def _layer_norm_setup_context(ctx, inputs, output):
    x, weight, _, _ = inputs
    _, mean, rstd = output
    ctx.save_for_backward(x, weight, mean, rstd)
    ctx.mark_non_differentiable(mean, rstd)


def _layer_norm_backward(ctx, grad_y, *_):
    x, weight, mean, rstd = ctx.saved_tensors
    needs_weight = ctx.needs_input_grad[1]
    needs_bias = ctx.needs_input_grad[2]
    grad_x, grad_weight, grad_bias = layer_norm_backward_op(
        grad_y, x, weight, mean, rstd, needs_weight, needs_bias
    )
    return grad_x, grad_weight, grad_bias, None


layer_norm_op.register_autograd(
    _layer_norm_backward, setup_context=_layer_norm_setup_context
)


def layer_norm(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Layer normalization over the last axis of a matrix, with its gradient.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        weight, bias: [N] float16 or bfloat16 or float32.
        eps: a number, passed as float32.

    Returns:
        y: [M, N] float16 or bfloat16 or float32.
    """
    _refuse_tangents("layer_norm", x, weight, bias)
    y, _, _ = layer_norm_op(x, weight, bias, eps)
    return y


def reference_fn(x, weight, bias, eps=1e-5):
    N = x.shape[1]
    return torch.nn.functional.layer_norm(x, [N], weight, bias, eps)


SHAPES = [{"M": 128, "N": 1000}, {"M": 4096, "N": 8192}]


def get_inputs(M=128, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
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


def _check_choice(label, value, *choices):
    """Refuses a value that is none of the choices."""
    if type(value) is not type(choices[0]) or value not in choices:
        error = ValueError if type(value) is type(choices[0]) else TypeError
        allowed = " or ".join(map(repr, choices))
        raise error(f"{label} must be {allowed}, got {value!r:.80}")


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


kernel_fn = layer_norm
