"""gelu(x + bias), with its gradients.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import torch
import triton
import triton.language as tl

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
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
        triton.Config({"BLOCK_N": 512}, num_warps=2),
        triton.Config({"BLOCK_N": 1024}, num_warps=4),
        triton.Config({"BLOCK_N": 2048}, num_warps=8),
    ],
    key=["M", "N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def bias_gelu_forward(
    x: torch.Tensor, bias: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """y = gelu(x + bias), computed in float32.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        bias: [N] float16 or bfloat16 or float32.
        out: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("bias_gelu_forward: x", x)
    _check_tensor("bias_gelu_forward: bias", bias)
    if x.ndim != 2:
        raise ValueError(
            f"bias_gelu_forward: x must have shape [M, N], got {list(x.shape)}"
        )
    M, N = x.shape
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "bias_gelu_forward: x must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {x.dtype}"
        )
    if bias.shape != (N,):
        raise ValueError(
            f"bias_gelu_forward: bias must have shape [N={N}], got {list(bias.shape)}"
        )
    if bias.dtype != x.dtype:
        raise TypeError(
            f"bias_gelu_forward: bias must be {x.dtype} as x is, got {bias.dtype}"
        )
    if _records_gradient("bias_gelu_forward", x, bias, out):
        return _without_gradient(bias_gelu_forward, (x, bias), given=(out,))
    device = x.device
    if bias.device != device:
        raise ValueError(
            f"bias_gelu_forward: bias must be on {device} as x is, got {bias.device}"
        )
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return bias_gelu_forward(x, bias, out=out)
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"bias_gelu_forward: x must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if out is None:
        y = x.new_empty((M, N))
    else:
        y = _check_out(
            "bias_gelu_forward: out",
            out,
            (M, N),
            x.dtype,
            device,
            {"x": x, "bias": bias},
        )
    if M * N == 0:
        return y

    stride_xm, stride_xn = x.stride()
    stride_bias_n = bias.stride(0)
    stride_ym, stride_yn = y.stride()
    if (M - 1) * stride_xm + (N - 1) * stride_xn >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_forward: x")
    if (N - 1) * stride_bias_n >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_forward: bias")
    if (M - 1) * stride_ym + (N - 1) * stride_yn >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_forward: out")
    if _INTERPRETED:
        _check_bfloat16("bias_gelu_forward", x.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        bias_gelu_forward_kernel,
        grid,
        (x, bias, y),
        (M, N, stride_xm, stride_xn, stride_bias_n, stride_ym, stride_yn),
        device,
        x.dtype,
    )
    return y


def _bias_gelu_forward_fake(x, bias):
    """What torch.compile sees of bias_gelu_forward: shapes and dtypes."""
    M = x.shape[0]
    N = x.shape[1]
    return torch.empty((M, N), device=x.device, dtype=x.dtype)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 512}, num_warps=2),
        triton.Config({"BLOCK_N": 1024}, num_warps=4),
        triton.Config({"BLOCK_N": 2048}, num_warps=8),
    ],
    key=["M", "N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def bias_gelu_gradient(
    dy: torch.Tensor,
    x: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The gradient of x + bias; the sum is computed again rather than stored.

    Args:
        dy: [M, N] float16 or bfloat16 or float32.
        x: [M, N] float16 or bfloat16 or float32.
        bias: [N] float16 or bfloat16 or float32.
        out: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("bias_gelu_gradient: dy", dy)
    _check_tensor("bias_gelu_gradient: x", x)
    _check_tensor("bias_gelu_gradient: bias", bias)
    if dy.ndim != 2:
        raise ValueError(
            f"bias_gelu_gradient: dy must have shape [M, N], got {list(dy.shape)}"
        )
    M, N = dy.shape
    if dy.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "bias_gelu_gradient: dy must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {dy.dtype}"
        )
    if x.shape != (M, N):
        raise ValueError(
            f"bias_gelu_gradient: x must have shape [M={M}, N={N}], got {list(x.shape)}"
        )
    if x.dtype != dy.dtype:
        raise TypeError(
            f"bias_gelu_gradient: x must be {dy.dtype} as dy is, got {x.dtype}"
        )
    if bias.shape != (N,):
        raise ValueError(
            f"bias_gelu_gradient: bias must have shape [N={N}], got {list(bias.shape)}"
        )
    if bias.dtype != dy.dtype:
        raise TypeError(
            f"bias_gelu_gradient: bias must be {dy.dtype} as dy is, got {bias.dtype}"
        )
    if _records_gradient("bias_gelu_gradient", dy, x, bias, out):
        return _without_gradient(bias_gelu_gradient, (dy, x, bias), given=(out,))
    device = dy.device
    if x.device != device:
        raise ValueError(
            f"bias_gelu_gradient: x must be on {device} as dy is, got {x.device}"
        )
    if bias.device != device:
        raise ValueError(
            f"bias_gelu_gradient: bias must be on {device} as dy is, got {bias.device}"
        )
    if dy.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return bias_gelu_gradient(dy, x, bias, out=out)
    elif not (dy.is_cpu and _INTERPRETED):
        raise ValueError(
            f"bias_gelu_gradient: dy must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if out is None:
        dx = dy.new_empty((M, N))
    else:
        dx = _check_out(
            "bias_gelu_gradient: out",
            out,
            (M, N),
            dy.dtype,
            device,
            {"dy": dy, "x": x, "bias": bias},
        )
    if M * N == 0:
        return dx

    stride_dy_m, stride_dy_n = dy.stride()
    stride_xm, stride_xn = x.stride()
    stride_bias_n = bias.stride(0)
    stride_dx_m, stride_dx_n = dx.stride()
    if (M - 1) * stride_dy_m + (N - 1) * stride_dy_n >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_gradient: dy")
    if (M - 1) * stride_xm + (N - 1) * stride_xn >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_gradient: x")
    if (N - 1) * stride_bias_n >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_gradient: bias")
    if (M - 1) * stride_dx_m + (N - 1) * stride_dx_n >= _INT32_REACH:
        raise _beyond_int32("bias_gelu_gradient: out")
    if _INTERPRETED:
        _check_bfloat16("bias_gelu_gradient", dy.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        bias_gelu_gradient_kernel,
        grid,
        (dy, x, bias, dx),
        (
            M,
            N,
            stride_dy_m,
            stride_dy_n,
            stride_xm,
            stride_xn,
            stride_bias_n,
            stride_dx_m,
            stride_dx_n,
        ),
        device,
        dy.dtype,
    )
    return dx


def _bias_gelu_gradient_fake(dy, x, bias):
    """What torch.compile sees of bias_gelu_gradient: shapes and dtypes."""
    M = dy.shape[0]
    N = dy.shape[1]
    return torch.empty((M, N), device=dy.device, dtype=dy.dtype)


@torch.library.custom_op("tilescript::bias_gelu", mutates_args=())
def bias_gelu_op(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.bias_gelu."""
    _refuse_forward_mode("bias_gelu", x, bias)
    return bias_gelu_forward(x, bias)


@bias_gelu_op.register_fake
def _bias_gelu_op_fake(x, bias):
    """What torch.compile sees of bias_gelu_op: shapes and dtypes."""
    return _bias_gelu_forward_fake(x, bias)


@torch.library.custom_op("tilescript::bias_gelu_backward", mutates_args=())
def bias_gelu_backward_op(
    grad_y: torch.Tensor, x: torch.Tensor, bias: torch.Tensor, needs_bias: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """torch.ops.tilescript.bias_gelu_backward."""
    _refuse_forward_mode("bias_gelu_backward", grad_y, x, bias)
    dx = bias_gelu_gradient(grad_y, x, bias)
    if needs_bias:
        grad_bias = dx.sum(0, dtype=torch.float32).to(grad_y.dtype)
    else:
        grad_bias = grad_y.new_empty(0)
    return dx, grad_bias


@bias_gelu_backward_op.register_fake
def _bias_gelu_backward_op_fake(grad_y, x, bias, needs_bias):
    """What torch.compile sees of bias_gelu_backward_op: shapes and dtypes."""
    dx = _bias_gelu_gradient_fake(grad_y, x, bias)
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


@torch.library.custom_op("tilescript::bias_gelu_out", mutates_args=("out",))
def bias_gelu_out_op(x: torch.Tensor, bias: torch.Tensor, out: torch.Tensor) -> None:
    """bias_gelu into tensors of the caller, as torch.ops.tilescript.bias_gelu_out."""
    _refuse_forward_mode("bias_gelu_out", x, bias, out)
    if x.ndim != 2:
        raise ValueError(f"bias_gelu: x must have shape [M, N], got {list(x.shape)}")
    M, N = x.shape
    if bias.shape != (N,):
        raise ValueError(
            f"bias_gelu: bias must have shape [N={N}], got {list(bias.shape)}"
        )
    device = x.device
    _check_out("bias_gelu: out", out, (M, N), x.dtype, device, {"x": x, "bias": bias})
    bias_gelu_forward(x, bias, out=out)


_refuse_recording(bias_gelu_out_op)


def bias_gelu(
    x: torch.Tensor, bias: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """gelu(x + bias), with its gradients.

    Args:
        x: [M, N] float16 or bfloat16 or float32.
        bias: [N] float16 or bfloat16 or float32.
        out: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Returns:
        y: [M, N] float16 or bfloat16 or float32.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        return bias_gelu_op(x, bias)
    _refuse_gradient("bias_gelu", x, bias, out)
    bias_gelu_out_op(x, bias, out)
    return out


def reference_fn(x: torch.Tensor, bias: torch.Tensor):
    """What bias_gelu computes, in PyTorch."""
    return torch.nn.functional.gelu(x.add(bias))


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 128, "N": 1000}, {"M": 8192, "N": 11008}]


def get_inputs(M=128, N=1000):
    """Fresh arguments for bias_gelu, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
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


kernel_fn = bias_gelu
