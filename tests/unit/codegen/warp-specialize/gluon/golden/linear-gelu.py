"""y = gelu(x @ weight.T + bias), accumulated in float32.

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
from triton.tools.tensor_descriptor import TensorDescriptor

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


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["x_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_K"]]
    args["weight_desc"].block_shape = [args["BLOCK_N"], args["BLOCK_K"]]
    args["y_desc"].block_shape = [args["BLOCK_M"], args["HALF_N"]]


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
            },
            num_warps=8,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "HALF_N": 64,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
            },
            num_warps=4,
            num_stages=3,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "HALF_N": 64,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
            },
            num_warps=8,
            num_stages=3,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 64,
                "HALF_N": 32,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
            },
            num_warps=4,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
    ],
    key=["M", "N", "K"],
    do_bench=_first_config if _INTERPRETED else None,
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
    turn = 0
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
            slot = turn % STAGES
            mbarrier.wait(emptied.index(slot), ((turn // STAGES) & 1) ^ 1)
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
            turn += 1


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
    turn = 0
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
            slot = turn % STAGES
            mbarrier.wait(filled.index(slot), (turn // STAGES) & 1)
            acc = warpgroup_mma(
                x_blocks.index(slot * CONSUMERS + part),
                weight_blocks.index(slot).permute((1, 0)),
                acc,
                is_async=True,
            )
            acc = warpgroup_mma_wait(1, deps=(acc,))
            mbarrier.arrive(emptied.index((turn + STAGES - 1) % STAGES), pred=step > 0)
            turn += 1
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(emptied.index((turn + STAGES - 1) % STAGES), pred=0 < index)
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

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("linear_gelu: x", x)
    _check_tensor("linear_gelu: weight", weight)
    _check_tensor("linear_gelu: bias", bias)
    if x.ndim != 2:
        raise ValueError(f"linear_gelu: x must have shape [M, K], got {list(x.shape)}")
    M, K = x.shape
    if x.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"linear_gelu: x must be torch.float16 or torch.bfloat16, got {x.dtype}"
        )
    if weight.ndim != 2 or weight.shape[1] != K:
        raise ValueError(
            f"linear_gelu: weight must have shape [N, K={K}], got {list(weight.shape)}"
        )
    N = weight.shape[0]
    if weight.dtype != x.dtype:
        raise TypeError(
            f"linear_gelu: weight must be {x.dtype} as x is, got {weight.dtype}"
        )
    if bias.shape != (N,):
        raise ValueError(
            f"linear_gelu: bias must have shape [N={N}], got {list(bias.shape)}"
        )
    if bias.dtype != x.dtype:
        raise TypeError(
            f"linear_gelu: bias must be {x.dtype} as x is, got {bias.dtype}"
        )
    if _records_gradient("linear_gelu", x, weight, bias, out):
        return _without_gradient(linear_gelu, (x, weight, bias), given=(out,))
    device = x.device
    if weight.device != device:
        raise ValueError(
            f"linear_gelu: weight must be on {device} as x is, got {weight.device}"
        )
    if bias.device != device:
        raise ValueError(
            f"linear_gelu: bias must be on {device} as x is, got {bias.device}"
        )
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return linear_gelu(x, weight, bias, out=out)
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"linear_gelu: x must be on a GPU, got {device}; the CPU "
            "needs TRITON_INTERPRET=1, set before triton is imported"
        )

    if out is None:
        y = x.new_empty((M, N))
    else:
        y = _check_out(
            "linear_gelu: out",
            out,
            (M, N),
            x.dtype,
            device,
            {"x": x, "weight": weight, "bias": bias},
        )
    if M * N == 0:
        return y

    stride_bias_n = bias.stride(0)
    _check_descriptor("linear_gelu: x", x, 1)
    _check_descriptor("linear_gelu: weight", weight, 1)
    _check_descriptor("linear_gelu: out", y, 1)
    if (N - 1) * stride_bias_n >= _INT32_REACH:
        raise _beyond_int32("linear_gelu: bias")
    if M >= _INT32_REACH or K >= _INT32_REACH or N >= _INT32_REACH:
        raise _undescribable("linear_gelu", M=M, K=K, N=N)
    multi_processor_count = _gpu_property(device, "multi_processor_count")
    if _INTERPRETED:
        _check_bfloat16("linear_gelu", x.dtype)
    if _is_specialized(x, weight, y):

        def _programs(meta):
            return (
                min(
                    multi_processor_count * meta["RESIDENT"],
                    triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
                ),
            )

        with _ALONE:
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

    linear_gelu_kernel[grid](x_desc, weight_desc, bias, y_desc, M, K, N, stride_bias_n)
    return y


def reference_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor):
    """What linear_gelu computes, in PyTorch."""
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias))


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 1000, "K": 328, "N": 776},
]


def get_inputs(M=512, K=512, N=512):
    """Fresh arguments for linear_gelu, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((N, K), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
    ]


def _check_descriptor(label, tensor, axis):
    """Refuses a tensor whose blocks the GPU's copy engine cannot address."""
    if 0 in tensor.shape:
        raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
    size, strides = tensor.element_size(), tensor.stride()
    if strides[axis] != 1:
        raise ValueError(
            f"{label} must have stride 1 on axis {axis}, got strides {list(strides)}; "
            "call .contiguous() first"
        )
    if any(s * size % 16 for i, s in enumerate(strides) if i != axis):
        raise ValueError(
            f"{label} must have strides of a multiple of 16 bytes on all axes but "
            f"{axis}, got {list(strides)} elements of {size} bytes; pad the tensor"
        )
    if tensor.data_ptr() % 16 != 0:
        raise ValueError(
            f"{label} must start at a multiple of 16 bytes; call .clone() first"
        )


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


def _undescribable(label, **sizes):
    """The error for a size that a descriptor does not count up to."""
    name = max(sizes, key=sizes.get)
    return ValueError(
        f"{label}: {name} is {sizes[name]}, and tensor "
        "descriptors count in int32; pass the tensor in parts, or "
        "use views with { offsets: tl.int64 }"
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


kernel_fn = linear_gelu
