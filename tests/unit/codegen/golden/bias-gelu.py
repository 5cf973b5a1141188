"""gelu(x + bias), with its gradients.

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


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 512}, num_warps=2),
        triton.Config({"BLOCK_N": 1024}, num_warps=4),
        triton.Config({"BLOCK_N": 2048}, num_warps=8),
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
    if x.ndim != 2 or bias.ndim != 1 or bias.shape[0] != x.shape[1]:
        raise ValueError(
            "bias_gelu_forward: x and bias must have shapes [M, N] and "
            f"[N], got {list(x.shape)} and {list(bias.shape)}"
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
    _check_bfloat16("bias_gelu_forward", x.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(x.get_device()):
        bias_gelu_forward_kernel[grid](
            x, bias, y, M, N, *x.stride(), bias.stride(0), *y.stride()
        )
    return y


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 512}, num_warps=2),
        triton.Config({"BLOCK_N": 1024}, num_warps=4),
        triton.Config({"BLOCK_N": 2048}, num_warps=8),
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
    if (
        dy.ndim != 2
        or x.shape != dy.shape
        or bias.ndim != 1
        or bias.shape[0] != dy.shape[1]
    ):
        raise ValueError(
            "bias_gelu_gradient: dy, x and bias must have shapes [M, N], "
            f"[M, N] and [N], got {list(dy.shape)}, {list(x.shape)} and "
            f"{list(bias.shape)}"
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

    _check_reach("bias_gelu_gradient", dy=dy, x=x, bias=bias, out=dx)
    _check_bfloat16("bias_gelu_gradient", dy.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(dy.get_device()):
        bias_gelu_gradient_kernel[grid](
            dy,
            x,
            bias,
            dx,
            M,
            N,
            *dy.stride(),
            *x.stride(),
            bias.stride(0),
            *dx.stride(),
        )
    return dx


@torch.library.custom_op("tilescript::bias_gelu", mutates_args=())
def bias_gelu_op(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.bias_gelu."""
    return _bias_gelu_forward(x, bias)


@bias_gelu_op.register_fake
def _(x, bias):
    return _bias_gelu_forward_meta(x, bias)


@torch.library.custom_op("tilescript::bias_gelu_backward", mutates_args=())
def bias_gelu_backward_op(
    grad_y: torch.Tensor, x: torch.Tensor, bias: torch.Tensor, needs_bias: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """torch.ops.tilescript.bias_gelu_backward."""
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
    """Keeps what the gradient of bias_gelu needs."""
    x, bias = inputs
    ctx.save_for_backward(x, bias)


def _bias_gelu_backward(ctx, grad_y):
    """The gradients of the inputs of bias_gelu."""
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


def reference_fn(x: torch.Tensor, bias: torch.Tensor):
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


def _is_traced(tensor: torch.Tensor) -> bool:
    """True if PyTorch is making a graph, whose tensors have no addresses."""
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter)


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


def _check_operands(name, /, **tensors):
    """Refuses tensors that are not dense, or not on one device.

    It reads no memory, so that it serves traced tensors too. What else a launch would
    misread, such as lazily negated views, PyTorch resolves before it calls an operator.
    """
    first, device = "", None
    for key, x in tensors.items():
        if x is None:
            continue
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if x.is_cpu and not (_INTERPRETED or _is_traced(x)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )


def _refuse_tangents(name, *tensors):
    """Refuses tensors with tangents, which a PyTorch operator drops."""
    for x in tensors:
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError(f"{name} has no forward-mode gradient")


kernel_fn = bias_gelu
