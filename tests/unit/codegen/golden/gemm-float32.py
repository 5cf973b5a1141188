"""C = A @ B.T in float32: products in TF32, or in three of them with EXACT.

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


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=4,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=4,
            num_stages=3,
        ),
    ],
    key=["M", "N", "K", "EXACT"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def gemm_float32_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    K,
    N,
    stride_am,
    stride_ak,
    stride_bn,
    stride_bk,
    stride_cm,
    stride_cn,
    EXACT: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Grouped order: neighboring programs share rows of A in L2.
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(
        pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, GROUP_M
    )

    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows wrap instead of being masked inside the loop; the store masks what is left
    # over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    # K's tail is masked and holds 0.
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (am[:, None] * stride_am + rk[None, :] * stride_ak)
    b_ptrs = b_ptr + (bn[:, None] * stride_bn + rk[None, :] * stride_bk)
    for k in range(0, K, BLOCK_K):
        mask = rk[None, :] < K - k
        x = tl.load(a_ptrs, mask=mask, other=0.0)
        y = tl.trans(tl.load(b_ptrs, mask=mask, other=0.0))
        if EXACT:
            acc = tl.dot(x, y, acc, input_precision="tf32x3")
        else:
            acc = tl.dot(x, y, acc, input_precision="tf32")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    tl.store(
        c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
        acc,
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


def gemm_float32(
    a: torch.Tensor,
    b: torch.Tensor,
    EXACT: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = A @ B.T in float32: products in TF32, or in three of them with EXACT.

    Args:
        a: [M, K] float32.
        b: [N, K] float32.
        EXACT: a bool that the kernel is compiled for.
        out: where to write [M, N] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_type("gemm_float32: EXACT", EXACT, bool)
    _check_tensor("gemm_float32: a", a)
    _check_tensor("gemm_float32: b", b)
    if a.ndim != 2:
        raise ValueError(f"gemm_float32: a must have shape [M, K], got {list(a.shape)}")
    M, K = a.shape
    if a.dtype != torch.float32:
        raise TypeError(f"gemm_float32: a must be torch.float32, got {a.dtype}")
    if b.ndim != 2 or b.shape[1] != K:
        raise ValueError(
            f"gemm_float32: b must have shape [N, K={K}], got {list(b.shape)}"
        )
    N = b.shape[0]
    if b.dtype != torch.float32:
        raise TypeError(f"gemm_float32: b must be torch.float32, got {b.dtype}")
    if _records_gradient("gemm_float32", a, b, out):
        return _without_gradient(gemm_float32, (a, b, EXACT), given=(out,))
    device = a.device
    if b.device != device:
        raise ValueError(f"gemm_float32: b must be on {device} as a is, got {b.device}")
    if a.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return gemm_float32(a, b, EXACT, out=out)
    elif not (a.is_cpu and _INTERPRETED):
        raise ValueError(
            f"gemm_float32: a must be on a GPU, got {device}; the CPU "
            "needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        c = a.new_empty((M, N))
    else:
        c = _check_out(
            "gemm_float32: out", out, (M, N), torch.float32, device, {"a": a, "b": b}
        )
    if M * N == 0:
        return c

    stride_am, stride_ak = a.stride()
    stride_bn, stride_bk = b.stride()
    stride_cm, stride_cn = c.stride()
    if (M - 1) * stride_am + (K - 1) * stride_ak >= _INT32_REACH:
        raise _beyond_int32("gemm_float32: a")
    if (N - 1) * stride_bn + (K - 1) * stride_bk >= _INT32_REACH:
        raise _beyond_int32("gemm_float32: b")
    if (M - 1) * stride_cm + (N - 1) * stride_cn >= _INT32_REACH:
        raise _beyond_int32("gemm_float32: out")
    _check_gpu(
        device,
        80,
        [],
        "gemm_float32 is for sm_80 and later: Triton divides a "
        "product into three of TF32 for NVIDIA's GPUs only",
    )

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        gemm_float32_kernel,
        grid,
        (a, b, c),
        (M, K, N, stride_am, stride_ak, stride_bn, stride_bk, stride_cm, stride_cn),
        device,
        EXACT=EXACT,
    )
    return c


def reference_fn(a: torch.Tensor, b: torch.Tensor, EXACT: bool = False):
    """What gemm_float32 computes, in PyTorch."""
    return torch.matmul(a, b.mT)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 100, "K": 333, "N": 77},
]


def get_inputs(M=512, K=512, N=512):
    """Fresh arguments for gemm_float32, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float32),
        torch.randn((N, K), device=device, dtype=torch.float32),
        False,
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


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are no integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


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
_checked, _plain_launch = (gemm_float32, _launch)


@functools.wraps(_checked)
def _repeated(a, b, EXACT=False, *, out=None):
    """gemm_float32, at the cost of its launch where an earlier call was alike.

    Calls are alike if all that the checks and the launch depend on is equal but
    the addresses. Of these, the alignment is checked here, and that nothing
    overlaps what is written. Any other call goes through the checks.
    """
    if torch.compiler.is_dynamo_compiling():
        return _checked(a, b, EXACT, out=out)
    try:
        key = (
            a.shape,
            b.shape,
            EXACT.__class__,
            EXACT,
            None if out is None else out.is_nested,
        )
        found = _LAUNCHES.get(key, ())
    except (AttributeError, RuntimeError, TypeError):
        # An argument is no tensor, or no number: the checks say so.
        key, found = (None, ())
    given = (a, b) if out is None else (a, b, out)
    for check, state, sizes, empty, launch in found:
        if check(*given) and not _is_special(gemm_float32_kernel, *state):
            c = empty[0]() if out is None else out
            a_at, b_at, c_at = (a.data_ptr(), b.data_ptr(), c.data_ptr())
            if (
                (a_at | b_at | c_at) % 16 == 0
                and not -sizes[2] < c_at - a_at < sizes[0]
                and not -sizes[2] < c_at - b_at < sizes[1]
            ):
                if out is not None:
                    torch._C._increment_version((c,))
                launch(a_at, b_at, c_at)
                return c
    return _keep(key, given, a, b, EXACT, out=out)


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
    gemm_float32, _launch = (_repeated, _told_launch)
kernel_fn = gemm_float32
