"""y = gelu(x @ weight.T + bias), accumulated in float32.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import functools
import threading

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad
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
from triton.tools.tensor_descriptor import TensorDescriptor

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret
# The properties of the GPU that Triton's interpreter stands for, if not an H200's.
_INTERPRETED_GPU = {}
# One thread at a time launches the warp-specialized kernel: its autotuner keeps the
# arguments of the call.
_TUNING_LOCK = threading.RLock()
# Copies of blocks from and to global memory, which Triton 3.6 names differently.
_load_block = (
    tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
)
_store_block = (
    tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
)


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["x_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_K"]]
    args["weight_desc"].block_shape = [args["BLOCK_N"], args["BLOCK_K"]]
    args["y_desc"].block_shape = [args["BLOCK_M"], args["HALF_N"]]


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": BLOCK_M,
                "BLOCK_N": BLOCK_N,
                "HALF_N": HALF_N,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": RESIDENT,
            },
            num_warps=num_warps,
            num_stages=num_stages,
            pre_hook=_set_blocks,
        )
        for BLOCK_M, BLOCK_N, HALF_N, RESIDENT, num_warps, num_stages in [
            (128, 256, 128, 1, 8, 4),
            (128, 128, 64, 2, 4, 3),
            (128, 128, 64, 2, 8, 3),
            (64, 64, 32, 2, 4, 4),
        ]
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def linear_gelu_kernel(
    x_desc,
    weight_desc,
    bias_ptr,
    y_desc,
    M,
    K,
    N,
    stride_bias_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HALF_N: tl.constexpr,
    GROUP_M: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    for tile in tl.range(
        tl.program_id(0), num_pid_m * num_pid_n, tl.num_programs(0), flatten=True
    ):
        # Grouped order: programs that run at one time share rows of x in L2.
        first_pid_m = (tile // num_pid_in_group) * GROUP_M
        group_size_m = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
        off_m = (first_pid_m + (tile % num_pid_in_group) % group_size_m) * BLOCK_M
        off_n = ((tile % num_pid_in_group) // group_size_m) * BLOCK_N

        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K
            acc = tl.dot(
                x_desc.load([off_m, k]), tl.trans(weight_desc.load([off_n, k])), acc
            )
        # Asked for here, both biases arrive while the last products run.
        first = off_n + HALF_N
        offsets = off_n + tl.arange(0, HALF_N)
        left_bias = tl.load(
            bias_ptr + offsets * stride_bias_n, mask=offsets < N, other=0.0
        )
        offsets_1 = first + tl.arange(0, HALF_N)
        right_bias = tl.load(
            bias_ptr + offsets_1 * stride_bias_n, mask=offsets_1 < N, other=0.0
        )
        # In two halves, each of which needs half the shared memory on its way out.
        left, right = tl.split(
            tl.permute(tl.reshape(acc, [BLOCK_M, 2, HALF_N]), [0, 2, 1])
        )
        sums = left + left_bias.to(tl.float32)[None, :]
        size = tl.abs(sums)
        # Beyond, Φ(-a) is less than any float16 or bfloat16 with all its digits.
        a = tl.minimum(size, 13.3)
        # Not a maximum, which would make 0 of NaN and of -∞.
        y_desc.store(
            [off_m, off_n],
            (
                (sums + size) * 0.5
                - a
                * tl.exp2(
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (a * 4.950400191e-8 + -2.822321758e-6) * a
                                            + 6.882853191e-5
                                        )
                                        * a
                                        + -9.550759271e-4
                                    )
                                    * a
                                    + 0.008553429006
                                )
                                * a
                                + -0.0540285926
                            )
                            * a
                            + -0.4583713151
                        )
                        * a
                        + -1.151315173
                    )
                    * a
                    + -0.9999831767
                )
            ).to(y_desc.dtype),
        )
        sums_1 = right + right_bias.to(tl.float32)[None, :]
        size_1 = tl.abs(sums_1)
        a_1 = tl.minimum(size_1, 13.3)
        y_desc.store(
            [off_m, first],
            (
                (sums_1 + size_1) * 0.5
                - a_1
                * tl.exp2(
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (a_1 * 4.950400191e-8 + -2.822321758e-6)
                                            * a_1
                                            + 6.882853191e-5
                                        )
                                        * a_1
                                        + -9.550759271e-4
                                    )
                                    * a_1
                                    + 0.008553429006
                                )
                                * a_1
                                + -0.0540285926
                            )
                            * a_1
                            + -0.4583713151
                        )
                        * a_1
                        + -1.151315173
                    )
                    * a_1
                    + -0.9999831767
                )
            ).to(y_desc.dtype),
        )


@gluon.jit
def _linear_gelu_load(
    x_block_desc,
    weight_block_desc,
    x_blocks,
    weight_blocks,
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
    iteration = 0
    num_pid_m = gl.cdiv(M, BLOCK_M)
    num_pid_n = gl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    for tile in range(gl.program_id(0), num_pid_m * num_pid_n, gl.num_programs(0)):
        # Grouped order: programs that run at one time share rows of x in L2.
        first_pid_m = (tile // num_pid_in_group) * GROUP_M
        group_size_m = gl.minimum(num_pid_m - first_pid_m, GROUP_M)
        off_m = (first_pid_m + (tile % num_pid_in_group) % group_size_m) * BLOCK_M
        off_n = ((tile % num_pid_in_group) // group_size_m) * BLOCK_N
        for step in range(gl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K
            slot = iteration % STAGES
            mbarrier.wait(emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
            mbarrier.expect(
                filled.index(slot),
                CONSUMERS * x_block_desc.block_type.nbytes
                + weight_block_desc.block_type.nbytes,
            )
            for i in gl.static_range(CONSUMERS):
                _load_block(
                    x_block_desc,
                    [off_m + i * (BLOCK_M // CONSUMERS), k],
                    filled.index(slot),
                    x_blocks.index(slot * CONSUMERS + i),
                )
            _load_block(
                weight_block_desc,
                [off_n, k],
                filled.index(slot),
                weight_blocks.index(slot),
            )
            iteration += 1


@gluon.jit
def _linear_gelu_multiply(
    part: gl.constexpr,
    y_block_desc,
    x_blocks,
    weight_blocks,
    y_blocks,
    filled,
    emptied,
    bias_ptr,
    M,
    K,
    N,
    stride_bias_n,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    HALF_N: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    iteration = 0
    num_pid_m = gl.cdiv(M, BLOCK_M)
    num_pid_n = gl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    for tile in range(gl.program_id(0), num_pid_m * num_pid_n, gl.num_programs(0)):
        # Grouped order: programs that run at one time share rows of x in L2.
        first_pid_m = (tile // num_pid_in_group) * GROUP_M
        group_size_m = gl.minimum(num_pid_m - first_pid_m, GROUP_M)
        off_m = (first_pid_m + (tile % num_pid_in_group) % group_size_m) * BLOCK_M
        off_n = ((tile % num_pid_in_group) // group_size_m) * BLOCK_N
        index = gl.cdiv(K, BLOCK_K)

        acc = gl.set_auto_layout(
            gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], dtype=gl.float32), layout
        )
        for step in range(index):
            slot = iteration % STAGES
            mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
            acc = warpgroup_mma(
                x_blocks.index(slot * CONSUMERS + part),
                weight_blocks.index(slot).permute((1, 0)),
                acc,
                is_async=True,
            )
            acc = warpgroup_mma_wait(1, deps=(acc,))
            mbarrier.arrive(
                emptied.index((iteration + STAGES - 1) % STAGES), pred=step > 0
            )
            iteration += 1
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(
            emptied.index((iteration + STAGES - 1) % STAGES), pred=0 < index
        )
        # Asked for here, both biases arrive while the last products run.
        first = off_n + HALF_N
        offsets = off_n + gl.arange(0, HALF_N)
        left_bias = gl.load(
            bias_ptr + offsets * stride_bias_n, mask=offsets < N, other=0.0
        )
        offsets_1 = first + gl.arange(0, HALF_N)
        right_bias = gl.load(
            bias_ptr + offsets_1 * stride_bias_n, mask=offsets_1 < N, other=0.0
        )
        # In two halves, each of which needs half the shared memory on its way out.
        left, right = gl.split(
            gl.permute(gl.reshape(acc, [BLOCK_M // CONSUMERS, 2, HALF_N]), [0, 2, 1])
        )
        sums = left + left_bias.to(gl.float32)[None, :]
        size = gl.abs(sums)
        # Beyond, Φ(-a) is less than any float16 or bfloat16 with all its digits.
        a = gl.minimum(size, 13.3)
        # Not a maximum, which would make 0 of NaN and of -∞.
        _write_pieces(
            (
                (sums + size) * 0.5
                - a
                * gl.exp2(
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (a * 4.950400191e-8 + -2.822321758e-6) * a
                                            + 6.882853191e-5
                                        )
                                        * a
                                        + -9.550759271e-4
                                    )
                                    * a
                                    + 0.008553429006
                                )
                                * a
                                + -0.0540285926
                            )
                            * a
                            + -0.4583713151
                        )
                        * a
                        + -1.151315173
                    )
                    * a
                    + -0.9999831767
                )
            ).to(y_blocks.dtype),
            y_block_desc,
            [off_m + part * (BLOCK_M // CONSUMERS), off_n],
            y_blocks,
            part,
            PIECES,
            DEPTH,
        )
        sums_1 = right + right_bias.to(gl.float32)[None, :]
        size_1 = gl.abs(sums_1)
        a_1 = gl.minimum(size_1, 13.3)
        _write_pieces(
            (
                (sums_1 + size_1) * 0.5
                - a_1
                * gl.exp2(
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (a_1 * 4.950400191e-8 + -2.822321758e-6)
                                            * a_1
                                            + 6.882853191e-5
                                        )
                                        * a_1
                                        + -9.550759271e-4
                                    )
                                    * a_1
                                    + 0.008553429006
                                )
                                * a_1
                                + -0.0540285926
                            )
                            * a_1
                            + -0.4583713151
                        )
                        * a_1
                        + -1.151315173
                    )
                    * a_1
                    + -0.9999831767
                )
            ).to(y_blocks.dtype),
            y_block_desc,
            [off_m + part * (BLOCK_M // CONSUMERS), first],
            y_blocks,
            part,
            PIECES,
            DEPTH,
        )
    tma.store_wait(0)


def _set_specialized_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    _set_block(
        args["x_block_desc"], [args["BLOCK_M"] // args["CONSUMERS"], args["BLOCK_K"]]
    )
    _set_block(args["weight_block_desc"], [args["BLOCK_N"], args["BLOCK_K"]])
    _set_block(
        args["y_block_desc"],
        [args["BLOCK_M"] // args["CONSUMERS"], args["HALF_N"] // args["PIECES"]],
    )


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 256,
                "HALF_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 1,
                "CONSUMERS": 2,
                "STAGES": 4,
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
                "HALF_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 1,
                "CONSUMERS": 2,
                "STAGES": 4,
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
                "HALF_N": 64,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
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
                "HALF_N": 64,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
                "CONSUMERS": 1,
                "STAGES": 3,
                "PIECES": 1,
                "DEPTH": 1,
            },
            num_warps=4,
            maxnreg=128,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["M", "N", "K"],
)
@gluon.jit
def linear_gelu_specialized_kernel(
    x_block_desc,
    weight_block_desc,
    y_block_desc,
    bias_ptr,
    M,
    K,
    N,
    stride_bias_n,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    HALF_N: gl.constexpr,
    GROUP_M: gl.constexpr,
    RESIDENT: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
):
    x_blocks = gl.allocate_shared_memory(
        x_block_desc.dtype,
        [STAGES * CONSUMERS] + x_block_desc.block_shape,
        x_block_desc.layout,
    )
    weight_blocks = gl.allocate_shared_memory(
        weight_block_desc.dtype,
        [STAGES] + weight_block_desc.block_shape,
        weight_block_desc.layout,
    )
    y_blocks = gl.allocate_shared_memory(
        y_block_desc.dtype,
        [CONSUMERS * DEPTH] + y_block_desc.block_shape,
        y_block_desc.layout,
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
                    _linear_gelu_multiply,
                    (
                        0,
                        y_block_desc,
                        x_blocks,
                        weight_blocks,
                        y_blocks,
                        filled,
                        emptied,
                        bias_ptr,
                        M,
                        K,
                        N,
                        stride_bias_n,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        HALF_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                    ),
                ),
                (
                    _linear_gelu_multiply,
                    (
                        1,
                        y_block_desc,
                        x_blocks,
                        weight_blocks,
                        y_blocks,
                        filled,
                        emptied,
                        bias_ptr,
                        M,
                        K,
                        N,
                        stride_bias_n,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        HALF_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                    ),
                ),
                (
                    _linear_gelu_load,
                    (
                        x_block_desc,
                        weight_block_desc,
                        x_blocks,
                        weight_blocks,
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
                    _linear_gelu_multiply,
                    (
                        0,
                        y_block_desc,
                        x_blocks,
                        weight_blocks,
                        y_blocks,
                        filled,
                        emptied,
                        bias_ptr,
                        M,
                        K,
                        N,
                        stride_bias_n,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        HALF_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                    ),
                ),
                (
                    _linear_gelu_load,
                    (
                        x_block_desc,
                        weight_block_desc,
                        x_blocks,
                        weight_blocks,
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


def linear_gelu(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """y = gelu(x @ weight.T + bias), accumulated in float32.

    Args:
        x: [M, K] float16 or bfloat16.
        weight: [N, K] float16 or bfloat16.
        bias: [N] float16 or bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.
    """
    if (
        x.ndim != 2
        or weight.ndim != 2
        or weight.shape[1] != x.shape[1]
        or bias.shape != weight.shape[:1]
    ):
        raise ValueError(
            "linear_gelu: x, weight and bias must have shapes [M, K], [N, K] and "
            f"[N], got {x.shape}, {weight.shape} and {bias.shape}"
        )
    M, K = x.shape
    N = weight.shape[0]
    y = x.new_empty((M, N)) if out is None else out
    if y.shape != (M, N):
        raise ValueError(
            f"linear_gelu: out must have shape [M={M}, N={N}], got {y.shape}"
        )
    _check_dtypes(
        "linear_gelu", (torch.float16, torch.bfloat16), x=x, weight=weight, bias=bias
    )
    _check_dtypes("linear_gelu", (x.dtype,), out=y)
    _check_tensors(
        "linear_gelu", ("x", "weight", "out"), x=x, weight=weight, bias=bias, out=y
    )
    _check_strided("linear_gelu: out", out, x=x, weight=weight, bias=bias)
    if M * N == 0:
        return y

    stride_bias_n = bias.stride(0)
    _check_descriptor("linear_gelu: x", x, 1)
    _check_descriptor("linear_gelu: weight", weight, 1)
    _check_descriptor("linear_gelu: out", y, 1, is_written=True)
    if M >= 2**31 - 2**20:
        raise ValueError(
            f"linear_gelu: M is {M}, and tensor descriptors count in int32; pass "
            "the tensor in parts, or use views with { offsets: tl.int64 }"
        )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"linear_gelu: K is {K}, and tensor descriptors count in int32; pass "
            "the tensor in parts, or use views with { offsets: tl.int64 }"
        )
    if N >= 2**31 - 2**20:
        raise ValueError(
            f"linear_gelu: N is {N}, and tensor descriptors count in int32; pass "
            "the tensor in parts, or use views with { offsets: tl.int64 }"
        )
    multi_processor_count = _gpu_property(x.device, "multi_processor_count", 132)

    with torch.cuda.device(x.get_device()):
        if _is_specialized(x, weight, y):

            def _programs(meta):
                return (
                    min(
                        multi_processor_count * meta["RESIDENT"],
                        triton.cdiv(M, meta["BLOCK_M"])
                        * triton.cdiv(N, meta["BLOCK_N"]),
                    ),
                )

            with _TUNING_LOCK:
                linear_gelu_specialized_kernel[_programs](
                    _described(x),
                    _described(weight),
                    _described(y),
                    bias,
                    M,
                    K,
                    N,
                    stride_bias_n,
                )
            return y
        x_desc = TensorDescriptor.from_tensor(x, [1, 1])
        weight_desc = TensorDescriptor.from_tensor(weight, [1, 1])
        y_desc = TensorDescriptor.from_tensor(y, [1, 1])

        def grid(meta):
            return (
                min(
                    multi_processor_count * meta["RESIDENT"],
                    triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
                ),
            )

        linear_gelu_kernel[grid](
            x_desc, weight_desc, bias, y_desc, M, K, N, stride_bias_n
        )
    return y


def reference_fn(x, weight, bias):
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias))


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 1000, "K": 328, "N": 776},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((N, K), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
    ]


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


def _gpu_property(device, name, interpreted):
    """A property of the GPU that a launch is for, or what stands for it."""
    if _INTERPRETED:
        return _INTERPRETED_GPU.get(name, interpreted)
    return getattr(torch.cuda.get_device_properties(device), name)


def _is_specialized(*tensors):
    """True if the warp-specialized kernel supports the GPU and the tensors' layouts."""
    if _INTERPRETED or torch.compiler.is_compiling() or torch.version.hip:
        return False
    if torch.cuda.get_device_capability() != (9, 0):
        return False
    return all(map(_is_movable, tensors))


def _is_movable(tensor):
    """True if the GPU's copy engine can move blocks of the tensor."""
    steps = [step * tensor.element_size() for step in tensor.stride()[:-1]]
    return (
        tensor.stride(-1) == 1
        and all(step % 16 == 0 and 0 < step < 2**40 for step in steps)
        and tensor.data_ptr() % 16 == 0
        # Stores may write up to the next multiple of 16 bytes behind a row.
        and tensor.shape[-1] * tensor.element_size() % 16 == 0
        and tensor.numel() > 0
    )


def _described(tensor):
    """A descriptor of the tensor, whose block the config sets."""
    size = tensor.element_size()
    block = [1] * (tensor.ndim - 1) + [16 // size]
    return _GluonDescriptor.from_tensor(tensor, block, _layout_of(size, *block))


def _set_block(desc, block):
    """Sets a descriptor's block to that of the config that is to run."""
    desc.block_shape = block
    desc.layout = _layout_of(desc.base.element_size(), *block)


@functools.cache
def _layout_of(size, *block):
    """The layout of a block in shared memory, for elements of `size` bytes."""
    dtype = getattr(gl, f"int{8 * size}")
    return gl.NVMMASharedLayout.get_default_for(list(block), dtype)


@gluon.jit
def _write_pieces(
    tile: gl.tensor,
    desc: tma.tensor_descriptor,
    start: gl.tuple,
    blocks: gl.shared_memory_descriptor,
    part: gl.constexpr,
    count: gl.constexpr,
    depth: gl.constexpr,
):
    """Writes a tile [M, N] to desc's tensor, in pieces of N / count columns.

    start is the index of the tile's first element in the tensor. Consumer part has
    depth blocks of shared memory, each for a piece: it fills one while the copy engine
    reads the others.
    """
    pieces = _pieces_of(tile, count)
    for i in gl.static_range(count):
        block = blocks.index(part * depth + i % depth)
        tma.store_wait(depth - 1)
        block.reshape(pieces[i].shape).store(pieces[i])
        fence_async_shared()
        columns = start[-1] + i * (tile.shape[1] // count)
        _store_block(desc, start[:-1] + [columns], block)


@gluon.jit
def _pieces_of(tile: gl.tensor, count: gl.constexpr) -> gl.tuple:
    """Splits a tile [M, N] into count tiles [M, N / count], from left to right.

    It halves tiles, as Gluon splits in two only. So count must be a power of two.
    """
    if count == 1:
        return (tile,)
    else:
        halves = tile.reshape([tile.shape[0], 2, tile.shape[1] // 2])
        left, right = halves.permute(0, 2, 1).split()
        return _pieces_of(left, count // 2) + _pieces_of(right, count // 2)


kernel_fn = linear_gelu
