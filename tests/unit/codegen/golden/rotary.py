"""Rotary position embedding: the pair (x[i], x[i + D/2]) of each head turns by the
angle of its token and of i.

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
        triton.Config({"BLOCK_H": 4}, num_warps=2),
        triton.Config({"BLOCK_H": 8}, num_warps=4),
        triton.Config({"BLOCK_H": 16}, num_warps=4),
        triton.Config({"BLOCK_H": 32}, num_warps=8),
    ],
    key=["H", "D"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def rotate_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    H,
    D,
    HALF,
    stride_xs,
    stride_xh,
    stride_xd,
    stride_cos_s,
    stride_cos_half,
    stride_sin_s,
    stride_sin_half,
    stride_ys,
    stride_yh,
    stride_yd,
    BACK: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_HALF: tl.constexpr,
):
    token = tl.program_id(0)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    i = tl.arange(0, BLOCK_HALF)
    # Lanes past the first half of a head would reach into the second, and past its end.
    mask = i < HALF
    mask_1 = mask[None, :]
    partner = i + HALF
    c = tl.load(
        cos_ptr + token * stride_cos_s + i * stride_cos_half, mask=mask, other=0.0
    )[None, :]
    s = tl.load(
        sin_ptr + token * stride_sin_s + i * stride_sin_half, mask=mask, other=0.0
    )[None, :]
    turned: tl.constexpr = -1 if BACK else 1
    x_base = x_ptr + token * stride_xs
    mask_2 = (head[:, None] < H) & mask_1
    left = tl.load(
        x_base + (head[:, None] * stride_xh + i[None, :] * stride_xd),
        mask=mask_2,
        other=0.0,
    ).to(tl.float32)
    right = tl.load(
        x_base + (head[:, None] * stride_xh + partner[None, :] * stride_xd),
        mask=mask_2,
        other=0.0,
    ).to(tl.float32)
    y_base = y_ptr + token * stride_ys
    tl.store(
        y_base + (head[:, None] * stride_yh + i[None, :] * stride_yd),
        (left * c - right * s * turned).to(y_ptr.dtype.element_ty),
        mask=mask_2,
    )
    tl.store(
        y_base + (head[:, None] * stride_yh + partner[None, :] * stride_yd),
        (right * c + left * s * turned).to(y_ptr.dtype.element_ty),
        mask=mask_2,
    )


def rotate(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    BACK: bool,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Turns each pair (x[i], x[i + D/2]) of a head by the angle of its token and of
    i, or back.

    Args:
        x: [S, H, D] float16 or bfloat16 or float32.
        cos: [S, HALF] float32.
        sin: [S, HALF] float32.
        BACK: a bool that the kernel is compiled for.
        out: where to write [S, H, D] float16 or bfloat16 or float32; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_type("rotate: BACK", BACK, bool)
    _check_tensor("rotate: x", x)
    _check_tensor("rotate: cos", cos)
    _check_tensor("rotate: sin", sin)
    if x.ndim != 3:
        raise ValueError(f"rotate: x must have shape [S, H, D], got {list(x.shape)}")
    S = x.shape[0]
    H = x.shape[1]
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "rotate: x must be torch.float16 or torch.bfloat16 or "
            f"torch.float32, got {x.dtype}"
        )
    if cos.ndim != 2 or cos.shape[0] != S:
        raise ValueError(
            f"rotate: cos must have shape [S={S}, HALF], got {list(cos.shape)}"
        )
    HALF = cos.shape[1]
    if cos.dtype != torch.float32:
        raise TypeError(f"rotate: cos must be torch.float32, got {cos.dtype}")
    if sin.shape != (S, HALF):
        raise ValueError(
            f"rotate: sin must have shape [S={S}, HALF={HALF}], got {list(sin.shape)}"
        )
    if sin.dtype != torch.float32:
        raise TypeError(f"rotate: sin must be torch.float32, got {sin.dtype}")
    D = HALF * 2
    if x.shape[2] != D:
        raise ValueError(
            f"rotate: x must have shape [S={S}, H={H}, D={D}], got {list(x.shape)}"
        )
    if _records_gradient("rotate", x, cos, sin, out):
        return _without_gradient(rotate, (x, cos, sin, BACK), given=(out,))
    device = x.device
    if cos.device != device:
        raise ValueError(f"rotate: cos must be on {device} as x is, got {cos.device}")
    if sin.device != device:
        raise ValueError(f"rotate: sin must be on {device} as x is, got {sin.device}")
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return rotate(x, cos, sin, BACK, out=out)
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"rotate: x must be on a GPU, got {device}; the CPU needs "
            "TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        y = x.new_empty((S, H, D))
    else:
        y = _check_out(
            "rotate: out",
            out,
            (S, H, D),
            x.dtype,
            device,
            {"x": x, "cos": cos, "sin": sin},
        )
    if S * H * D == 0:
        return y

    stride_xs, stride_xh, stride_xd = x.stride()
    stride_cos_s, stride_cos_half = cos.stride()
    stride_sin_s, stride_sin_half = sin.stride()
    stride_ys, stride_yh, stride_yd = y.stride()
    if (S - 1) * stride_xs + (H - 1) * stride_xh + (D - 1) * stride_xd >= _INT32_REACH:
        raise _beyond_int32("rotate: x")
    if (S - 1) * stride_cos_s + (HALF - 1) * stride_cos_half >= _INT32_REACH:
        raise _beyond_int32("rotate: cos")
    if (S - 1) * stride_sin_s + (HALF - 1) * stride_sin_half >= _INT32_REACH:
        raise _beyond_int32("rotate: sin")
    if (S - 1) * stride_ys + (H - 1) * stride_yh + (D - 1) * stride_yd >= _INT32_REACH:
        raise _beyond_int32("rotate: out")
    BLOCK_HALF = triton.next_power_of_2(HALF)
    if BLOCK_HALF > _MAX_TILE:
        raise ValueError(
            f"rotate: BLOCK_HALF would be {BLOCK_HALF}; a tile holds at "
            f"most {_MAX_TILE} elements"
        )
    if BLOCK_HALF < 1 or (BLOCK_HALF & (BLOCK_HALF - 1)) != 0:
        raise ValueError(
            f"rotate: BLOCK_HALF would be {BLOCK_HALF}, and a tile's "
            "dimension is a power of two"
        )
    if not BLOCK_HALF >= HALF:
        raise ValueError(
            "rotate: a requirement does not hold: BLOCK_HALF >= HALF "
            f"with BLOCK_HALF = {BLOCK_HALF}, HALF = {HALF}"
        )
    if _INTERPRETED:
        _check_bfloat16("rotate", x.dtype)

    def grid(meta):
        return S, triton.cdiv(H, meta["BLOCK_H"])

    _launch(
        rotate_kernel,
        grid,
        (x, cos, sin, y),
        (
            H,
            D,
            HALF,
            stride_xs,
            stride_xh,
            stride_xd,
            stride_cos_s,
            stride_cos_half,
            stride_sin_s,
            stride_sin_half,
            stride_ys,
            stride_yh,
            stride_yd,
        ),
        device,
        x.dtype,
        S,
        BACK=BACK,
        BLOCK_HALF=BLOCK_HALF,
    )
    return y


def _rotate_fake(x, cos, sin, BACK):
    """What torch.compile sees of rotate: shapes and dtypes."""
    S = x.shape[0]
    H = x.shape[1]
    HALF = cos.shape[1]
    D = HALF * 2
    return torch.empty((S, H, D), device=x.device, dtype=x.dtype)


@torch.library.custom_op("tilescript::rotary", mutates_args=())
def rotary_op(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.rotary."""
    _refuse_forward_mode("rotary", x, cos, sin)
    return rotate(x, cos, sin, False)


@rotary_op.register_fake
def _rotary_op_fake(x, cos, sin):
    """What torch.compile sees of rotary_op: shapes and dtypes."""
    return _rotate_fake(x, cos, sin, False)


@torch.library.custom_op("tilescript::rotary_backward", mutates_args=())
def rotary_backward_op(
    grad_y: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    """torch.ops.tilescript.rotary_backward."""
    _refuse_forward_mode("rotary_backward", grad_y, cos, sin)
    return rotate(grad_y, cos, sin, True)


@rotary_backward_op.register_fake
def _rotary_backward_op_fake(grad_y, cos, sin):
    """What torch.compile sees of rotary_backward_op: shapes and dtypes."""
    return _rotate_fake(grad_y, cos, sin, True)


def _rotary_setup_context(ctx, inputs, output):
    """Keeps what the gradient of rotary needs."""
    _, cos, sin = inputs
    ctx.save_for_backward(cos, sin)


def _rotary_backward(ctx, grad_y):
    """The gradients of the inputs of rotary."""
    if ctx.needs_input_grad[1]:
        raise RuntimeError("rotary has no gradient of cos; call it with cos.detach()")
    if ctx.needs_input_grad[2]:
        raise RuntimeError("rotary has no gradient of sin; call it with sin.detach()")
    cos, sin = ctx.saved_tensors
    grad_x = rotary_backward_op(grad_y, cos, sin)
    return grad_x, None, None


rotary_op.register_autograd(_rotary_backward, setup_context=_rotary_setup_context)


@torch.library.custom_op("tilescript::rotary_out", mutates_args=("out",))
def rotary_out_op(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor
) -> None:
    """rotary into tensors of the caller, as torch.ops.tilescript.rotary_out."""
    _refuse_forward_mode("rotary_out", x, cos, sin, out)
    if x.ndim != 3:
        raise ValueError(f"rotary: x must have shape [S, H, D], got {list(x.shape)}")
    S = x.shape[0]
    H = x.shape[1]
    if cos.ndim != 2 or cos.shape[0] != S:
        raise ValueError(
            f"rotary: cos must have shape [S={S}, HALF], got {list(cos.shape)}"
        )
    HALF = cos.shape[1]
    if sin.shape != (S, HALF):
        raise ValueError(
            f"rotary: sin must have shape [S={S}, HALF={HALF}], got {list(sin.shape)}"
        )
    D = HALF * 2
    if x.shape[2] != D:
        raise ValueError(
            f"rotary: x must have shape [S={S}, H={H}, D={D}], got {list(x.shape)}"
        )
    device = x.device
    _check_out(
        "rotary: out", out, (S, H, D), x.dtype, device, {"x": x, "cos": cos, "sin": sin}
    )
    rotate(x, cos, sin, False, out=out)


_refuse_recording(rotary_out_op)


def rotary(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Rotary position embedding: the pair (x[i], x[i + D/2]) of each head turns by
    the angle of its token and of i.

    Args:
        x: [S, H, D] float16 or bfloat16 or float32.
        cos: [S, HALF] float32.
        sin: [S, HALF] float32.
        out: where to write [S, H, D] float16 or bfloat16 or float32; allocated if
            None.

    Returns:
        y: [S, H, D] float16 or bfloat16 or float32.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        return rotary_op(x, cos, sin)
    _refuse_gradient("rotary", x, cos, sin, out)
    rotary_out_op(x, cos, sin, out)
    return out


def reference_fn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
    """What rotary computes, in PyTorch."""
    HALF = cos.shape[1]
    left = x.narrow(2, 0, HALF)
    c = cos.unsqueeze(1)
    right = x.narrow(2, HALF, HALF)
    s = sin.unsqueeze(1)
    return torch.cat(
        [left.mul(c).sub(right.mul(s)), right.mul(c).add(left.mul(s))], -1
    ).to(x.dtype)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"S": 20, "H": 6, "HALF": 40}, {"S": 4096, "H": 32, "HALF": 64}]


def get_inputs(S=20, H=6, HALF=40):
    """Fresh arguments for rotary, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    D = HALF * 2
    return [
        torch.randn((S, H, D), device=device, dtype=torch.float16),
        torch.randn((S, HALF), device=device, dtype=torch.float32),
        torch.randn((S, HALF), device=device, dtype=torch.float32),
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


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are no integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


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


kernel_fn = rotary
