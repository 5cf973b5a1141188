"""softmax(q @ k^T / sqrt(head dim) + bias[i - j + S - 1]) @ v for each head.

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


@gluon.jit
def _write_block(tile, desc, start, block):
    """Writes a tile by way of a block of shared memory."""
    tma.store_wait(0)
    block.reshape(tile.shape).store(tile)
    fence_async_shared()
    _store_block(desc, start, block)


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
    turn = 0
    index = gl.cdiv(S, BLOCK_M)
    tiles = index * H
    for i in range(gl.cdiv(tiles, gl.num_programs(0))):
        tile = i * gl.num_programs(0) + gl.where(
            i % 2 == 1, gl.num_programs(0) - 1 - gl.program_id(0), gl.program_id(0)
        )
        if tile < tiles:
            head = tile // index
            whole = (S // BLOCK_N) * BLOCK_N
            slot = turn % STAGES
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
            mbarrier.wait(v_emptied.index(slot), ((turn // STAGES) & 1) ^ 1)
            mbarrier.expect(v_filled.index(slot), v_desc.block_type.nbytes)
            _load_block(
                v_desc, [0, -BLOCK_N, 0], v_filled.index(slot), v_blocks.index(slot)
            )
            for start in range(0, whole, BLOCK_N):
                slot_1 = turn % STAGES
                mbarrier.wait(k_emptied.index(slot_1), ((turn // STAGES) & 1) ^ 1)
                mbarrier.expect(k_filled.index(slot_1), k_desc.block_type.nbytes)
                _load_block(
                    k_desc,
                    [head, start, 0],
                    k_filled.index(slot_1),
                    k_blocks.index(slot_1),
                )
                turn += 1
                slot_1 = turn % STAGES
                mbarrier.wait(v_emptied.index(slot_1), ((turn // STAGES) & 1) ^ 1)
                mbarrier.expect(v_filled.index(slot_1), v_desc.block_type.nbytes)
                _load_block(
                    v_desc,
                    [head, start, 0],
                    v_filled.index(slot_1),
                    v_blocks.index(slot_1),
                )
            for start in range(whole, S, BLOCK_N):
                slot_1 = turn % STAGES
                mbarrier.wait(k_emptied.index(slot_1), ((turn // STAGES) & 1) ^ 1)
                mbarrier.expect(k_filled.index(slot_1), k_desc.block_type.nbytes)
                _load_block(
                    k_desc,
                    [head, start, 0],
                    k_filled.index(slot_1),
                    k_blocks.index(slot_1),
                )
                turn += 1
                slot_1 = turn % STAGES
                mbarrier.wait(v_emptied.index(slot_1), ((turn // STAGES) & 1) ^ 1)
                mbarrier.expect(v_filled.index(slot_1), v_desc.block_type.nbytes)
                _load_block(
                    v_desc,
                    [head, start, 0],
                    v_filled.index(slot_1),
                    v_blocks.index(slot_1),
                )
            slot_1 = turn % STAGES
            mbarrier.wait(k_emptied.index(slot_1), ((turn // STAGES) & 1) ^ 1)
            mbarrier.arrive(k_filled.index(slot_1))
            turn += 1


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
):
    scores_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [4, 1], [16, BLOCK_N, 16]
    )
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, HEAD_DIM, 16])
    turn = 0
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
                q_blocks.index(part)
                .reshape([BLOCK_M // CONSUMERS, HEAD_DIM])
                .load(gl.DotOperandLayout(0, scores_layout, 2))
            )
            weights_before = gl.zeros(
                [BLOCK_M // CONSUMERS, BLOCK_N],
                o_blocks.dtype,
                gl.DotOperandLayout(0, layout, 2),
            )
            fence_async_shared()
            mbarrier.arrive(q_emptied.index(part))
            for start in range(0, whole, BLOCK_N):
                slot = turn % STAGES
                mbarrier.wait(k_filled.index(slot), (turn // STAGES) & 1)
                if CONSUMERS > 1:
                    mbarrier.wait(
                        turn_given.index(part), (turn & 1) ^ (1 if part == 0 else 0)
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
                mbarrier.wait(v_filled.index(slot), (turn // STAGES) & 1)
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
                turn += 1
            for start in range(whole, S, BLOCK_N):
                slot = turn % STAGES
                mbarrier.wait(k_filled.index(slot), (turn // STAGES) & 1)
                if CONSUMERS > 1:
                    mbarrier.wait(
                        turn_given.index(part), (turn & 1) ^ (1 if part == 0 else 0)
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
                mbarrier.wait(v_filled.index(slot), (turn // STAGES) & 1)
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
                turn += 1
            slot = turn % STAGES
            mbarrier.wait(k_filled.index(slot), (turn // STAGES) & 1)
            mbarrier.arrive(k_emptied.index(slot))
            if CONSUMERS > 1:
                mbarrier.wait(
                    turn_given.index(part), (turn & 1) ^ (1 if part == 0 else 0)
                )
            mbarrier.wait(v_filled.index(slot), (turn // STAGES) & 1)
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
            turn += 1
            _write_block(
                (acc / gl.convert_layout(total, gl.SliceLayout(1, layout))[:, None]).to(
                    o_blocks.dtype
                ),
                o_desc,
                [head, index_1 + part * (BLOCK_M // CONSUMERS), 0],
                o_blocks.index(part),
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
        args["o_desc"], [1, args["BLOCK_M"] // args["CONSUMERS"], args["HEAD_DIM"]]
    )


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "CONSUMERS": 2, "STAGES": 2},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "CONSUMERS": 1, "STAGES": 2},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["S", "HEAD_DIM"],
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
    if _is_specialized(q, k, v, o) and HEAD_DIM in (64, 128):

        def _programs(meta):
            return (
                min(
                    triton.cdiv(S, meta["BLOCK_M"]) * H,
                    _gpu_property(device, "multi_processor_count"),
                ),
            )

        with _ALONE:
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


kernel_fn = relative_attention
