"""C = A @ B, accumulated in float32.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import threading

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as _GluonDescriptor

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
# One thread at a time launches the warp-specialized kernel: its autotuner keeps the
# call's arguments.
_ALONE = threading.RLock()
# Triton 3.6 has other names for what the copy engine does.
_load_block = (
    tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
)
_store_block = (
    tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
)


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
        ),
        triton.Config(
            {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
            num_warps=2,
            num_stages=5,
        ),
    ],
    key=["M", "N", "K"],
    do_bench=_first_config if _INTERPRETED else None,
)
@triton.jit
def gemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    K,
    N,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Grouped order: neighboring programs share rows of A in L2.
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    first_pid_m = (pid // num_pid_in_group) * GROUP_M
    group_size_m = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
    pid_n = (pid % num_pid_in_group) // group_size_m

    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows and columns wrap instead of being masked inside the loop; the store masks
    # what is left over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    # K's tail is masked and holds 0.
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (am[:, None] * stride_am + rk[None, :] * stride_ak)
    b_ptrs = b_ptr + (rk[:, None] * stride_bk + bn[None, :] * stride_bn)
    for k in range(0, K, BLOCK_K):
        x = tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0)
        y = tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    tl.store(
        c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
        acc.to(c_ptr.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


@gluon.jit
def _pieces_of(tile, count: gl.constexpr):
    """The tile's columns in so many pieces, from left to right."""
    if count == 1:
        return (tile,)
    else:
        halves = tile.reshape([tile.shape[0], 2, tile.shape[1] // 2])
        left, right = halves.permute(0, 2, 1).split()
        return _pieces_of(left, count // 2) + _pieces_of(right, count // 2)


@gluon.jit
def _write_pieces(
    tile,
    desc,
    start,
    blocks,
    part: gl.constexpr,
    count: gl.constexpr,
    depth: gl.constexpr,
):
    """Writes a tile in pieces, each by way of one of depth blocks of shared memory."""
    pieces = _pieces_of(tile, count)
    for i in gl.static_range(count):
        block = blocks.index(part * depth + i % depth)
        tma.store_wait(depth - 1)
        block.store(pieces[i])
        fence_async_shared()
        columns = start[1] + i * (tile.shape[1] // count)
        _store_block(desc, [start[0], columns], block)


@gluon.jit
def _gemm_load(
    a_desc,
    b_desc,
    a_blocks,
    b_blocks,
    filled,
    emptied,
    M,
    K,
    N,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
):
    turn = 0
    # Grouped order: neighboring programs share rows of A in L2.
    for pid in range(
        gl.program_id(0), gl.cdiv(M, BLOCK_M) * gl.cdiv(N, BLOCK_N), gl.num_programs(0)
    ):
        num_pid_m = gl.cdiv(M, BLOCK_M)
        num_pid_n = gl.cdiv(N, BLOCK_N)
        num_pid_in_group = num_pid_n * GROUP_M
        first_pid_m = (pid // num_pid_in_group) * GROUP_M
        group_size_m = gl.minimum(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
        pid_n = (pid % num_pid_in_group) // group_size_m

        index = pid_m * BLOCK_M
        index_1 = pid_n * BLOCK_N
        for k in range(0, K, BLOCK_K):
            slot = turn % STAGES
            mbarrier.wait(emptied.index(slot), ((turn // STAGES) & 1) ^ 1)
            mbarrier.expect(
                filled.index(slot),
                CONSUMERS * a_desc.block_type.nbytes + b_desc.block_type.nbytes,
            )
            for i in gl.static_range(CONSUMERS):
                _load_block(
                    a_desc,
                    [index + i * (BLOCK_M // CONSUMERS), k],
                    filled.index(slot),
                    a_blocks.index(slot * CONSUMERS + i),
                )
            _load_block(b_desc, [k, index_1], filled.index(slot), b_blocks.index(slot))
            turn += 1


@gluon.jit
def _gemm_multiply(
    part: gl.constexpr,
    c_desc,
    a_blocks,
    b_blocks,
    c_blocks,
    filled,
    emptied,
    M,
    K,
    N,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    turn = 0
    # Grouped order: neighboring programs share rows of A in L2.
    for pid in range(
        gl.program_id(0), gl.cdiv(M, BLOCK_M) * gl.cdiv(N, BLOCK_N), gl.num_programs(0)
    ):
        num_pid_m = gl.cdiv(M, BLOCK_M)
        num_pid_n = gl.cdiv(N, BLOCK_N)
        num_pid_in_group = num_pid_n * GROUP_M
        first_pid_m = (pid // num_pid_in_group) * GROUP_M
        group_size_m = gl.minimum(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
        pid_n = (pid % num_pid_in_group) // group_size_m
        acc = gl.set_auto_layout(
            gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], dtype=gl.float32), layout
        )
        for k in range(0, K, BLOCK_K):
            slot = turn % STAGES
            mbarrier.wait(filled.index(slot), (turn // STAGES) & 1)
            acc = warpgroup_mma(
                a_blocks.index(slot * CONSUMERS + part),
                b_blocks.index(slot),
                acc,
                is_async=True,
            )
            acc = warpgroup_mma_wait(1, deps=(acc,))
            mbarrier.arrive(emptied.index((turn + STAGES - 1) % STAGES), pred=k > 0)
            turn += 1
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(emptied.index((turn + STAGES - 1) % STAGES), pred=0 < K)

        _write_pieces(
            acc.to(c_blocks.dtype),
            c_desc,
            [pid_m * BLOCK_M + part * (BLOCK_M // CONSUMERS), pid_n * BLOCK_N],
            c_blocks,
            part,
            PIECES,
            DEPTH,
        )
    tma.store_wait(0)


def _set_specialized_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    _set_block(args["a_desc"], [args["BLOCK_M"] // args["CONSUMERS"], args["BLOCK_K"]])
    _set_block(args["b_desc"], [args["BLOCK_K"], args["BLOCK_N"]])
    _set_block(
        args["c_desc"],
        [args["BLOCK_M"] // args["CONSUMERS"], args["BLOCK_N"] // args["PIECES"]],
    )


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 256,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 3,
                "PIECES": 1,
                "DEPTH": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 256,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 4,
                "PIECES": 4,
                "DEPTH": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 256,
                "BLOCK_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 3,
                "PIECES": 1,
                "DEPTH": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 256,
                "BLOCK_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 3,
                "PIECES": 2,
                "DEPTH": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 6,
                "PIECES": 1,
                "DEPTH": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 6,
                "PIECES": 2,
                "DEPTH": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "BLOCK_K": 32,
                "GROUP_M": 8,
                "CONSUMERS": 1,
                "STAGES": 8,
                "PIECES": 1,
                "DEPTH": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "BLOCK_K": 32,
                "GROUP_M": 8,
                "CONSUMERS": 1,
                "STAGES": 8,
                "PIECES": 2,
                "DEPTH": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["M", "N", "K"],
)
@gluon.jit
def gemm_specialized_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    K,
    N,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
):
    a_blocks = gl.allocate_shared_memory(
        a_desc.dtype, [STAGES * CONSUMERS] + a_desc.block_shape, a_desc.layout
    )
    b_blocks = gl.allocate_shared_memory(
        b_desc.dtype, [STAGES] + b_desc.block_shape, b_desc.layout
    )
    c_blocks = gl.allocate_shared_memory(
        c_desc.dtype, [CONSUMERS * DEPTH] + c_desc.block_shape, c_desc.layout
    )
    filled = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    emptied = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    for slot in gl.static_range(STAGES):
        mbarrier.init(filled.index(slot), count=1)
        mbarrier.init(emptied.index(slot), count=CONSUMERS)
    if CONSUMERS == 2:
        gl.warp_specialize(
            [
                (
                    _gemm_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                    ),
                ),
                (
                    _gemm_multiply,
                    (
                        1,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                    ),
                ),
                (
                    _gemm_load,
                    (
                        a_desc,
                        b_desc,
                        a_blocks,
                        b_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
            ],
            [4, 1],
            [240, 24],
        )
    else:
        gl.warp_specialize(
            [
                (
                    _gemm_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                    ),
                ),
                (
                    _gemm_load,
                    (
                        a_desc,
                        b_desc,
                        a_blocks,
                        b_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
            ],
            [1],
            [24],
        )


def gemm(
    a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """C = A @ B, accumulated in float32.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("gemm: a", a)
    _check_tensor("gemm: b", b)
    if a.ndim != 2:
        raise ValueError(f"gemm: a must have shape [M, K], got {list(a.shape)}")
    M, K = a.shape
    if a.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"gemm: a must be torch.float16 or torch.bfloat16, got {a.dtype}"
        )
    if b.ndim != 2 or b.shape[0] != K:
        raise ValueError(f"gemm: b must have shape [K={K}, N], got {list(b.shape)}")
    N = b.shape[1]
    if b.dtype != a.dtype:
        raise TypeError(f"gemm: b must be {a.dtype} as a is, got {b.dtype}")
    if _records_gradient("gemm", a, b, out):
        return _without_gradient(gemm, (a, b), given=(out,))
    device = a.device
    if b.device != device:
        raise ValueError(f"gemm: b must be on {device} as a is, got {b.device}")
    if a.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return gemm(a, b, out=out)
    elif not (a.is_cpu and _INTERPRETED):
        raise ValueError(
            f"gemm: a must be on a GPU, got {device}; the CPU needs "
            "TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        c = a.new_empty((M, N))
    else:
        c = _check_out("gemm: out", out, (M, N), a.dtype, device, {"a": a, "b": b})
    if M * N == 0:
        return c

    stride_am, stride_ak = a.stride()
    stride_bk, stride_bn = b.stride()
    stride_cm, stride_cn = c.stride()
    if (M - 1) * stride_am + (K - 1) * stride_ak >= _INT32_REACH:
        raise _beyond_int32("gemm: a")
    if (K - 1) * stride_bk + (N - 1) * stride_bn >= _INT32_REACH:
        raise _beyond_int32("gemm: b")
    if (M - 1) * stride_cm + (N - 1) * stride_cn >= _INT32_REACH:
        raise _beyond_int32("gemm: out")
    if _INTERPRETED:
        _check_bfloat16("gemm", a.dtype)
    if _is_specialized(a, b, c):

        def _programs(meta):
            return (
                min(
                    triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
                    _gpu_property(device, "multi_processor_count"),
                ),
            )

        with _ALONE:
            gemm_specialized_kernel[_programs](
                _described(a), _described(b), _described(c), M, K, N
            )
        return c

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        gemm_kernel,
        grid,
        (a, b, c),
        (M, K, N, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn),
        device,
        a.dtype,
    )
    return c


def reference_fn(a: torch.Tensor, b: torch.Tensor):
    """What gemm computes, in PyTorch."""
    return torch.matmul(a, b)


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 1000, "K": 333, "N": 777},
]


def get_inputs(M=512, K=512, N=512):
    """Fresh arguments for gemm, of a typical size."""
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


def _is_specialized(*tensors):
    """Whether the GPU and the layouts of the tensors suit the warp-specialized
    kernel.
    """
    if _INTERPRETED or torch.compiler.is_compiling() or torch.version.hip:
        return False
    if torch.cuda.get_device_capability() != (9, 0):
        return False
    return all(map(_is_movable, tensors))


def _is_movable(tensor):
    """Whether the copy engine can move blocks of the tensor."""
    steps = [step * tensor.element_size() for step in tensor.stride()[:-1]]
    return (
        tensor.stride(-1) == 1
        and all(step % 16 == 0 and 0 < step < 2**40 for step in steps)
        and tensor.data_ptr() % 16 == 0
        and tensor.numel() > 0
    )


def _described(tensor):
    """A descriptor of the tensor, whose block the config sets."""
    size = tensor.element_size()
    layout = gl.NVMMASharedLayout(0, 8 * size, rank=tensor.ndim)
    block = [1] * (tensor.ndim - 1) + [16 // size]
    return _GluonDescriptor.from_tensor(tensor, block, layout)


def _set_block(desc, block):
    """Gives a descriptor the block of the config that is to run."""
    dtype = getattr(gl, str(desc.base.dtype).removeprefix("torch."))
    desc.block_shape = block
    desc.layout = gl.NVMMASharedLayout.get_default_for(block, dtype)


kernel_fn = gemm
