"""gelu(x + bias), with its gradients.

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
        triton.Config({"BLOCK_N": BLOCK_N}, num_warps=num_warps)
        for BLOCK_N, num_warps in [(512, 2), (1024, 4), (2048, 8)]
    ],
    key=["M", "N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def bias_gelu_forward_kernel(
    x_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    stride_xm,
    stride_xn,
    stride_bias_n,
    stride_ym,
    stride_yn,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = cols < N
    shift = tl.load(bias_ptr + cols * stride_bias_n, mask=mask, other=0.0).to(
        tl.float32
    )
    s = (
        tl.load(x_ptr + row * stride_xm + cols * stride_xn, mask=mask, other=0.0).to(
            tl.float32
        )
        + shift
    )
    scaled = tl.abs(s) * 0.30405591591021547
    # Squared, a reciprocal root takes 2 instructions; a division takes 9, as it also
    # serves divisors below 1.
    root = tl.rsqrt(scaled + 1.0)
    t = root * root
    tail = (
        (
            (
                (
                    (
                        (
                            ((t * 0.0364728579 + -0.153639839) * t + 0.189250165) * t
                            + -0.0405197663
                        )
                        * t
                        + 0.122209569
                    )
                    * t
                    + 0.102834351
                )
                * t
                + 0.122131788
            )
            * t
            + 0.121260838
        )
        * t
        * tl.exp2(s * s * -0.7213475204444817)
    )
    tl.store(
        y_ptr + row * stride_ym + cols * stride_yn,
        (s * tl.where(s < 0.0, tail, 1.0 - tail)).to(y_ptr.dtype.element_ty),
        mask=mask,
    )


def _bias_gelu_forward_meta(x, bias):
    """Checks the arguments of bias_gelu_forward, and allocates its results."""
    _check_operands("bias_gelu_forward", x=x, bias=bias)
    if x.ndim != 2 or bias.shape != x.shape[1:]:
        raise ValueError(
            "bias_gelu_forward: x and bias must have shapes [M, N] and [N], got "
            f"{x.shape} and {bias.shape}"
        )
    M, N = x.shape
    _check_dtypes(
        "bias_gelu_forward",
        (torch.float16, torch.bfloat16, torch.float32),
        x=x,
        bias=bias,
    )
    return x.new_empty((M, N))


def _bias_gelu_forward(x, bias):
    """y = gelu(x + bias), computed in float32."""
    y = _bias_gelu_forward_meta(x, bias)
    M, N = x.shape
    if M * N == 0:
        return y

    _check_reach("bias_gelu_forward", x=x, bias=bias, out=y)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(x.get_device()):
        bias_gelu_forward_kernel[grid](
            x, bias, y, M, N, *x.stride(), bias.stride(0), *y.stride()
        )
    return y


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": BLOCK_N}, num_warps=num_warps)
        for BLOCK_N, num_warps in [(512, 2), (1024, 4), (2048, 8)]
    ],
    key=["M", "N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def bias_gelu_gradient_kernel(
    dy_ptr,
    x_ptr,
    bias_ptr,
    dx_ptr,
    M,
    N,
    stride_dy_m,
    stride_dy_n,
    stride_xm,
    stride_xn,
    stride_bias_n,
    stride_dx_m,
    stride_dx_n,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = cols < N
    shift = tl.load(bias_ptr + cols * stride_bias_n, mask=mask, other=0.0).to(
        tl.float32
    )
    s = (
        tl.load(x_ptr + row * stride_xm + cols * stride_xn, mask=mask, other=0.0).to(
            tl.float32
        )
        + shift
    )
    # The slope of s · Φ(s): Φ(s) + s · exp(-s² / 2) / √(2π).
    density = tl.exp(s * s * -0.5) * 0.3989422804014327
    scaled = tl.abs(s) * 0.30405591591021547
    # Squared, a reciprocal root takes 2 instructions; a division takes 9, as it also
    # serves divisors below 1.
    root = tl.rsqrt(scaled + 1.0)
    t = root * root
    tail = (
        (
            (
                (
                    (
                        (
                            ((t * 0.0364728579 + -0.153639839) * t + 0.189250165) * t
                            + -0.0405197663
                        )
                        * t
                        + 0.122209569
                    )
                    * t
                    + 0.102834351
                )
                * t
                + 0.122131788
            )
            * t
            + 0.121260838
        )
        * t
        * tl.exp2(s * s * -0.7213475204444817)
    )
    slope = tl.where(s < 0.0, tail, 1.0 - tail) + s * density
    gradient = tl.load(
        dy_ptr + row * stride_dy_m + cols * stride_dy_n, mask=mask, other=0.0
    ).to(tl.float32)
    tl.store(
        dx_ptr + row * stride_dx_m + cols * stride_dx_n,
        (gradient * slope).to(dx_ptr.dtype.element_ty),
        mask=mask,
    )


def _bias_gelu_gradient_meta(dy, x, bias):
    """Checks the arguments of bias_gelu_gradient, and allocates its results."""
    _check_operands("bias_gelu_gradient", dy=dy, x=x, bias=bias)
    if dy.ndim != 2 or x.shape != dy.shape or bias.shape != dy.shape[1:]:
        raise ValueError(
            "bias_gelu_gradient: dy, x and bias must have shapes [M, N], [M, N] "
            f"and [N], got {dy.shape}, {x.shape} and {bias.shape}"
        )
    M, N = dy.shape
    _check_dtypes(
        "bias_gelu_gradient",
        (torch.float16, torch.bfloat16, torch.float32),
        dy=dy,
        x=x,
        bias=bias,
    )
    return dy.new_empty((M, N))


def _bias_gelu_gradient(dy, x, bias):
    """The gradient of x + bias; the sum is computed again rather than stored."""
    dx = _bias_gelu_gradient_meta(dy, x, bias)
    M, N = dy.shape
    if M * N == 0:
        return dx

    tensors = {"dy": dy, "x": x, "bias": bias, "out": dx}
    _check_reach("bias_gelu_gradient", **tensors)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(dy.get_device()):
        bias_gelu_gradient_kernel[grid](*tensors.values(), M, N, *_strides(tensors))
    return dx


@torch.library.custom_op("tilescript::bias_gelu", mutates_args=())
def bias_gelu_op(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return _bias_gelu_forward(x, bias)


@bias_gelu_op.register_fake
def _(x, bias):
    return _bias_gelu_forward_meta(x, bias)


@torch.library.custom_op("tilescript::bias_gelu_backward", mutates_args=())
def bias_gelu_backward_op(
    grad_y: torch.Tensor, x: torch.Tensor, bias: torch.Tensor, needs_bias: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    dx = _bias_gelu_gradient(grad_y, x, bias)
    if needs_bias:
        grad_bias = dx.sum(0, dtype=torch.float32).to(grad_y.dtype)
    else:
        grad_bias = grad_y.new_empty(0)
    return dx, grad_bias


@bias_gelu_backward_op.register_fake
def _(grad_y, x, bias, needs_bias):
    dx = _bias_gelu_gradient_meta(grad_y, x, bias)
    if needs_bias:
        grad_bias = dx.sum(0, dtype=torch.float32).to(grad_y.dtype)
    else:
        grad_bias = grad_y.new_empty(0)
    return dx, grad_bias


def _bias_gelu_setup_context(ctx, inputs, output):
    x, bias = inputs
    ctx.save_for_backward(x, bias)


def _bias_gelu_backward(ctx, grad_y):
    x, bias = ctx.saved_tensors
    needs_bias = ctx.needs_input_grad[1]
    grad_x, grad_bias = bias_gelu_backward_op(grad_y, x, bias, needs_bias)
    return grad_x, grad_bias


bias_gelu_op.register_autograd(
    _bias_gelu_backward, setup_context=_bias_gelu_setup_context
)


def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """gelu(x + bias), with its gradients.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        bias: [N] float16 or bfloat16 or float32.

    Returns:
        y: [M, N] float16 or bfloat16 or float32.
    """
    _refuse_tangents("bias_gelu", x, bias)
    return bias_gelu_op(x, bias)


def reference_fn(x, bias):
    return torch.nn.functional.gelu(x.add(bias))


SHAPES = [{"M": 128, "N": 1000}, {"M": 8192, "N": 11008}]


def get_inputs(M=128, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
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


kernel_fn = bias_gelu
