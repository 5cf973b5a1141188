"""C = (A * aScale[:, None]) @ (B * bScale[:, None]).T, with exact sums.

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
# What Triton calls the dtypes of PyTorch.
_TRITON_DTYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": 128, "GROUP_M": 8},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_N, num_warps, num_stages in [
            (128, 256, 8, 3),
            (128, 128, 8, 3),
            (128, 128, 4, 4),
            (64, 128, 4, 4),
        ]
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def int8_gemm_kernel(
    a_ptr,
    b_ptr,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    K,
    N,
    stride_am,
    stride_ak,
    stride_bn,
    stride_bk,
    stride_a_scale_m,
    stride_b_scale_n,
    stride_cm,
    stride_cn,
    OUT: tl.constexpr,
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
    # Rows wrap instead of being masked inside the loop; the store masks what is left
    # over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.int32)
    # K's tail is masked and holds 0.
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (am[:, None] * stride_am + rk[None, :] * stride_ak)
    b_ptrs = b_ptr + (bn[:, None] * stride_bn + rk[None, :] * stride_bk)
    for k in range(0, K, BLOCK_K):
        mask = rk[None, :] < K - k
        acc = tl.dot(
            tl.load(a_ptrs, mask=mask, other=0),
            tl.trans(tl.load(b_ptrs, mask=mask, other=0)),
            acc,
            out_dtype=tl.int32,
        )
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    scale = (
        tl.load(a_scale_ptr + rm * stride_a_scale_m, mask=rm < M, other=0.0)[:, None]
        * tl.load(b_scale_ptr + rn * stride_b_scale_n, mask=rn < N, other=0.0)[None, :]
    )
    tl.store(
        c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn),
        (acc.to(tl.float32) * scale).to(OUT),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


def int8_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    a_scale: torch.Tensor,
    b_scale: torch.Tensor,
    OUT: torch.dtype,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = (A * aScale[:, None]) @ (B * bScale[:, None]).T, with exact sums.

    Args:
        a: [M, K] int8.
        b: [N, K] int8.
        a_scale: [M] float32.
        b_scale: [N] float32.
        OUT: torch.float16 or torch.bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.
    """
    _check_choice("int8_gemm: OUT", OUT, torch.float16, torch.bfloat16)
    if (
        a.ndim != 2
        or b.ndim != 2
        or b.shape[1] != a.shape[1]
        or a_scale.shape != a.shape[:1]
        or b_scale.shape != b.shape[:1]
    ):
        raise ValueError(
            "int8_gemm: a, b, a_scale and b_scale must have shapes [M, K], [N, "
            f"K], [M] and [N], got {a.shape}, {b.shape}, {a_scale.shape} and "
            f"{b_scale.shape}"
        )
    M, K = a.shape
    N = b.shape[0]
    c = a.new_empty((M, N), dtype=OUT) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"int8_gemm: out must have shape [M={M}, N={N}], got {c.shape}"
        )
    tensors = {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale, "out": c}
    _check_dtypes("int8_gemm", (torch.int8,), a=a, b=b)
    _check_dtypes("int8_gemm", (torch.float32,), a_scale=a_scale, b_scale=b_scale)
    _check_dtypes("int8_gemm", (OUT,), out=c)
    _check_tensors("int8_gemm", **tensors)
    _check_strided("int8_gemm: out", out, a=a, b=b, a_scale=a_scale, b_scale=b_scale)
    if M * N == 0:
        return c

    if not K <= 65536:
        raise ValueError(
            f"int8_gemm: a requirement does not hold: K <= 65536 with K = {K}"
        )

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(a.get_device()):
        int8_gemm_kernel[grid](
            *tensors.values(), M, K, N, *_strides(tensors), OUT=_TRITON_DTYPES[OUT]
        )
    return c


def reference_fn(a, b, a_scale, b_scale, OUT):
    x = a.float().mul(a_scale.unsqueeze(1))
    y = b.float().mul(b_scale.unsqueeze(1))
    return torch.matmul(x, y.mT).to(OUT)


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 100, "K": 333, "N": 77},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randint(0, 100, (M, K), device=device, dtype=torch.int8),
        torch.randint(0, 100, (N, K), device=device, dtype=torch.int8),
        torch.randn((M,), device=device, dtype=torch.float32),
        torch.randn((N,), device=device, dtype=torch.float32),
        torch.float16,
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


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


def _check_choice(label, value, *choices):
    """Refuses a value that is none of the choices."""
    if type(value) is not type(choices[0]) or value not in choices:
        error = ValueError if type(value) is type(choices[0]) else TypeError
        allowed = " or ".join(map(repr, choices))
        raise error(f"{label} must be {allowed}, got {value!r:.80}")


kernel_fn = int8_gemm
