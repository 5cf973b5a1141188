"""C = A @ B, accumulated in float32 in a fixed order, with the same work for each
multiprocessor.

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
        triton.Config({}, num_warps=8, num_stages=3),
        triton.Config({}, num_warps=8, num_stages=4),
        triton.Config({}, num_warps=4, num_stages=4),
    ],
    key=["M", "N", "K"],
    restore_value=["c_ptr", "pieces_ptr"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def streamed_products_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    pieces_ptr,
    M,
    K,
    N,
    PROGRAMS,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    stride_pieces_programs,
    stride_pieces_1,
    stride_pieces_2,
    stride_pieces_3,
):
    program = tl.program_id(0)
    rows = tl.arange(0, 128)
    cols = tl.arange(0, 128)
    num_pid_m = tl.cdiv(M, 128)
    num_pid_n = tl.cdiv(N, 128)
    steps = tl.cdiv(K, 64)
    all_steps = num_pid_m * num_pid_n * steps
    share = tl.cdiv(all_steps, PROGRAMS)
    first = program * share
    last = tl.minimum(first + share, all_steps)
    for tile in range(first // steps, tl.cdiv(last, steps)):
        begin = tl.maximum(first - tile * steps, 0)
        end = tl.minimum(last - tile * steps, steps)
        # Grouped order: programs that run at one time share rows of A in L2.
        pid_m, pid_n = tl.swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, 8
        )
        rm = pid_m * 128 + rows
        rn = pid_n * 128 + cols
        # Rows and columns wrap instead of being masked inside the loop; what is stored
        # to c is masked.
        am = rm % M
        bn = rn % N
        acc = tl.zeros([128, 128], dtype=tl.float32)
        start = begin * 64
        # K's tail is masked and holds 0.
        rk = tl.arange(0, 64)
        a_ptrs = a_ptr + (am[:, None] * stride_am + (start + rk)[None, :] * stride_ak)
        b_ptrs = b_ptr + ((start + rk)[:, None] * stride_bk + bn[None, :] * stride_bn)
        for k in range(start, end * 64, 64):
            acc = tl.dot(
                tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0),
                tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0.0),
                acc,
            )
            a_ptrs += 64 * stride_ak
            b_ptrs += 64 * stride_bk
        if end - begin == steps:
            tl.store(
                c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
                acc.to(c_ptr.dtype.element_ty),
                mask=(rm[:, None] < M) & (rn[None, :] < N),
            )
        else:
            slot = tl.where(begin == 0, 1, 0)
            tl.store(
                pieces_ptr
                + program * stride_pieces_programs
                + slot * stride_pieces_1
                + (rows[:, None] * stride_pieces_2 + cols[None, :] * stride_pieces_3),
                acc,
            )


def streamed_products(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, pieces: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Blocks of A @ B, each in as many pieces as there are programs that share it;
    whole ones go to c.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.
        c: [M, N] float16 or bfloat16; updated in place.
        pieces: [PROGRAMS, 2, 128, 128] float32; updated in place.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("streamed_products: a", a)
    _check_tensor("streamed_products: b", b)
    _check_tensor("streamed_products: c", c)
    _check_tensor("streamed_products: pieces", pieces)
    if a.ndim != 2:
        raise ValueError(
            f"streamed_products: a must have shape [M, K], got {list(a.shape)}"
        )
    M, K = a.shape
    if a.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            "streamed_products: a must be torch.float16 or torch.bfloat16, "
            f"got {a.dtype}"
        )
    if b.ndim != 2 or b.shape[0] != K:
        raise ValueError(
            f"streamed_products: b must have shape [K={K}, N], got {list(b.shape)}"
        )
    N = b.shape[1]
    if b.dtype != a.dtype:
        raise TypeError(
            f"streamed_products: b must be {a.dtype} as a is, got {b.dtype}"
        )
    if c.shape != (M, N):
        raise ValueError(
            f"streamed_products: c must have shape [M={M}, N={N}], got {list(c.shape)}"
        )
    if c.dtype != a.dtype:
        raise TypeError(
            f"streamed_products: c must be {a.dtype} as a is, got {c.dtype}"
        )
    if (
        pieces.ndim != 4
        or pieces.shape[1] != 2
        or pieces.shape[2] != 128
        or pieces.shape[3] != 128
    ):
        raise ValueError(
            "streamed_products: pieces must have shape [PROGRAMS, 2, 128, "
            f"128], got {list(pieces.shape)}"
        )
    PROGRAMS = pieces.shape[0]
    if pieces.dtype != torch.float32:
        raise TypeError(
            f"streamed_products: pieces must be torch.float32, got {pieces.dtype}"
        )
    if _records_gradient("streamed_products", a, b, c, pieces):
        return _without_gradient(
            streamed_products, (a, b, c, pieces), updated=(c, pieces)
        )
    device = a.device
    if b.device != device:
        raise ValueError(
            f"streamed_products: b must be on {device} as a is, got {b.device}"
        )
    if c.device != device:
        raise ValueError(
            f"streamed_products: c must be on {device} as a is, got {c.device}"
        )
    if pieces.device != device:
        raise ValueError(
            f"streamed_products: pieces must be on {device} as a is, "
            f"got {pieces.device}"
        )
    if a.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return streamed_products(a, b, c, pieces)
    elif not (a.is_cpu and _INTERPRETED):
        raise ValueError(
            f"streamed_products: a must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )
    _check_memory("streamed_products: c", c, {"a": a, "b": b})
    _check_memory("streamed_products: pieces", pieces, {"a": a, "b": b, "c": c})

    if M * N == 0 and PROGRAMS == 0:
        return c, pieces

    stride_am, stride_ak = a.stride()
    stride_bk, stride_bn = b.stride()
    stride_cm, stride_cn = c.stride()
    stride_pieces_programs, stride_pieces_1, stride_pieces_2, stride_pieces_3 = (
        pieces.stride()
    )
    if (M - 1) * stride_am + (K - 1) * stride_ak >= _INT32_REACH:
        raise _beyond_int32("streamed_products: a")
    if (K - 1) * stride_bk + (N - 1) * stride_bn >= _INT32_REACH:
        raise _beyond_int32("streamed_products: b")
    if (M - 1) * stride_cm + (N - 1) * stride_cn >= _INT32_REACH:
        raise _beyond_int32("streamed_products: c")
    if (PROGRAMS - 1) * stride_pieces_programs + (2 - 1) * stride_pieces_1 + (
        128 - 1
    ) * stride_pieces_2 + (128 - 1) * stride_pieces_3 >= _INT32_REACH:
        raise _beyond_int32("streamed_products: pieces")
    if not K >= 1:
        raise ValueError(
            f"streamed_products: a requirement does not hold: K >= 1 with K = {K}"
        )
    if not PROGRAMS >= 1:
        raise ValueError(
            "streamed_products: a requirement does not hold: PROGRAMS >= "
            f"1 with PROGRAMS = {PROGRAMS}"
        )
    if not triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(K, 64) <= 1073741824:
        raise ValueError(
            "streamed_products: a requirement does not hold: "
            "triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(K, "
            f"64) <= 1073741824 with M = {M}, N = {N}, "
            f"K = {K}"
        )
    if _INTERPRETED:
        _check_bfloat16("streamed_products", a.dtype)

    _launch(
        streamed_products_kernel,
        (PROGRAMS,),
        (a, b, c, pieces),
        (
            M,
            K,
            N,
            PROGRAMS,
            stride_am,
            stride_ak,
            stride_bk,
            stride_bn,
            stride_cm,
            stride_cn,
            stride_pieces_programs,
            stride_pieces_1,
            stride_pieces_2,
            stride_pieces_3,
        ),
        device,
        a.dtype,
    )
    return c, pieces


def _streamed_products_fake(a, b, c, pieces):
    """What torch.compile sees of streamed_products: shapes and dtypes."""


@triton.jit
def sum_of_pieces_kernel(
    pieces_ptr,
    c_ptr,
    k: tl.int32,
    PROGRAMS,
    M,
    N,
    stride_pieces_programs,
    stride_pieces_1,
    stride_pieces_2,
    stride_pieces_3,
    stride_cm,
    stride_cn,
):
    tile = tl.program_id(0)
    num_pid_m = tl.cdiv(M, 128)
    num_pid_n = tl.cdiv(N, 128)
    steps = tl.cdiv(k, 64)
    share = tl.cdiv(num_pid_m * num_pid_n * steps, PROGRAMS)
    # The programs that have the first and the last step of the block.
    first = tile * steps // share
    last = ((tile + 1) * steps - 1) // share
    if first < last:
        rows = tl.program_id(1) * 32 + tl.arange(0, 32)
        cols = tl.arange(0, 128)
        total = tl.zeros([32, 128], dtype=tl.float32)
        for p in range(first, last + 1):
            slot = tl.where(p == first, 1, 0)
            total += tl.load(
                pieces_ptr
                + (p * stride_pieces_programs + slot * stride_pieces_1)
                + (rows[:, None] * stride_pieces_2 + cols[None, :] * stride_pieces_3)
            )
        pid_m, pid_n = tl.swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, 8
        )
        offsets = pid_m * 128 + rows
        offsets_1 = pid_n * 128 + cols
        tl.store(
            c_ptr + (offsets[:, None] * stride_cm + offsets_1[None, :] * stride_cn),
            total.to(c_ptr.dtype.element_ty),
            mask=(offsets[:, None] < M) & (offsets_1[None, :] < N),
        )


def sum_of_pieces(
    pieces: torch.Tensor, c: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of the pieces of each block that several programs share, from the
    first of K to the last.

    Args:
        pieces: [PROGRAMS, 2, 128, 128] float32; updated in place.
        c: [M, N] float16 or bfloat16; updated in place.
        k: a number, passed as int32 in [1, 2147483584).

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_int("sum_of_pieces: k", k, torch.int32)
    _check_tensor("sum_of_pieces: pieces", pieces)
    _check_tensor("sum_of_pieces: c", c)
    if (
        pieces.ndim != 4
        or pieces.shape[1] != 2
        or pieces.shape[2] != 128
        or pieces.shape[3] != 128
    ):
        raise ValueError(
            "sum_of_pieces: pieces must have shape [PROGRAMS, 2, 128, 128], "
            f"got {list(pieces.shape)}"
        )
    PROGRAMS = pieces.shape[0]
    if pieces.dtype != torch.float32:
        raise TypeError(
            f"sum_of_pieces: pieces must be torch.float32, got {pieces.dtype}"
        )
    if c.ndim != 2:
        raise ValueError(
            f"sum_of_pieces: c must have shape [M, N], got {list(c.shape)}"
        )
    M, N = c.shape
    if c.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"sum_of_pieces: c must be torch.float16 or torch.bfloat16, got {c.dtype}"
        )
    if _records_gradient("sum_of_pieces", pieces, c):
        return _without_gradient(sum_of_pieces, (pieces, c, k), updated=(pieces, c))
    device = pieces.device
    if c.device != device:
        raise ValueError(
            f"sum_of_pieces: c must be on {device} as pieces is, got {c.device}"
        )
    if pieces.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return sum_of_pieces(pieces, c, k)
    elif not (pieces.is_cpu and _INTERPRETED):
        raise ValueError(
            f"sum_of_pieces: pieces must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )
    _check_memory("sum_of_pieces: pieces", pieces, {})
    _check_memory("sum_of_pieces: c", c, {"pieces": pieces})

    if PROGRAMS == 0 and M * N == 0:
        return pieces, c

    stride_pieces_programs, stride_pieces_1, stride_pieces_2, stride_pieces_3 = (
        pieces.stride()
    )
    stride_cm, stride_cn = c.stride()
    if (PROGRAMS - 1) * stride_pieces_programs + (2 - 1) * stride_pieces_1 + (
        128 - 1
    ) * stride_pieces_2 + (128 - 1) * stride_pieces_3 >= _INT32_REACH:
        raise _beyond_int32("sum_of_pieces: pieces")
    if (M - 1) * stride_cm + (N - 1) * stride_cn >= _INT32_REACH:
        raise _beyond_int32("sum_of_pieces: c")
    if not k >= 1:
        raise ValueError(
            f"sum_of_pieces: a requirement does not hold: k >= 1 with k = {k}"
        )
    if not k < 2147483584:
        raise ValueError(
            f"sum_of_pieces: a requirement does not hold: k < 2147483584 with k = {k}"
        )
    if not PROGRAMS >= 1:
        raise ValueError(
            "sum_of_pieces: a requirement does not hold: PROGRAMS >= 1 "
            f"with PROGRAMS = {PROGRAMS}"
        )
    if not triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(k, 64) <= 1073741824:
        raise ValueError(
            "sum_of_pieces: a requirement does not hold: triton.cdiv(M, "
            "128) * triton.cdiv(N, 128) * triton.cdiv(k, 64) <= "
            f"1073741824 with M = {M}, N = {N}, k = "
            f"{k}"
        )
    if _INTERPRETED:
        _check_bfloat16("sum_of_pieces", c.dtype)

    _launch(
        sum_of_pieces_kernel,
        (triton.cdiv(M, 128) * triton.cdiv(N, 128), 4),
        (pieces, c),
        (
            k,
            PROGRAMS,
            M,
            N,
            stride_pieces_programs,
            stride_pieces_1,
            stride_pieces_2,
            stride_pieces_3,
            stride_cm,
            stride_cn,
        ),
        device,
        c.dtype,
        num_warps=4,
    )
    return pieces, c


def _sum_of_pieces_fake(pieces, c, k):
    """What torch.compile sees of sum_of_pieces: shapes and dtypes."""


@torch.library.custom_op("tilescript::gemm_stream_k", mutates_args=())
def gemm_stream_k_op(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.gemm_stream_k."""
    _refuse_forward_mode("gemm_stream_k", a, b)
    M = a.shape[0]
    K = a.shape[1]
    N = b.shape[1]
    c = torch.empty([M, N], dtype=a.dtype, device=a.device)
    pieces = torch.empty([132, 2, 128, 128], dtype=torch.float32, device=a.device)
    streamed_products(a, b, c, pieces)
    sum_of_pieces(pieces, c, K)
    return c


@gemm_stream_k_op.register_fake
def _gemm_stream_k_op_fake(a, b):
    """What torch.compile sees of gemm_stream_k_op: shapes and dtypes."""
    M = a.shape[0]
    N = b.shape[1]
    return torch.empty([M, N], dtype=a.dtype, device=a.device)


@torch.library.custom_op("tilescript::gemm_stream_k_out", mutates_args=("out",))
def gemm_stream_k_out_op(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """gemm_stream_k into tensors of the caller, as
    torch.ops.tilescript.gemm_stream_k_out.
    """
    _refuse_forward_mode("gemm_stream_k_out", a, b, out)
    if a.ndim != 2:
        raise ValueError(
            f"gemm_stream_k: a must have shape [M, K], got {list(a.shape)}"
        )
    M, K = a.shape
    if b.ndim != 2 or b.shape[0] != K:
        raise ValueError(
            f"gemm_stream_k: b must have shape [K={K}, N], got {list(b.shape)}"
        )
    N = b.shape[1]
    device = a.device
    _check_out("gemm_stream_k: out", out, (M, N), a.dtype, device, {"a": a, "b": b})
    c = torch.empty([M, N], dtype=a.dtype, device=device)
    pieces = torch.empty([132, 2, 128, 128], dtype=torch.float32, device=device)
    streamed_products(a, b, c, pieces)
    sum_of_pieces(pieces, c, K)
    out.copy_(c)


_refuse_recording(gemm_stream_k_out_op)


def gemm_stream_k(
    a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """C = A @ B, accumulated in float32 in a fixed order, with the same work for
    each multiprocessor.

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
        return gemm_stream_k_op(a, b)
    _refuse_gradient("gemm_stream_k", a, b, out)
    gemm_stream_k_out_op(a, b, out)
    return out


def reference_fn(a: torch.Tensor, b: torch.Tensor):
    """What gemm_stream_k computes, in PyTorch."""
    return torch.matmul(a, b)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 400, "K": 900, "N": 300}, {"M": 1536, "K": 8192, "N": 1536}]


def get_inputs(M=400, K=900, N=300):
    """Fresh arguments for gemm_stream_k, of a typical size."""
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


kernel_fn = gemm_stream_k
