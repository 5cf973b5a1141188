"""The sum of the vectors of up to eight ranks, in float32, in the order of the
ranks.

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


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=2),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def all_reduce_kernel(
    rank0_ptr,
    rank1_ptr,
    rank2_ptr,
    rank3_ptr,
    rank4_ptr,
    rank5_ptr,
    rank6_ptr,
    rank7_ptr,
    y_ptr,
    N,
    BLOCK: tl.constexpr,
):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < N
    total = tl.load(rank0_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank1_ptr is not None:
        total += tl.load(rank1_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank2_ptr is not None:
        total += tl.load(rank2_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank3_ptr is not None:
        total += tl.load(rank3_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank4_ptr is not None:
        total += tl.load(rank4_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank5_ptr is not None:
        total += tl.load(rank5_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank6_ptr is not None:
        total += tl.load(rank6_ptr + places, mask=mask, other=0.0).to(tl.float32)
    if rank7_ptr is not None:
        total += tl.load(rank7_ptr + places, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + places, total.to(y_ptr.dtype.element_ty), mask=mask)


def all_reduce(
    rank0: torch.Tensor,
    rank1: torch.Tensor | None = None,
    rank2: torch.Tensor | None = None,
    rank3: torch.Tensor | None = None,
    rank4: torch.Tensor | None = None,
    rank5: torch.Tensor | None = None,
    rank6: torch.Tensor | None = None,
    rank7: torch.Tensor | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The sum of the vectors of up to eight ranks, in float32, in the order of the
    ranks.

    Args:
        rank0: [N] bfloat16 or float16 or float32, contiguous.
        rank1: [N] bfloat16 or float16 or float32, contiguous, or None.
        rank2: [N] bfloat16 or float16 or float32, contiguous, or None.
        rank3: [N] bfloat16 or float16 or float32, contiguous, or None.
        rank4: [N] bfloat16 or float16 or float32, contiguous, or None.
        rank5: [N] bfloat16 or float16 or float32, contiguous, or None.
        rank6: [N] bfloat16 or float16 or float32, contiguous, or None.
        rank7: [N] bfloat16 or float16 or float32, contiguous, or None.
        out: where to write [N] bfloat16 or float16 or float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("all_reduce: rank0", rank0)
    if rank0.ndim != 1:
        raise ValueError(
            f"all_reduce: rank0 must have shape [N], got {list(rank0.shape)}"
        )
    N = rank0.shape[0]
    if not rank0.is_contiguous():
        raise ValueError(
            "all_reduce: rank0 must be contiguous, got strides "
            f"{rank0.stride()}; call .contiguous() first"
        )
    if rank0.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        raise TypeError(
            "all_reduce: rank0 must be torch.bfloat16 or torch.float16 "
            f"or torch.float32, got {rank0.dtype}"
        )
    if rank1 is not None:
        _check_tensor("all_reduce: rank1", rank1)
        if rank1.shape != (N,):
            raise ValueError(
                f"all_reduce: rank1 must have shape [N={N}], got {list(rank1.shape)}"
            )
        if not rank1.is_contiguous():
            raise ValueError(
                "all_reduce: rank1 must be contiguous, got strides "
                f"{rank1.stride()}; call .contiguous() first"
            )
        if rank1.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank1 must be {rank0.dtype} as rank0 is, got "
                f"{rank1.dtype}"
            )
    if rank2 is not None:
        _check_tensor("all_reduce: rank2", rank2)
        if rank2.shape != (N,):
            raise ValueError(
                f"all_reduce: rank2 must have shape [N={N}], got {list(rank2.shape)}"
            )
        if not rank2.is_contiguous():
            raise ValueError(
                "all_reduce: rank2 must be contiguous, got strides "
                f"{rank2.stride()}; call .contiguous() first"
            )
        if rank2.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank2 must be {rank0.dtype} as rank0 is, got "
                f"{rank2.dtype}"
            )
    if rank3 is not None:
        _check_tensor("all_reduce: rank3", rank3)
        if rank3.shape != (N,):
            raise ValueError(
                f"all_reduce: rank3 must have shape [N={N}], got {list(rank3.shape)}"
            )
        if not rank3.is_contiguous():
            raise ValueError(
                "all_reduce: rank3 must be contiguous, got strides "
                f"{rank3.stride()}; call .contiguous() first"
            )
        if rank3.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank3 must be {rank0.dtype} as rank0 is, got "
                f"{rank3.dtype}"
            )
    if rank4 is not None:
        _check_tensor("all_reduce: rank4", rank4)
        if rank4.shape != (N,):
            raise ValueError(
                f"all_reduce: rank4 must have shape [N={N}], got {list(rank4.shape)}"
            )
        if not rank4.is_contiguous():
            raise ValueError(
                "all_reduce: rank4 must be contiguous, got strides "
                f"{rank4.stride()}; call .contiguous() first"
            )
        if rank4.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank4 must be {rank0.dtype} as rank0 is, got "
                f"{rank4.dtype}"
            )
    if rank5 is not None:
        _check_tensor("all_reduce: rank5", rank5)
        if rank5.shape != (N,):
            raise ValueError(
                f"all_reduce: rank5 must have shape [N={N}], got {list(rank5.shape)}"
            )
        if not rank5.is_contiguous():
            raise ValueError(
                "all_reduce: rank5 must be contiguous, got strides "
                f"{rank5.stride()}; call .contiguous() first"
            )
        if rank5.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank5 must be {rank0.dtype} as rank0 is, got "
                f"{rank5.dtype}"
            )
    if rank6 is not None:
        _check_tensor("all_reduce: rank6", rank6)
        if rank6.shape != (N,):
            raise ValueError(
                f"all_reduce: rank6 must have shape [N={N}], got {list(rank6.shape)}"
            )
        if not rank6.is_contiguous():
            raise ValueError(
                "all_reduce: rank6 must be contiguous, got strides "
                f"{rank6.stride()}; call .contiguous() first"
            )
        if rank6.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank6 must be {rank0.dtype} as rank0 is, got "
                f"{rank6.dtype}"
            )
    if rank7 is not None:
        _check_tensor("all_reduce: rank7", rank7)
        if rank7.shape != (N,):
            raise ValueError(
                f"all_reduce: rank7 must have shape [N={N}], got {list(rank7.shape)}"
            )
        if not rank7.is_contiguous():
            raise ValueError(
                "all_reduce: rank7 must be contiguous, got strides "
                f"{rank7.stride()}; call .contiguous() first"
            )
        if rank7.dtype != rank0.dtype:
            raise TypeError(
                f"all_reduce: rank7 must be {rank0.dtype} as rank0 is, got "
                f"{rank7.dtype}"
            )
    if _records_gradient(
        "all_reduce", rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7, out
    ):
        return _without_gradient(
            all_reduce,
            (rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7),
            given=(out,),
        )
    device = rank0.device
    if rank1 is not None and rank1.device != device:
        raise ValueError(
            f"all_reduce: rank1 must be on {device} as rank0 is, got {rank1.device}"
        )
    if rank2 is not None and rank2.device != device:
        raise ValueError(
            f"all_reduce: rank2 must be on {device} as rank0 is, got {rank2.device}"
        )
    if rank3 is not None and rank3.device != device:
        raise ValueError(
            f"all_reduce: rank3 must be on {device} as rank0 is, got {rank3.device}"
        )
    if rank4 is not None and rank4.device != device:
        raise ValueError(
            f"all_reduce: rank4 must be on {device} as rank0 is, got {rank4.device}"
        )
    if rank5 is not None and rank5.device != device:
        raise ValueError(
            f"all_reduce: rank5 must be on {device} as rank0 is, got {rank5.device}"
        )
    if rank6 is not None and rank6.device != device:
        raise ValueError(
            f"all_reduce: rank6 must be on {device} as rank0 is, got {rank6.device}"
        )
    if rank7 is not None and rank7.device != device:
        raise ValueError(
            f"all_reduce: rank7 must be on {device} as rank0 is, got {rank7.device}"
        )
    if rank0.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return all_reduce(
                    rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7, out=out
                )
    elif not (rank0.is_cpu and _INTERPRETED):
        raise ValueError(
            f"all_reduce: rank0 must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        y = torch.empty_like(rank0)
    else:
        y = _check_out(
            "all_reduce: out",
            out,
            (N,),
            rank0.dtype,
            device,
            {
                "rank0": rank0,
                "rank1": rank1,
                "rank2": rank2,
                "rank3": rank3,
                "rank4": rank4,
                "rank5": rank5,
                "rank6": rank6,
                "rank7": rank7,
            },
        )
        if not y.is_contiguous():
            raise ValueError(
                f"all_reduce: out must be contiguous, got strides {y.stride()}; "
                "call .contiguous() first"
            )
    if N == 0:
        return y

    if N >= _INT32_REACH:
        raise _beyond_int32("all_reduce: rank0")
    if _INTERPRETED:
        _check_bfloat16("all_reduce", rank0.dtype)

    def grid(meta):
        return (triton.cdiv(N, meta["BLOCK"]),)

    _launch(
        all_reduce_kernel,
        grid,
        (rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7, y),
        (N,),
        device,
        rank0.dtype,
    )
    return y


def reference_fn(
    rank0: torch.Tensor,
    rank1: torch.Tensor | None = None,
    rank2: torch.Tensor | None = None,
    rank3: torch.Tensor | None = None,
    rank4: torch.Tensor | None = None,
    rank5: torch.Tensor | None = None,
    rank6: torch.Tensor | None = None,
    rank7: torch.Tensor | None = None,
):
    """What all_reduce computes, in PyTorch."""
    N = rank0.shape[0]
    return (
        rank0.float()
        .add(
            (torch.zeros([N], device=rank0.device) if rank1 is None else rank1).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank2 is None else rank2).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank3 is None else rank3).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank4 is None else rank4).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank5 is None else rank5).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank6 is None else rank6).float()
        )
        .add(
            (torch.zeros([N], device=rank0.device) if rank7 is None else rank7).float()
        )
        .to(rank0.dtype)
    )


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"N": 100003}, {"N": 1048576}]


def get_inputs(N=100003):
    """Fresh arguments for all_reduce, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
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


kernel_fn = all_reduce
