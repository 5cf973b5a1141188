"""The launch cache: a repeated call goes directly to its launch.

Triton takes long to find the binary for a call, and the checks of a wrapper take as
long again. The cache keeps the binary of each launch, and a plan for each kind of call
that a wrapper makes with one launch.
"""

import functools
import threading
import warnings

import torch
import triton
from torch.autograd import forward_ad

from .checks import _INTERPRETED

# Binaries and grids of earlier launches, and plans of earlier calls.
_LAUNCHES = {}
# The launches of a thread while one of its calls is recorded.
_RECORDING = threading.local()


def _launch(kernel, grid, tensors, numbers, /, *others, **options):
    """Launches kernel[grid](*tensors, *numbers, **options).

    It remembers the binary and the grid, and uses them again for equal calls. others
    distinguish calls in addition to the arguments: the device, the dtypes, and the
    sizes that set the grid but are not passed to the kernel.
    """
    if _INTERPRETED or torch.compiler.is_compiling() or not _is_direct():
        kernel[grid](*tensors, *numbers, **options)
        return
    key = id(kernel), *others, *_launch_key(tensors, numbers, options)
    found = _LAUNCHES.get(key)
    if found:
        binary, place, constants = found
        binary[place](*tensors, *numbers, *constants)
    else:
        found = _first_launch(kernel, grid, tensors, numbers, options)
        if len(_LAUNCHES) >= 4096:
            _LAUNCHES.clear()
        _LAUNCHES[key] = found
    launches = getattr(_RECORDING, "launches", None)
    if launches is not None:
        launches.append((kernel, tensors, numbers, *found))


@functools.cache
def _is_direct():
    """True if launches may skip Triton's own way to them.

    It looks up every private name that they then need. Where one is missing, or Triton
    is a version without tests, it warns, and Triton makes each launch.
    """
    if _INTERPRETED or not torch.version.cuda:
        return False
    try:
        version = triton.__version__
        if not (3, 6) <= tuple(map(int, version.split(".")[:2])) <= (3, 9):
            raise ImportError(f"it is tested with Triton 3.6 to 3.9, not {version}")
        from torch._C._dynamo.guards import TensorGuards

        needed = [
            (TensorGuards, "check"),
            (torch._C, "_cuda_getCurrentRawStream"),
            (torch._C, "_cuda_getDevice"),
            (torch._C, "_len_torch_dispatch_stack"),
            (torch._C, "_increment_version"),
            (forward_ad, "_current_level"),
            (triton.knobs.runtime, "launch_enter_hook"),
            (triton.knobs.runtime, "launch_exit_hook"),
            (triton.compiler.CompiledKernel, "__getitem__"),
        ]
        for owner, name in needed:
            getattr(owner, name)
        torch._C._increment_version(())
    except (AttributeError, ImportError, TypeError, ValueError) as error:
        text = f"{__name__} has no launch cache, so that calls take longer: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return False
    return True


def _first_launch(kernel, grid, tensors, numbers, options):
    """Launches by Triton; returns the binary, the grid and the kernel's constants."""
    chosen = {}

    def chosen_grid(meta):
        chosen.update(meta)
        return grid(meta) if callable(grid) else grid

    binary = kernel[chosen_grid](*tensors, *numbers, **options)
    constants = tuple(chosen.values())[len(tensors) + len(numbers) :]
    sizes = chosen_grid(chosen)
    return binary, (*sizes, 1, 1)[:3], constants


def _launch_key(tensors, numbers, options):
    """What Triton compiles for, given dtypes: equal keys are launches of one binary."""
    alignments = [x if x is None else x.data_ptr() % 16 for x in tensors]
    # Triton compiles for the value of an integer, but only for the type of a float.
    values = [float if type(number) is float else number for number in numbers]
    return *alignments, *values, *options.values()


def _is_special(wanted, kernel, is_only, device, needs_no_grad):
    """True if a call needs more than a launch, or another kernel's launch."""
    runtime = triton.knobs.runtime
    try:
        has_hooks = runtime.launch_enter_hook.calls or runtime.launch_exit_hook.calls
    except AttributeError:
        return True
    return (
        has_hooks
        or kernel is not wanted
        or not (is_only or torch._C._cuda_getDevice() == device)
        or torch._C._len_torch_dispatch_stack() > 0
        or forward_ad._current_level >= 0
        or torch.are_deterministic_algorithms_enabled()
        or (needs_no_grad and torch.is_grad_enabled())
    )


def _record_call(wrapper, key, given, /, *arguments, **outputs):
    """Calls the wrapper, and keeps a plan of its launch for later calls of the key.

    The first call of a key leaves only the key: a number may never come again. Nothing
    is kept without a key, nor for a call that a plan is kept for.
    """
    kept = _LAUNCHES.get(key)
    # While a graph is captured, a call may launch another kernel than later.
    if torch.cuda.is_current_stream_capturing():
        return wrapper(*arguments, **outputs)
    if kept is None and key is not None:
        if len(_LAUNCHES) >= 4096:
            _LAUNCHES.clear()
        _LAUNCHES[key] = ()
    if kept is None or len(kept) == 8 or any(check(*given) for check, *_ in kept):
        return wrapper(*arguments, **outputs)
    launches = _RECORDING.launches = []
    try:
        results = wrapper(*arguments, **outputs)
    finally:
        _RECORDING.launches = None
    if len(launches) == 1:
        _LAUNCHES[key] = (*kept, *_plans(given, results, *launches[0]))
    return results


def _plans(given, results, kernel, tensors, numbers, binary, grid, constants):
    """What later calls need to launch the same: one plan, or none.

    A plan without a kernel says that the form of Triton's launcher is not known, so
    that this launch is never made directly.
    """
    if any(x.data_ptr() % 16 for x in tensors):
        return
    if any(type(x) not in (torch.Tensor, torch.nn.Parameter) for x in given):
        return
    try:
        check = _guard(given)
    except (RuntimeError, TypeError):
        return
    if not check(*given):
        return
    index = given[0].device.index
    is_only = torch.cuda.device_count() == 1
    try:
        launch = _launcher(binary, grid, len(tensors), (*numbers, *constants), index)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        launch = None
    needs_no_grad = any(x.requires_grad for x in given)
    state = (kernel if launch else None, is_only, index, needs_no_grad)
    sizes = [_end(x) - x.data_ptr() for x in tensors]
    made = results if isinstance(results, tuple) else (results,)
    empty = [
        x
        if x is None
        else functools.partial(
            torch.empty_strided, x.shape, x.stride(), dtype=x.dtype, device=x.device
        )
        for x in made
    ]
    yield check, state, sizes, empty, launch


def _end(x):
    """The address of the byte after the last of x."""
    if x.is_contiguous():
        return x.data_ptr() + x.nbytes
    last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape))
    return x.data_ptr() + (last + 1) * x.element_size()


def _guard(tensors):
    """A function that tells if others differ from these in address and values alone.

    It compares what torch.compile guards a graph's inputs by: type, dtype, device,
    sizes, strides, requires_grad, and all by which PyTorch chooses an implementation.
    """
    from torch._C._dynamo.guards import TensorGuards

    guards = TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
    return guards.check


def _launcher(binary, grid, count, numbers, device):
    """A function of addresses that makes the launch, or None if there can be none.

    It calls the function in C that Triton's launcher calls, with the same arguments. A
    copy of the launcher shows them, so no version's order is assumed. Hooks are left
    out: a call with hooks does not come here.
    """
    shown, calls = object.__new__(type(binary.run)), []
    for name, value in vars(binary.run).items():
        if name.endswith(("scratch_size", "_enabled")) and value:
            return None
        setattr(shown, name, value)
    launch, shown.launch = shown.launch, lambda *given: calls.append(given)
    if not isinstance(launch, type(len)):
        return None
    stream, *silent = marks = [object() for _ in range(4)]
    arguments = [*(object() for _ in range(count)), *numbers]
    shown(*grid, stream, binary.function, binary.packed_metadata, *silent, *arguments)
    (given,) = calls
    is_packed = isinstance(given[-1], tuple) and len(given[-1]) == len(arguments)
    fixed = given[:-1] if is_packed else given[: -len(arguments)]
    last = given[-1] if is_packed else given[len(fixed) :]
    is_known = all(x is y for x, y in zip(last, arguments))
    if not is_known or sum(any(x is mark for mark in marks) for x in fixed) != 4:
        return None
    place = next(i for i, x in enumerate(fixed) if x is stream)
    fixed = [None if any(x is mark for mark in silent) else x for x in fixed]
    before, after = fixed[:place], fixed[place + 1 :]

    def call(*addresses):
        stream = torch._C._cuda_getCurrentRawStream(device)
        if is_packed:
            launch(*before, stream, *after, (*addresses, *numbers))
        else:
            launch(*before, stream, *after, *addresses, *numbers)

    # The binary must stay loaded.
    call.binary = binary
    return call
