"""x + y, element by element, in a launch that overlaps with the one before it.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import functools
import threading

import torch
import triton
import triton.language as tl

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# Binaries and grids of earlier launches.
_LAUNCHES = {}


@triton.jit
def dependent_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # Other GPUs start a kernel when the one before it has ended: there is nothing to
    # wait for.
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.extra.cuda.gdc_wait()
    mask = offsets < N
    first = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    second = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    # The next kernel may start, too: it waits in turn until this one has written.
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.extra.cuda.gdc_launch_dependents()
    tl.store(z_ptr + offsets, first + second, mask=mask)


def dependent_add(
    x: torch.Tensor, y: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """x + y, element by element, in a launch that overlaps with the one before it.

    Args:
        x: [N] float32, contiguous.
        y: [N] float32, contiguous.
        out: where to write [N] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("dependent_add: x", x)
    _check_tensor("dependent_add: y", y)
    if x.ndim != 1:
        raise ValueError(f"dependent_add: x must have shape [N], got {list(x.shape)}")
    N = x.shape[0]
    if not x.is_contiguous():
        raise ValueError(
            "dependent_add: x must be contiguous, got strides "
            f"{x.stride()}; call .contiguous() first"
        )
    if x.dtype != torch.float32:
        raise TypeError(f"dependent_add: x must be torch.float32, got {x.dtype}")
    if y.shape != (N,):
        raise ValueError(
            f"dependent_add: y must have shape [N={N}], got {list(y.shape)}"
        )
    if not y.is_contiguous():
        raise ValueError(
            "dependent_add: y must be contiguous, got strides "
            f"{y.stride()}; call .contiguous() first"
        )
    if y.dtype != torch.float32:
        raise TypeError(f"dependent_add: y must be torch.float32, got {y.dtype}")
    if _records_gradient("dependent_add", x, y, out):
        return _without_gradient(dependent_add, (x, y), given=(out,))
    device = x.device
    if y.device != device:
        raise ValueError(
            f"dependent_add: y must be on {device} as x is, got {y.device}"
        )
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return dependent_add(x, y, out=out)
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"dependent_add: x must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        z = torch.empty_like(x)
    else:
        z = _check_out(
            "dependent_add: out", out, (N,), torch.float32, device, {"x": x, "y": y}
        )
        if not z.is_contiguous():
            raise ValueError(
                "dependent_add: out must be contiguous, got strides "
                f"{z.stride()}; call .contiguous() first"
            )
    if N == 0:
        return z

    if N >= _INT32_REACH:
        raise _beyond_int32("dependent_add: x")
    _check_gpu(
        device,
        80,
        [],
        "dependent_add is for sm_80 and later: Triton has dependent "
        "launches for NVIDIA's GPUs only",
    )

    def grid(meta):
        return (triton.cdiv(N, meta["BLOCK"]),)

    _launch(
        dependent_add_kernel, grid, (x, y, z), (N,), device, BLOCK=1024, launch_pdl=True
    )
    return z


def reference_fn(x: torch.Tensor, y: torch.Tensor):
    """What dependent_add computes, in PyTorch."""
    return x.add(y)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"N": 100000}, {"N": 67108864}]


def get_inputs(N=100000):
    """Fresh arguments for dependent_add, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((N,), device=device, dtype=torch.float32),
        torch.randn((N,), device=device, dtype=torch.float32),
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


def _check_gpu(device, cuda, hip, wanted):
    """Refuses a GPU that the kernel is not for."""
    # Without a GPU, PyTorch only traces.
    if _INTERPRETED or not torch.cuda.is_available():
        return
    if torch.version.hip is None:
        major, minor = torch.cuda.get_device_capability(device)
        found = f"sm_{major}{minor}"
        is_wanted = cuda is not None and 10 * major + minor >= cuda
    else:
        found = torch.cuda.get_device_properties(device).gcnArchName.split(":")[0]
        is_wanted = found in hip
    if not is_wanted:
        raise RuntimeError(f"{wanted}; this GPU is {found}")


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


class _Told(threading.local):
    """The launches of a thread, while it asks for them."""

    launches = None


# Repeated calls: the rest of the module makes them cost what their launch costs.
_TOLD = _Told()
_checked, _plain_launch = (dependent_add, _launch)


@functools.wraps(_checked)
def _repeated(x, y, *, out=None):
    """dependent_add, at the cost of its launch where an earlier call was alike.

    Calls are alike if all that the checks and the launch depend on is equal but
    the addresses. Of these, the alignment is checked here, and that nothing
    overlaps what is written. Any other call goes through the checks.
    """
    if torch.compiler.is_dynamo_compiling():
        return _checked(x, y, out=out)
    try:
        key = (x.shape, y.is_nested, None if out is None else out.is_nested)
        found = _LAUNCHES.get(key, ())
    except (AttributeError, RuntimeError, TypeError):
        # An argument is no tensor, or no number: the checks say so.
        key, found = (None, ())
    given = (x, y) if out is None else (x, y, out)
    for check, state, sizes, empty, launch in found:
        if check(*given) and not _is_special(dependent_add_kernel, *state):
            z = empty[0]() if out is None else out
            x_at, y_at, z_at = (x.data_ptr(), y.data_ptr(), z.data_ptr())
            if (
                (x_at | y_at | z_at) % 16 == 0
                and not -sizes[2] < z_at - x_at < sizes[0]
                and not -sizes[2] < z_at - y_at < sizes[1]
            ):
                if out is not None:
                    torch._C._increment_version((z,))
                launch(x_at, y_at, z_at)
                return z
    return _keep(key, given, x, y, out=out)


def _is_special(wanted, kernel, is_only, device, needs_no_grad):
    """Whether a call asks for more than a launch, or for another kernel's."""
    runtime = triton.knobs.runtime
    try:
        is_heard = runtime.launch_enter_hook.calls or runtime.launch_exit_hook.calls
    except AttributeError:
        return True
    return (
        is_heard
        or kernel is not wanted
        or not (is_only or torch._C._cuda_getDevice() == device)
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.autograd.forward_ad._current_level >= 0
        or (needs_no_grad and torch.is_grad_enabled())
    )


def _keep(key, given, /, *arguments, **outputs):
    """Calls the wrapper, and keeps what it launches for later calls of the key.

    Nothing is kept without a key, nor for a call that a plan is kept for.

    The first call of a key leaves only the key: a number may never come again. A
    wrapper that calls itself, for a gradient or for another GPU, tells no launch.
    """
    kept = _LAUNCHES.get(key)
    if kept is None and key is not None:
        if len(_LAUNCHES) >= 4096:
            _LAUNCHES.clear()
        _LAUNCHES[key] = ()
    if kept is None or len(kept) == 8 or any(check(*given) for check, *_ in kept):
        return _checked(*arguments, **outputs)
    told = _TOLD.launches = []
    try:
        results = _checked(*arguments, **outputs)
    finally:
        _TOLD.launches = None
    if len(told) == 1:
        _LAUNCHES[key] = (*kept, *_plans(given, results, *told[0]))
    return results


def _told_launch(kernel, grid, tensors, numbers, /, *others, **options):
    """What _launch does; a launch is told to who asks."""
    found = _plain_launch(kernel, grid, tensors, numbers, *others, **options)
    if found and _TOLD.launches is not None:
        _TOLD.launches.append((kernel, tensors, numbers, *found))


def _plans(given, results, kernel, tensors, numbers, binary, grid, constants):
    """What later calls need to launch the same: one plan, or none.

    A plan without a kernel says that Triton's launcher is not of a known form, so
    that the launch is never made this way.
    """
    if any(x.data_ptr() % 16 for x in tensors):
        return
    if any(type(x) not in (torch.Tensor, torch.nn.Parameter) for x in given):
        return
    try:
        torch._C._increment_version(())
        check = _guard(given)
    except (AttributeError, ImportError, RuntimeError, TypeError):
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


def _guard(tensors):
    """A function that says whether others differ from these in address and values
    alone.

    It compares what torch.compile guards a graph's inputs by: type, dtype,
    device, sizes, strides, requires_grad, and all by which PyTorch chooses an
    implementation.
    """
    from torch._C._dynamo.guards import TensorGuards

    guards = TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
    return guards.check


def _launcher(binary, grid, count, numbers, device):
    """A function of addresses that makes the launch, or None if there can be none.

    It calls the function in C that Triton's launcher calls, with the same
    arguments, which a copy of the launcher shows. Hooks are left out: there is
    none to hear of it.
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

    call.binary = binary
    return call


if (
    torch.version.cuda
    and not _INTERPRETED
    and triton.__version__.startswith(("3.6.", "3.7.", "3.8.", "3.9."))
):
    dependent_add, _launch = (_repeated, _told_launch)
kernel_fn = dependent_add
