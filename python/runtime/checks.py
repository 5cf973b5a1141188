"""Checks of the arguments of emitted wrappers. A module contains those that it uses."""

import warnings

import torch
import triton
from torch.autograd import forward_ad

_INTERPRETED = triton.knobs.runtime.interpret
# The properties of the GPU that Triton's interpreter stands for, if not an H200's.
_INTERPRETED_GPU = {}


def _check_tensors(name, wide=(), /, **tensors):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    plain, device = torch.Tensor.__torch_dispatch__, None
    for key, x in tensors.items():
        if x is None:
            continue
        if getattr(type(x), "__torch_dispatch__", None) is not plain:
            raise TypeError(f"{name}: {key} must be a plain tensor, got {type(x)}")
        if x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        device = x.device if device is None else device
        if x.device != device or not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: needs one GPU, or TRITON_INTERPRET=1, got {key} on {x.device}"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(f"{name}: {key} is lazily negated; call .resolve_neg()")
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(f"{name} has no gradient for {key}; use torch.no_grad()")
        # Masked lanes may lie up to a tile behind the last element.
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20 and key not in wide:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    found = {key: x.dtype for key, x in tensors.items()}
    if set(found.values()) not in [{dtype} for dtype in expected]:
        raise TypeError(f"{name}: needs one dtype of {expected}, got {found}")
    is_wrong = _INTERPRETED and not hasattr(triton, "has_bfloat16")
    if is_wrong and torch.bfloat16 in found.values():
        raise TypeError(f"{name}: Triton's interpreter computes bfloat16 wrongly")


def _check_contiguous(name, /, **tensors):
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(f"{name}: {key} must be contiguous; call .contiguous()")


def _check_reach(name, /, **tensors):
    """Refuses tensors whose offsets do not fit int32, with a tile behind them."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _checked_grid(name, grid, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    most = (2**31 - 1, 65535, 65535)
    if any(count > limit for count, limit in zip(grid, most)):
        raise ValueError(f"{name}: a GPU launches at most {most} programs, got {grid}")
    return grid


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        first, last = (0, 0) if x is None else (x.data_ptr(), x.data_ptr() + x.nbytes)
        if max(start, first) < min(end, last):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    reach = 0
    for step, size in sorted(zip(written.stride(), written.shape)):
        if size > 1 and step <= reach:
            raise ValueError(f"{label} has elements that share memory")
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


def _may_overlap(x, y):
    """True unless x and y lie apart, at least modulo a stride that divides the rest."""
    if x.numel() == 0 or y.numel() == 0:
        return False
    x_axes, y_axes = (
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    )
    steps = {step for step, last in x_axes + y_axes if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_end = x.itemsize + sum(s * n for s, n in x_axes if s < period)
        y_end = y.itemsize + sum(s * n for s, n in y_axes if s < period)
        is_nested = not any(step % period for step in steps if step > period)
        if is_nested and x_end <= gap <= period - y_end:
            return False
    return True


def _check_range(label, x, low, end, /):
    """Refuses elements outside a declared range; waits for the GPU."""
    if x is None:
        return
    is_float = x.is_floating_point()
    # Not all dtypes have comparisons.
    if not is_float:
        x = x.long()
    elif x.itemsize == 1:
        x = x.float()
    # A range of floats has its end, and NaN.
    is_out = (x < low) | (x > end if is_float else x >= end)
    if is_out.any():
        place = is_out.nonzero()[0].tolist()
        found = x[tuple(place)].item()
        bounds = f"[{low}, {end}{']' if is_float else ')'}"
        raise ValueError(
            f"{label} must hold numbers in {bounds}, got {found} at {place}"
        )


def _check_partition(label, x, total, has_start, /):
    """Refuses numbers that are no offsets of a partition; waits for the GPU."""
    if x is None or x.numel() == 0:
        return
    numbers = x.long()
    falls = (numbers[1:] < numbers[:-1]).nonzero()
    first, last = int(numbers[0]), int(numbers[-1])
    if falls.numel() > 0:
        i = int(falls[0])
        found = f"{numbers[i + 1]} after {numbers[i]} at [{i + 1}]"
    elif first < 0 or (has_start and first > 0):
        found = f"{first} first"
    elif last != total:
        found = f"{last} last"
    else:
        return
    start = "from 0 " if has_start else ""
    raise ValueError(f"{label} must rise {start}to {total}, got {found}")


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


def _same_strides(x: torch.Tensor, y: torch.Tensor) -> bool:
    """True if two tensors of one shape have the same strides where these matter."""
    steps = zip(x.shape, x.stride(), y.stride())
    return all(size <= 1 or a == b for size, a, b in steps)


def _check_descriptor(label, tensor, axis, is_written=False):
    """Refuses a tensor whose blocks the GPU's copy engine cannot address."""
    if 0 in tensor.shape:
        raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
    strides = tensor.stride()
    if strides[axis] != 1:
        raise ValueError(
            f"{label} must have stride 1 on axis {axis}, got strides {strides}; "
            "call .contiguous() first"
        )
    others = [step for i, step in enumerate(strides) if i != axis]
    # Stores may write up to the next multiple of 16 bytes behind a row.
    if is_written:
        others.append(tensor.shape[axis])
    _check_described(label, tensor, *others)


def _check_described(label, tensor, *steps):
    """Refuses memory that no descriptor with these strides and rows can address."""
    if tensor.data_ptr() % 16:
        raise ValueError(f"{label} must start at a multiple of 16 bytes; call .clone()")
    for step in steps:
        if step * tensor.itemsize % 16:
            raise ValueError(
                f"{label} must have rows and strides of a multiple of 16 bytes, got "
                f"{step} elements of {tensor.itemsize} bytes; pad the rows"
            )


def _allocate(size: int, alignment: int, stream: int | None) -> torch.Tensor:
    """Allocates memory for the descriptors that a kernel creates while it runs."""
    return torch.empty(size, device="cuda", dtype=torch.int8)


def _gpu_property(device, name, interpreted):
    """A property of the GPU that a launch is for, or what stands for it."""
    if _INTERPRETED:
        return _INTERPRETED_GPU.get(name, interpreted)
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
