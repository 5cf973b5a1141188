"""The sum of x and residual, and its layer normalization over the last axis, with
gradients.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import torch
import triton
import triton.language as tl

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# Elements that a tile of Triton may have.
_MAX_TILE = 2**20
# Binaries and grids of earlier launches.
_LAUNCHES = {}


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


def _refuse_recording(operator):
    """Refuses calls of an operator whose gradient PyTorch would leave out."""
    label = operator._name

    def checked(keyset, *args):
        wanted = [x.requires_grad for x in args if isinstance(x, torch.Tensor)]
        if torch.is_grad_enabled() and any(wanted):
            raise RuntimeError(
                f"{label}: what is written to a given tensor has no gradient; "
                "call it under torch.no_grad()"
            )
        with torch._C._AutoDispatchBelowAutograd():
            others = keyset & torch._C._after_autograd_keyset
            return operator._opoverload.redispatch(others, *args)

    for device in ("CPU", "CUDA", "Meta"):
        key = f"Autograd{device}"
        operator._lib.impl(label, checked, key, with_keyset=True)


@triton.autotune(
    configs=[
        triton.Config({}, num_warps=4),
        triton.Config({}, num_warps=8),
        triton.Config({}, num_warps=16),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def add_layer_norm_forward(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
    *,
    y: torch.Tensor | None = None,
    sum: torch.Tensor | None = None,
    mean: torch.Tensor | None = None,
    rstd: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """sum = x + residual and y = (sum - mean) * rstd * weight + bias, with mean and
    rstd of each row.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        residual: [M, N] float16 or bfloat16 or float32.
        weight: [N] float16 or bfloat16 or float32.
        bias: [N] float16 or bfloat16 or float32.
        eps: a number, passed as float32.
        y: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.
        sum: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.
        mean: where to write [M] float32; allocated if None.
        rstd: where to write [M] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_float("add_layer_norm_forward: eps", eps, torch.float32)
    _check_tensor("add_layer_norm_forward: x", x)
    _check_tensor("add_layer_norm_forward: residual", residual)
    _check_tensor("add_layer_norm_forward: weight", weight)
    _check_tensor("add_layer_norm_forward: bias", bias)
    if x.ndim != 2:
        raise ValueError(
            f"add_layer_norm_forward: x must have shape [M, N], got {list(x.shape)}"
        )
    M, N = x.shape
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "add_layer_norm_forward: x must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {x.dtype}"
        )
    if residual.shape != (M, N):
        raise ValueError(
            f"add_layer_norm_forward: residual must have shape [M={M}, "
            f"N={N}], got {list(residual.shape)}"
        )
    if residual.dtype != x.dtype:
        raise TypeError(
            f"add_layer_norm_forward: residual must be {x.dtype} as x "
            f"is, got {residual.dtype}"
        )
    if weight.shape != (N,):
        raise ValueError(
            f"add_layer_norm_forward: weight must have shape [N={N}], "
            f"got {list(weight.shape)}"
        )
    if weight.dtype != x.dtype:
        raise TypeError(
            f"add_layer_norm_forward: weight must be {x.dtype} as x is, "
            f"got {weight.dtype}"
        )
    if bias.shape != (N,):
        raise ValueError(
            f"add_layer_norm_forward: bias must have shape [N={N}], "
            f"got {list(bias.shape)}"
        )
    if bias.dtype != x.dtype:
        raise TypeError(
            f"add_layer_norm_forward: bias must be {x.dtype} as x is, got {bias.dtype}"
        )
    if _records_gradient(
        "add_layer_norm_forward", x, residual, weight, bias, y, sum, mean, rstd
    ):
        return _without_gradient(
            add_layer_norm_forward,
            (x, residual, weight, bias, eps),
            given=(y, sum, mean, rstd),
        )
    device = x.device
    if residual.device != device:
        raise ValueError(
            f"add_layer_norm_forward: residual must be on {device} as "
            f"x is, got {residual.device}"
        )
    if weight.device != device:
        raise ValueError(
            f"add_layer_norm_forward: weight must be on {device} as x "
            f"is, got {weight.device}"
        )
    if bias.device != device:
        raise ValueError(
            f"add_layer_norm_forward: bias must be on {device} as x "
            f"is, got {bias.device}"
        )
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return add_layer_norm_forward(
                    x, residual, weight, bias, eps, y=y, sum=sum, mean=mean, rstd=rstd
                )
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"add_layer_norm_forward: x must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if y is None:
        y = x.new_empty((M, N))
    else:
        _check_out(
            "add_layer_norm_forward: y",
            y,
            (M, N),
            x.dtype,
            device,
            {"x": x, "residual": residual, "weight": weight, "bias": bias},
        )
    if sum is None:
        sum = x.new_empty((M, N))
    else:
        _check_out(
            "add_layer_norm_forward: sum",
            sum,
            (M, N),
            x.dtype,
            device,
            {"x": x, "residual": residual, "weight": weight, "bias": bias, "y": y},
        )
    if mean is None:
        mean = x.new_empty((M,), dtype=torch.float32)
    else:
        _check_out(
            "add_layer_norm_forward: mean",
            mean,
            (M,),
            torch.float32,
            device,
            {
                "x": x,
                "residual": residual,
                "weight": weight,
                "bias": bias,
                "y": y,
                "sum": sum,
            },
        )
    if rstd is None:
        rstd = x.new_empty((M,), dtype=torch.float32)
    else:
        _check_out(
            "add_layer_norm_forward: rstd",
            rstd,
            (M,),
            torch.float32,
            device,
            {
                "x": x,
                "residual": residual,
                "weight": weight,
                "bias": bias,
                "y": y,
                "sum": sum,
                "mean": mean,
            },
        )
    if M == 0:
        return y, sum, mean, rstd

    stride_xm, stride_xn = x.stride()
    stride_residual_m, stride_residual_n = residual.stride()
    stride_weight_n = weight.stride(0)
    stride_bias_n = bias.stride(0)
    stride_ym, stride_yn = y.stride()
    stride_sum_m, stride_sum_n = sum.stride()
    stride_mean_m = mean.stride(0)
    stride_rstd_m = rstd.stride(0)
    if (M - 1) * stride_xm + (N - 1) * stride_xn >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: x")
    if (M - 1) * stride_residual_m + (N - 1) * stride_residual_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: residual")
    if (N - 1) * stride_weight_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: weight")
    if (N - 1) * stride_bias_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: bias")
    if (M - 1) * stride_ym + (N - 1) * stride_yn >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: y")
    if (M - 1) * stride_sum_m + (N - 1) * stride_sum_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: sum")
    if (M - 1) * stride_mean_m >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: mean")
    if (M - 1) * stride_rstd_m >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_forward: rstd")
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N > _MAX_TILE:
        raise ValueError(
            f"add_layer_norm_forward: BLOCK_N would be {BLOCK_N}; a "
            f"tile holds at most {_MAX_TILE} elements"
        )
    if BLOCK_N < 1 or (BLOCK_N & (BLOCK_N - 1)) != 0:
        raise ValueError(
            f"add_layer_norm_forward: BLOCK_N would be {BLOCK_N}, and "
            "a tile's dimension is a power of two"
        )
    if not BLOCK_N >= N:
        raise ValueError(
            "add_layer_norm_forward: a requirement does not hold: "
            f"BLOCK_N >= N with BLOCK_N = {BLOCK_N}, N = {N}"
        )
    if _INTERPRETED:
        _check_bfloat16("add_layer_norm_forward", x.dtype)

    _launch(
        add_layer_norm_forward_kernel,
        (M,),
        (x, residual, weight, bias, y, sum, mean, rstd),
        (
            eps,
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
        ),
        device,
        x.dtype,
        M,
        BLOCK_N=BLOCK_N,
    )
    return y, sum, mean, rstd


def _add_layer_norm_forward_fake(x, residual, weight, bias, eps=1e-5):
    """What torch.compile sees of add_layer_norm_forward: shapes and dtypes."""
    M = x.shape[0]
    N = x.shape[1]
    return (
        torch.empty((M, N), device=x.device, dtype=x.dtype),
        torch.empty((M, N), device=x.device, dtype=x.dtype),
        torch.empty((M,), device=x.device, dtype=torch.float32),
        torch.empty((M,), device=x.device, dtype=torch.float32),
    )


@triton.autotune(
    configs=[
        triton.Config({}, num_warps=4),
        triton.Config({}, num_warps=8),
        triton.Config({}, num_warps=16),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def add_layer_norm_gradients(
    dy: torch.Tensor,
    dsum: torch.Tensor,
    sum: torch.Tensor,
    weight: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    GROUPS: int,
    *,
    dx: torch.Tensor | None = None,
    dw_partial: torch.Tensor | None = None,
    db_partial: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradient of the sum, with what reaches it past the norm, and each group's
    sums of those of weight and bias.

    Args:
        dy: [M, N] float16 or bfloat16 or float32.
        dsum: [M, N] float16 or bfloat16 or float32.
        sum: [M, N] float16 or bfloat16 or float32.
        weight: [N] float16 or bfloat16 or float32.
        mean: [M] float32.
        rstd: [M] float32.
        GROUPS: a size of the result.
        dx: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.
        dw_partial: where to write [GROUPS, N] float32; allocated if None.
        db_partial: where to write [GROUPS, N] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_int("add_layer_norm_gradients: GROUPS", GROUPS, torch.int32, 0)
    _check_tensor("add_layer_norm_gradients: dy", dy)
    _check_tensor("add_layer_norm_gradients: dsum", dsum)
    _check_tensor("add_layer_norm_gradients: sum", sum)
    _check_tensor("add_layer_norm_gradients: weight", weight)
    _check_tensor("add_layer_norm_gradients: mean", mean)
    _check_tensor("add_layer_norm_gradients: rstd", rstd)
    if dy.ndim != 2:
        raise ValueError(
            f"add_layer_norm_gradients: dy must have shape [M, N], got {list(dy.shape)}"
        )
    M, N = dy.shape
    if dy.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "add_layer_norm_gradients: dy must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {dy.dtype}"
        )
    if dsum.shape != (M, N):
        raise ValueError(
            f"add_layer_norm_gradients: dsum must have shape [M={M}, "
            f"N={N}], got {list(dsum.shape)}"
        )
    if dsum.dtype != dy.dtype:
        raise TypeError(
            f"add_layer_norm_gradients: dsum must be {dy.dtype} as dy is, "
            f"got {dsum.dtype}"
        )
    if sum.shape != (M, N):
        raise ValueError(
            f"add_layer_norm_gradients: sum must have shape [M={M}, "
            f"N={N}], got {list(sum.shape)}"
        )
    if sum.dtype != dy.dtype:
        raise TypeError(
            f"add_layer_norm_gradients: sum must be {dy.dtype} as dy is, "
            f"got {sum.dtype}"
        )
    if weight.shape != (N,):
        raise ValueError(
            f"add_layer_norm_gradients: weight must have shape [N={N}], "
            f"got {list(weight.shape)}"
        )
    if weight.dtype != dy.dtype:
        raise TypeError(
            f"add_layer_norm_gradients: weight must be {dy.dtype} as dy "
            f"is, got {weight.dtype}"
        )
    if mean.shape != (M,):
        raise ValueError(
            f"add_layer_norm_gradients: mean must have shape [M={M}], "
            f"got {list(mean.shape)}"
        )
    if mean.dtype != torch.float32:
        raise TypeError(
            f"add_layer_norm_gradients: mean must be torch.float32, got {mean.dtype}"
        )
    if rstd.shape != (M,):
        raise ValueError(
            f"add_layer_norm_gradients: rstd must have shape [M={M}], "
            f"got {list(rstd.shape)}"
        )
    if rstd.dtype != torch.float32:
        raise TypeError(
            f"add_layer_norm_gradients: rstd must be torch.float32, got {rstd.dtype}"
        )
    if _records_gradient(
        "add_layer_norm_gradients",
        dy,
        dsum,
        sum,
        weight,
        mean,
        rstd,
        dx,
        dw_partial,
        db_partial,
    ):
        return _without_gradient(
            add_layer_norm_gradients,
            (dy, dsum, sum, weight, mean, rstd, GROUPS),
            given=(dx, dw_partial, db_partial),
        )
    device = dy.device
    if dsum.device != device:
        raise ValueError(
            f"add_layer_norm_gradients: dsum must be on {device} as "
            f"dy is, got {dsum.device}"
        )
    if sum.device != device:
        raise ValueError(
            f"add_layer_norm_gradients: sum must be on {device} as dy "
            f"is, got {sum.device}"
        )
    if weight.device != device:
        raise ValueError(
            f"add_layer_norm_gradients: weight must be on {device} as "
            f"dy is, got {weight.device}"
        )
    if mean.device != device:
        raise ValueError(
            f"add_layer_norm_gradients: mean must be on {device} as "
            f"dy is, got {mean.device}"
        )
    if rstd.device != device:
        raise ValueError(
            f"add_layer_norm_gradients: rstd must be on {device} as "
            f"dy is, got {rstd.device}"
        )
    if dy.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return add_layer_norm_gradients(
                    dy,
                    dsum,
                    sum,
                    weight,
                    mean,
                    rstd,
                    GROUPS,
                    dx=dx,
                    dw_partial=dw_partial,
                    db_partial=db_partial,
                )
    elif not (dy.is_cpu and _INTERPRETED):
        raise ValueError(
            "add_layer_norm_gradients: dy must be on a GPU, got "
            f"{device}; the CPU needs TRITON_INTERPRET=1, set before "
            "triton is imported"
        )

    if dx is None:
        dx = dy.new_empty((M, N))
    else:
        _check_out(
            "add_layer_norm_gradients: dx",
            dx,
            (M, N),
            dy.dtype,
            device,
            {
                "dy": dy,
                "dsum": dsum,
                "sum": sum,
                "weight": weight,
                "mean": mean,
                "rstd": rstd,
            },
        )
    if dw_partial is None:
        dw_partial = dy.new_empty((GROUPS, N), dtype=torch.float32)
    else:
        _check_out(
            "add_layer_norm_gradients: dw_partial",
            dw_partial,
            (GROUPS, N),
            torch.float32,
            device,
            {
                "dy": dy,
                "dsum": dsum,
                "sum": sum,
                "weight": weight,
                "mean": mean,
                "rstd": rstd,
                "dx": dx,
            },
        )
    if db_partial is None:
        db_partial = dy.new_empty((GROUPS, N), dtype=torch.float32)
    else:
        _check_out(
            "add_layer_norm_gradients: db_partial",
            db_partial,
            (GROUPS, N),
            torch.float32,
            device,
            {
                "dy": dy,
                "dsum": dsum,
                "sum": sum,
                "weight": weight,
                "mean": mean,
                "rstd": rstd,
                "dx": dx,
                "dw_partial": dw_partial,
            },
        )
    if M * N == 0 and GROUPS * N == 0:
        return dx, dw_partial, db_partial

    stride_dy_m, stride_dy_n = dy.stride()
    stride_dsum_m, stride_dsum_n = dsum.stride()
    stride_sum_m, stride_sum_n = sum.stride()
    stride_weight_n = weight.stride(0)
    stride_mean_m = mean.stride(0)
    stride_rstd_m = rstd.stride(0)
    stride_dx_m, stride_dx_n = dx.stride()
    stride_dw_partial_groups, stride_dw_partial_n = dw_partial.stride()
    stride_db_partial_groups, stride_db_partial_n = db_partial.stride()
    if (M - 1) * stride_dy_m + (N - 1) * stride_dy_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: dy")
    if (M - 1) * stride_dsum_m + (N - 1) * stride_dsum_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: dsum")
    if (M - 1) * stride_sum_m + (N - 1) * stride_sum_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: sum")
    if (N - 1) * stride_weight_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: weight")
    if (M - 1) * stride_mean_m >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: mean")
    if (M - 1) * stride_rstd_m >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: rstd")
    if (M - 1) * stride_dx_m + (N - 1) * stride_dx_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: dx")
    if (GROUPS - 1) * stride_dw_partial_groups + (
        N - 1
    ) * stride_dw_partial_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: dw_partial")
    if (GROUPS - 1) * stride_db_partial_groups + (
        N - 1
    ) * stride_db_partial_n >= _INT32_REACH:
        raise _beyond_int32("add_layer_norm_gradients: db_partial")
    BLOCK_N = triton.next_power_of_2(N)
    if BLOCK_N > _MAX_TILE:
        raise ValueError(
            f"add_layer_norm_gradients: BLOCK_N would be {BLOCK_N}; a "
            f"tile holds at most {_MAX_TILE} elements"
        )
    if not BLOCK_N >= N:
        raise ValueError(
            "add_layer_norm_gradients: a requirement does not hold: "
            f"BLOCK_N >= N with BLOCK_N = {BLOCK_N}, N = {N}"
        )
    if not GROUPS >= 1:
        raise ValueError(
            "add_layer_norm_gradients: a requirement does not hold: "
            f"GROUPS >= 1 with GROUPS = {GROUPS}"
        )
    if _INTERPRETED:
        _check_bfloat16("add_layer_norm_gradients", dy.dtype)

    _launch(
        add_layer_norm_gradients_kernel,
        (GROUPS,),
        (dy, dsum, sum, weight, mean, rstd, dx, dw_partial, db_partial),
        (
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
        ),
        device,
        dy.dtype,
        BLOCK_N=BLOCK_N,
    )
    return dx, dw_partial, db_partial


def _add_layer_norm_gradients_fake(dy, dsum, sum, weight, mean, rstd, GROUPS):
    """What torch.compile sees of add_layer_norm_gradients: shapes and dtypes."""
    M = dy.shape[0]
    N = dy.shape[1]
    return (
        torch.empty((M, N), device=dy.device, dtype=dy.dtype),
        torch.empty((GROUPS, N), device=dy.device, dtype=torch.float32),
        torch.empty((GROUPS, N), device=dy.device, dtype=torch.float32),
    )


@torch.library.custom_op("tilescript::add_layer_norm", mutates_args=())
def add_layer_norm_op(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """torch.ops.tilescript.add_layer_norm."""
    _refuse_forward_mode("add_layer_norm", x, residual, weight, bias)
    return add_layer_norm_forward(x, residual, weight, bias, eps)


@add_layer_norm_op.register_fake
def _add_layer_norm_op_fake(x, residual, weight, bias, eps=1e-5):
    """What torch.compile sees of add_layer_norm_op: shapes and dtypes."""
    return _add_layer_norm_forward_fake(x, residual, weight, bias, eps)


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
    """torch.ops.tilescript.add_layer_norm_backward."""
    _refuse_forward_mode(
        "add_layer_norm_backward", grad_y, grad_sum, weight, sum, mean, rstd
    )
    dx, dw_partial, db_partial = add_layer_norm_gradients(
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
def _add_layer_norm_backward_op_fake(
    grad_y, grad_sum, weight, sum, mean, rstd, needs_weight, needs_bias
):
    """What torch.compile sees of add_layer_norm_backward_op: shapes and dtypes."""
    dx, dw_partial, db_partial = _add_layer_norm_gradients_fake(
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
    """Keeps what the gradient of add_layer_norm needs."""
    _, _, weight, _, _ = inputs
    _, sum, mean, rstd = output
    ctx.save_for_backward(weight, sum, mean, rstd)
    ctx.mark_non_differentiable(mean, rstd)


def _add_layer_norm_backward(ctx, grad_y, grad_sum, *_):
    """The gradients of the inputs of add_layer_norm."""
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


@torch.library.custom_op("tilescript::add_layer_norm_out", mutates_args=("y", "sum"))
def add_layer_norm_out_op(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    y: torch.Tensor,
    sum: torch.Tensor,
    eps: float = 1e-5,
) -> None:
    """add_layer_norm into tensors of the caller, as
    torch.ops.tilescript.add_layer_norm_out.
    """
    _refuse_forward_mode("add_layer_norm_out", x, residual, weight, bias, y, sum)
    if x.ndim != 2:
        raise ValueError(
            f"add_layer_norm: x must have shape [M, N], got {list(x.shape)}"
        )
    M, N = x.shape
    if residual.shape != (M, N):
        raise ValueError(
            f"add_layer_norm: residual must have shape [M={M}, N={N}], "
            f"got {list(residual.shape)}"
        )
    if weight.shape != (N,):
        raise ValueError(
            f"add_layer_norm: weight must have shape [N={N}], got {list(weight.shape)}"
        )
    if bias.shape != (N,):
        raise ValueError(
            f"add_layer_norm: bias must have shape [N={N}], got {list(bias.shape)}"
        )
    device = x.device
    _check_out(
        "add_layer_norm: y",
        y,
        (M, N),
        x.dtype,
        device,
        {"x": x, "residual": residual, "weight": weight, "bias": bias},
    )
    _check_out(
        "add_layer_norm: sum",
        sum,
        (M, N),
        x.dtype,
        device,
        {"x": x, "residual": residual, "weight": weight, "bias": bias, "y": y},
    )
    add_layer_norm_forward(x, residual, weight, bias, eps, y=y, sum=sum)


_refuse_recording(add_layer_norm_out_op)


def add_layer_norm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
    *,
    y: torch.Tensor | None = None,
    sum: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of x and residual, and its layer normalization over the last axis,
    with gradients.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        residual: [M, N] float16 or bfloat16 or float32.
        weight: [N] float16 or bfloat16 or float32.
        bias: [N] float16 or bfloat16 or float32.
        eps: a number, passed as float32.
        y: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.
        sum: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Returns:
        y: [M, N] float16 or bfloat16 or float32.
        sum: [M, N] float16 or bfloat16 or float32.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if y is None and sum is None:
        y, sum, _, _ = add_layer_norm_op(x, residual, weight, bias, eps)
        return y, sum
    _refuse_gradient("add_layer_norm", x, residual, weight, bias, y, sum)
    y = _add_layer_norm_op_fake(x, residual, weight, bias, eps)[0] if y is None else y
    sum = (
        _add_layer_norm_op_fake(x, residual, weight, bias, eps)[1]
        if sum is None
        else sum
    )
    add_layer_norm_out_op(x, residual, weight, bias, y, sum, eps)
    return y, sum


def reference_fn(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
):
    """What add_layer_norm computes, in PyTorch."""
    N = x.shape[1]
    sum = x.add(residual)
    return torch.nn.functional.layer_norm(sum, [N], weight, bias, eps), sum


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 128, "N": 1000}, {"M": 4096, "N": 8192}]


def get_inputs(M=128, N=1000):
    """Fresh arguments for add_layer_norm, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
        1e-5,
    ]


def _launch(kernel, grid, tensors, numbers, /, *others, **options):
    """Launches kernel[grid](*tensors, *numbers, **options).

    Triton takes long to find the binary for a call. This function remembers the
    binary and the grid of each call, and uses them again for calls alike. others
    tell such calls apart beside the arguments: the device, the dtypes, and the
    sizes that set the grid but are not passed to the kernel.
    """
    if _INTERPRETED or torch.compiler.is_compiling():
        kernel[grid](*tensors, *numbers, **options)
        return None
    key = id(kernel), *others, *_launch_key(tensors, numbers, options)
    found = _LAUNCHES.get(key)
    if found:
        binary, place, constants = found
        binary[place](*tensors, *numbers, *constants)
        return found
    chosen = {}

    def chosen_grid(meta):
        chosen.update(meta)
        return grid(meta) if callable(grid) else grid

    binary = kernel[chosen_grid](*tensors, *numbers, **options)
    constants = tuple(chosen.values())[len(tensors) + len(numbers) :]
    found = binary, (*chosen_grid(chosen), 1, 1)[:3], constants
    if len(_LAUNCHES) >= 4096:
        _LAUNCHES.clear()
    _LAUNCHES[key] = found
    return found


def _launch_key(tensors, numbers, options):
    """What Triton compiles for, given dtypes: equal keys are launches of one binary."""
    places = [x if x is None else x.data_ptr() % 16 for x in tensors]
    numbers = [float if type(number) is float else number for number in numbers]
    return *places, *numbers, *options.values()


def _records_gradient(label, *tensors):
    """Whether PyTorch would record a gradient of one of these."""
    if torch.autograd.forward_ad._current_level >= 0:
        _refuse_tangents(label, tensors)
    if torch.is_grad_enabled():
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                return True
    return False


def _refuse_forward_mode(label, *tensors):
    """Refuses a call whose results would have tangents, which an operator has not."""
    if torch.autograd.forward_ad._current_level < 0:
        return
    if torch._functorch.eager_transforms.JVP_NESTING > 0:
        raise NotImplementedError(f"{label} has no forward-mode gradient")
    _refuse_tangents(label, tensors)


def _refuse_tangents(label, tensors):
    """Refuses tensors with a tangent, which a kernel would drop."""
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            continue
        if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(f"{label} has no forward-mode gradient")


def _without_gradient(kernel, inputs, updated=(), given=(), **options):
    """Calls the kernel; a backward through its results is an error."""
    if any(isinstance(tensor, torch.Tensor) for tensor in given):
        _refuse_gradient(kernel.__name__, *inputs, *given)
    for tensor in updated:
        if tensor is not None and tensor.is_leaf and tensor.requires_grad:
            raise RuntimeError(
                f"{kernel.__name__}: a leaf that requires grad is updated in place; "
                "call it under torch.no_grad()"
            )
    return _WithoutGradient.apply(kernel, updated, options, *inputs)


class _WithoutGradient(torch.autograd.Function):
    """A kernel whose gradient nobody has written."""

    @staticmethod
    def forward(kernel, updated, options, *inputs):
        return kernel(*inputs, **options)

    @staticmethod
    def setup_context(ctx, inputs, output):
        kernel, updated, *_ = inputs
        ctx.name = kernel.__name__
        ctx.mark_dirty(*(tensor for tensor in updated if tensor is not None))

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            f"{ctx.name} has no backward; call it under torch.no_grad(), or inside a "
            "torch.autograd.Function that has one"
        )


def _refuse_gradient(label, *tensors):
    """Refuses to write where PyTorch would record a gradient."""
    wanted = [x.requires_grad for x in tensors if isinstance(x, torch.Tensor)]
    if torch.is_grad_enabled() and any(wanted):
        raise RuntimeError(
            f"{label}: a result that is written to a given tensor has no gradient; "
            "give none, or call it under torch.no_grad()"
        )


def _check_tensor(label, tensor):
    """Refuses what does not lie in memory as its shape and strides say."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{label} must be a tensor, got {tensor!r:.80}")
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        kind = type(tensor).__name__
        raise TypeError(f"{label} must be a plain tensor, got one of type {kind}")
    if tensor.is_nested or tensor.layout != torch.strided:
        kind = "a nested one" if tensor.is_nested else tensor.layout
        raise TypeError(f"{label} must be a dense tensor, got {kind}")
    if not torch.compiler.is_dynamo_compiling() and tensor.is_neg():
        raise ValueError(f"{label} is a lazily negated view; call .resolve_neg() first")


def _check_int(label, value, dtype, least=None):
    """Refuses what is no integer, and what its dtype does not hold."""
    if type(value) is not int:
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


def _check_float(label, value, dtype):
    """Refuses what is no number, and what its dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    is_large = 65504 < abs(value) < float("inf")
    if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
        raise ValueError(f"{label} must fit {dtype}, got {value}")


def _check_bfloat16(label, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    from triton.runtime.interpreter import InterpreterBuilder

    is_right = hasattr(InterpreterBuilder, "has_bfloat16")
    if torch.bfloat16 in dtypes and triton.knobs.runtime.interpret and not is_right:
        raise NotImplementedError(
            f"{label}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


def _beyond_int32(label):
    """The error for a tensor whose offsets do not fit int32."""
    return ValueError(
        f"{label} spans more elements than int32 offsets reach; "
        "build the kernel with { offsets: tl.int64 } for it"
    )


def _check_out(label, out, shape, dtype, device, others):
    """The tensor that a result is to be written to, if it can be."""
    _check_tensor(label, out)
    if out.shape != shape:
        raise ValueError(
            f"{label} must have shape {list(shape)}, got {list(out.shape)}"
        )
    if out.dtype != dtype:
        raise TypeError(f"{label} must be {dtype}, got {out.dtype}")
    if out.device != device:
        raise ValueError(f"{label} must be on {device}, got {out.device}")
    _check_memory(label, out, others)
    return out


def _check_memory(label, written, others):
    """Refuses to write what overlaps itself or another tensor; tells autograd of it."""
    start = written.data_ptr()
    if written.is_contiguous():
        end = start + written.nbytes
    elif _nest(_axes(written.stride(), written.shape)):
        end = _end(written)
    else:
        raise ValueError(
            f"{label} has elements that share memory, with shape {list(written.shape)} "
            f"and strides {list(written.stride())}; give a tensor of its own"
        )
    for name, other in others.items():
        if other is None or other.data_ptr() >= end or _end(other) <= start:
            continue
        if _overlaps(written, other, other.data_ptr() - start):
            raise ValueError(
                f"{label} shares memory with {name}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _overlaps(x, y, distance):
    """Whether x and y, distance bytes apart, may have elements in common."""
    if x.numel() == 0 or y.numel() == 0:
        return False
    axes = _axes(x.stride(), x.shape, y.shape)
    steps, rest = divmod(distance, x.element_size())
    alike = x.stride() == y.stride() and x.element_size() == y.element_size()
    return not alike or rest > 0 or not _nest(axes) or _reaches(steps, axes)


def _end(x):
    """The address of the byte after the last of x."""
    if x.is_contiguous():
        return x.data_ptr() + x.nbytes
    last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape))
    return x.data_ptr() + (last + 1) * x.element_size()


def _axes(strides, *shapes):
    """Axes longer than 1, each as (stride, *lengths), in falling order."""
    axes = zip(strides, *shapes)
    return sorted((axis for axis in axes if max(axis[1:]) > 1), reverse=True)


def _nest(axes):
    """Whether each stride steps over all that the axes inside it reach."""
    reach = 0
    for stride, *lengths in reversed(axes):
        if stride <= reach:
            return False
        reach += stride * (max(lengths) - 1)
    return True


def _reaches(distance, axes):
    """Whether elements of two equally strided tensors lie this far apart."""
    if not axes:
        return distance == 0
    (stride, before, after), *inner = axes
    steps = (-distance // stride, -distance // stride + 1)
    return any(
        -before < step < after and _reaches(distance + step * stride, inner)
        for step in steps
    )


kernel_fn = add_layer_norm
