"""C = A @ B for a long K, accumulated in float32 in a fixed order.

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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


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
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=4, num_stages=5
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128}, num_warps=8, num_stages=3
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_warps=8, num_stages=4
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 128}, num_warps=4, num_stages=4
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=4, num_stages=4
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4
        ),
        triton.Config(
            {"BLOCK_M": 16, "BLOCK_N": 128, "BLOCK_K": 128}, num_warps=4, num_stages=4
        ),
    ],
    key=["M", "N", "K", "SPLITS"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def partial_products_kernel(
    a_ptr,
    b_ptr,
    parts_ptr,
    M,
    K,
    N,
    SPLITS,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_parts_splits,
    stride_parts_m,
    stride_parts_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    split = tl.program_id(1)
    rm = (pid // num_pid_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = (pid % num_pid_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows and columns wrap instead of being masked inside the loop; the store masks
    # what is left over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    start = split * BLOCK_K
    step = SPLITS * BLOCK_K
    # K's tail is masked and holds 0.
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (am[:, None] * stride_am + (start + rk)[None, :] * stride_ak)
    b_ptrs = b_ptr + ((start + rk)[:, None] * stride_bk + bn[None, :] * stride_bn)
    for k in range(start, K, step):
        acc = tl.dot(
            tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0),
            tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0.0),
            acc,
        )
        a_ptrs += step * stride_ak
        b_ptrs += step * stride_bk
    tl.store(
        parts_ptr
        + split.to(tl.int64) * stride_parts_splits
        + (
            rm[:, None].to(tl.int64) * stride_parts_m
            + rn[None, :].to(tl.int64) * stride_parts_n
        ),
        acc,
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


def partial_products(
    a: torch.Tensor, b: torch.Tensor, SPLITS: int, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """A @ B in SPLITS parts: part s adds up every SPLITS-th block of K, from block s
    on.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.
        SPLITS: a size of the result.
        out: where to write [SPLITS, M, N] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_int("partial_products: SPLITS", SPLITS, torch.int32, 0)
    _check_tensor("partial_products: a", a)
    _check_tensor("partial_products: b", b)
    if a.ndim != 2:
        raise ValueError(
            f"partial_products: a must have shape [M, K], got {list(a.shape)}"
        )
    M, K = a.shape
    if a.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            "partial_products: a must be torch.float16 or torch.bfloat16, "
            f"got {a.dtype}"
        )
    if b.ndim != 2 or b.shape[0] != K:
        raise ValueError(
            f"partial_products: b must have shape [K={K}, N], got {list(b.shape)}"
        )
    N = b.shape[1]
    if b.dtype != a.dtype:
        raise TypeError(f"partial_products: b must be {a.dtype} as a is, got {b.dtype}")
    if _records_gradient("partial_products", a, b, out):
        return _without_gradient(partial_products, (a, b, SPLITS), given=(out,))
    device = a.device
    if b.device != device:
        raise ValueError(
            f"partial_products: b must be on {device} as a is, got {b.device}"
        )
    if a.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return partial_products(a, b, SPLITS, out=out)
    elif not (a.is_cpu and _INTERPRETED):
        raise ValueError(
            f"partial_products: a must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        parts = a.new_empty((SPLITS, M, N), dtype=torch.float32)
    else:
        parts = _check_out(
            "partial_products: out",
            out,
            (SPLITS, M, N),
            torch.float32,
            device,
            {"a": a, "b": b},
        )
    if SPLITS * M * N == 0:
        return parts

    stride_am, stride_ak = a.stride()
    stride_bk, stride_bn = b.stride()
    stride_parts_splits, stride_parts_m, stride_parts_n = parts.stride()
    if (M - 1) * stride_am + (K - 1) * stride_ak >= _INT32_REACH:
        raise _beyond_int32("partial_products: a")
    if (K - 1) * stride_bk + (N - 1) * stride_bn >= _INT32_REACH:
        raise _beyond_int32("partial_products: b")
    if M >= _INT32_REACH or N >= _INT32_REACH:
        raise _uncountable("partial_products", M=M, N=N)
    if not SPLITS >= 1:
        raise ValueError(
            "partial_products: a requirement does not hold: SPLITS >= 1 "
            f"with SPLITS = {SPLITS}"
        )
    if _INTERPRETED:
        _check_bfloat16("partial_products", a.dtype)

    def grid(meta):
        return triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), SPLITS

    _launch(
        partial_products_kernel,
        grid,
        (a, b, parts),
        (
            M,
            K,
            N,
            SPLITS,
            stride_am,
            stride_ak,
            stride_bk,
            stride_bn,
            stride_parts_splits,
            stride_parts_m,
            stride_parts_n,
        ),
        device,
        a.dtype,
    )
    return parts


def _partial_products_fake(a, b, SPLITS):
    """What torch.compile sees of partial_products: shapes and dtypes."""
    M = a.shape[0]
    N = b.shape[1]
    return torch.empty((SPLITS, M, N), device=a.device, dtype=torch.float32)


@triton.jit
def sum_of_parts_kernel(
    parts_ptr,
    c_ptr,
    SPLITS,
    N,
    stride_parts_splits,
    stride_parts_m,
    stride_parts_n,
    stride_cm,
    stride_cn,
    OUT: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    # 32 parts at once, so that no load waits for another.
    total = tl.zeros([32, BLOCK_N], dtype=tl.float32)
    parts_base = parts_ptr + row.to(tl.int64) * stride_parts_m
    for s in range(0, SPLITS, 32):
        offsets = s + tl.arange(0, 32)
        total += tl.load(
            parts_base
            + offsets[:, None].to(tl.int64) * stride_parts_splits
            + cols[None, :].to(tl.int64) * stride_parts_n,
            mask=(offsets[:, None] < SPLITS) & (cols[None, :] < N),
            other=0.0,
        )
    tl.store(
        c_ptr + row * stride_cm + cols * stride_cn,
        tl.sum(total, axis=0).to(OUT),
        mask=cols < N,
    )


def sum_of_parts(
    parts: torch.Tensor, OUT: torch.dtype, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The sum of the parts of each element, in the same order in every run.

    Args:
        parts: [SPLITS, M, N] float32.
        OUT: torch.float16 or torch.bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_choice("sum_of_parts: OUT", OUT, torch.float16, torch.bfloat16)
    _check_tensor("sum_of_parts: parts", parts)
    if parts.ndim != 3:
        raise ValueError(
            "sum_of_parts: parts must have shape [SPLITS, M, N], got "
            f"{list(parts.shape)}"
        )
    SPLITS, M, N = parts.shape
    if parts.dtype != torch.float32:
        raise TypeError(f"sum_of_parts: parts must be torch.float32, got {parts.dtype}")
    if _records_gradient("sum_of_parts", parts, out):
        return _without_gradient(sum_of_parts, (parts, OUT), given=(out,))
    device = parts.device
    if parts.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return sum_of_parts(parts, OUT, out=out)
    elif not (parts.is_cpu and _INTERPRETED):
        raise ValueError(
            f"sum_of_parts: parts must be on a GPU, got {device}; the "
            "CPU needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        c = parts.new_empty((M, N), dtype=OUT)
    else:
        c = _check_out("sum_of_parts: out", out, (M, N), OUT, device, {"parts": parts})
    if M * N == 0:
        return c

    stride_parts_splits, stride_parts_m, stride_parts_n = parts.stride()
    stride_cm, stride_cn = c.stride()
    if (M - 1) * stride_cm + (N - 1) * stride_cn >= _INT32_REACH:
        raise _beyond_int32("sum_of_parts: out")
    if SPLITS >= _INT32_REACH:
        raise _uncountable("sum_of_parts", SPLITS=SPLITS)
    if _INTERPRETED:
        _check_bfloat16("sum_of_parts", OUT)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        sum_of_parts_kernel,
        grid,
        (parts, c),
        (
            SPLITS,
            N,
            stride_parts_splits,
            stride_parts_m,
            stride_parts_n,
            stride_cm,
            stride_cn,
        ),
        device,
        M,
        OUT=_TRITON_DTYPES[OUT],
        BLOCK_N=64,
    )
    return c


def _sum_of_parts_fake(parts, OUT):
    """What torch.compile sees of sum_of_parts: shapes and dtypes."""
    M = parts.shape[1]
    N = parts.shape[2]
    return torch.empty((M, N), device=parts.device, dtype=OUT)


@torch.library.custom_op("tilescript::gemm_split_k", mutates_args=())
def gemm_split_k_op(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.gemm_split_k."""
    _refuse_forward_mode("gemm_split_k", a, b)
    parts = partial_products(a, b, 32)
    return sum_of_parts(parts, a.dtype)


@gemm_split_k_op.register_fake
def _gemm_split_k_op_fake(a, b):
    """What torch.compile sees of gemm_split_k_op: shapes and dtypes."""
    parts = _partial_products_fake(a, b, 32)
    return _sum_of_parts_fake(parts, a.dtype)


@torch.library.custom_op("tilescript::gemm_split_k_out", mutates_args=("out",))
def gemm_split_k_out_op(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """gemm_split_k into tensors of the caller, as
    torch.ops.tilescript.gemm_split_k_out.
    """
    _refuse_forward_mode("gemm_split_k_out", a, b, out)
    if a.ndim != 2:
        raise ValueError(f"gemm_split_k: a must have shape [M, K], got {list(a.shape)}")
    M, K = a.shape
    if b.ndim != 2 or b.shape[0] != K:
        raise ValueError(
            f"gemm_split_k: b must have shape [K={K}, N], got {list(b.shape)}"
        )
    N = b.shape[1]
    device = a.device
    _check_out("gemm_split_k: out", out, (M, N), a.dtype, device, {"a": a, "b": b})
    parts = partial_products(a, b, 32)
    sum_of_parts(parts, a.dtype, out=out)


_refuse_recording(gemm_split_k_out_op)


def gemm_split_k(
    a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """C = A @ B for a long K, accumulated in float32 in a fixed order.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.

    Returns:
        c: [M, N] float16 or bfloat16.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        return gemm_split_k_op(a, b)
    _refuse_gradient("gemm_split_k", a, b, out)
    gemm_split_k_out_op(a, b, out)
    return out


def reference_fn(a: torch.Tensor, b: torch.Tensor):
    """What gemm_split_k computes, in PyTorch."""
    return torch.matmul(a, b)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 64, "K": 4000, "N": 64}, {"M": 256, "K": 65536, "N": 256}]


def get_inputs(M=64, K=4000, N=64):
    """Fresh arguments for gemm_split_k, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((K, N), device=device, dtype=torch.float16),
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


def _check_choice(label, value, *choices):
    """Refuses a value that is none of the choices."""
    if type(value) is not type(choices[0]) or value not in choices:
        error = ValueError if type(value) is type(choices[0]) else TypeError
        allowed = " or ".join(map(repr, choices))
        raise error(f"{label} must be {allowed}, got {value!r:.80}")


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


kernel_fn = gemm_split_k
