"""softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

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


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N},
            num_warps=num_warps,
            num_stages=num_stages,
            maxnreg=None if torch.version.hip else maxnreg,
        )
        for BLOCK_M, BLOCK_N, num_warps, num_stages, maxnreg in [
            (128, 64, 8, 3, None),
            (128, 64, 4, 3, None),
            (128, 32, 4, 3, 168),
            (64, 64, 4, 3, None),
            (64, 32, 4, 3, None),
            (64, 32, 8, 2, None),
        ]
    ],
    key=["S", "HEAD_DIM"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
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


@gluon.jit
def _relative_attention_load(
    q_desc,
    k_desc,
    v_desc,
    q_blocks,
    k_blocks,
    v_blocks,
    q_filled,
    q_emptied,
    k_filled,
    k_emptied,
    v_filled,
    v_emptied,
    H,
    S,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
):
    iteration = 0
    index = gl.cdiv(S, BLOCK_M)
    tiles = index * H
    for i in range(gl.cdiv(tiles, gl.num_programs(0))):
        tile = i * gl.num_programs(0) + gl.where(
            i % 2 == 1, gl.num_programs(0) - 1 - gl.program_id(0), gl.program_id(0)
        )
        if tile < tiles:
            head = tile // index
            whole = (S // BLOCK_N) * BLOCK_N
            slot = iteration % STAGES
            index_1 = (tile % index) * BLOCK_M
            for i_1 in gl.static_range(CONSUMERS):
                mbarrier.wait(q_emptied.index(i_1), (i & 1) ^ 1)
                mbarrier.expect(q_filled.index(i_1), q_desc.block_type.nbytes)
                _load_block(
                    q_desc,
                    [head, index_1 + i_1 * (BLOCK_M // CONSUMERS), 0],
                    q_filled.index(i_1),
                    q_blocks.index(i_1),
                )
            mbarrier.wait(v_emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
            mbarrier.expect(v_filled.index(slot), v_desc.block_type.nbytes)
            _load_block(
                v_desc, [0, -BLOCK_N, 0], v_filled.index(slot), v_blocks.index(slot)
            )
            for start in range(0, whole, BLOCK_N):
                slot_1 = iteration % STAGES
                mbarrier.wait(k_emptied.index(slot_1), ((iteration // STAGES) & 1) ^ 1)
                mbarrier.expect(k_filled.index(slot_1), k_desc.block_type.nbytes)
                _load_block(
                    k_desc,
                    [head, start, 0],
                    k_filled.index(slot_1),
                    k_blocks.index(slot_1),
                )
                iteration += 1
                slot_1 = iteration % STAGES
                mbarrier.wait(v_emptied.index(slot_1), ((iteration // STAGES) & 1) ^ 1)
                mbarrier.expect(v_filled.index(slot_1), v_desc.block_type.nbytes)
                _load_block(
                    v_desc,
                    [head, start, 0],
                    v_filled.index(slot_1),
                    v_blocks.index(slot_1),
                )
            for start in range(whole, S, BLOCK_N):
                slot_1 = iteration % STAGES
                mbarrier.wait(k_emptied.index(slot_1), ((iteration // STAGES) & 1) ^ 1)
                mbarrier.expect(k_filled.index(slot_1), k_desc.block_type.nbytes)
                _load_block(
                    k_desc,
                    [head, start, 0],
                    k_filled.index(slot_1),
                    k_blocks.index(slot_1),
                )
                iteration += 1
                slot_1 = iteration % STAGES
                mbarrier.wait(v_emptied.index(slot_1), ((iteration // STAGES) & 1) ^ 1)
                mbarrier.expect(v_filled.index(slot_1), v_desc.block_type.nbytes)
                _load_block(
                    v_desc,
                    [head, start, 0],
                    v_filled.index(slot_1),
                    v_blocks.index(slot_1),
                )
            slot_1 = iteration % STAGES
            mbarrier.wait(k_emptied.index(slot_1), ((iteration // STAGES) & 1) ^ 1)
            mbarrier.arrive(k_filled.index(slot_1))
            iteration += 1


@gluon.jit
def _relative_attention_multiply(
    part: gl.constexpr,
    o_desc,
    q_blocks,
    k_blocks,
    v_blocks,
    o_blocks,
    q_filled,
    q_emptied,
    k_filled,
    k_emptied,
    v_filled,
    v_emptied,
    turn_given,
    bias_ptr,
    H,
    S,
    DISTANCES,
    HEAD_DIM: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
):
    scores_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [4, 1], [16, BLOCK_N, 16]
    )
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, HEAD_DIM, 16])
    iteration = 0
    index = gl.cdiv(S, BLOCK_M)
    tiles = index * H
    for i in range(gl.cdiv(tiles, gl.num_programs(0))):
        tile = i * gl.num_programs(0) + gl.where(
            i % 2 == 1, gl.num_programs(0) - 1 - gl.program_id(0), gl.program_id(0)
        )
        if tile < tiles:
            head = tile // index
            index_1 = (tile % index) * BLOCK_M
            rm = index_1 + (
                gl.arange(
                    0, BLOCK_M // CONSUMERS, layout=gl.SliceLayout(1, scores_layout)
                )
                + part * (BLOCK_M // CONSUMERS)
            )
            # Rows past the end, which are not stored, take the biases of the last one.
            last_distance = gl.minimum(rm, S - 1) + S - 1
            scale = gl.rsqrt(gl.full([], HEAD_DIM, gl.float32))
            best = gl.full(
                [BLOCK_M // CONSUMERS],
                float("-inf"),
                dtype=gl.float32,
                layout=gl.SliceLayout(1, scores_layout),
            )
            total = gl.zeros(
                [BLOCK_M // CONSUMERS],
                dtype=gl.float32,
                layout=gl.SliceLayout(1, scores_layout),
            )
            acc = gl.zeros(
                [BLOCK_M // CONSUMERS, HEAD_DIM], dtype=gl.float32, layout=layout
            )

            offsets = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, scores_layout))
            whole = (S // BLOCK_N) * BLOCK_N
            bias_base = bias_ptr + head * DISTANCES
            mbarrier.wait(q_filled.index(part), i & 1)
            queries = (
                q_blocks.index(part).reshape([BLOCK_M // CONSUMERS, HEAD_DIM])
                if PIECES > 1
                else q_blocks.index(part)
                .reshape([BLOCK_M // CONSUMERS, HEAD_DIM])
                .load(gl.DotOperandLayout(0, scores_layout, 2))
            )
            weights_before = gl.zeros(
                [BLOCK_M // CONSUMERS, BLOCK_N],
                o_blocks.dtype,
                gl.DotOperandLayout(0, layout, 2),
            )
            if PIECES == 1:
                fence_async_shared()
                mbarrier.arrive(q_emptied.index(part))
            for start in range(0, whole, BLOCK_N):
                slot = iteration % STAGES
                mbarrier.wait(k_filled.index(slot), (iteration // STAGES) & 1)
                if CONSUMERS > 1:
                    mbarrier.wait(
                        turn_given.index(part),
                        (iteration & 1) ^ (1 if part == 0 else 0),
                    )
                scoring = warpgroup_mma(
                    queries,
                    k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0)),
                    gl.zeros(
                        [BLOCK_M // CONSUMERS, BLOCK_N], gl.float32, scores_layout
                    ),
                    use_acc=False,
                    is_async=True,
                )
                mbarrier.wait(v_filled.index(slot), (iteration // STAGES) & 1)
                adding = warpgroup_mma(
                    weights_before,
                    v_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]),
                    acc,
                    is_async=True,
                )
                if CONSUMERS > 1:
                    mbarrier.arrive(turn_given.index((part + 1) % CONSUMERS))
                # From each row to the first key, less how far a key lies behind it.
                distances = gl.load(
                    bias_base + (last_distance - start)[:, None] - offsets[None, :]
                )
                products, sums = warpgroup_mma_wait(1, deps=(scoring, adding))
                mbarrier.arrive(k_emptied.index(slot))
                biased = products * scale + distances.to(gl.float32)
                new_best = gl.maximum(best, gl.max(biased, axis=1) * 1.4426950408889634)
                weights = gl.exp2(biased * 1.4426950408889634 - new_best[:, None])
                alpha = gl.exp2(best - new_best)
                total = total * alpha + gl.sum(weights, axis=1)
                best = new_best
                acc = warpgroup_mma_wait(0, deps=(sums,))
                mbarrier.arrive(v_emptied.index(slot))
                weights_before = gl.convert_layout(
                    weights.to(o_blocks.dtype), gl.DotOperandLayout(0, layout, 2)
                )
                acc *= gl.convert_layout(alpha, gl.SliceLayout(1, layout))[:, None]
                iteration += 1
            for start in range(whole, S, BLOCK_N):
                slot = iteration % STAGES
                mbarrier.wait(k_filled.index(slot), (iteration // STAGES) & 1)
                if CONSUMERS > 1:
                    mbarrier.wait(
                        turn_given.index(part),
                        (iteration & 1) ^ (1 if part == 0 else 0),
                    )
                scoring = warpgroup_mma(
                    queries,
                    k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0)),
                    gl.zeros(
                        [BLOCK_M // CONSUMERS, BLOCK_N], gl.float32, scores_layout
                    ),
                    use_acc=False,
                    is_async=True,
                )
                mbarrier.wait(v_filled.index(slot), (iteration // STAGES) & 1)
                adding = warpgroup_mma(
                    weights_before,
                    v_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]),
                    acc,
                    is_async=True,
                )
                if CONSUMERS > 1:
                    mbarrier.arrive(turn_given.index((part + 1) % CONSUMERS))
                offsets_1 = (last_distance - start)[:, None]
                distance = offsets_1 - offsets[None, :]
                distances = gl.load(
                    bias_base + offsets_1 - offsets[None, :],
                    mask=(distance >= 0) & (distance < DISTANCES),
                    other=0.0,
                )
                products, sums = warpgroup_mma_wait(1, deps=(scoring, adding))
                mbarrier.arrive(k_emptied.index(slot))
                columns = start + offsets
                biased = products * scale + distances.to(gl.float32)
                scores = gl.where(columns[None, :] < S, biased, float("-inf"))
                new_best = gl.maximum(best, gl.max(scores, axis=1) * 1.4426950408889634)
                weights = gl.exp2(scores * 1.4426950408889634 - new_best[:, None])
                alpha = gl.exp2(best - new_best)
                total = total * alpha + gl.sum(weights, axis=1)
                best = new_best
                acc = warpgroup_mma_wait(0, deps=(sums,))
                mbarrier.arrive(v_emptied.index(slot))
                weights_before = gl.convert_layout(
                    weights.to(o_blocks.dtype), gl.DotOperandLayout(0, layout, 2)
                )
                acc *= gl.convert_layout(alpha, gl.SliceLayout(1, layout))[:, None]
                iteration += 1
            slot = iteration % STAGES
            if PIECES > 1:
                mbarrier.arrive(q_emptied.index(part))
            mbarrier.wait(k_filled.index(slot), (iteration // STAGES) & 1)
            mbarrier.arrive(k_emptied.index(slot))
            if CONSUMERS > 1:
                mbarrier.wait(
                    turn_given.index(part), (iteration & 1) ^ (1 if part == 0 else 0)
                )
            mbarrier.wait(v_filled.index(slot), (iteration // STAGES) & 1)
            adding = warpgroup_mma(
                weights_before,
                v_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]),
                acc,
                is_async=True,
            )
            if CONSUMERS > 1:
                mbarrier.arrive(turn_given.index((part + 1) % CONSUMERS))
            acc = warpgroup_mma_wait(0, deps=(adding,))
            mbarrier.arrive(v_emptied.index(slot))
            iteration += 1
            _write_pieces(
                (acc / gl.convert_layout(total, gl.SliceLayout(1, layout))[:, None]).to(
                    o_blocks.dtype
                ),
                o_desc,
                [head, index_1 + part * (BLOCK_M // CONSUMERS), 0],
                o_blocks,
                part,
                PIECES,
                1,
            )
    tma.store_wait(0)


def _set_specialized_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    _set_block(
        args["q_desc"], [1, args["BLOCK_M"] // args["CONSUMERS"], args["HEAD_DIM"]]
    )
    _set_block(args["k_desc"], [1, args["BLOCK_N"], args["HEAD_DIM"]])
    _set_block(args["v_desc"], [1, args["BLOCK_N"], args["HEAD_DIM"]])
    _set_block(
        args["o_desc"],
        [1, args["BLOCK_M"] // args["CONSUMERS"], args["HEAD_DIM"] // args["PIECES"]],
    )


def _fitting_configs(configs, named_args, **kwargs):
    """The configs that fit: each is for heads up to some length, and only some are
    for long heads.
    """
    args = {**named_args, **kwargs}
    kept = []
    for config in configs:
        if (config.kwargs["PIECES"] > 1) == (args["HEAD_DIM"] == 256):
            kept.append(config)
    return kept


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "CONSUMERS": 2, "STAGES": 2, "PIECES": 1},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "CONSUMERS": 1, "STAGES": 2, "PIECES": 1},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "CONSUMERS": 2, "STAGES": 2, "PIECES": 2},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "CONSUMERS": 1, "STAGES": 2, "PIECES": 2},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["S", "HEAD_DIM"],
    prune_configs_by={"early_config_prune": _fitting_configs},
)
@gluon.jit
def relative_attention_specialized_kernel(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    bias_ptr,
    H,
    S,
    DISTANCES,
    HEAD_DIM: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
):
    q_blocks = gl.allocate_shared_memory(
        q_desc.dtype, [CONSUMERS] + q_desc.block_shape, q_desc.layout
    )
    k_blocks = gl.allocate_shared_memory(
        k_desc.dtype, [STAGES] + k_desc.block_shape, k_desc.layout
    )
    v_blocks = gl.allocate_shared_memory(
        v_desc.dtype, [STAGES] + v_desc.block_shape, v_desc.layout
    )
    o_blocks = gl.allocate_shared_memory(
        o_desc.dtype, [CONSUMERS] + o_desc.block_shape, o_desc.layout
    )
    q_filled = gl.allocate_shared_memory(
        gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout()
    )
    q_emptied = gl.allocate_shared_memory(
        gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout()
    )
    k_filled = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    k_emptied = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    v_filled = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    v_emptied = gl.allocate_shared_memory(
        gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()
    )
    turn_given = gl.allocate_shared_memory(
        gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout()
    )
    for part in gl.static_range(CONSUMERS):
        mbarrier.init(q_filled.index(part), count=1)
        mbarrier.init(q_emptied.index(part), count=1)
        mbarrier.init(turn_given.index(part), count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_filled.index(slot), count=1)
        mbarrier.init(k_emptied.index(slot), count=CONSUMERS)
        mbarrier.init(v_filled.index(slot), count=1)
        mbarrier.init(v_emptied.index(slot), count=CONSUMERS)
    if CONSUMERS == 2:
        gl.warp_specialize(
            [
                (
                    _relative_attention_multiply,
                    (
                        0,
                        o_desc,
                        q_blocks,
                        k_blocks,
                        v_blocks,
                        o_blocks,
                        q_filled,
                        q_emptied,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        turn_given,
                        bias_ptr,
                        H,
                        S,
                        DISTANCES,
                        HEAD_DIM,
                        BLOCK_M,
                        BLOCK_N,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                    ),
                ),
                (
                    _relative_attention_multiply,
                    (
                        1,
                        o_desc,
                        q_blocks,
                        k_blocks,
                        v_blocks,
                        o_blocks,
                        q_filled,
                        q_emptied,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        turn_given,
                        bias_ptr,
                        H,
                        S,
                        DISTANCES,
                        HEAD_DIM,
                        BLOCK_M,
                        BLOCK_N,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                    ),
                ),
                (
                    _relative_attention_load,
                    (
                        q_desc,
                        k_desc,
                        v_desc,
                        q_blocks,
                        k_blocks,
                        v_blocks,
                        q_filled,
                        q_emptied,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        H,
                        S,
                        BLOCK_M,
                        BLOCK_N,
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
                    _relative_attention_multiply,
                    (
                        0,
                        o_desc,
                        q_blocks,
                        k_blocks,
                        v_blocks,
                        o_blocks,
                        q_filled,
                        q_emptied,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        turn_given,
                        bias_ptr,
                        H,
                        S,
                        DISTANCES,
                        HEAD_DIM,
                        BLOCK_M,
                        BLOCK_N,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                    ),
                ),
                (
                    _relative_attention_load,
                    (
                        q_desc,
                        k_desc,
                        v_desc,
                        q_blocks,
                        k_blocks,
                        v_blocks,
                        q_filled,
                        q_emptied,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        H,
                        S,
                        BLOCK_M,
                        BLOCK_N,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
            ],
            [1],
            [24],
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
        q, k, v: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        bias: [H, DISTANCES] float16 or bfloat16, contiguous.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.
    """
    if (
        q.ndim != 3
        or k.shape != q.shape
        or v.shape != q.shape
        or bias.ndim != 2
        or bias.shape[0] != q.shape[0]
    ):
        raise ValueError(
            "relative_attention: q, k, v and bias must have shapes [H, S, "
            "HEAD_DIM], [H, S, HEAD_DIM], [H, S, HEAD_DIM] and [H, DISTANCES], "
            f"got {q.shape}, {k.shape}, {v.shape} and {bias.shape}"
        )
    H, S, HEAD_DIM = q.shape
    DISTANCES = S * 2 - 1
    if bias.shape[1] != DISTANCES:
        raise ValueError(
            f"relative_attention: bias must have shape [H={H}, "
            f"DISTANCES={DISTANCES}], got {bias.shape}"
        )
    o = torch.empty_like(q) if out is None else out
    if o.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"relative_attention: out must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {o.shape}"
        )
    _check_dtypes(
        "relative_attention", (torch.float16, torch.bfloat16), q=q, k=k, v=v, bias=bias
    )
    _check_dtypes("relative_attention", (q.dtype,), out=o)
    _check_contiguous("relative_attention", q=q, k=k, v=v, bias=bias, out=o)
    _check_tensors("relative_attention", q=q, k=k, v=v, bias=bias, out=o)
    _check_written("relative_attention: out", out, q=q, k=k, v=v, bias=bias)
    if H * S * HEAD_DIM == 0:
        return o

    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "relative_attention: HEAD_DIM must be a power of two from 16 up, got "
            f"{HEAD_DIM}"
        )

    with torch.cuda.device(q.get_device()):
        if _is_specialized(q, k, v, o) and HEAD_DIM in (64, 128, 256):

            def _programs(meta):
                return (
                    min(
                        triton.cdiv(S, meta["BLOCK_M"]) * H,
                        _gpu_property(q.device, "multi_processor_count", 132),
                    ),
                )

            with _TUNING_LOCK:
                relative_attention_specialized_kernel[_programs](
                    _described(q),
                    _described(k),
                    _described(v),
                    _described(o),
                    bias,
                    H,
                    S,
                    DISTANCES,
                    HEAD_DIM=HEAD_DIM,
                )
            return o

        def grid(meta):
            return _checked_grid(
                "relative_attention", (triton.cdiv(S, meta["BLOCK_M"]), H)
            )

        relative_attention_kernel[grid](
            q, k, v, bias, o, S, DISTANCES, HEAD_DIM=HEAD_DIM
        )
    return o


def reference_fn(q, k, v, bias):
    H = q.shape[0]
    S = q.shape[1]
    i = torch.arange(S, device=q.device)
    distances = i.unsqueeze(1).sub(i).add(S).sub(1)
    mask = bias.index_select(1, distances.flatten()).reshape(H, S, S)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


SHAPES = [{"H": 8, "S": 1024, "HEAD_DIM": 64}, {"H": 2, "S": 200, "HEAD_DIM": 64}]


def get_inputs(H=8, S=1024, *, HEAD_DIM=64):
    device = "cpu" if _INTERPRETED else "cuda"
    DISTANCES = S * 2 - 1
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, DISTANCES), device=device, dtype=torch.float16),
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


def _check_contiguous(name, /, **tensors):
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(f"{name}: {key} must be contiguous; call .contiguous()")


def _checked_grid(name, grid, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    most = (2**31 - 1, 65535, 65535)
    if any(count > limit for count, limit in zip(grid, most)):
        raise ValueError(f"{name}: a GPU launches at most {most} programs, got {grid}")
    return grid


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        first, last = (0, 0) if x is None else (x.data_ptr(), x.data_ptr() + x.nbytes)
        if max(start, first) < min(end, last):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


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


kernel_fn = relative_attention
