"""C = A @ B.T, where A and B are 8-bit floats times the scales of their blocks,
accumulated in float32.

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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "GROUP_M": 8},
            num_warps=num_warps,
            num_stages=4,
        )
        for BLOCK_M, BLOCK_N, num_warps in [(128, 128, 8), (64, 128, 4), (64, 64, 4)]
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def fp8_gemm_block_scaled_kernel(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    K,
    N,
    N_GROUPS,
    stride_am,
    stride_ak,
    stride_a_scale_k_groups,
    stride_a_scale_m,
    stride_bn,
    stride_bk,
    stride_b_scale_n_groups,
    stride_b_scale_k_groups,
    stride_cm,
    stride_cn,
    OUT: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Grouped order: programs that run at one time share rows of A in L2.
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(
        pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, GROUP_M
    )
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows and columns wrap instead of being masked inside the loop; the store masks
    # what is left over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    rk = tl.arange(0, 128)
    a_ptrs = a_ptr + (am[:, None] * stride_am + rk[None, :] * stride_ak)
    b_ptrs = b_ptr + (bn[:, None] * stride_bn + rk[None, :] * stride_bk)
    for group in range(tl.cdiv(K, 128)):
        mask = rk[None, :] < K - group * 128
        x = tl.load(a_ptrs, mask=mask, other=0.0)
        y = tl.trans(tl.load(b_ptrs, mask=mask, other=0.0))
        row_scale = tl.load(
            a_scale_ptr + group * stride_a_scale_k_groups + am * stride_a_scale_m
        )
        index = pid_n * BLOCK_N // 128
        block_scale = tl.load(
            b_scale_ptr
            + (index * stride_b_scale_n_groups + group * stride_b_scale_k_groups),
            mask=index < N_GROUPS,
            other=0.0,
        )
        acc += tl.dot(x, y) * (row_scale * block_scale)[:, None]
        a_ptrs += 128 * stride_ak
        b_ptrs += 128 * stride_bk
    tl.store(
        c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
        acc.to(OUT),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


@gluon.jit
def _fp8_gemm_block_scaled_load(
    a_desc,
    b_desc,
    a_scale_desc,
    a_blocks,
    b_blocks,
    a_scale_blocks,
    filled,
    emptied,
    M,
    K,
    N,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
):
    iteration = 0
    # Grouped order: programs that run at one time share rows of A in L2.
    for pid in range(
        gl.program_id(0), gl.cdiv(M, BLOCK_M) * gl.cdiv(N, BLOCK_N), gl.num_programs(0)
    ):
        num_pid_m = gl.cdiv(M, BLOCK_M)
        num_pid_n = gl.cdiv(N, BLOCK_N)
        pid_m, pid_n = _swizzle2d(
            pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        index = pid_m * BLOCK_M
        index_1 = pid_n * BLOCK_N
        for group in range(gl.cdiv(K, 128)):
            index_2 = group * 128
            slot = iteration % STAGES
            mbarrier.wait(emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
            mbarrier.expect(
                filled.index(slot),
                CONSUMERS * (a_desc.block_type.nbytes + a_scale_desc.block_type.nbytes)
                + b_desc.block_type.nbytes,
            )
            for i in gl.static_range(CONSUMERS):
                _load_block(
                    a_desc,
                    [index + i * (BLOCK_M // CONSUMERS), index_2],
                    filled.index(slot),
                    a_blocks.index(slot * CONSUMERS + i),
                )
            _load_block(
                b_desc, [index_1, index_2], filled.index(slot), b_blocks.index(slot)
            )
            for i in gl.static_range(CONSUMERS):
                _load_block(
                    a_scale_desc,
                    [group, index + i * (BLOCK_M // CONSUMERS)],
                    filled.index(slot),
                    a_scale_blocks.index(slot * CONSUMERS + i),
                )
            iteration += 1


@gluon.jit
def _fp8_gemm_block_scaled_multiply(
    part: gl.constexpr,
    c_desc,
    a_blocks,
    b_blocks,
    a_scale_blocks,
    c_blocks,
    filled,
    emptied,
    b_scale_ptr,
    M,
    K,
    N,
    N_GROUPS,
    stride_b_scale_n_groups,
    stride_b_scale_k_groups,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
    IN_FLIGHT: gl.constexpr,
):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 32])
    iteration = 0
    # Grouped order: programs that run at one time share rows of A in L2.
    for pid in range(
        gl.program_id(0), gl.cdiv(M, BLOCK_M) * gl.cdiv(N, BLOCK_N), gl.num_programs(0)
    ):
        num_pid_m = gl.cdiv(M, BLOCK_M)
        num_pid_n = gl.cdiv(N, BLOCK_N)
        pid_m, pid_n = _swizzle2d(
            pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        index = gl.cdiv(K, 128)
        acc = gl.set_auto_layout(
            gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], dtype=gl.float32), layout
        )
        index_1 = pid_n * BLOCK_N // 128
        scale = gl.load(
            b_scale_ptr + index_1 * stride_b_scale_n_groups,
            mask=(0 < index) & (index_1 < N_GROUPS),
            other=0.0,
        )
        if IN_FLIGHT == 2:
            scale_1 = gl.load(
                b_scale_ptr
                + (index_1 * stride_b_scale_n_groups + 1 * stride_b_scale_k_groups),
                mask=(1 < index) & (index_1 < N_GROUPS),
                other=0.0,
            )
            for group in range(0, index - 1, 2):
                index_2 = group + 2
                index_3 = group + 3
                slot = iteration % STAGES
                block_scale = gl.load(
                    b_scale_ptr
                    + (
                        index_1 * stride_b_scale_n_groups
                        + index_2 * stride_b_scale_k_groups
                    ),
                    mask=(index_2 < index) & (index_1 < N_GROUPS),
                    other=0.0,
                )
                block_scale_1 = gl.load(
                    b_scale_ptr
                    + (
                        index_1 * stride_b_scale_n_groups
                        + index_3 * stride_b_scale_k_groups
                    ),
                    mask=(index_3 < index) & (index_1 < N_GROUPS),
                    other=0.0,
                )
                mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
                products = warpgroup_mma(
                    a_blocks.index(slot * CONSUMERS + part),
                    b_blocks.index(slot).permute((1, 0)),
                    gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], gl.float32, layout),
                    use_acc=False,
                    is_async=True,
                )
                scales = (
                    a_scale_blocks.index(slot * CONSUMERS + part)
                    .reshape([BLOCK_M // CONSUMERS])
                    .load(gl.SliceLayout(1, layout))
                )
                iteration += 1
                slot = iteration % STAGES
                mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
                products_1 = warpgroup_mma(
                    a_blocks.index(slot * CONSUMERS + part),
                    b_blocks.index(slot).permute((1, 0)),
                    gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], gl.float32, layout),
                    use_acc=False,
                    is_async=True,
                )
                scales_1 = (
                    a_scale_blocks.index(slot * CONSUMERS + part)
                    .reshape([BLOCK_M // CONSUMERS])
                    .load(gl.SliceLayout(1, layout))
                )
                fence_async_shared()
                products_2, products_3 = warpgroup_mma_wait(
                    1, deps=(products, products_1)
                )
                mbarrier.arrive(emptied.index((iteration + STAGES - 1) % STAGES))
                acc += products_2 * (scales * scale)[:, None]
                products_4 = warpgroup_mma_wait(0, deps=(products_3,))
                mbarrier.arrive(emptied.index(slot))
                acc += products_4 * (scales_1 * scale_1)[:, None]
                iteration += 1
                scale = block_scale
                scale_1 = block_scale_1
        for group in range((index // 2) * 2 if IN_FLIGHT == 2 else 0, index):
            index_2 = group + 1
            slot = iteration % STAGES
            block_scale = gl.load(
                b_scale_ptr
                + (
                    index_1 * stride_b_scale_n_groups
                    + index_2 * stride_b_scale_k_groups
                ),
                mask=(index_2 < index) & (index_1 < N_GROUPS),
                other=0.0,
            )
            mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
            products = warpgroup_mma(
                a_blocks.index(slot * CONSUMERS + part),
                b_blocks.index(slot).permute((1, 0)),
                gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], gl.float32, layout),
                use_acc=False,
                is_async=True,
            )
            scales = (
                a_scale_blocks.index(slot * CONSUMERS + part)
                .reshape([BLOCK_M // CONSUMERS])
                .load(gl.SliceLayout(1, layout))
            )
            fence_async_shared()
            products_1 = warpgroup_mma_wait(0, deps=(products,))
            mbarrier.arrive(emptied.index(slot))
            acc += products_1 * (scales * scale)[:, None]
            iteration += 1
            scale = block_scale
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
    _set_block(args["a_desc"], [args["BLOCK_M"] // args["CONSUMERS"], 128])
    _set_block(args["b_desc"], [args["BLOCK_N"], 128])
    _set_block(args["a_scale_desc"], [1, args["BLOCK_M"] // args["CONSUMERS"]])
    _set_block(
        args["c_desc"],
        [args["BLOCK_M"] // args["CONSUMERS"], args["BLOCK_N"] // args["PIECES"]],
    )


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 6,
                "PIECES": 2,
                "DEPTH": 1,
                "IN_FLIGHT": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "GROUP_M": 8,
                "CONSUMERS": 2,
                "STAGES": 6,
                "PIECES": 2,
                "DEPTH": 1,
                "IN_FLIGHT": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 192,
                "BLOCK_N": 128,
                "GROUP_M": 8,
                "CONSUMERS": 3,
                "STAGES": 5,
                "PIECES": 4,
                "DEPTH": 1,
                "IN_FLIGHT": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "GROUP_M": 8,
                "CONSUMERS": 1,
                "STAGES": 8,
                "PIECES": 2,
                "DEPTH": 1,
                "IN_FLIGHT": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "GROUP_M": 8,
                "CONSUMERS": 1,
                "STAGES": 8,
                "PIECES": 2,
                "DEPTH": 1,
                "IN_FLIGHT": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["M", "N", "K"],
)
@gluon.jit
def fp8_gemm_block_scaled_specialized_kernel(
    a_desc,
    b_desc,
    a_scale_desc,
    c_desc,
    b_scale_ptr,
    M,
    K,
    N,
    N_GROUPS,
    stride_b_scale_n_groups,
    stride_b_scale_k_groups,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
    IN_FLIGHT: gl.constexpr,
):
    a_blocks = gl.allocate_shared_memory(
        a_desc.dtype, [STAGES * CONSUMERS] + a_desc.block_shape, a_desc.layout
    )
    b_blocks = gl.allocate_shared_memory(
        b_desc.dtype, [STAGES] + b_desc.block_shape, b_desc.layout
    )
    a_scale_blocks = gl.allocate_shared_memory(
        a_scale_desc.dtype,
        [STAGES * CONSUMERS] + a_scale_desc.block_shape,
        a_scale_desc.layout,
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
    if CONSUMERS == 3:
        gl.warp_specialize(
            [
                (
                    _fp8_gemm_block_scaled_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        N_GROUPS,
                        stride_b_scale_n_groups,
                        stride_b_scale_k_groups,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        IN_FLIGHT,
                    ),
                ),
                (
                    _fp8_gemm_block_scaled_multiply,
                    (
                        1,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        N_GROUPS,
                        stride_b_scale_n_groups,
                        stride_b_scale_k_groups,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        IN_FLIGHT,
                    ),
                ),
                (
                    _fp8_gemm_block_scaled_multiply,
                    (
                        2,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        N_GROUPS,
                        stride_b_scale_n_groups,
                        stride_b_scale_k_groups,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        IN_FLIGHT,
                    ),
                ),
                (
                    _fp8_gemm_block_scaled_load,
                    (
                        a_desc,
                        b_desc,
                        a_scale_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
            ],
            [4, 4, 1],
            [160, 160, 24],
        )
    elif CONSUMERS == 2:
        gl.warp_specialize(
            [
                (
                    _fp8_gemm_block_scaled_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        N_GROUPS,
                        stride_b_scale_n_groups,
                        stride_b_scale_k_groups,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        IN_FLIGHT,
                    ),
                ),
                (
                    _fp8_gemm_block_scaled_multiply,
                    (
                        1,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        N_GROUPS,
                        stride_b_scale_n_groups,
                        stride_b_scale_k_groups,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        IN_FLIGHT,
                    ),
                ),
                (
                    _fp8_gemm_block_scaled_load,
                    (
                        a_desc,
                        b_desc,
                        a_scale_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
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
                    _fp8_gemm_block_scaled_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        N_GROUPS,
                        stride_b_scale_n_groups,
                        stride_b_scale_k_groups,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        IN_FLIGHT,
                    ),
                ),
                (
                    _fp8_gemm_block_scaled_load,
                    (
                        a_desc,
                        b_desc,
                        a_scale_desc,
                        a_blocks,
                        b_blocks,
                        a_scale_blocks,
                        filled,
                        emptied,
                        M,
                        K,
                        N,
                        BLOCK_M,
                        BLOCK_N,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
            ],
            [1],
            [24],
        )


def fp8_gemm_block_scaled(
    a: torch.Tensor,
    a_scale: torch.Tensor,
    b: torch.Tensor,
    b_scale: torch.Tensor,
    OUT: torch.dtype,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = A @ B.T, where A and B are 8-bit floats times the scales of their blocks,
    accumulated in float32.

    Args:
        a: [M, K] float8e4nv.
        a_scale: [K_GROUPS, M] float32.
        b: [N, K] float8e4nv.
        b_scale: [N_GROUPS, K_GROUPS] float32.
        OUT: torch.bfloat16 or torch.float16.
        out: where to write [M, N] bfloat16 or float16; allocated if None.
    """
    _check_choice("fp8_gemm_block_scaled: OUT", OUT, torch.bfloat16, torch.float16)
    if (
        a.ndim != 2
        or a_scale.ndim != 2
        or a_scale.shape[1] != a.shape[0]
        or b.ndim != 2
        or b.shape[1] != a.shape[1]
        or b_scale.ndim != 2
    ):
        raise ValueError(
            "fp8_gemm_block_scaled: a, a_scale, b and b_scale must have shapes "
            "[M, K], [K_GROUPS, M], [N, K] and [N_GROUPS, K_GROUPS], got "
            f"{a.shape}, {a_scale.shape}, {b.shape} and {b_scale.shape}"
        )
    M, K = a.shape
    N = b.shape[0]
    K_GROUPS = triton.cdiv(K, 128)
    N_GROUPS = triton.cdiv(N, 128)
    if (
        a_scale.shape[0] != K_GROUPS
        or b_scale.shape[0] != N_GROUPS
        or b_scale.shape[1] != K_GROUPS
    ):
        raise ValueError(
            "fp8_gemm_block_scaled: a_scale and b_scale must have shapes "
            f"[K_GROUPS={K_GROUPS}, M={M}] and [N_GROUPS={N_GROUPS}, "
            f"K_GROUPS={K_GROUPS}], got {a_scale.shape} and {b_scale.shape}"
        )
    c = a.new_empty((M, N), dtype=OUT) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"fp8_gemm_block_scaled: out must have shape [M={M}, N={N}], got {c.shape}"
        )
    _check_dtypes("fp8_gemm_block_scaled", (torch.float8_e4m3fn,), a=a, b=b)
    _check_dtypes(
        "fp8_gemm_block_scaled", (torch.float32,), a_scale=a_scale, b_scale=b_scale
    )
    _check_dtypes("fp8_gemm_block_scaled", (OUT,), out=c)
    _check_tensors(
        "fp8_gemm_block_scaled", a=a, a_scale=a_scale, b=b, b_scale=b_scale, out=c
    )
    _check_strided(
        "fp8_gemm_block_scaled: out", out, a=a, a_scale=a_scale, b=b, b_scale=b_scale
    )
    if M * N == 0:
        return c

    stride_b_scale_n_groups, stride_b_scale_k_groups = b_scale.stride()
    _check_gpu(
        a.device,
        89,
        ["gfx942", "gfx950", "gfx1200"],
        "fp8_gemm_block_scaled is for sm_89 and later, gfx942, gfx950, "
        "gfx1200: others have no products of 8-bit floats",
    )

    with torch.cuda.device(a.get_device()):
        if _is_specialized(a, b, a_scale, c):

            def _programs(meta):
                return (
                    min(
                        triton.cdiv(M, meta["BLOCK_M"])
                        * triton.cdiv(N, meta["BLOCK_N"]),
                        _gpu_property(a.device, "multi_processor_count", 132),
                    ),
                )

            with _TUNING_LOCK:
                fp8_gemm_block_scaled_specialized_kernel[_programs](
                    _described(a),
                    _described(b),
                    _described(a_scale),
                    _described(c),
                    b_scale,
                    M,
                    K,
                    N,
                    N_GROUPS,
                    stride_b_scale_n_groups,
                    stride_b_scale_k_groups,
                )
            return c

        def grid(meta):
            return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

        fp8_gemm_block_scaled_kernel[grid](
            a,
            a_scale,
            b,
            b_scale,
            c,
            M,
            K,
            N,
            N_GROUPS,
            *a.stride(),
            *a_scale.stride(),
            *b.stride(),
            stride_b_scale_n_groups,
            stride_b_scale_k_groups,
            *c.stride(),
            OUT=_TRITON_DTYPES[OUT],
        )
    return c


def reference_fn(a, a_scale, b, b_scale, OUT):
    K = a.shape[1]
    N = b.shape[0]
    rows = a_scale.mT.repeat_interleave(128, 1).narrow(1, 0, K)
    columns = (
        b_scale.repeat_interleave(128, 1)
        .narrow(1, 0, K)
        .repeat_interleave(128, 0)
        .narrow(0, 0, N)
    )
    return torch.matmul(a.float().mul(rows), b.float().mul(columns).mT).to(OUT)


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 100, "K": 336, "N": 77},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    K_GROUPS = triton.cdiv(K, 128)
    N_GROUPS = triton.cdiv(N, 128)
    return [
        torch.randn((M, K), device=device).to(torch.float8_e4m3fn),
        torch.randn((K_GROUPS, M), device=device, dtype=torch.float32),
        torch.randn((N, K), device=device).to(torch.float8_e4m3fn),
        torch.randn((N_GROUPS, K_GROUPS), device=device, dtype=torch.float32),
        torch.bfloat16,
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


def _gpu_property(device, name, interpreted):
    """A property of the GPU that a launch is for, or what stands for it."""
    if _INTERPRETED:
        return _INTERPRETED_GPU.get(name, interpreted)
    return getattr(torch.cuda.get_device_properties(device), name)


def _check_gpu(device, cuda, hip, description):
    """Refuses a GPU that the kernel is not for."""
    # Without a GPU, PyTorch only traces.
    if _INTERPRETED or not torch.cuda.is_available():
        return
    if torch.version.hip is None:
        major, minor = torch.cuda.get_device_capability(device)
        found = f"sm_{major}{minor}"
        is_supported = cuda is not None and 10 * major + minor >= cuda
    else:
        properties = torch.cuda.get_device_properties(device)
        found = properties.gcnArchName.split(":")[0]
        is_supported = found in hip
    if not is_supported:
        raise RuntimeError(f"{description}; this GPU is {found}")


def _check_choice(label, value, *choices):
    """Refuses a value that is none of the choices."""
    if type(value) is not type(choices[0]) or value not in choices:
        error = ValueError if type(value) is type(choices[0]) else TypeError
        allowed = " or ".join(map(repr, choices))
        raise error(f"{label} must be {allowed}, got {value!r:.80}")


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


@gluon.jit
def _swizzle2d(i, j, size_i, size_j, size_g):
    """The i and j of a tile in grouped order, as triton.language.swizzle2d has them."""
    tile = i * size_j + j
    tiles_in_group = size_g * size_j
    first = tile // tiles_in_group * size_g
    rows = gl.minimum(size_i - first, size_g)
    return first + tile % tiles_in_group % rows, tile % tiles_in_group // rows


kernel_fn = fp8_gemm_block_scaled
