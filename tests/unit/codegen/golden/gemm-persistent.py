"""C = A @ B, accumulated in float32, by a fixed number of programs.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_N, num_warps, num_stages in [
            (128, 256, 8, 3),
            (128, 128, 4, 4),
            (64, 64, 4, 4),
        ]
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
    if a.ndim != 2 or b.ndim != 2 or b.shape[0] != a.shape[1]:
        raise ValueError(
            "gemm_persistent: a and b must have shapes [M, K] and [K, N], got "
            f"{a.shape} and {b.shape}"
        )
    M, K = a.shape
    N = b.shape[1]
    c = a.new_empty((M, N)) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"gemm_persistent: out must have shape [M={M}, N={N}], got {c.shape}"
        )
    _check_dtypes("gemm_persistent", (torch.float16, torch.bfloat16), a=a, b=b)
    _check_dtypes("gemm_persistent", (a.dtype,), out=c)
    _check_tensors("gemm_persistent", a=a, b=b, out=c)
    _check_strided("gemm_persistent: out", out, a=a, b=b)
    if M * N == 0:
        return c

    if not PROGRAMS > 0:
        raise ValueError(
            "gemm_persistent: a requirement does not hold: PROGRAMS > 0 with "
            f"PROGRAMS = {PROGRAMS}"
        )

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


def reference_fn(a, b, PROGRAMS=132):
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


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


kernel_fn = gemm_persistent
