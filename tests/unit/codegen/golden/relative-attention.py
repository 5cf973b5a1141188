"""softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

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


def _maxnreg(most):
    """The most registers that a thread may use: AMD's compiler takes no such option."""
    return {} if torch.version.hip else {"maxnreg": most}


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 32}, num_warps=4, num_stages=3, **_maxnreg(168)
        ),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_warps=8, num_stages=2),
    ],
    key=["S", "HEAD_DIM"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def relative_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    o_ptr,
    S,
    DISTANCES,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1)
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD_DIM)
    # Rows past the end, which are not stored, take the biases of the last one.
    last_distance = tl.minimum(rm, S - 1) + S - 1
    mask_s = rm[:, None] < S
    queries = tl.load(
        q_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        mask=mask_s,
        other=0.0,
    )
    scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    best = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)

    offsets = tl.arange(0, BLOCK_N)
    whole = (S // BLOCK_N) * BLOCK_N
    k_ptrs = k_ptr + (head * (S * HEAD_DIM) + offsets[None, :] * HEAD_DIM + rd[:, None])
    bias_base = bias_ptr + head * DISTANCES
    v_ptrs = v_ptr + (head * (S * HEAD_DIM) + offsets[:, None] * HEAD_DIM + rd[None, :])
    for start in range(0, whole, BLOCK_N):
        products = tl.dot(queries, tl.load(k_ptrs))
        # From each row to the first key, less how far a key lies behind it.
        distances = tl.load(
            bias_base + (last_distance - start)[:, None] - offsets[None, :]
        )
        biased = products * scale + distances.to(tl.float32)
        new_best = tl.maximum(best, tl.max(biased, axis=1) * 1.4426950408889634)
        weights = tl.exp2(biased * 1.4426950408889634 - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        acc = tl.dot(
            weights.to(o_ptr.dtype.element_ty), tl.load(v_ptrs), acc * alpha[:, None]
        )
        best = new_best
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
    k_ptrs_1 = (
        k_ptr
        + head * (S * HEAD_DIM)
        + ((whole + offsets)[None, :] * HEAD_DIM + rd[:, None])
    )
    v_ptrs_1 = (
        v_ptr
        + head * (S * HEAD_DIM)
        + ((whole + offsets)[:, None] * HEAD_DIM + rd[None, :])
    )
    for start in range(whole, S, BLOCK_N):
        columns = start + offsets
        products = tl.dot(
            queries, tl.load(k_ptrs_1, mask=offsets[None, :] < S - start, other=0.0)
        )
        offsets_1 = (last_distance - start)[:, None]
        distance = offsets_1 - offsets[None, :]
        distances = tl.load(
            bias_base + offsets_1 - offsets[None, :],
            mask=(distance >= 0) & (distance < DISTANCES),
            other=0.0,
        )
        biased = products * scale + distances.to(tl.float32)
        scores = tl.where(columns[None, :] < S, biased, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, axis=1) * 1.4426950408889634)
        weights = tl.exp2(scores * 1.4426950408889634 - new_best[:, None])
        alpha = tl.exp2(best - new_best)
        total = total * alpha + tl.sum(weights, axis=1)
        acc = tl.dot(
            weights.to(o_ptr.dtype.element_ty),
            tl.load(v_ptrs_1, mask=offsets[:, None] < S - start, other=0.0),
            acc * alpha[:, None],
        )
        best = new_best
        k_ptrs_1 += BLOCK_N * HEAD_DIM
        v_ptrs_1 += BLOCK_N * HEAD_DIM
    tl.store(
        o_ptr + head * (S * HEAD_DIM) + (rm[:, None] * HEAD_DIM + rd[None, :]),
        (acc / total[:, None]).to(o_ptr.dtype.element_ty),
        mask=mask_s,
    )


def relative_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

    Args:
        q: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        k: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        bias: [H, DISTANCES] float16 or bfloat16, contiguous.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("relative_attention: q", q)
    _check_tensor("relative_attention: k", k)
    _check_tensor("relative_attention: v", v)
    _check_tensor("relative_attention: bias", bias)
    if q.ndim != 3:
        raise ValueError(
            "relative_attention: q must have shape [H, S, HEAD_DIM], got "
            f"{list(q.shape)}"
        )
    H, S, HEAD_DIM = q.shape
    if not q.is_contiguous():
        raise ValueError(
            "relative_attention: q must be contiguous, got strides "
            f"{q.stride()}; call .contiguous() first"
        )
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            "relative_attention: q must be torch.float16 or "
            f"torch.bfloat16, got {q.dtype}"
        )
    if k.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"relative_attention: k must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(k.shape)}"
        )
    if not k.is_contiguous():
        raise ValueError(
            "relative_attention: k must be contiguous, got strides "
            f"{k.stride()}; call .contiguous() first"
        )
    if k.dtype != q.dtype:
        raise TypeError(
            f"relative_attention: k must be {q.dtype} as q is, got {k.dtype}"
        )
    if v.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"relative_attention: v must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {list(v.shape)}"
        )
    if not v.is_contiguous():
        raise ValueError(
            "relative_attention: v must be contiguous, got strides "
            f"{v.stride()}; call .contiguous() first"
        )
    if v.dtype != q.dtype:
        raise TypeError(
            f"relative_attention: v must be {q.dtype} as q is, got {v.dtype}"
        )
    if bias.ndim != 2 or bias.shape[0] != H:
        raise ValueError(
            f"relative_attention: bias must have shape [H={H}, "
            f"DISTANCES], got {list(bias.shape)}"
        )
    if not bias.is_contiguous():
        raise ValueError(
            "relative_attention: bias must be contiguous, got strides "
            f"{bias.stride()}; call .contiguous() first"
        )
    if bias.dtype != q.dtype:
        raise TypeError(
            f"relative_attention: bias must be {q.dtype} as q is, got {bias.dtype}"
        )
    DISTANCES = S * 2 - 1
    if bias.shape[1] != DISTANCES:
        raise ValueError(
            f"relative_attention: bias must have shape [H={H}, "
            f"DISTANCES={DISTANCES}], got {list(bias.shape)}"
        )
    if _records_gradient("relative_attention", q, k, v, bias, out):
        return _without_gradient(relative_attention, (q, k, v, bias), given=(out,))
    device = q.device
    if k.device != device:
        raise ValueError(
            f"relative_attention: k must be on {device} as q is, got {k.device}"
        )
    if v.device != device:
        raise ValueError(
            f"relative_attention: v must be on {device} as q is, got {v.device}"
        )
    if bias.device != device:
        raise ValueError(
            f"relative_attention: bias must be on {device} as q is, got {bias.device}"
        )
    if q.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return relative_attention(q, k, v, bias, out=out)
    elif not (q.is_cpu and _INTERPRETED):
        raise ValueError(
            f"relative_attention: q must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if out is None:
        o = torch.empty_like(q)
    else:
        o = _check_out(
            "relative_attention: out",
            out,
            (H, S, HEAD_DIM),
            q.dtype,
            device,
            {"q": q, "k": k, "v": v, "bias": bias},
        )
        if not o.is_contiguous():
            raise ValueError(
                "relative_attention: out must be contiguous, got strides "
                f"{o.stride()}; call .contiguous() first"
            )
    if H * S * HEAD_DIM == 0:
        return o

    if H * S * HEAD_DIM >= _INT32_REACH:
        raise _beyond_int32("relative_attention: q")
    if H * DISTANCES >= _INT32_REACH:
        raise _beyond_int32("relative_attention: bias")
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "relative_attention: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )
    if _INTERPRETED:
        _check_bfloat16("relative_attention", q.dtype)

    def grid(meta):
        return triton.cdiv(S, meta["BLOCK_M"]), H

    _launch(
        relative_attention_kernel,
        grid,
        (q, k, v, bias, o),
        (S, DISTANCES),
        device,
        q.dtype,
        H,
        HEAD_DIM=HEAD_DIM,
    )
    return o


def reference_fn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor):
    """What relative_attention computes, in PyTorch."""
    H = q.shape[0]
    S = q.shape[1]
    i = torch.arange(S, device=q.device)
    distances = i.unsqueeze(1).sub(i).add(S).sub(1)
    mask = bias.index_select(1, distances.flatten()).reshape(H, S, S)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"H": 8, "S": 1024, "HEAD_DIM": 64}, {"H": 2, "S": 200, "HEAD_DIM": 64}]


def get_inputs(H=8, S=1024, *, HEAD_DIM=64):
    """Fresh arguments for relative_attention, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    DISTANCES = S * 2 - 1
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, DISTANCES), device=device, dtype=torch.float16),
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


class _Told(threading.local):
    """The launches of a thread, while it asks for them."""

    launches = None


# Repeated calls: the rest of the module makes them cost what their launch costs.
_TOLD = _Told()
_checked, _plain_launch = (relative_attention, _launch)


@functools.wraps(_checked)
def _repeated(q, k, v, bias, *, out=None):
    """relative_attention, at the cost of its launch where an earlier call was alike.

    Calls are alike if all that the checks and the launch depend on is equal but
    the addresses. Of these, the alignment is checked here, and that nothing
    overlaps what is written. Any other call goes through the checks.
    """
    if torch.compiler.is_dynamo_compiling():
        return _checked(q, k, v, bias, out=out)
    try:
        key = (
            q.shape,
            k.is_nested,
            v.is_nested,
            bias.shape,
            None if out is None else out.is_nested,
        )
        found = _LAUNCHES.get(key, ())
    except (AttributeError, RuntimeError, TypeError):
        # An argument is no tensor, or no number: the checks say so.
        key, found = (None, ())
    given = (q, k, v, bias) if out is None else (q, k, v, bias, out)
    for check, state, sizes, empty, launch in found:
        if check(*given) and not _is_special(relative_attention_kernel, *state):
            o = empty[0]() if out is None else out
            q_at, k_at, v_at, bias_at, o_at = (
                q.data_ptr(),
                k.data_ptr(),
                v.data_ptr(),
                bias.data_ptr(),
                o.data_ptr(),
            )
            if (
                (q_at | k_at | v_at | bias_at | o_at) % 16 == 0
                and not -sizes[4] < o_at - q_at < sizes[0]
                and not -sizes[4] < o_at - k_at < sizes[1]
                and not -sizes[4] < o_at - v_at < sizes[2]
                and not -sizes[4] < o_at - bias_at < sizes[3]
            ):
                if out is not None:
                    torch._C._increment_version((o,))
                launch(q_at, k_at, v_at, bias_at, o_at)
                return o
    return _keep(key, given, q, k, v, bias, out=out)


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
    relative_attention, _launch = (_repeated, _told_launch)
kernel_fn = relative_attention
