"""The gradient of q.

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
# One thread at a time launches the warp-specialized kernel: its autotuner keeps the
# arguments of the call.
_TUNING_LOCK = threading.RLock()
# Copies of blocks from and to global memory, which Triton 3.6 names differently.
_load_block = (
    tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
)


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["k_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]
    args["v_desc"].block_shape = [1, args["STEP"], args["HEAD_DIM"]]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK": BLOCK, "STEP": STEP},
            num_warps=num_warps,
            num_stages=num_stages,
            pre_hook=_set_blocks,
        )
        for BLOCK, STEP, num_warps, num_stages in [
            (128, 64, 8, 3),
            (64, 64, 4, 3),
            (64, 32, 4, 3),
            (128, 32, 8, 2),
            (128, 32, 8, 3),
        ]
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def attention_query_gradients_kernel(
    q_ptr,
    k_desc,
    v_desc,
    d_out_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    index = tl.program_id(1)
    index_1 = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK
    offsets = index_1 + tl.arange(0, BLOCK)
    offsets_1 = tl.arange(0, HEAD_DIM)
    rsqrt = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    value = rsqrt * 1.4426950408889634
    mask_s = offsets[:, None] < S
    value_1 = tl.load(
        q_ptr
        + index * (S * HEAD_DIM)
        + (offsets[:, None] * HEAD_DIM + offsets_1[None, :]),
        mask=mask_s,
        other=0.0,
    )
    value_2 = tl.load(
        d_out_ptr
        + index * (S * HEAD_DIM)
        + (offsets[:, None] * HEAD_DIM + offsets_1[None, :]),
        mask=mask_s,
        other=0.0,
    )
    mask = offsets < S
    value_3 = tl.load(lse_ptr + index * S + offsets, mask=mask, other=float("inf"))
    value_4 = tl.load(delta_ptr + index * S + offsets, mask=mask, other=0.0)
    state = tl.zeros([BLOCK, HEAD_DIM], dtype=tl.float32)
    if CAUSAL:
        result = index_1
        result_1 = tl.minimum(index_1 + BLOCK, S)
    else:
        result = S
        result_1 = S
    start = (result // STEP) * STEP
    for i in range(0, start, STEP):
        reshape = tl.reshape(k_desc.load([index, i, 0]), [STEP, HEAD_DIM])
        state = tl.dot(
            (
                tl.exp2(tl.dot(value_1, tl.trans(reshape)) * value - value_3[:, None])
                * (
                    tl.dot(
                        value_2,
                        tl.trans(
                            tl.reshape(v_desc.load([index, i, 0]), [STEP, HEAD_DIM])
                        ),
                    )
                    - value_4[:, None]
                )
            ).to(dq_ptr.dtype.element_ty),
            reshape,
            state,
        )
    for i in range(start, result_1, STEP):
        reshape = tl.reshape(k_desc.load([index, i, 0]), [STEP, HEAD_DIM])
        exp2 = tl.exp2(tl.dot(value_1, tl.trans(reshape)) * value - value_3[:, None])
        offsets_2 = i + tl.arange(0, STEP)
        if CAUSAL:
            result_2 = tl.where(offsets[:, None] >= offsets_2[None, :], exp2, 0.0)
        else:
            result_2 = tl.where(offsets_2[None, :] < S, exp2, 0.0)
        state = tl.dot(
            (
                result_2
                * (
                    tl.dot(
                        value_2,
                        tl.trans(
                            tl.reshape(v_desc.load([index, i, 0]), [STEP, HEAD_DIM])
                        ),
                    )
                    - value_4[:, None]
                )
            ).to(dq_ptr.dtype.element_ty),
            reshape,
            state,
        )
    tl.store(
        dq_ptr
        + index * (S * HEAD_DIM)
        + (offsets[:, None] * HEAD_DIM + offsets_1[None, :]),
        (state * rsqrt).to(dq_ptr.dtype.element_ty),
        mask=mask_s,
    )


@gluon.jit
def _attention_query_gradients_load(
    q_desc,
    d_out_desc,
    k_block_desc,
    v_block_desc,
    q_blocks,
    d_out_blocks,
    k_blocks,
    v_blocks,
    own_filled,
    k_filled,
    k_emptied,
    v_filled,
    v_emptied,
    S,
    CAUSAL: gl.constexpr,
    BLOCK: gl.constexpr,
    STEP: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
):
    iteration = 0
    index = gl.program_id(1)
    index_1 = (gl.num_programs(0) - 1 - gl.program_id(0)) * BLOCK
    if CAUSAL:
        result = index_1
        result_1 = gl.minimum(index_1 + BLOCK, S)
    else:
        result = S
        result_1 = S
    start = (result // STEP) * STEP
    for i in gl.static_range(CONSUMERS):
        mbarrier.expect(
            own_filled.index(i), q_desc.block_type.nbytes + d_out_desc.block_type.nbytes
        )
        _load_block(
            q_desc,
            [index, index_1 + i * (BLOCK // CONSUMERS), 0],
            own_filled.index(i),
            q_blocks.index(i),
        )
        _load_block(
            d_out_desc,
            [index, index_1 + i * (BLOCK // CONSUMERS), 0],
            own_filled.index(i),
            d_out_blocks.index(i),
        )
    for i in range(0, start, STEP):
        slot = iteration % STAGES
        mbarrier.wait(k_emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
        mbarrier.expect(k_filled.index(slot), k_block_desc.block_type.nbytes)
        _load_block(
            k_block_desc, [index, i, 0], k_filled.index(slot), k_blocks.index(slot)
        )
        mbarrier.wait(v_emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
        mbarrier.expect(v_filled.index(slot), v_block_desc.block_type.nbytes)
        _load_block(
            v_block_desc, [index, i, 0], v_filled.index(slot), v_blocks.index(slot)
        )
        iteration += 1
    for i in range(start, result_1, STEP):
        slot = iteration % STAGES
        mbarrier.wait(k_emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
        mbarrier.expect(k_filled.index(slot), k_block_desc.block_type.nbytes)
        _load_block(
            k_block_desc, [index, i, 0], k_filled.index(slot), k_blocks.index(slot)
        )
        mbarrier.wait(v_emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
        mbarrier.expect(v_filled.index(slot), v_block_desc.block_type.nbytes)
        _load_block(
            v_block_desc, [index, i, 0], v_filled.index(slot), v_blocks.index(slot)
        )
        iteration += 1


@gluon.jit
def _attention_query_gradients_multiply(
    part: gl.constexpr,
    q_blocks,
    d_out_blocks,
    k_blocks,
    v_blocks,
    own_filled,
    k_filled,
    k_emptied,
    v_filled,
    v_emptied,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    S,
    HEAD_DIM: gl.constexpr,
    CAUSAL: gl.constexpr,
    BLOCK: gl.constexpr,
    STEP: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
):
    scores_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [4, 1], [16, STEP, 16]
    )
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, HEAD_DIM, 16])
    iteration = 0
    index = gl.program_id(1)
    index_1 = (gl.num_programs(0) - 1 - gl.program_id(0)) * BLOCK
    offsets = index_1 + (
        gl.arange(0, BLOCK // CONSUMERS, layout=gl.SliceLayout(1, scores_layout))
        + part * (BLOCK // CONSUMERS)
    )
    rsqrt = gl.rsqrt(gl.full([], HEAD_DIM, gl.float32))
    value = rsqrt * 1.4426950408889634
    mask = offsets < S
    value_1 = gl.load(lse_ptr + index * S + offsets, mask=mask, other=float("inf"))
    value_2 = gl.load(delta_ptr + index * S + offsets, mask=mask, other=0.0)
    state = gl.zeros([BLOCK // CONSUMERS, HEAD_DIM], dtype=gl.float32, layout=layout)
    if CAUSAL:
        result = index_1
        result_1 = gl.minimum(index_1 + BLOCK, S)
    else:
        result = S
        result_1 = S
    start = (result // STEP) * STEP
    mbarrier.wait(own_filled.index(part), 0)
    for _ in range(0, start, STEP):
        slot = iteration % STAGES
        mbarrier.wait(k_filled.index(slot), (iteration // STAGES) & 1)
        scoring = warpgroup_mma(
            q_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]),
            k_blocks.index(slot).reshape([STEP, HEAD_DIM]).permute((1, 0)),
            gl.zeros([BLOCK // CONSUMERS, STEP], gl.float32, scores_layout),
            use_acc=False,
            is_async=True,
        )
        mbarrier.wait(v_filled.index(slot), (iteration // STAGES) & 1)
        scoring_1 = warpgroup_mma(
            d_out_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]),
            v_blocks.index(slot).reshape([STEP, HEAD_DIM]).permute((1, 0)),
            gl.zeros([BLOCK // CONSUMERS, STEP], gl.float32, scores_layout),
            use_acc=False,
            is_async=True,
        )
        products = warpgroup_mma_wait(1, deps=(scoring,))
        products_1 = warpgroup_mma_wait(0, deps=(scoring_1,))
        mbarrier.arrive(v_emptied.index(slot))
        adding = warpgroup_mma(
            gl.convert_layout(
                (
                    gl.exp2(products * value - value_1[:, None])
                    * (products_1 - value_2[:, None])
                ).to(q_blocks.dtype),
                gl.DotOperandLayout(0, layout, 2),
            ),
            k_blocks.index(slot).reshape([STEP, HEAD_DIM]),
            state,
            is_async=True,
        )
        state = warpgroup_mma_wait(0, deps=(adding,))
        mbarrier.arrive(k_emptied.index(slot))
        iteration += 1
    for i in range(start, result_1, STEP):
        slot = iteration % STAGES
        mbarrier.wait(k_filled.index(slot), (iteration // STAGES) & 1)
        scoring = warpgroup_mma(
            q_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]),
            k_blocks.index(slot).reshape([STEP, HEAD_DIM]).permute((1, 0)),
            gl.zeros([BLOCK // CONSUMERS, STEP], gl.float32, scores_layout),
            use_acc=False,
            is_async=True,
        )
        mbarrier.wait(v_filled.index(slot), (iteration // STAGES) & 1)
        scoring_1 = warpgroup_mma(
            d_out_blocks.index(part).reshape([BLOCK // CONSUMERS, HEAD_DIM]),
            v_blocks.index(slot).reshape([STEP, HEAD_DIM]).permute((1, 0)),
            gl.zeros([BLOCK // CONSUMERS, STEP], gl.float32, scores_layout),
            use_acc=False,
            is_async=True,
        )
        products = warpgroup_mma_wait(1, deps=(scoring,))
        exp2 = gl.exp2(products * value - value_1[:, None])
        offsets_1 = i + gl.arange(0, STEP, layout=gl.SliceLayout(0, scores_layout))
        if CAUSAL:
            result_2 = gl.where(offsets[:, None] >= offsets_1[None, :], exp2, 0.0)
        else:
            result_2 = gl.where(offsets_1[None, :] < S, exp2, 0.0)
        products_1 = warpgroup_mma_wait(0, deps=(scoring_1,))
        mbarrier.arrive(v_emptied.index(slot))
        adding = warpgroup_mma(
            gl.convert_layout(
                (result_2 * (products_1 - value_2[:, None])).to(q_blocks.dtype),
                gl.DotOperandLayout(0, layout, 2),
            ),
            k_blocks.index(slot).reshape([STEP, HEAD_DIM]),
            state,
            is_async=True,
        )
        state = warpgroup_mma_wait(0, deps=(adding,))
        mbarrier.arrive(k_emptied.index(slot))
        iteration += 1
    gl.store(
        dq_ptr
        + index * (S * HEAD_DIM)
        + (
            gl.convert_layout(offsets, gl.SliceLayout(1, layout))[:, None] * HEAD_DIM
            + gl.arange(0, HEAD_DIM, layout=gl.SliceLayout(0, layout))[None, :]
        ),
        (state * rsqrt).to(q_blocks.dtype),
        mask=gl.convert_layout(offsets, gl.SliceLayout(1, layout))[:, None] < S,
    )


def _set_specialized_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    _set_block(
        args["q_desc"], [1, args["BLOCK"] // args["CONSUMERS"], args["HEAD_DIM"]]
    )
    _set_block(
        args["d_out_desc"], [1, args["BLOCK"] // args["CONSUMERS"], args["HEAD_DIM"]]
    )
    _set_block(args["k_block_desc"], [1, args["STEP"], args["HEAD_DIM"]])
    _set_block(args["v_block_desc"], [1, args["STEP"], args["HEAD_DIM"]])


def _fitting_configs(configs, named_args, **kwargs):
    """The configs that fit: three consumers need the same loops for all rows."""
    args = {**named_args, **kwargs}
    kept = []
    for config in configs:
        if config.kwargs["CONSUMERS"] < 3 or not args["CAUSAL"]:
            kept.append(config)
    return kept


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK": 128, "STEP": 64, "CONSUMERS": 2, "STAGES": 3},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 64, "CONSUMERS": 1, "STAGES": 3},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK": 64, "STEP": 32, "CONSUMERS": 1, "STAGES": 3},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK": 128, "STEP": 32, "CONSUMERS": 2, "STAGES": 3},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {"BLOCK": 192, "STEP": 64, "CONSUMERS": 3, "STAGES": 3},
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["S", "HEAD_DIM", "CAUSAL"],
    prune_configs_by={"early_config_prune": _fitting_configs},
)
@gluon.jit
def attention_query_gradients_specialized_kernel(
    q_desc,
    d_out_desc,
    k_block_desc,
    v_block_desc,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    S,
    HEAD_DIM: gl.constexpr,
    CAUSAL: gl.constexpr,
    BLOCK: gl.constexpr,
    STEP: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
):
    q_blocks = gl.allocate_shared_memory(
        q_desc.dtype, [CONSUMERS] + q_desc.block_shape, q_desc.layout
    )
    d_out_blocks = gl.allocate_shared_memory(
        d_out_desc.dtype, [CONSUMERS] + d_out_desc.block_shape, d_out_desc.layout
    )
    k_blocks = gl.allocate_shared_memory(
        k_block_desc.dtype, [STAGES] + k_block_desc.block_shape, k_block_desc.layout
    )
    v_blocks = gl.allocate_shared_memory(
        v_block_desc.dtype, [STAGES] + v_block_desc.block_shape, v_block_desc.layout
    )
    own_filled = gl.allocate_shared_memory(
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
    for part in gl.static_range(CONSUMERS):
        mbarrier.init(own_filled.index(part), count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_filled.index(slot), count=1)
        mbarrier.init(k_emptied.index(slot), count=CONSUMERS)
        mbarrier.init(v_filled.index(slot), count=1)
        mbarrier.init(v_emptied.index(slot), count=CONSUMERS)
    if CONSUMERS == 3:
        gl.warp_specialize(
            [
                (
                    _attention_query_gradients_multiply,
                    (
                        0,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        lse_ptr,
                        delta_ptr,
                        dq_ptr,
                        S,
                        HEAD_DIM,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
                (
                    _attention_query_gradients_multiply,
                    (
                        1,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        lse_ptr,
                        delta_ptr,
                        dq_ptr,
                        S,
                        HEAD_DIM,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
                (
                    _attention_query_gradients_multiply,
                    (
                        2,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        lse_ptr,
                        delta_ptr,
                        dq_ptr,
                        S,
                        HEAD_DIM,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
                (
                    _attention_query_gradients_load,
                    (
                        q_desc,
                        d_out_desc,
                        k_block_desc,
                        v_block_desc,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        S,
                        CAUSAL,
                        BLOCK,
                        STEP,
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
                    _attention_query_gradients_multiply,
                    (
                        0,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        lse_ptr,
                        delta_ptr,
                        dq_ptr,
                        S,
                        HEAD_DIM,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
                (
                    _attention_query_gradients_multiply,
                    (
                        1,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        lse_ptr,
                        delta_ptr,
                        dq_ptr,
                        S,
                        HEAD_DIM,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
                (
                    _attention_query_gradients_load,
                    (
                        q_desc,
                        d_out_desc,
                        k_block_desc,
                        v_block_desc,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        S,
                        CAUSAL,
                        BLOCK,
                        STEP,
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
                    _attention_query_gradients_multiply,
                    (
                        0,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        lse_ptr,
                        delta_ptr,
                        dq_ptr,
                        S,
                        HEAD_DIM,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
                (
                    _attention_query_gradients_load,
                    (
                        q_desc,
                        d_out_desc,
                        k_block_desc,
                        v_block_desc,
                        q_blocks,
                        d_out_blocks,
                        k_blocks,
                        v_blocks,
                        own_filled,
                        k_filled,
                        k_emptied,
                        v_filled,
                        v_emptied,
                        S,
                        CAUSAL,
                        BLOCK,
                        STEP,
                        CONSUMERS,
                        STAGES,
                    ),
                ),
            ],
            [1],
            [24],
        )


def attention_query_gradients(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    d_out: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
    CAUSAL: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The gradient of q.

    Args:
        q: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        k, v: [H, S, HEAD_DIM] float16 or bfloat16.
        d_out: [H, S, HEAD_DIM] float16 or bfloat16, contiguous.
        lse, delta: [H, S] float32, contiguous.
        CAUSAL: a bool that the kernel is compiled for.
        out: where to write [H, S, HEAD_DIM] float16 or bfloat16; allocated if
            None.
    """
    _check_type("attention_query_gradients: CAUSAL", CAUSAL, bool)
    if (
        q.ndim != 3
        or k.shape != q.shape
        or v.shape != q.shape
        or d_out.shape != q.shape
        or lse.shape != q.shape[:2]
        or delta.shape != lse.shape
    ):
        raise ValueError(
            "attention_query_gradients: q, k, v, d_out, lse and delta must have "
            "shapes [H, S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, HEAD_DIM], [H, S, "
            f"HEAD_DIM], [H, S] and [H, S], got {q.shape}, {k.shape}, {v.shape}, "
            f"{d_out.shape}, {lse.shape} and {delta.shape}"
        )
    H, S, HEAD_DIM = q.shape
    dq = torch.empty_like(q) if out is None else out
    if dq.shape != (H, S, HEAD_DIM):
        raise ValueError(
            f"attention_query_gradients: out must have shape [H={H}, S={S}, "
            f"HEAD_DIM={HEAD_DIM}], got {dq.shape}"
        )
    _check_dtypes(
        "attention_query_gradients",
        (torch.float16, torch.bfloat16),
        q=q,
        k=k,
        v=v,
        d_out=d_out,
    )
    _check_dtypes("attention_query_gradients", (torch.float32,), lse=lse, delta=delta)
    _check_dtypes("attention_query_gradients", (q.dtype,), out=dq)
    _check_contiguous(
        "attention_query_gradients", q=q, d_out=d_out, lse=lse, delta=delta, out=dq
    )
    _check_tensors(
        "attention_query_gradients",
        ("k", "v"),
        q=q,
        k=k,
        v=v,
        d_out=d_out,
        lse=lse,
        delta=delta,
        out=dq,
    )
    _check_strided(
        "attention_query_gradients: out",
        out,
        q=q,
        k=k,
        v=v,
        d_out=d_out,
        lse=lse,
        delta=delta,
    )
    if H * S * HEAD_DIM == 0:
        return dq

    _check_descriptor("attention_query_gradients: k", k, 2)
    _check_descriptor("attention_query_gradients: v", v, 2)
    if HEAD_DIM < 16 or (HEAD_DIM & (HEAD_DIM - 1)) != 0:
        raise ValueError(
            "attention_query_gradients: HEAD_DIM must be a power of two from 16 "
            f"up, got {HEAD_DIM}"
        )

    with torch.cuda.device(q.get_device()):
        if _is_specialized(q, d_out, k, v) and HEAD_DIM in (64, 128):

            def _programs(meta):
                return _checked_grid(
                    "attention_query_gradients", (triton.cdiv(S, meta["BLOCK"]), H)
                )

            with _TUNING_LOCK:
                attention_query_gradients_specialized_kernel[_programs](
                    _described(q),
                    _described(d_out),
                    _described(k),
                    _described(v),
                    lse,
                    delta,
                    dq,
                    S,
                    HEAD_DIM=HEAD_DIM,
                    CAUSAL=CAUSAL,
                )
            return dq
        k_desc = TensorDescriptor.from_tensor(k, [1, 1, 1])
        v_desc = TensorDescriptor.from_tensor(v, [1, 1, 1])

        def grid(meta):
            return _checked_grid(
                "attention_query_gradients", (triton.cdiv(S, meta["BLOCK"]), H)
            )

        attention_query_gradients_kernel[grid](
            q,
            k_desc,
            v_desc,
            d_out,
            lse,
            delta,
            dq,
            S,
            HEAD_DIM=HEAD_DIM,
            CAUSAL=CAUSAL,
        )
    return dq


def get_inputs(H=32, S=1024, *, HEAD_DIM=64):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S, HEAD_DIM), device=device, dtype=torch.float16),
        torch.randn((H, S), device=device, dtype=torch.float32),
        torch.randn((H, S), device=device, dtype=torch.float32),
        False,
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


kernel_fn = attention_query_gradients
