"""silu(gate) * up, with its gradients.

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
        triton.Config({"BLOCK_N": 1024}, num_warps=8),
        triton.Config({"BLOCK_N": 2048}, num_warps=8),
    ],
    key=["M", "N"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def silu_mul_forward_kernel(
    gate_ptr,
    up_ptr,
    y_ptr,
    M,
    N,
    stride_gate_m,
    stride_gate_n,
    stride_up_m,
    stride_up_n,
    stride_ym,
    stride_yn,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(
        gate_ptr + row * stride_gate_m + cols * stride_gate_n, mask=mask, other=0.0
    ).to(tl.float32)
    scale = tl.load(
        up_ptr + row * stride_up_m + cols * stride_up_n, mask=mask, other=0.0
    ).to(tl.float32)
    tl.store(
        y_ptr + row * stride_ym + cols * stride_yn,
        (x * tl.sigmoid(x) * scale).to(y_ptr.dtype.element_ty),
        mask=mask,
    )


def silu_mul_forward(
    gate: torch.Tensor, up: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """y = gate * sigmoid(gate) * up, computed in float32.

    Args:
        gate: [M, N] float16 or bfloat16 or float32.
        up: [M, N] float16 or bfloat16 or float32.
        out: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("silu_mul_forward: gate", gate)
    _check_tensor("silu_mul_forward: up", up)
    if gate.ndim != 2:
        raise ValueError(
            f"silu_mul_forward: gate must have shape [M, N], got {list(gate.shape)}"
        )
    M, N = gate.shape
    if gate.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "silu_mul_forward: gate must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {gate.dtype}"
        )
    if up.shape != (M, N):
        raise ValueError(
            f"silu_mul_forward: up must have shape [M={M}, N={N}], got {list(up.shape)}"
        )
    if up.dtype != gate.dtype:
        raise TypeError(
            f"silu_mul_forward: up must be {gate.dtype} as gate is, got {up.dtype}"
        )
    if _records_gradient("silu_mul_forward", gate, up, out):
        return _without_gradient(silu_mul_forward, (gate, up), given=(out,))
    device = gate.device
    if up.device != device:
        raise ValueError(
            f"silu_mul_forward: up must be on {device} as gate is, got {up.device}"
        )
    if gate.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return silu_mul_forward(gate, up, out=out)
    elif not (gate.is_cpu and _INTERPRETED):
        raise ValueError(
            f"silu_mul_forward: gate must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if out is None:
        y = gate.new_empty((M, N))
    else:
        y = _check_out(
            "silu_mul_forward: out",
            out,
            (M, N),
            gate.dtype,
            device,
            {"gate": gate, "up": up},
        )
    if M * N == 0:
        return y

    stride_gate_m, stride_gate_n = gate.stride()
    stride_up_m, stride_up_n = up.stride()
    stride_ym, stride_yn = y.stride()
    if (M - 1) * stride_gate_m + (N - 1) * stride_gate_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_forward: gate")
    if (M - 1) * stride_up_m + (N - 1) * stride_up_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_forward: up")
    if (M - 1) * stride_ym + (N - 1) * stride_yn >= _INT32_REACH:
        raise _beyond_int32("silu_mul_forward: out")
    if _INTERPRETED:
        _check_bfloat16("silu_mul_forward", gate.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        silu_mul_forward_kernel,
        grid,
        (gate, up, y),
        (
            M,
            N,
            stride_gate_m,
            stride_gate_n,
            stride_up_m,
            stride_up_n,
            stride_ym,
            stride_yn,
        ),
        device,
        gate.dtype,
    )
    return y


def _silu_mul_forward_fake(gate, up):
    """What torch.compile sees of silu_mul_forward: shapes and dtypes."""
    M = gate.shape[0]
    N = gate.shape[1]
    return torch.empty((M, N), device=gate.device, dtype=gate.dtype)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 512}, num_warps=2),
        triton.Config({"BLOCK_N": 1024}, num_warps=4),
        triton.Config({"BLOCK_N": 1024}, num_warps=8),
        triton.Config({"BLOCK_N": 2048}, num_warps=8),
    ],
    key=["M", "N"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def silu_mul_gradients_kernel(
    dy_ptr,
    gate_ptr,
    up_ptr,
    dgate_ptr,
    dup_ptr,
    M,
    N,
    stride_dy_m,
    stride_dy_n,
    stride_gate_m,
    stride_gate_n,
    stride_up_m,
    stride_up_n,
    stride_dgate_m,
    stride_dgate_n,
    stride_dup_m,
    stride_dup_n,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = cols < N
    gradient = tl.load(
        dy_ptr + row * stride_dy_m + cols * stride_dy_n, mask=mask, other=0.0
    ).to(tl.float32)
    x = tl.load(
        gate_ptr + row * stride_gate_m + cols * stride_gate_n, mask=mask, other=0.0
    ).to(tl.float32)
    scale = tl.load(
        up_ptr + row * stride_up_m + cols * stride_up_n, mask=mask, other=0.0
    ).to(tl.float32)
    sigmoid = tl.sigmoid(x)
    silu = x * sigmoid
    # d silu / dx = sigmoid + x · sigmoid · (1 - sigmoid)
    slope = sigmoid + silu * (1.0 - sigmoid)
    tl.store(
        dgate_ptr + row * stride_dgate_m + cols * stride_dgate_n,
        (gradient * scale * slope).to(dgate_ptr.dtype.element_ty),
        mask=mask,
    )
    tl.store(
        dup_ptr + row * stride_dup_m + cols * stride_dup_n,
        (gradient * silu).to(dgate_ptr.dtype.element_ty),
        mask=mask,
    )


def silu_mul_gradients(
    dy: torch.Tensor,
    gate: torch.Tensor,
    up: torch.Tensor,
    *,
    dgate: torch.Tensor | None = None,
    dup: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of gate and up; sigmoid(gate) is computed again rather than
    stored.

    Args:
        dy: [M, N] float16 or bfloat16 or float32.
        gate: [M, N] float16 or bfloat16 or float32.
        up: [M, N] float16 or bfloat16 or float32.
        dgate: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.
        dup: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("silu_mul_gradients: dy", dy)
    _check_tensor("silu_mul_gradients: gate", gate)
    _check_tensor("silu_mul_gradients: up", up)
    if dy.ndim != 2:
        raise ValueError(
            f"silu_mul_gradients: dy must have shape [M, N], got {list(dy.shape)}"
        )
    M, N = dy.shape
    if dy.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "silu_mul_gradients: dy must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {dy.dtype}"
        )
    if gate.shape != (M, N):
        raise ValueError(
            f"silu_mul_gradients: gate must have shape [M={M}, N={N}], "
            f"got {list(gate.shape)}"
        )
    if gate.dtype != dy.dtype:
        raise TypeError(
            f"silu_mul_gradients: gate must be {dy.dtype} as dy is, got {gate.dtype}"
        )
    if up.shape != (M, N):
        raise ValueError(
            f"silu_mul_gradients: up must have shape [M={M}, N={N}], "
            f"got {list(up.shape)}"
        )
    if up.dtype != dy.dtype:
        raise TypeError(
            f"silu_mul_gradients: up must be {dy.dtype} as dy is, got {up.dtype}"
        )
    if _records_gradient("silu_mul_gradients", dy, gate, up, dgate, dup):
        return _without_gradient(silu_mul_gradients, (dy, gate, up), given=(dgate, dup))
    device = dy.device
    if gate.device != device:
        raise ValueError(
            f"silu_mul_gradients: gate must be on {device} as dy is, got {gate.device}"
        )
    if up.device != device:
        raise ValueError(
            f"silu_mul_gradients: up must be on {device} as dy is, got {up.device}"
        )
    if dy.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return silu_mul_gradients(dy, gate, up, dgate=dgate, dup=dup)
    elif not (dy.is_cpu and _INTERPRETED):
        raise ValueError(
            f"silu_mul_gradients: dy must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if dgate is None:
        dgate = dy.new_empty((M, N))
    else:
        _check_out(
            "silu_mul_gradients: dgate",
            dgate,
            (M, N),
            dy.dtype,
            device,
            {"dy": dy, "gate": gate, "up": up},
        )
    if dup is None:
        dup = dy.new_empty((M, N))
    else:
        _check_out(
            "silu_mul_gradients: dup",
            dup,
            (M, N),
            dy.dtype,
            device,
            {"dy": dy, "gate": gate, "up": up, "dgate": dgate},
        )
    if M * N == 0:
        return dgate, dup

    stride_dy_m, stride_dy_n = dy.stride()
    stride_gate_m, stride_gate_n = gate.stride()
    stride_up_m, stride_up_n = up.stride()
    stride_dgate_m, stride_dgate_n = dgate.stride()
    stride_dup_m, stride_dup_n = dup.stride()
    if (M - 1) * stride_dy_m + (N - 1) * stride_dy_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_gradients: dy")
    if (M - 1) * stride_gate_m + (N - 1) * stride_gate_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_gradients: gate")
    if (M - 1) * stride_up_m + (N - 1) * stride_up_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_gradients: up")
    if (M - 1) * stride_dgate_m + (N - 1) * stride_dgate_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_gradients: dgate")
    if (M - 1) * stride_dup_m + (N - 1) * stride_dup_n >= _INT32_REACH:
        raise _beyond_int32("silu_mul_gradients: dup")
    if _INTERPRETED:
        _check_bfloat16("silu_mul_gradients", dy.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        silu_mul_gradients_kernel,
        grid,
        (dy, gate, up, dgate, dup),
        (
            M,
            N,
            stride_dy_m,
            stride_dy_n,
            stride_gate_m,
            stride_gate_n,
            stride_up_m,
            stride_up_n,
            stride_dgate_m,
            stride_dgate_n,
            stride_dup_m,
            stride_dup_n,
        ),
        device,
        dy.dtype,
    )
    return dgate, dup


def _silu_mul_gradients_fake(dy, gate, up):
    """What torch.compile sees of silu_mul_gradients: shapes and dtypes."""
    M = dy.shape[0]
    N = dy.shape[1]
    return (
        torch.empty((M, N), device=dy.device, dtype=dy.dtype),
        torch.empty((M, N), device=dy.device, dtype=dy.dtype),
    )


@torch.library.custom_op("tilescript::silu_mul", mutates_args=())
def silu_mul_op(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.silu_mul."""
    _refuse_forward_mode("silu_mul", gate, up)
    return silu_mul_forward(gate, up)


@silu_mul_op.register_fake
def _silu_mul_op_fake(gate, up):
    """What torch.compile sees of silu_mul_op: shapes and dtypes."""
    return _silu_mul_forward_fake(gate, up)


@torch.library.custom_op("tilescript::silu_mul_backward", mutates_args=())
def silu_mul_backward_op(
    grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """torch.ops.tilescript.silu_mul_backward."""
    _refuse_forward_mode("silu_mul_backward", grad_y, gate, up)
    return silu_mul_gradients(grad_y, gate, up)


@silu_mul_backward_op.register_fake
def _silu_mul_backward_op_fake(grad_y, gate, up):
    """What torch.compile sees of silu_mul_backward_op: shapes and dtypes."""
    return _silu_mul_gradients_fake(grad_y, gate, up)


def _silu_mul_setup_context(ctx, inputs, output):
    """Keeps what the gradient of silu_mul needs."""
    gate, up = inputs
    ctx.save_for_backward(gate, up)


def _silu_mul_backward(ctx, grad_y):
    """The gradients of the inputs of silu_mul."""
    gate, up = ctx.saved_tensors
    grad_gate, grad_up = silu_mul_backward_op(grad_y, gate, up)
    return grad_gate, grad_up


silu_mul_op.register_autograd(_silu_mul_backward, setup_context=_silu_mul_setup_context)


@torch.library.custom_op("tilescript::silu_mul_out", mutates_args=("out",))
def silu_mul_out_op(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    """silu_mul into tensors of the caller, as torch.ops.tilescript.silu_mul_out."""
    _refuse_forward_mode("silu_mul_out", gate, up, out)
    if gate.ndim != 2:
        raise ValueError(
            f"silu_mul: gate must have shape [M, N], got {list(gate.shape)}"
        )
    M, N = gate.shape
    if up.shape != (M, N):
        raise ValueError(
            f"silu_mul: up must have shape [M={M}, N={N}], got {list(up.shape)}"
        )
    device = gate.device
    _check_out(
        "silu_mul: out", out, (M, N), gate.dtype, device, {"gate": gate, "up": up}
    )
    silu_mul_forward(gate, up, out=out)


_refuse_recording(silu_mul_out_op)


def silu_mul(
    gate: torch.Tensor, up: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """silu(gate) * up, with its gradients.

    Args:
        gate: [M, N] float16 or bfloat16 or float32.
        up: [M, N] float16 or bfloat16 or float32.
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
        return silu_mul_op(gate, up)
    _refuse_gradient("silu_mul", gate, up, out)
    silu_mul_out_op(gate, up, out)
    return out


def reference_fn(gate: torch.Tensor, up: torch.Tensor):
    """What silu_mul computes, in PyTorch."""
    return torch.nn.functional.silu(gate).mul(up)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 128, "N": 1000}, {"M": 8192, "N": 11008}]


def get_inputs(M=128, N=1000):
    """Fresh arguments for silu_mul, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randn((M, N), device=device, dtype=torch.float16),
    ]


def _launch(kernel, grid, tensors, numbers, /, *others, **options):
    """Launches kernel[grid](*tensors, *numbers, **options).

    The binary and the grid are remembered by all that Triton chooses them by,
    which is faster than its choosing. others are the device, dtypes, and sizes
    that only the grid depends on.
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


kernel_fn = silu_mul
