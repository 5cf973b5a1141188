"""The loss of each row times scale, and the gradient of their sum, reading logits
from memory once.

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
# The GPU that Triton's interpreter stands for: an NVIDIA H200.
_INTERPRETED_GPU = {
    "multi_processor_count": 132,
    "shared_memory_per_block_optin": 232448,
    "warp_size": 32,
    "major": 9,
    "minor": 0,
}
# Binaries and grids of earlier launches.
_LAUNCHES = {}


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


@triton.autotune(
    configs=[
        triton.Config(
            {"KEPT": 32768, "LANES": 512, "ROUNDS": 4, "RESIDENT": 1}, num_warps=16
        ),
        triton.Config(
            {"KEPT": 32768, "LANES": 1024, "ROUNDS": 1, "RESIDENT": 1}, num_warps=32
        ),
        triton.Config(
            {"KEPT": 16384, "LANES": 1024, "ROUNDS": 2, "RESIDENT": 1}, num_warps=32
        ),
        triton.Config(
            {"KEPT": 32768, "LANES": 512, "ROUNDS": 2, "RESIDENT": 2}, num_warps=16
        ),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def cross_entropy_with_gradient_kernel(
    logits_ptr,
    labels_ptr,
    loss_ptr,
    dlogits_ptr,
    scale: tl.float32,
    M,
    N,
    stride_logits_m,
    stride_logits_n,
    stride_labels_m,
    stride_loss_m,
    stride_dlogits_m,
    stride_dlogits_n,
    KEPT: tl.constexpr,
    LANES: tl.constexpr,
    ROUNDS: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    step: tl.constexpr = ROUNDS * LANES * 8
    for m in range(tl.program_id(0), M, tl.num_programs(0)):
        offsets = tl.arange(0, KEPT)
        logits_base = logits_ptr + tl.cast(m, tl.int64) * stride_logits_m
        kept = tl.load(
            logits_base + offsets.to(tl.int64) * stride_logits_n,
            mask=offsets < N,
            other=float("-inf"),
            eviction_policy="evict_first",
        )
        first = (
            tl.reshape(kept.to(tl.float32), [KEPT // (LANES * 8), LANES, 8])
            * 1.4426950408889634
        )
        # Each lane has a maximum and a sum of its own, so that no lane waits for
        # another inside the loop.
        best = tl.max(tl.max(first, axis=2), axis=0)
        # A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
        first_shift = tl.where(best == float("-inf"), 0.0, best)
        total = tl.sum(
            tl.sum(tl.exp2(first - first_shift[None, :, None]), axis=2), axis=0
        )
        for start in range(KEPT, N, step):
            offsets_1 = start + tl.arange(0, step)
            loaded = tl.load(
                logits_base + offsets_1.to(tl.int64) * stride_logits_n,
                mask=offsets_1 < N,
                other=float("-inf"),
                eviction_policy="evict_last",
            )
            values = (
                tl.reshape(loaded.to(tl.float32), [ROUNDS, LANES, 8])
                * 1.4426950408889634
            )
            new_best = tl.maximum(best, tl.max(tl.max(values, axis=2), axis=0))
            shift = tl.where(new_best == float("-inf"), 0.0, new_best)
            powers = tl.exp2(values - shift[None, :, None])
            total = total * tl.exp2(best - shift) + tl.sum(
                tl.sum(powers, axis=2), axis=0
            )
            best = new_best
        top = tl.max(best, axis=0)
        shift = tl.where(top == float("-inf"), 0.0, top)
        sum_ = tl.sum(total * tl.exp2(best - shift), axis=0)
        log2_sum = tl.log2(sum_)
        label = tl.load(labels_ptr + m * stride_labels_m).to(tl.int32)
        tl.store(
            loss_ptr + m * stride_loss_m,
            (
                log2_sum
                + (
                    shift
                    - tl.minimum(
                        tl.load(
                            logits_base + label.to(tl.int64) * stride_logits_n,
                            mask=(label >= 0) & (label < N),
                            other=0.0,
                        ).to(tl.float32)
                        * 1.4426950408889634,
                        shift,
                    )
                )
            )
            * 0.6931471805599453
            * scale,
        )

        log2_sum_1 = shift + log2_sum
        first_cols = tl.arange(0, KEPT)
        p0 = tl.exp2(kept.to(tl.float32) * 1.4426950408889634 - log2_sum_1)
        dlogits_base = dlogits_ptr + tl.cast(m, tl.int64) * stride_dlogits_m
        tl.store(
            dlogits_base + first_cols.to(tl.int64) * stride_dlogits_n,
            (tl.where(first_cols == label, p0 - 1.0, p0) * scale).to(
                dlogits_ptr.dtype.element_ty
            ),
            mask=first_cols < N,
            eviction_policy="evict_first",
        )
        # Backwards: the end of the row was read last, and is the likeliest to lie in
        # the cache still.
        steps = tl.cdiv(tl.maximum(N - KEPT, 0), step)
        for i in range(steps):
            cols = KEPT + (steps - 1 - i) * step + tl.arange(0, step)
            mask = cols < N
            logit = tl.load(
                logits_base + cols.to(tl.int64) * stride_logits_n,
                mask=mask,
                other=0.0,
                eviction_policy="evict_first",
            ).to(tl.float32)
            p = tl.exp2(logit * 1.4426950408889634 - log2_sum_1)
            tl.store(
                dlogits_base + cols.to(tl.int64) * stride_dlogits_n,
                (tl.where(cols == label, p - 1.0, p) * scale).to(
                    dlogits_ptr.dtype.element_ty
                ),
                mask=mask,
                eviction_policy="evict_first",
            )


def cross_entropy_with_gradient(
    logits: torch.Tensor,
    labels: torch.Tensor,
    scale: float = 1.0,
    *,
    loss: torch.Tensor | None = None,
    dlogits: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of each row times scale, and the gradient of their sum, reading
    logits from memory once.

    Args:
        logits: [M, N] float16 or bfloat16 or float32.
        labels: [M] int64 in [0, N).
        scale: a number, passed as float32.
        loss: where to write [M] float32; allocated if None.
        dlogits: where to write [M, N] float16 or bfloat16 or float32; allocated
            if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_float("cross_entropy_with_gradient: scale", scale, torch.float32)
    _check_tensor("cross_entropy_with_gradient: logits", logits)
    _check_tensor("cross_entropy_with_gradient: labels", labels)
    if logits.ndim != 2:
        raise ValueError(
            "cross_entropy_with_gradient: logits must have shape [M, N], "
            f"got {list(logits.shape)}"
        )
    M, N = logits.shape
    if logits.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "cross_entropy_with_gradient: logits must be torch.float16 "
            f"or torch.bfloat16 or torch.float32, got {logits.dtype}"
        )
    if labels.shape != (M,):
        raise ValueError(
            f"cross_entropy_with_gradient: labels must have shape [M={M}], "
            f"got {list(labels.shape)}"
        )
    if labels.dtype != torch.int64:
        raise TypeError(
            "cross_entropy_with_gradient: labels must be torch.int64, "
            f"got {labels.dtype}"
        )
    if _records_gradient("cross_entropy_with_gradient", logits, loss, dlogits):
        return _without_gradient(
            cross_entropy_with_gradient, (logits, labels, scale), given=(loss, dlogits)
        )
    device = logits.device
    if labels.device != device:
        raise ValueError(
            f"cross_entropy_with_gradient: labels must be on {device} "
            f"as logits is, got {labels.device}"
        )
    if logits.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return cross_entropy_with_gradient(
                    logits, labels, scale, loss=loss, dlogits=dlogits
                )
    elif not (logits.is_cpu and _INTERPRETED):
        raise ValueError(
            "cross_entropy_with_gradient: logits must be on a GPU, got "
            f"{device}; the CPU needs TRITON_INTERPRET=1, set before "
            "triton is imported"
        )

    if loss is None:
        loss = logits.new_empty((M,), dtype=torch.float32)
    else:
        _check_out(
            "cross_entropy_with_gradient: loss",
            loss,
            (M,),
            torch.float32,
            device,
            {"logits": logits, "labels": labels},
        )
    if dlogits is None:
        dlogits = logits.new_empty((M, N))
    else:
        _check_out(
            "cross_entropy_with_gradient: dlogits",
            dlogits,
            (M, N),
            logits.dtype,
            device,
            {"logits": logits, "labels": labels, "loss": loss},
        )
    if M == 0:
        return loss, dlogits

    stride_logits_m, stride_logits_n = logits.stride()
    stride_labels_m = labels.stride(0)
    stride_loss_m = loss.stride(0)
    stride_dlogits_m, stride_dlogits_n = dlogits.stride()
    if (M - 1) * stride_labels_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_with_gradient: labels")
    if (M - 1) * stride_loss_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_with_gradient: loss")
    if N >= _INT32_REACH:
        raise _uncountable("cross_entropy_with_gradient", N=N)
    multi_processor_count = _gpu_property(device, "multi_processor_count")
    if _INTERPRETED:
        _check_bfloat16("cross_entropy_with_gradient", logits.dtype)

    def grid(meta):
        return (
            triton.cdiv(
                M, max(triton.cdiv(M, multi_processor_count * meta["RESIDENT"]), 1)
            ),
        )

    _launch(
        cross_entropy_with_gradient_kernel,
        grid,
        (logits, labels, loss, dlogits),
        (
            scale,
            M,
            N,
            stride_logits_m,
            stride_logits_n,
            stride_labels_m,
            stride_loss_m,
            stride_dlogits_m,
            stride_dlogits_n,
        ),
        device,
        logits.dtype,
    )
    return loss, dlogits


def reference_fn(logits: torch.Tensor, labels: torch.Tensor, scale: float = 1.0):
    """What cross_entropy_with_gradient computes, in PyTorch."""
    N = logits.shape[1]
    x = logits.float()
    loss = torch.nn.functional.cross_entropy(x, labels, reduction="none")
    change = torch.softmax(x, -1).sub(torch.nn.functional.one_hot(labels, N))
    return loss.mul(scale), change.mul(scale).to(logits.dtype)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 64, "N": 1000}, {"M": 2, "N": 40001}, {"M": 4096, "N": 128256}]


def get_inputs(M=64, N=1000):
    """Fresh arguments for cross_entropy_with_gradient, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randint(0, N, (M,), device=device, dtype=torch.int64),
        1.0,
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
    numbers = [float if type(number) is float else number for number in numbers]
    return *places, *numbers, *options.values()


def _gpu_property(device, name):
    """What torch.cuda.get_device_properties says of the GPU that a launch is for."""
    if _INTERPRETED:
        return _INTERPRETED_GPU[name]
    return getattr(torch.cuda.get_device_properties(device), name)


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


def _check_float(label, value, dtype):
    """Refuses what is no number, and what its dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    is_large = 65504 < abs(value) < float("inf")
    if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
        raise ValueError(f"{label} must fit {dtype}, got {value}")


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


def _uncountable(label, **sizes):
    """The error for a size that the kernel does not count up to."""
    name = max(sizes, key=sizes.get)
    return ValueError(
        f"{label}: {name} is {sizes[name]}, and the kernel "
        "counts up to it in int32; compute the indices in tl.int64: "
        "tl.programId(0).to(tl.int64), and sizes likewise"
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
_checked, _plain_launch = (cross_entropy_with_gradient, _launch)


@functools.wraps(_checked)
def _repeated(logits, labels, scale=1.0, *, loss=None, dlogits=None):
    """cross_entropy_with_gradient, at the cost of its launch where an earlier call
    was alike.

    Calls are alike if all that the checks and the launch depend on is equal but
    the addresses. Of these, the alignment is checked here, and that nothing
    overlaps what is written. Any other call goes through the checks.
    """
    if torch.compiler.is_dynamo_compiling():
        return _checked(logits, labels, scale, loss=loss, dlogits=dlogits)
    try:
        key = (
            logits.shape,
            labels.is_nested,
            scale.__class__,
            f"{scale!r}",
            None if loss is None else loss.is_nested,
            None if dlogits is None else dlogits.is_nested,
        )
        found = _LAUNCHES.get(key, ())
    except (AttributeError, RuntimeError, TypeError):
        # An argument is no tensor, or no number: the checks say so.
        key, found = (None, ())
    given = (logits, labels, *filter(torch.is_tensor, (loss, dlogits)))
    for check, state, sizes, empty, launch in found:
        if check(*given) and not _is_special(
            cross_entropy_with_gradient_kernel, *state
        ):
            loss_1 = empty[0]() if loss is None else loss
            dlogits_1 = empty[1]() if dlogits is None else dlogits
            logits_at, labels_at, loss_at, dlogits_at = (
                logits.data_ptr(),
                labels.data_ptr(),
                loss_1.data_ptr(),
                dlogits_1.data_ptr(),
            )
            if (
                (logits_at | labels_at | loss_at | dlogits_at) % 16 == 0
                and not -sizes[2] < loss_at - logits_at < sizes[0]
                and not -sizes[2] < loss_at - labels_at < sizes[1]
                and not -sizes[3] < dlogits_at - logits_at < sizes[0]
                and not -sizes[3] < dlogits_at - labels_at < sizes[1]
                and not -sizes[3] < dlogits_at - loss_at < sizes[2]
            ):
                if loss is not None:
                    torch._C._increment_version((loss_1,))
                if dlogits is not None:
                    torch._C._increment_version((dlogits_1,))
                launch(logits_at, labels_at, loss_at, dlogits_at)
                return loss_1, dlogits_1
    return _keep(key, given, logits, labels, scale, loss=loss, dlogits=dlogits)


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
    cross_entropy_with_gradient, _launch = (_repeated, _told_launch)
kernel_fn = cross_entropy_with_gradient
