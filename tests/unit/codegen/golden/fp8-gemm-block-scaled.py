"""C = A @ B.T, where A and B are 8-bit floats times the scales of their blocks,
accumulated in float32.

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
    tensors = {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "out": c}
    _check_dtypes("fp8_gemm_block_scaled", (torch.float8_e4m3fn,), a=a, b=b)
    _check_dtypes(
        "fp8_gemm_block_scaled", (torch.float32,), a_scale=a_scale, b_scale=b_scale
    )
    _check_dtypes("fp8_gemm_block_scaled", (OUT,), out=c)
    _check_tensors("fp8_gemm_block_scaled", **tensors)
    _check_strided(
        "fp8_gemm_block_scaled: out", out, a=a, a_scale=a_scale, b=b, b_scale=b_scale
    )
    if M * N == 0:
        return c

    _check_gpu(
        a.device,
        89,
        ["gfx942", "gfx950", "gfx1200"],
        "fp8_gemm_block_scaled is for sm_89 and later, gfx942, gfx950, "
        "gfx1200: others have no products of 8-bit floats",
    )

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(a.get_device()):
        fp8_gemm_block_scaled_kernel[grid](
            *tensors.values(),
            M,
            K,
            N,
            N_GROUPS,
            *_strides(tensors),
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


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


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


kernel_fn = fp8_gemm_block_scaled
