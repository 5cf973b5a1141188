"""C = A @ B, accumulated in float32, by a fixed number of programs.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
        ),
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def gemm_persistent_kernel(
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
    PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    # Flattened into one loop, the loads of a block start while the last one is still
    # being multiplied.
    for tile in tl.range(
        tl.program_id(0), num_pid_m * num_pid_n, PROGRAMS, flatten=True
    ):
        # Grouped order: programs that run at one time share rows of A in L2.
        first_pid_m = (tile // num_pid_in_group) * GROUP_M
        group_size_m = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + (tile % num_pid_in_group) % group_size_m
        pid_n = (tile % num_pid_in_group) // group_size_m

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
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K
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


def gemm_persistent(
    a: torch.Tensor,
    b: torch.Tensor,
    PROGRAMS: int = 132,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = A @ B, accumulated in float32, by a fixed number of programs.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.
        PROGRAMS: an int that the kernel is compiled for.
        out: where to write [M, N] float16 or bfloat16; allocated if None.
    """
    _check_type("gemm_persistent: PROGRAMS", PROGRAMS, int)
    _check_tensors("gemm_persistent", {"a": a, "b": b}, out=out)
    _check_strided("gemm_persistent: out", out, a=a, b=b)
    if a.ndim != 2 or b.ndim != 2 or b.shape[0] != a.shape[1]:
        raise ValueError(
            "gemm_persistent: a and b must have shapes [M, K] and [K, "
            f"N], got {list(a.shape)} and {list(b.shape)}"
        )
    M, K = a.shape
    N = b.shape[1]
    c = a.new_empty((M, N)) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"gemm_persistent: out must have shape [M={M}, N={N}], got {list(c.shape)}"
        )
    _check_dtypes("gemm_persistent", (torch.float16, torch.bfloat16), a=a, b=b, out=c)
    if M * N == 0:
        return c

    _check_reach("gemm_persistent", a=a, b=b, out=c)
    if not PROGRAMS > 0:
        raise ValueError(
            "gemm_persistent: a requirement does not hold: PROGRAMS > 0 "
            f"with PROGRAMS = {PROGRAMS}"
        )
    _check_bfloat16("gemm_persistent", a.dtype)

    def grid(meta):
        return (
            min(
                PROGRAMS,
                triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
            ),
        )

    with torch.cuda.device(a.get_device()):
        gemm_persistent_kernel[grid](
            a, b, c, M, K, N, *a.stride(), *b.stride(), *c.stride(), PROGRAMS=PROGRAMS
        )
    return c


def reference_fn(a: torch.Tensor, b: torch.Tensor, PROGRAMS: int = 132):
    return torch.matmul(a, b)


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 1000, "K": 333, "N": 777},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((K, N), device=device, dtype=torch.float16),
        132,
    ]


def _check_tensors(name, required, /, **optional):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    first, device = "", None
    for key, x in {**required, **optional}.items():
        if x is None and key in optional:
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: {key} must be a tensor, got {x!r:.80}")
        if type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            kind = type(x).__name__
            raise TypeError(f"{name}: {key} must be a plain tensor, got a {kind}")
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(
                f"{name}: {key} is a lazily negated view; call .resolve_neg() first"
            )
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(
                f"{name} has no gradient for {key}; "
                "call it under torch.no_grad(), or with .detach()"
            )


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    (first, x), *others = tensors.items()
    if x.dtype not in expected:
        dtypes = " or ".join(map(str, expected))
        raise TypeError(f"{name}: {first} must be {dtypes}, got {x.dtype}")
    for key, y in others:
        if y.dtype != x.dtype:
            raise TypeError(
                f"{name}: {key} must be {x.dtype} as {first} is, got {y.dtype}"
            )


def _check_reach(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors whose offsets do not fit int32."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= _INT32_REACH:
            raise ValueError(
                f"{name}: {key} spans more elements than int32 offsets reach; "
                "build the kernel with { offsets: tl.int64 } for it"
            )


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    axes = () if written.is_contiguous() else zip(written.stride(), written.shape)
    reach = 0
    for step, size in sorted(axes):
        if size > 1 and step <= reach:
            raise ValueError(
                f"{label} has elements that share memory, with shape "
                f"{list(written.shape)} and strides {list(written.stride())}; "
                "give a tensor of its own"
            )
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _may_overlap(x: torch.Tensor, y: torch.Tensor) -> bool:
    """True unless the addresses of x and y lie apart, at least modulo a stride.

    The stride divides all larger ones, as that of a matrix's rows does for two columns.
    """
    if x.numel() == 0 or y.numel() == 0:
        return False
    if x.is_contiguous() and y.is_contiguous():
        return -y.nbytes < y.data_ptr() - x.data_ptr() < x.nbytes
    axes = [
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    ]
    steps = {step for z in axes for step, last in z if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_span, y_span = (
            sum(step * last for step, last in z if step < period) for z in axes
        )
        is_apart = x_span + x.itemsize <= gap <= period - y_span - y.itemsize
        if is_apart and not any(step % period for step in steps if step > period):
            return False
    return True


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


def _check_bfloat16(name, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    if not (torch.bfloat16 in dtypes and triton.knobs.runtime.interpret):
        return
    from triton.runtime.interpreter import InterpreterBuilder

    # TileScript's runner corrects the interpreter, and says so here.
    if not hasattr(InterpreterBuilder, "has_bfloat16"):
        raise NotImplementedError(
            f"{name}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


kernel_fn = gemm_persistent
