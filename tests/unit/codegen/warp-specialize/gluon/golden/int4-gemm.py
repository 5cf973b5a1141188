"""C = A @ ((W - zero) * scale): W in int4 with a scale and a zero point for each
group of rows and column.

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


def _prune_configs(configs, named_args, **kwargs):
    """The configs that meet the kernel's requirements."""
    args = {**named_args, **kwargs}
    GROUP_SIZE = args["GROUP_SIZE"]
    kept = []
    for config in configs:
        if GROUP_SIZE % config.kwargs["BLOCK_K"] == 0:
            kept.append(config)
    if not kept:
        raise ValueError(
            "int4_gemm: no config has GROUP_SIZE % BLOCK_K == 0 with "
            f"GROUP_SIZE={GROUP_SIZE}; add one that does"
        )
    return kept


@triton.jit
def two_weights(words, zero, scale):
    """Two weights of each word: of the lowest 4 bits, and of those that lie 16 bits
    above.
    """
    bits = (words & 0xF000F) | 0x64006400
    low = bits.to(tl.int16).to(tl.float16, bitcast=True)
    high = (bits >> 16).to(tl.int16).to(tl.float16, bitcast=True)
    return tl.join(
        (low - zero[None, :]) * scale[None, :], (high - zero[None, :]) * scale[None, :]
    )


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K, "GROUP_M": 8},
            num_warps=num_warps,
            num_stages=num_stages,
            maxnreg=None if torch.version.hip else maxnreg,
        )
        for BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages, maxnreg in [
            (16, 32, 128, 8, 5, None),
            (16, 32, 128, 2, 3, None),
            (32, 64, 64, 4, 4, None),
            (64, 128, 64, 4, 4, None),
            (128, 128, 64, 8, 3, 128),
            (128, 256, 64, 8, 3, None),
            (256, 128, 64, 8, 3, None),
        ]
    ],
    key=["M", "N", "K", "GROUP_SIZE"],
    prune_configs_by={"early_config_prune": _prune_configs},
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def int4_gemm_kernel(
    a_ptr,
    packed_ptr,
    scales_ptr,
    zeros_ptr,
    c_ptr,
    M,
    K,
    N,
    stride_am,
    stride_ak,
    stride_packed_k_words,
    stride_packed_n,
    stride_scales_groups,
    stride_scales_n,
    stride_zeros_groups,
    stride_zeros_n_words,
    stride_cm,
    stride_cn,
    GROUP_SIZE: tl.constexpr,
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
    # Rows and columns wrap instead of being masked inside the loop; the store masks
    # what is left over.
    am = rm % M
    wn = rn % N
    lanes = tl.arange(0, BLOCK_K)
    word_lanes = tl.arange(0, BLOCK_K // 8)
    zero_shifts = (wn % 8) * 4
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    a_ptrs = a_ptr + (am[:, None] * stride_am + lanes[None, :] * stride_ak)
    for k in range(0, K, BLOCK_K):
        x = tl.load(a_ptrs)
        words = tl.load(
            packed_ptr
            + (k // 8 + word_lanes)[:, None] * stride_packed_k_words
            + wn[None, :] * stride_packed_n
        )
        group = k // GROUP_SIZE
        scale = tl.load(
            scales_ptr + group * stride_scales_groups + wn * stride_scales_n
        )
        zero_words = tl.load(
            zeros_ptr + group * stride_zeros_groups + (wn // 8) * stride_zeros_n_words
        )
        zero_bits = ((zero_words >> zero_shifts) & 15) | 0x6400
        zero = zero_bits.to(tl.int16).to(tl.float16, bitcast=True)
        # Rows 0 and 4 of each word's eight, then 2 and 6, 1 and 5, 3 and 7.
        even = tl.join(
            two_weights(words, zero, scale), two_weights(words >> 8, zero, scale)
        )
        odd = tl.join(
            two_weights(words >> 4, zero, scale), two_weights(words >> 12, zero, scale)
        )
        rows = tl.join(even, odd)
        weights = tl.reshape(tl.permute(rows, [0, 2, 3, 4, 1]), [BLOCK_K, BLOCK_N])
        acc = tl.dot(x, weights, acc)
        a_ptrs += BLOCK_K * stride_ak
    tl.store(
        c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
        acc.to(tl.float16),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


@gluon.jit
def _int4_gemm_load(
    a_desc,
    packed_desc,
    a_blocks,
    packed_blocks,
    packed_filled,
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
    # Grouped order: neighboring programs share rows of A in L2.
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
        for k in range(0, K, BLOCK_K):
            slot = iteration % STAGES
            mbarrier.wait(emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
            mbarrier.expect(packed_filled.index(slot), packed_desc.block_type.nbytes)
            _load_block(
                packed_desc,
                [k // 8, index_1],
                packed_filled.index(slot),
                packed_blocks.index(slot),
            )
            mbarrier.expect(filled.index(slot), CONSUMERS * a_desc.block_type.nbytes)
            for i in gl.static_range(CONSUMERS):
                _load_block(
                    a_desc,
                    [index + i * (BLOCK_M // CONSUMERS), k],
                    filled.index(slot),
                    a_blocks.index(slot * CONSUMERS + i),
                )
            iteration += 1


@gluon.jit
def _int4_gemm_two_weights(words, zero, scale):
    """Two weights of each word: of the lowest 4 bits, and of those that lie 16 bits
    above.
    """
    bits = (words & 0xF000F) | 0x64006400
    low = bits.to(gl.int16).to(gl.float16, bitcast=True)
    high = (bits >> 16).to(gl.int16).to(gl.float16, bitcast=True)
    return gl.join(
        (low - zero[None, :]) * scale[None, :], (high - zero[None, :]) * scale[None, :]
    )


@gluon.jit
def _int4_gemm_widen(
    packed_blocks,
    widened_blocks,
    packed_filled,
    filled,
    scales_ptr,
    zeros_ptr,
    M,
    K,
    N,
    stride_scales_groups,
    stride_scales_n,
    stride_zeros_groups,
    stride_zeros_n_words,
    GROUP_SIZE: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    STAGES: gl.constexpr,
):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])
    iteration = 0
    # Grouped order: neighboring programs share rows of A in L2.
    for pid in range(
        gl.program_id(0), gl.cdiv(M, BLOCK_M) * gl.cdiv(N, BLOCK_N), gl.num_programs(0)
    ):
        num_pid_m = gl.cdiv(M, BLOCK_M)
        num_pid_n = gl.cdiv(N, BLOCK_N)
        _, pid_n = _swizzle2d(
            pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        rn = pid_n * BLOCK_N + gl.arange(0, BLOCK_N)
        wn = rn % N
        zero_shifts = (wn % 8) * 4
        scale = gl.load(
            scales_ptr + 0 * stride_scales_groups + wn * stride_scales_n, mask=0 < K
        )
        zero_words = gl.load(
            zeros_ptr + 0 * stride_zeros_groups + (wn // 8) * stride_zeros_n_words,
            mask=0 < K,
        )
        for k in range(0, K, BLOCK_K):
            index = k + BLOCK_K
            group = index // GROUP_SIZE
            zero_bits = ((zero_words >> zero_shifts) & 15) | 0x6400
            zero = zero_bits.to(gl.int16).to(gl.float16, bitcast=True)
            slot = iteration % STAGES
            scale_1 = gl.load(
                scales_ptr + group * stride_scales_groups + wn * stride_scales_n,
                mask=index < K,
            )
            zero_words_1 = gl.load(
                zeros_ptr
                + group * stride_zeros_groups
                + (wn // 8) * stride_zeros_n_words,
                mask=index < K,
            )
            mbarrier.wait(packed_filled.index(slot), (iteration // STAGES) & 1)
            words = packed_blocks.index(slot).load(layout)
            # Rows 0 and 4 of each word's eight, then 2 and 6, 1 and 5, 3 and 7.
            even = gl.join(
                _int4_gemm_two_weights(words, zero, scale),
                _int4_gemm_two_weights(words >> 8, zero, scale),
            )
            odd = gl.join(
                _int4_gemm_two_weights(words >> 4, zero, scale),
                _int4_gemm_two_weights(words >> 12, zero, scale),
            )
            rows = gl.join(even, odd)
            weights = gl.reshape(gl.permute(rows, [0, 2, 3, 4, 1]), [BLOCK_K, BLOCK_N])
            widened_blocks.index(slot).permute((1, 0)).store(weights)
            fence_async_shared()
            mbarrier.arrive(filled.index(slot))
            iteration += 1
            scale = scale_1
            zero_words = zero_words_1


@gluon.jit
def _int4_gemm_multiply(
    part: gl.constexpr,
    c_desc,
    a_blocks,
    c_blocks,
    widened_blocks,
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
    iteration = 0
    # Grouped order: neighboring programs share rows of A in L2.
    for pid in range(
        gl.program_id(0), gl.cdiv(M, BLOCK_M) * gl.cdiv(N, BLOCK_N), gl.num_programs(0)
    ):
        num_pid_m = gl.cdiv(M, BLOCK_M)
        num_pid_n = gl.cdiv(N, BLOCK_N)
        pid_m, pid_n = _swizzle2d(
            pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        acc = gl.set_auto_layout(
            gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], dtype=gl.float32), layout
        )
        for k in range(0, K, BLOCK_K):
            slot = iteration % STAGES
            mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
            acc = warpgroup_mma(
                a_blocks.index(slot * CONSUMERS + part),
                widened_blocks.index(slot).permute((1, 0)),
                acc,
                is_async=True,
            )
            acc = warpgroup_mma_wait(1, deps=(acc,))
            mbarrier.arrive(
                emptied.index((iteration + STAGES - 1) % STAGES), pred=k > 0
            )
            iteration += 1
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(emptied.index((iteration + STAGES - 1) % STAGES), pred=0 < K)

        _write_pieces(
            acc.to(gl.float16),
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
    _set_block(args["packed_desc"], [args["BLOCK_K"] // 8, args["BLOCK_N"]])
    _set_block(
        args["c_desc"],
        [args["BLOCK_M"] // args["CONSUMERS"], args["BLOCK_N"] // args["PIECES"]],
    )


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "CONSUMERS": 1,
                "STAGES": 7,
                "PIECES": 2,
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
                "PIECES": 4,
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
                "STAGES": 4,
                "PIECES": 4,
                "DEPTH": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["M", "N", "K", "GROUP_SIZE"],
)
@gluon.jit
def int4_gemm_specialized_kernel(
    a_desc,
    packed_desc,
    c_desc,
    scales_ptr,
    zeros_ptr,
    M,
    K,
    N,
    stride_scales_groups,
    stride_scales_n,
    stride_zeros_groups,
    stride_zeros_n_words,
    GROUP_SIZE: gl.constexpr,
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
    packed_blocks = gl.allocate_shared_memory(
        packed_desc.dtype, [STAGES] + packed_desc.block_shape, packed_desc.layout
    )
    widened_blocks = gl.allocate_shared_memory(
        a_desc.dtype,
        [STAGES, BLOCK_N, BLOCK_K],
        gl.NVMMASharedLayout.get_default_for([BLOCK_N, BLOCK_K], a_desc.dtype),
    )
    c_blocks = gl.allocate_shared_memory(
        c_desc.dtype, [CONSUMERS * DEPTH] + c_desc.block_shape, c_desc.layout
    )
    packed_filled = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    filled = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    emptied = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    for slot in gl.static_range(STAGES):
        mbarrier.init(packed_filled.index(slot), count=1)
        mbarrier.init(filled.index(slot), count=2)
        mbarrier.init(emptied.index(slot), count=CONSUMERS)
    if CONSUMERS == 2:
        gl.warp_specialize(
            [
                (
                    _int4_gemm_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        c_blocks,
                        widened_blocks,
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
                    _int4_gemm_multiply,
                    (
                        1,
                        c_desc,
                        a_blocks,
                        c_blocks,
                        widened_blocks,
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
                    _int4_gemm_widen,
                    (
                        packed_blocks,
                        widened_blocks,
                        packed_filled,
                        filled,
                        scales_ptr,
                        zeros_ptr,
                        M,
                        K,
                        N,
                        stride_scales_groups,
                        stride_scales_n,
                        stride_zeros_groups,
                        stride_zeros_n_words,
                        GROUP_SIZE,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        STAGES,
                    ),
                ),
                (
                    _int4_gemm_load,
                    (
                        a_desc,
                        packed_desc,
                        a_blocks,
                        packed_blocks,
                        packed_filled,
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
            [4, 4, 1],
            [160, 152, 24],
        )
    else:
        gl.warp_specialize(
            [
                (
                    _int4_gemm_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        c_blocks,
                        widened_blocks,
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
                    _int4_gemm_widen,
                    (
                        packed_blocks,
                        widened_blocks,
                        packed_filled,
                        filled,
                        scales_ptr,
                        zeros_ptr,
                        M,
                        K,
                        N,
                        stride_scales_groups,
                        stride_scales_n,
                        stride_zeros_groups,
                        stride_zeros_n_words,
                        GROUP_SIZE,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        STAGES,
                    ),
                ),
                (
                    _int4_gemm_load,
                    (
                        a_desc,
                        packed_desc,
                        a_blocks,
                        packed_blocks,
                        packed_filled,
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
            [152, 24],
        )


def int4_gemm(
    a: torch.Tensor,
    packed: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor,
    GROUP_SIZE: int = 128,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = A @ ((W - zero) * scale): W in int4 with a scale and a zero point for each
    group of rows and column.

    Args:
        a: [M, K] float16.
        packed: [K_WORDS, N] int32.
        scales: [GROUPS, N] float16.
        zeros: [GROUPS, N_WORDS] int32.
        GROUP_SIZE: an int that the kernel is compiled for.
        out: where to write [M, N] float16; allocated if None.
    """
    _check_type("int4_gemm: GROUP_SIZE", GROUP_SIZE, int)
    if (
        a.ndim != 2
        or packed.ndim != 2
        or scales.ndim != 2
        or zeros.ndim != 2
        or zeros.shape[0] != scales.shape[0]
    ):
        raise ValueError(
            "int4_gemm: a, packed, scales and zeros must have shapes [M, K], "
            f"[K_WORDS, N], [GROUPS, N] and [GROUPS, N_WORDS], got {a.shape}, "
            f"{packed.shape}, {scales.shape} and {zeros.shape}"
        )
    M = a.shape[0]
    GROUPS = scales.shape[0]
    N_WORDS = zeros.shape[1]
    K = GROUPS * GROUP_SIZE
    K_WORDS = GROUPS * (GROUP_SIZE // 8)
    N = N_WORDS * 8
    if (
        a.shape[1] != K
        or packed.shape[0] != K_WORDS
        or packed.shape[1] != N
        or scales.shape[1] != N
    ):
        raise ValueError(
            f"int4_gemm: a, packed and scales must have shapes [M={M}, K={K}], "
            f"[K_WORDS={K_WORDS}, N={N}] and [GROUPS={GROUPS}, N={N}], got "
            f"{a.shape}, {packed.shape} and {scales.shape}"
        )
    c = a.new_empty((M, N)) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"int4_gemm: out must have shape [M={M}, N={N}], got {c.shape}"
        )
    _check_dtypes("int4_gemm", (torch.float16,), a=a, scales=scales)
    _check_dtypes("int4_gemm", (torch.int32,), packed=packed, zeros=zeros)
    _check_dtypes("int4_gemm", (torch.float16,), out=c)
    _check_tensors("int4_gemm", a=a, packed=packed, scales=scales, zeros=zeros, out=c)
    _check_strided(
        "int4_gemm: out", out, a=a, packed=packed, scales=scales, zeros=zeros
    )
    if M * N == 0:
        return c

    stride_scales_groups, stride_scales_n = scales.stride()
    stride_zeros_groups, stride_zeros_n_words = zeros.stride()

    with torch.cuda.device(a.get_device()):
        if _is_specialized(a, packed, c) and GROUP_SIZE % 64 == 0:

            def _programs(meta):
                return (
                    min(
                        triton.cdiv(M, meta["BLOCK_M"])
                        * triton.cdiv(N, meta["BLOCK_N"]),
                        _gpu_property(a.device, "multi_processor_count", 132),
                    ),
                )

            with _TUNING_LOCK:
                int4_gemm_specialized_kernel[_programs](
                    _described(a),
                    _described(packed),
                    _described(c),
                    scales,
                    zeros,
                    M,
                    K,
                    N,
                    stride_scales_groups,
                    stride_scales_n,
                    stride_zeros_groups,
                    stride_zeros_n_words,
                    GROUP_SIZE=GROUP_SIZE,
                )
            return c

        def grid(meta):
            return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

        int4_gemm_kernel[grid](
            a,
            packed,
            scales,
            zeros,
            c,
            M,
            K,
            N,
            *a.stride(),
            *packed.stride(),
            stride_scales_groups,
            stride_scales_n,
            stride_zeros_groups,
            stride_zeros_n_words,
            *c.stride(),
            GROUP_SIZE=GROUP_SIZE,
        )
    return c


def reference_fn(a, packed, scales, zeros, GROUP_SIZE=128):
    K = a.shape[1]
    N = packed.shape[1]
    GROUPS = scales.shape[0]
    shifts = torch.arange(8, device=a.device).mul(4)
    weights = (
        packed.unsqueeze(1)
        .bitwise_right_shift(shifts.reshape(1, 8, 1))
        .bitwise_and(15)
        .reshape(K, N)
    )
    zero = (
        zeros.unsqueeze(2)
        .bitwise_right_shift(shifts)
        .bitwise_and(15)
        .reshape(GROUPS, N)
    )
    grouped = (
        weights.reshape(GROUPS, GROUP_SIZE, N)
        .sub(zero.unsqueeze(1))
        .mul(scales.unsqueeze(1))
    )
    return torch.matmul(a, grouped.reshape(K, N).half().to(a.dtype))


SHAPES = [
    {"M": 16, "GROUPS": 32, "N_WORDS": 512, "GROUP_SIZE": 128},
    {"M": 4096, "GROUPS": 32, "N_WORDS": 512, "GROUP_SIZE": 128},
    {"M": 70, "GROUPS": 2, "N_WORDS": 17, "GROUP_SIZE": 128},
]


def get_inputs(M=16, GROUPS=32, N_WORDS=512, *, GROUP_SIZE=128):
    device = "cpu" if _INTERPRETED else "cuda"
    K = GROUPS * GROUP_SIZE
    K_WORDS = GROUPS * (GROUP_SIZE // 8)
    N = N_WORDS * 8
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randint(
            -2147483648, 2147483648, (K_WORDS, N), device=device, dtype=torch.int32
        ),
        torch.randn((GROUPS, N), device=device, dtype=torch.float16),
        torch.randint(
            -2147483648, 2147483648, (GROUPS, N_WORDS), device=device, dtype=torch.int32
        ),
        GROUP_SIZE,
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


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


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


kernel_fn = int4_gemm
