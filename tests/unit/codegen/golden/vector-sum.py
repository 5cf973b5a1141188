"""The sum of all elements of a vector, in float32.

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
        triton.Config({"BLOCK": 1024}, num_warps=4, num_stages=4),
        triton.Config({"BLOCK": 2048}, num_warps=8, num_stages=4),
        triton.Config({"BLOCK": 4096}, num_warps=8, num_stages=3),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def partial_sums_kernel(
    x_ptr, sums_ptr, N, GROUPS, stride_sums_groups, BLOCK: tl.constexpr
):
    group = tl.program_id(0)
    # Each lane has a sum of its own: the lanes are added once, after the loop.
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(group * BLOCK, N, GROUPS * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < N, other=0.0).to(tl.float32)
    tl.store(sums_ptr + group * stride_sums_groups, tl.sum(total, axis=0))


def partial_sums(
    x: torch.Tensor, GROUPS: int, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The sum of every GROUPS-th block of x, from the group's own on.

    Args:
        x: [N] float32 or float16 or bfloat16, contiguous.
        GROUPS: a size of the result.
        out: where to write [GROUPS] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_int("partial_sums: GROUPS", GROUPS, torch.int32, 0)
    _check_tensor("partial_sums: x", x)
    if x.ndim != 1:
        raise ValueError(f"partial_sums: x must have shape [N], got {list(x.shape)}")
    N = x.shape[0]
    if not x.is_contiguous():
        raise ValueError(
            f"partial_sums: x must be contiguous, got strides {x.stride()}; "
            "call .contiguous() first"
        )
    if x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise TypeError(
            "partial_sums: x must be torch.float32 or torch.float16 or "
            f"torch.bfloat16, got {x.dtype}"
        )
    if _records_gradient("partial_sums", x, out):
        return _without_gradient(partial_sums, (x, GROUPS), given=(out,))
    device = x.device
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return partial_sums(x, GROUPS, out=out)
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"partial_sums: x must be on a GPU, got {device}; the CPU "
            "needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        sums = x.new_empty((GROUPS,), dtype=torch.float32)
    else:
        sums = _check_out(
            "partial_sums: out", out, (GROUPS,), torch.float32, device, {"x": x}
        )
    if GROUPS == 0:
        return sums

    stride_sums_groups = sums.stride(0)
    if N >= _INT32_REACH:
        raise _beyond_int32("partial_sums: x")
    if (GROUPS - 1) * stride_sums_groups >= _INT32_REACH:
        raise _beyond_int32("partial_sums: out")
    if not GROUPS >= 1:
        raise ValueError(
            "partial_sums: a requirement does not hold: GROUPS >= 1 with "
            f"GROUPS = {GROUPS}"
        )
    if not GROUPS < 2048:
        raise ValueError(
            "partial_sums: a requirement does not hold: GROUPS < 2048 "
            f"with GROUPS = {GROUPS}"
        )
    if _INTERPRETED:
        _check_bfloat16("partial_sums", x.dtype)

    _launch(
        partial_sums_kernel,
        (GROUPS,),
        (x, sums),
        (N, GROUPS, stride_sums_groups),
        device,
        x.dtype,
    )
    return sums


def _partial_sums_fake(x, GROUPS):
    """What torch.compile sees of partial_sums: shapes and dtypes."""
    return torch.empty((GROUPS,), device=x.device, dtype=torch.float32)


@triton.jit
def sum_of_sums_kernel(
    sums_ptr, y_ptr, GROUPS, stride_sums_groups, BLOCK: tl.constexpr
):
    offsets = tl.arange(0, BLOCK)
    tl.store(
        y_ptr,
        tl.sum(
            tl.load(
                sums_ptr + offsets * stride_sums_groups,
                mask=offsets < GROUPS,
                other=0.0,
            ),
            axis=0,
        ),
    )


def sum_of_sums(sums: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The sum of a short vector, in one program.

    Args:
        sums: [GROUPS] float32.
        out: where to write [1] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("sum_of_sums: sums", sums)
    if sums.ndim != 1:
        raise ValueError(
            f"sum_of_sums: sums must have shape [GROUPS], got {list(sums.shape)}"
        )
    GROUPS = sums.shape[0]
    if sums.dtype != torch.float32:
        raise TypeError(f"sum_of_sums: sums must be torch.float32, got {sums.dtype}")
    if _records_gradient("sum_of_sums", sums, out):
        return _without_gradient(sum_of_sums, (sums,), given=(out,))
    device = sums.device
    if sums.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return sum_of_sums(sums, out=out)
    elif not (sums.is_cpu and _INTERPRETED):
        raise ValueError(
            f"sum_of_sums: sums must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        y = sums.new_empty((1,))
    else:
        y = _check_out(
            "sum_of_sums: out", out, (1,), torch.float32, device, {"sums": sums}
        )

    stride_sums_groups = sums.stride(0)
    stride_y0 = y.stride(0)
    if (GROUPS - 1) * stride_sums_groups >= _INT32_REACH:
        raise _beyond_int32("sum_of_sums: sums")
    if (1 - 1) * stride_y0 >= _INT32_REACH:
        raise _beyond_int32("sum_of_sums: out")
    BLOCK = triton.next_power_of_2(GROUPS)
    if BLOCK > _MAX_TILE:
        raise ValueError(
            f"sum_of_sums: BLOCK would be {BLOCK}; a tile holds at "
            f"most {_MAX_TILE} elements"
        )
    if BLOCK < 1 or (BLOCK & (BLOCK - 1)) != 0:
        raise ValueError(
            f"sum_of_sums: BLOCK would be {BLOCK}, and a tile's "
            "dimension is a power of two"
        )
    if not BLOCK >= GROUPS:
        raise ValueError(
            "sum_of_sums: a requirement does not hold: BLOCK >= GROUPS "
            f"with BLOCK = {BLOCK}, GROUPS = {GROUPS}"
        )

    _launch(
        sum_of_sums_kernel,
        (1,),
        (sums, y),
        (GROUPS, stride_sums_groups),
        device,
        BLOCK=BLOCK,
    )
    return y


def _sum_of_sums_fake(sums):
    """What torch.compile sees of sum_of_sums: shapes and dtypes."""
    return torch.empty((1,), device=sums.device, dtype=torch.float32)


@torch.library.custom_op("tilescript::vector_sum", mutates_args=())
def vector_sum_op(x: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.vector_sum."""
    _refuse_forward_mode("vector_sum", x)
    sums = partial_sums(x, 1056)
    return sum_of_sums(sums)


@vector_sum_op.register_fake
def _vector_sum_op_fake(x):
    """What torch.compile sees of vector_sum_op: shapes and dtypes."""
    sums = _partial_sums_fake(x, 1056)
    return _sum_of_sums_fake(sums)


@torch.library.custom_op("tilescript::vector_sum_out", mutates_args=("out",))
def vector_sum_out_op(x: torch.Tensor, out: torch.Tensor) -> None:
    """vector_sum into tensors of the caller, as torch.ops.tilescript.vector_sum_out."""
    _refuse_forward_mode("vector_sum_out", x, out)
    if x.ndim != 1:
        raise ValueError(f"vector_sum: x must have shape [N], got {list(x.shape)}")
    if not x.is_contiguous():
        raise ValueError(
            f"vector_sum: x must be contiguous, got strides {x.stride()}; "
            "call .contiguous() first"
        )
    device = x.device
    _check_out("vector_sum: out", out, (1,), torch.float32, device, {"x": x})
    sums = partial_sums(x, 1056)
    sum_of_sums(sums, out=out)


_refuse_recording(vector_sum_out_op)


def vector_sum(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The sum of all elements of a vector, in float32.

    Args:
        x: [N] float32 or float16 or bfloat16, contiguous.
        out: where to write [1] float32; allocated if None.

    Returns:
        y: [1] float32.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        return vector_sum_op(x)
    _refuse_gradient("vector_sum", x, out)
    vector_sum_out_op(x, out)
    return out


def reference_fn(x: torch.Tensor):
    """What vector_sum computes, in PyTorch."""
    return x.float().sum(0, keepdim=True)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"N": 100003}, {"N": 67108864}]


def get_inputs(N=100003):
    """Fresh arguments for vector_sum, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((N,), device=device, dtype=torch.float32)]


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


def _check_int(label, value, dtype, least=None):
    """Refuses what is no integer, and what its dtype does not hold."""
    if type(value) is not int:
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


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


kernel_fn = vector_sum
