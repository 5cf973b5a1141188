"""C = (A * aScale[:, None]) @ (B * bScale[:, None]).T, accumulated in float32.

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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["a_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_K"]]
    args["b_desc"].block_shape = [args["BLOCK_N"], args["BLOCK_K"]]


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": BLOCK_M,
                "BLOCK_N": BLOCK_N,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": RESIDENT,
            },
            num_warps=num_warps,
            num_stages=num_stages,
            pre_hook=_set_blocks,
        )
        for BLOCK_M, BLOCK_N, RESIDENT, num_warps, num_stages in [
            (128, 256, 1, 8, 4),
            (128, 128, 2, 8, 3),
            (128, 128, 2, 4, 3),
            (64, 128, 3, 4, 3),
            (64, 256, 2, 8, 2),
        ]
    ],
    key=["M", "N", "K", "FAST_ACCUM"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def fp8_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    K,
    N,
    stride_a_scale_m,
    stride_b_scale_n,
    stride_cm,
    stride_cn,
    OUT: tl.constexpr,
    FAST_ACCUM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(
        tl.program_id(0), num_pid_m * num_pid_n, tl.num_programs(0), flatten=True
    ):
        # Grouped order: programs that run at one time share rows of A in L2.
        pid_m, pid_n = tl.swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K
            # What lies outside A and B reads as 0.
            x = a_desc.load([pid_m * BLOCK_M, k])
            y = tl.trans(b_desc.load([pid_n * BLOCK_N, k]))
            if FAST_ACCUM:
                acc = tl.dot(x, y, acc)
            else:
                acc = tl.dot(x, y, acc, max_num_imprecise_acc=BLOCK_K)
        scale = (
            tl.load(a_scale_ptr + rm * stride_a_scale_m, mask=rm < M, other=0.0)[
                :, None
            ]
            * tl.load(b_scale_ptr + rn * stride_b_scale_n, mask=rn < N, other=0.0)[
                None, :
            ]
        )
        tl.store(
            c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
            (acc * scale).to(OUT),
            mask=(rm[:, None] < M) & (rn[None, :] < N),
        )


@gluon.jit
def _fp8_gemm_load(
    a_block_desc,
    b_block_desc,
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
    iteration = 0
    num_pid_m = gl.cdiv(M, BLOCK_M)
    num_pid_n = gl.cdiv(N, BLOCK_N)
    for tile in range(gl.program_id(0), num_pid_m * num_pid_n, gl.num_programs(0)):
        # Grouped order: programs that run at one time share rows of A in L2.
        pid_m, pid_n = _swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        for step in range(gl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K
            slot = iteration % STAGES
            mbarrier.wait(emptied.index(slot), ((iteration // STAGES) & 1) ^ 1)
            mbarrier.expect(
                filled.index(slot),
                CONSUMERS * a_block_desc.block_type.nbytes
                + b_block_desc.block_type.nbytes,
            )
            # What lies outside A and B reads as 0.
            index = pid_m * BLOCK_M
            for i in gl.static_range(CONSUMERS):
                _load_block(
                    a_block_desc,
                    [index + i * (BLOCK_M // CONSUMERS), k],
                    filled.index(slot),
                    a_blocks.index(slot * CONSUMERS + i),
                )
            _load_block(
                b_block_desc,
                [pid_n * BLOCK_N, k],
                filled.index(slot),
                b_blocks.index(slot),
            )
            iteration += 1


@gluon.jit
def _fp8_gemm_multiply(
    part: gl.constexpr,
    c_desc,
    a_blocks,
    b_blocks,
    c_blocks,
    filled,
    emptied,
    a_scale_ptr,
    b_scale_ptr,
    M,
    K,
    N,
    stride_a_scale_m,
    stride_b_scale_n,
    FAST_ACCUM: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
    PRODUCTS: gl.constexpr,
):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 32])
    product_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [4, 1], [16, BLOCK_N // PRODUCTS, 32]
    )
    iteration = 0
    num_pid_m = gl.cdiv(M, BLOCK_M)
    num_pid_n = gl.cdiv(N, BLOCK_N)
    for tile in range(gl.program_id(0), num_pid_m * num_pid_n, gl.num_programs(0)):
        # Grouped order: programs that run at one time share rows of A in L2.
        pid_m, pid_n = _swizzle2d(
            tile // num_pid_n, tile % num_pid_n, num_pid_m, num_pid_n, GROUP_M
        )
        index = pid_m * BLOCK_M
        rm = index + (
            gl.arange(0, BLOCK_M // CONSUMERS) + part * (BLOCK_M // CONSUMERS)
        )
        index_1 = pid_n * BLOCK_N
        rn = index_1 + gl.arange(0, BLOCK_N)
        index_2 = gl.cdiv(K, BLOCK_K)
        acc = gl.set_auto_layout(
            gl.zeros([BLOCK_M // CONSUMERS, BLOCK_N], dtype=gl.float32), layout
        )
        if FAST_ACCUM:
            for step in range(index_2):
                slot = iteration % STAGES
                mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
                acc = warpgroup_mma(
                    a_blocks.index(slot * CONSUMERS + part),
                    b_blocks.index(slot).permute((1, 0)),
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
                emptied.index((iteration + STAGES - 1) % STAGES), pred=0 < index_2
            )
        else:
            acc = _split_sum(acc, PRODUCTS, product_layout)
            for step in range(index_2):
                slot = iteration % STAGES
                mbarrier.wait(filled.index(slot), (iteration // STAGES) & 1)
                acc = _add_product(
                    acc,
                    a_blocks.index(slot * CONSUMERS + part),
                    b_blocks.index(slot).permute((1, 0)),
                    (),
                    product_layout,
                )
                mbarrier.arrive(emptied.index(slot))
                iteration += 1
            acc = _join_sum(acc, layout)
        scale = (
            gl.load(a_scale_ptr + rm * stride_a_scale_m, mask=rm < M, other=0.0)[
                :, None
            ]
            * gl.load(b_scale_ptr + rn * stride_b_scale_n, mask=rn < N, other=0.0)[
                None, :
            ]
        )
        _write_pieces(
            (acc * scale).to(c_blocks.dtype),
            c_desc,
            [index + part * (BLOCK_M // CONSUMERS), index_1],
            c_blocks,
            part,
            PIECES,
            DEPTH,
        )
    tma.store_wait(0)


def _set_specialized_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    _set_block(
        args["a_block_desc"], [args["BLOCK_M"] // args["CONSUMERS"], args["BLOCK_K"]]
    )
    _set_block(args["b_block_desc"], [args["BLOCK_N"], args["BLOCK_K"]])
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
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 1,
                "CONSUMERS": 2,
                "STAGES": 3,
                "PIECES": 1,
                "DEPTH": 1,
                "PRODUCTS": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 256,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 1,
                "CONSUMERS": 2,
                "STAGES": 4,
                "PIECES": 4,
                "DEPTH": 2,
                "PRODUCTS": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 2,
                "CONSUMERS": 2,
                "STAGES": 6,
                "PIECES": 1,
                "DEPTH": 1,
                "PRODUCTS": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 2,
                "CONSUMERS": 2,
                "STAGES": 6,
                "PIECES": 2,
                "DEPTH": 2,
                "PRODUCTS": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 3,
                "CONSUMERS": 1,
                "STAGES": 8,
                "PIECES": 1,
                "DEPTH": 1,
                "PRODUCTS": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 128,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 3,
                "CONSUMERS": 1,
                "STAGES": 8,
                "PIECES": 2,
                "DEPTH": 2,
                "PRODUCTS": 1,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 256,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 2,
                "CONSUMERS": 1,
                "STAGES": 4,
                "PIECES": 1,
                "DEPTH": 1,
                "PRODUCTS": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 256,
                "BLOCK_K": 128,
                "GROUP_M": 8,
                "RESIDENT": 2,
                "CONSUMERS": 1,
                "STAGES": 5,
                "PIECES": 4,
                "DEPTH": 2,
                "PRODUCTS": 2,
            },
            num_warps=4,
            pre_hook=_set_specialized_blocks,
        ),
    ],
    key=["M", "N", "K", "FAST_ACCUM"],
)
@gluon.jit
def fp8_gemm_specialized_kernel(
    a_block_desc,
    b_block_desc,
    c_desc,
    a_scale_ptr,
    b_scale_ptr,
    M,
    K,
    N,
    stride_a_scale_m,
    stride_b_scale_n,
    FAST_ACCUM: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    RESIDENT: gl.constexpr,
    CONSUMERS: gl.constexpr,
    STAGES: gl.constexpr,
    PIECES: gl.constexpr,
    DEPTH: gl.constexpr,
    PRODUCTS: gl.constexpr,
):
    a_blocks = gl.allocate_shared_memory(
        a_block_desc.dtype,
        [STAGES * CONSUMERS] + a_block_desc.block_shape,
        a_block_desc.layout,
    )
    b_blocks = gl.allocate_shared_memory(
        b_block_desc.dtype, [STAGES] + b_block_desc.block_shape, b_block_desc.layout
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
                    _fp8_gemm_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        a_scale_ptr,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        stride_a_scale_m,
                        stride_b_scale_n,
                        FAST_ACCUM,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        PRODUCTS,
                    ),
                ),
                (
                    _fp8_gemm_multiply,
                    (
                        1,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        a_scale_ptr,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        stride_a_scale_m,
                        stride_b_scale_n,
                        FAST_ACCUM,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        PRODUCTS,
                    ),
                ),
                (
                    _fp8_gemm_load,
                    (
                        a_block_desc,
                        b_block_desc,
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
                    _fp8_gemm_multiply,
                    (
                        0,
                        c_desc,
                        a_blocks,
                        b_blocks,
                        c_blocks,
                        filled,
                        emptied,
                        a_scale_ptr,
                        b_scale_ptr,
                        M,
                        K,
                        N,
                        stride_a_scale_m,
                        stride_b_scale_n,
                        FAST_ACCUM,
                        BLOCK_M,
                        BLOCK_N,
                        BLOCK_K,
                        GROUP_M,
                        CONSUMERS,
                        STAGES,
                        PIECES,
                        DEPTH,
                        PRODUCTS,
                    ),
                ),
                (
                    _fp8_gemm_load,
                    (
                        a_block_desc,
                        b_block_desc,
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


def fp8_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    a_scale: torch.Tensor,
    b_scale: torch.Tensor,
    OUT: torch.dtype,
    FAST_ACCUM: bool = False,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = (A * aScale[:, None]) @ (B * bScale[:, None]).T, accumulated in float32.

    Args:
        a: [M, K] float8e4nv.
        b: [N, K] float8e4nv.
        a_scale: [M] float32.
        b_scale: [N] float32.
        OUT: torch.float16 or torch.bfloat16.
        FAST_ACCUM: a bool that the kernel is compiled for.
        out: where to write [M, N] float16 or bfloat16; allocated if None.
    """
    _check_choice("fp8_gemm: OUT", OUT, torch.float16, torch.bfloat16)
    _check_type("fp8_gemm: FAST_ACCUM", FAST_ACCUM, bool)
    if (
        a.ndim != 2
        or b.ndim != 2
        or b.shape[1] != a.shape[1]
        or a_scale.shape != a.shape[:1]
        or b_scale.shape != b.shape[:1]
    ):
        raise ValueError(
            "fp8_gemm: a, b, a_scale and b_scale must have shapes [M, K], [N, "
            f"K], [M] and [N], got {a.shape}, {b.shape}, {a_scale.shape} and "
            f"{b_scale.shape}"
        )
    M, K = a.shape
    N = b.shape[0]
    c = a.new_empty((M, N), dtype=OUT) if out is None else out
    if c.shape != (M, N):
        raise ValueError(f"fp8_gemm: out must have shape [M={M}, N={N}], got {c.shape}")
    _check_dtypes("fp8_gemm", (torch.float8_e4m3fn,), a=a, b=b)
    _check_dtypes("fp8_gemm", (torch.float32,), a_scale=a_scale, b_scale=b_scale)
    _check_dtypes("fp8_gemm", (OUT,), out=c)
    _check_tensors(
        "fp8_gemm", ("a", "b"), a=a, b=b, a_scale=a_scale, b_scale=b_scale, out=c
    )
    _check_strided("fp8_gemm: out", out, a=a, b=b, a_scale=a_scale, b_scale=b_scale)
    if M * N == 0:
        return c

    stride_a_scale_m = a_scale.stride(0)
    stride_b_scale_n = b_scale.stride(0)
    _check_descriptor("fp8_gemm: a", a, 1)
    _check_descriptor("fp8_gemm: b", b, 1)
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"fp8_gemm: K is {K}, and tensor descriptors count in int32; pass the "
            "tensor in parts, or use views with { offsets: tl.int64 }"
        )
    multi_processor_count = _gpu_property(a.device, "multi_processor_count", 132)
    _check_gpu(
        a.device,
        89,
        ["gfx942", "gfx950", "gfx1200"],
        "fp8_gemm is for sm_89 and later, gfx942, gfx950, gfx1200: others "
        "have no products of 8-bit floats",
    )

    with torch.cuda.device(a.get_device()):
        if _is_specialized(a, b, c):

            def _programs(meta):
                return (
                    min(
                        multi_processor_count * meta["RESIDENT"],
                        triton.cdiv(M, meta["BLOCK_M"])
                        * triton.cdiv(N, meta["BLOCK_N"]),
                    ),
                )

            with _TUNING_LOCK:
                fp8_gemm_specialized_kernel[_programs](
                    _described(a),
                    _described(b),
                    _described(c),
                    a_scale,
                    b_scale,
                    M,
                    K,
                    N,
                    stride_a_scale_m,
                    stride_b_scale_n,
                    FAST_ACCUM=FAST_ACCUM,
                )
            return c
        a_desc = TensorDescriptor.from_tensor(a, [1, 1])
        b_desc = TensorDescriptor.from_tensor(b, [1, 1])

        def grid(meta):
            return (
                min(
                    multi_processor_count * meta["RESIDENT"],
                    triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
                ),
            )

        fp8_gemm_kernel[grid](
            a_desc,
            b_desc,
            a_scale,
            b_scale,
            c,
            M,
            K,
            N,
            stride_a_scale_m,
            stride_b_scale_n,
            *c.stride(),
            OUT=_TRITON_DTYPES[OUT],
            FAST_ACCUM=FAST_ACCUM,
        )
    return c


def reference_fn(a, b, a_scale, b_scale, OUT, FAST_ACCUM=False):
    x = a.float().mul(a_scale.unsqueeze(1))
    y = b.float().mul(b_scale.unsqueeze(1))
    return torch.matmul(x, y.mT).to(OUT)


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 100, "K": 336, "N": 77},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device).to(torch.float8_e4m3fn),
        torch.randn((N, K), device=device).to(torch.float8_e4m3fn),
        torch.randn((M,), device=device, dtype=torch.float32),
        torch.randn((N,), device=device, dtype=torch.float32),
        torch.float16,
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
def _split_sum(total: gl.tensor, count: gl.constexpr, layout: gl.constexpr) -> gl.tuple:
    """Splits a sum [M, N] into count sums [M, N / count] of the products' layout."""
    sums = ()
    pieces = _pieces_of(total, count)
    for i in gl.static_range(count):
        sums += (gl.convert_layout(pieces[i], layout),)
    return sums


@gluon.jit
def _add_product(
    sums: gl.tuple,
    a: gl.shared_memory_descriptor,
    b: gl.shared_memory_descriptor,
    factors: gl.tuple,
    layout: gl.constexpr,
) -> gl.tuple:
    """Adds the product of a [M, K] and b [K, N], times factors, to sums [M, N / count].

    The tensor cores of Hopper GPUs keep some 14 bits of a sum of 8-bit floats. So they
    sum one product only, and registers add it to the sum in float32.
    """
    count: gl.constexpr = len(sums)
    rows: gl.constexpr = a.shape[0]
    columns: gl.constexpr = b.shape[1] // count
    added = ()
    for i in gl.static_range(count):
        zeros = gl.zeros([rows, columns], gl.float32, layout)
        right = b.slice(i * columns, columns, dim=1)
        product = warpgroup_mma(a, right, zeros, use_acc=False, is_async=True)
        product = warpgroup_mma_wait(0, deps=(product,))
        for j in gl.static_range(len(factors)):
            product = product * factors[j]
        added += (sums[i] + product,)
    return added


@gluon.jit
def _join_sum(sums: gl.tuple, layout: gl.constexpr) -> gl.tensor:
    """Joins sums [M, N], from left to right, to one of the layout. See _split_sum."""
    return gl.convert_layout(_whole_of(sums), layout)


@gluon.jit
def _whole_of(pieces: gl.tuple) -> gl.tensor:
    """Joins tiles [M, N] from left to right, the reverse of _pieces_of."""
    if len(pieces) == 1:
        return pieces[0]
    else:
        half: gl.constexpr = len(pieces) // 2
        left = _whole_of(pieces[:half])
        pair = gl.join(left, _whole_of(pieces[half:]))
        return pair.permute(0, 2, 1).reshape([left.shape[0], 2 * left.shape[1]])


@gluon.jit
def _swizzle2d(i, j, size_i, size_j, size_g):
    """The i and j of a tile in grouped order, as triton.language.swizzle2d has them."""
    tile = i * size_j + j
    tiles_in_group = size_g * size_j
    first = tile // tiles_in_group * size_g
    rows = gl.minimum(size_i - first, size_g)
    return first + tile % tiles_in_group % rows, tile % tiles_in_group // rows


kernel_fn = fp8_gemm
