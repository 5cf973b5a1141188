"""Checks of the arguments of emitted wrappers. A module contains those that it uses."""

import warnings

import torch
import triton
from torch.autograd import forward_ad

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# The maximum number of elements of a tile.
_MAX_TILE = 2**20
# The maximum number of programs along each axis of a grid.
_MAX_GRID = (2**31 - 1, 65535, 65535)
# The GPU that Triton's interpreter stands for: an NVIDIA H200.
_INTERPRETED_GPU = {
    "multi_processor_count": 132,
    "shared_memory_per_block_optin": 232448,
    "warp_size": 32,
    "major": 9,
    "minor": 0,
}


def _check_tensors(name, required, /, **optional):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    first, device = "", None
    for key, x in {**required, **optional}.items():
        if x is None and key in optional:
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: {key} must be a tensor, got {x!r:.80}")
        if type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            kind = type(x).__name__
            raise TypeError(f"{name}: {key} must be a plain tensor, got a {kind}")
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(
                f"{name}: {key} is a lazily negated view; call .resolve_neg() first"
            )
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(
                f"{name} has no gradient for {key}; "
                "call it under torch.no_grad(), or with .detach()"
            )


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


def _check_contiguous(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(
                f"{name}: {key} must be contiguous, got strides {x.stride()}; "
                "call .contiguous() first"
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


def _checked_grid(name, grid, lengths, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    for axis, length in lengths.items():
        if grid[axis] > _MAX_GRID[axis]:
            raise ValueError(
                f"{name}: axis {axis} of the grid has {length} = {grid[axis]} programs "
                f"and a GPU launches at most {_MAX_GRID[axis]}; pass the tensors in "
                "parts, or give the kernel a grid with a shorter axis"
            )
    return grid


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        if x is not None and max(start, x.data_ptr()) < min(
            end, x.data_ptr() + x.nbytes
        ):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    axes = () if written.is_contiguous() else zip(written.stride(), written.shape)
    reach = 0
    for step, size in sorted(axes):
        if size > 1 and step <= reach:
            raise ValueError(
                f"{label} has elements that share memory, with shape "
                f"{list(written.shape)} and strides {list(written.stride())}; "
                "give a tensor of its own"
            )
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _may_overlap(x: torch.Tensor, y: torch.Tensor) -> bool:
    """True unless the addresses of x and y lie apart, at least modulo a stride.

    The stride divides all larger ones, as that of a matrix's rows does for two columns.
    """
    if x.numel() == 0 or y.numel() == 0:
        return False
    if x.is_contiguous() and y.is_contiguous():
        return -y.nbytes < y.data_ptr() - x.data_ptr() < x.nbytes
    axes = [
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    ]
    steps = {step for z in axes for step, last in z if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_span, y_span = (
            sum(step * last for step, last in z if step < period) for z in axes
        )
        is_apart = x_span + x.itemsize <= gap <= period - y_span - y.itemsize
        if is_apart and not any(step % period for step in steps if step > period):
            return False
    return True


def _same_strides(x: torch.Tensor, y: torch.Tensor) -> bool:
    """True if two tensors of one shape have the same strides where these matter."""
    steps = zip(x.shape, x.stride(), y.stride())
    return all(size <= 1 or a == b for size, a, b in steps)


def _check_descriptor(label, tensor, axis, is_written=False):
    """Refuses a tensor whose blocks the GPU's copy engine cannot address."""
    if 0 in tensor.shape:
        raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
    size, strides = tensor.element_size(), tensor.stride()
    if strides[axis] != 1:
        raise ValueError(
            f"{label} must have stride 1 on axis {axis}, got strides {list(strides)}; "
            "call .contiguous() first"
        )
    if any(s * size % 16 for i, s in enumerate(strides) if i != axis):
        raise ValueError(
            f"{label} must have strides of a multiple of 16 bytes on all axes but "
            f"{axis}, got {list(strides)} elements of {size} bytes; pad the tensor"
        )
    if is_written and tensor.shape[axis] * size % 16:
        raise ValueError(
            f"{label} must have a length of a multiple of 16 bytes on axis {axis}, as "
            "stores through a descriptor may write up to the next multiple, got shape "
            f"{list(tensor.shape)} with elements of {size} bytes; pad the tensor"
        )
    _check_described(label, tensor)


def _check_described(label, tensor, *steps):
    """Refuses memory that no descriptor with these strides and rows can address."""
    if tensor.data_ptr() % 16 != 0:
        raise ValueError(
            f"{label} must start at a multiple of 16 bytes; call .clone() first"
        )
    size = tensor.element_size()
    for step in steps:
        if step * size % 16:
            raise ValueError(
                f"{label} must have rows and strides of a multiple of 16 bytes, got "
                f"{step} elements of {size} bytes; pad the rows"
            )


def _allocate(size: int, alignment: int, stream: int | None) -> torch.Tensor:
    """Allocates memory for the descriptors that a kernel creates while it runs."""
    return torch.empty(size, device="cuda", dtype=torch.int8)


def _gpu_property(device, name):
    """A property of the GPU that a launch is for."""
    if _INTERPRETED:
        return _INTERPRETED_GPU[name]
    return getattr(torch.cuda.get_device_properties(device), name)


def _check_gpu(device, cuda, hip, description):
    """Refuses a GPU that the kernel is not for."""
    # Without a GPU, PyTorch only traces.
    if _INTERPRETED or not torch.cuda.is_available():
        return
    if torch.version.hip is None:
        major, minor = torch.cuda.get_device_capability(device)
        found = f"sm_{major}{minor}"
        is_supported = cuda is not None and 10 * major + minor >= cuda
    else:
        properties = torch.cuda.get_device_properties(device)
        found = properties.gcnArchName.split(":")[0]
        is_supported = found in hip
    if not is_supported:
        raise RuntimeError(f"{description}; this GPU is {found}")


def _is_traced(tensor: torch.Tensor) -> bool:
    """True if PyTorch is making a graph, whose tensors have no addresses."""
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter)


def _check_choice(label, value, *choices):
    """Refuses a value that is none of the choices."""
    if type(value) is not type(choices[0]) or value not in choices:
        error = ValueError if type(value) is type(choices[0]) else TypeError
        allowed = " or ".join(map(repr, choices))
        raise error(f"{label} must be {allowed}, got {value!r:.80}")


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


def _check_constant(label, value):
    """Refuses a value that is no float, and -0.0, which Triton takes for 0.0."""
    if type(value) not in (float, int):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    # torch.compile cannot trace `str` of a dynamic number.
    if not torch.compiler.is_dynamo_compiling() and str(value) == "-0.0":
        raise ValueError(f"{label} must not be -0.0, which Triton takes for 0.0")


def _check_int(label, value, dtype, least=None):
    """Refuses a value that is no integer, or that the dtype cannot hold."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    # 65504 is the largest float16, the smallest maximum of all dtypes.
    is_large = 65504 < abs(value) < float("inf")
    if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
        raise ValueError(f"{label} must fit {dtype}, got {value}")


def _check_deterministic(name):
    """Refuses float atomics, or warns of them, if PyTorch is asked for determinism."""
    if not torch.are_deterministic_algorithms_enabled():
        return
    text = (
        f"{name} has float atomics, whose order differs from run to run, but "
        "torch.use_deterministic_algorithms(True) is set"
    )
    if not torch.is_deterministic_algorithms_warn_only_enabled():
        raise RuntimeError(
            f"{text}; set it to False for this call, or pass warn_only=True"
        )
    warnings.warn(text, stacklevel=3)


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


def _refuse_recording(operator):
    """Makes an operator that writes its arguments refuse calls that autograd records.

    PyTorch accepts no gradient for such an operator, and would drop it.
    """
    # PyTorch has no public hook: register_autograd refuses operators that write, and
    # below autograd a call under no_grad looks like one that autograd records.
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
