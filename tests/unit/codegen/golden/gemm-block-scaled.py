"""C = (A * 2^(aScale - 127)) @ (B * 2^(bScale - 127))^T, each scale for 32 elements
of a row.

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
            {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 128, "BLOCK_G": 4},
            num_warps=4,
            num_stages=3,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128, "BLOCK_G": 4},
            num_warps=8,
            num_stages=3,
        ),
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def gemm_block_scaled_kernel(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    K,
    GROUPS,
    N,
    stride_am,
    stride_ak,
    stride_a_scale_m,
    stride_a_scale_groups,
    stride_bn,
    stride_bk,
    stride_b_scale_n,
    stride_b_scale_groups,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_G: tl.constexpr,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    # Rows and columns wrap instead of being masked inside the loop; the store masks
    # what is left over.
    am = rm % M
    bn = rn % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    # K's tail is masked: elements of 0, with any scale, add nothing.
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (am[:, None] * stride_am + rk[None, :] * stride_ak)
    b_ptrs = b_ptr + (bn[:, None] * stride_bn + rk[None, :] * stride_bk)
    rg = tl.arange(0, BLOCK_G)
    a_scale_ptrs = a_scale_ptr + (
        am[:, None] * stride_a_scale_m + rg[None, :] * stride_a_scale_groups
    )
    b_scale_ptrs = b_scale_ptr + (
        bn[:, None] * stride_b_scale_n + rg[None, :] * stride_b_scale_groups
    )
    for step in range(tl.cdiv(K, BLOCK_K)):
        mask = rk[None, :] < K - step * BLOCK_K
        x = tl.load(a_ptrs, mask=mask, other=0.0)
        y = tl.load(b_ptrs, mask=mask, other=0.0)
        mask_1 = rg[None, :] < GROUPS - step * BLOCK_G
        x_scale = tl.load(a_scale_ptrs, mask=mask_1, other=0)
        y_scale = tl.load(b_scale_ptrs, mask=mask_1, other=0)
        acc = tl.dot_scaled(x, x_scale, "e4m3", tl.trans(y), y_scale, "e4m3", acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
        a_scale_ptrs += BLOCK_G * stride_a_scale_groups
        b_scale_ptrs += BLOCK_G * stride_b_scale_groups
    # With a name the block's address comes before the store's mask, which Triton
    # computes first otherwise: 3 % on an H200.
    block = c_ptr + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    tl.store(block, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


def gemm_block_scaled(
    a: torch.Tensor,
    a_scale: torch.Tensor,
    b: torch.Tensor,
    b_scale: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """C = (A * 2^(aScale - 127)) @ (B * 2^(bScale - 127))^T, each scale for 32
    elements of a row.

    Args:
        a: [M, K] float8e4nv.
        a_scale: [M, GROUPS] uint8.
        b: [N, K] float8e4nv.
        b_scale: [N, GROUPS] uint8.
        out: where to write [M, N] float16; allocated if None.
    """
    if (
        a.ndim != 2
        or a_scale.ndim != 2
        or a_scale.shape[0] != a.shape[0]
        or b.ndim != 2
        or b_scale.ndim != 2
        or b_scale.shape[0] != b.shape[0]
        or b_scale.shape[1] != a_scale.shape[1]
    ):
        raise ValueError(
            "gemm_block_scaled: a, a_scale, b and b_scale must have shapes [M, "
            f"K], [M, GROUPS], [N, K] and [N, GROUPS], got {a.shape}, "
            f"{a_scale.shape}, {b.shape} and {b_scale.shape}"
        )
    M = a.shape[0]
    GROUPS = a_scale.shape[1]
    N = b.shape[0]
    K = GROUPS * 32
    if a.shape[1] != K or b.shape[1] != K:
        raise ValueError(
            f"gemm_block_scaled: a and b must have shapes [M={M}, K={K}] and "
            f"[N={N}, K={K}], got {a.shape} and {b.shape}"
        )
    c = a.new_empty((M, N), dtype=torch.float16) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"gemm_block_scaled: out must have shape [M={M}, N={N}], got {c.shape}"
        )
    tensors = {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "out": c}
    _check_dtypes("gemm_block_scaled", (torch.float8_e4m3fn,), a=a, b=b)
    _check_dtypes("gemm_block_scaled", (torch.uint8,), a_scale=a_scale, b_scale=b_scale)
    _check_dtypes("gemm_block_scaled", (torch.float16,), out=c)
    _check_tensors("gemm_block_scaled", **tensors)
    _check_strided(
        "gemm_block_scaled: out", out, a=a, a_scale=a_scale, b=b, b_scale=b_scale
    )
    if M * N == 0:
        return c

    _check_gpu(
        a.device,
        89,
        ["gfx942", "gfx950"],
        "gemm_block_scaled is for sm_89 and later, gfx942, gfx950: others "
        "have no products of 8-bit floats",
    )

    def grid(meta):
        return _checked_grid(
            "gemm_block_scaled",
            (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"])),
        )

    with torch.cuda.device(a.get_device()):
        gemm_block_scaled_kernel[grid](
            *tensors.values(), M, K, GROUPS, N, *_strides(tensors)
        )
    return c


def reference_fn(a, a_scale, b, b_scale):
    x = a.float().mul(torch.exp2(a_scale.float().sub(127)).repeat_interleave(32, 1))
    y = b.float().mul(torch.exp2(b_scale.float().sub(127)).repeat_interleave(32, 1))
    return torch.matmul(x, y.mT)


def draw_inputs(M, GROUPS, N, device):
    """a_scale and b_scale of gemm_block_scaled, at random."""
    a_scale = torch.randint(124, 131, [M, GROUPS], device=device)
    b_scale = torch.randint(124, 131, [N, GROUPS], device=device)
    return a_scale.to(torch.uint8), b_scale.to(torch.uint8)


SHAPES = [{"M": 100, "GROUPS": 3, "N": 40}, {"M": 8192, "GROUPS": 256, "N": 8192}]


def get_inputs(M=100, GROUPS=3, N=40):
    device = "cpu" if _INTERPRETED else "cuda"
    K = GROUPS * 32
    a_scale, b_scale = draw_inputs(M, GROUPS, N, device)
    return [
        torch.randn((M, K), device=device).to(torch.float8_e4m3fn),
        a_scale,
        torch.randn((N, K), device=device).to(torch.float8_e4m3fn),
        b_scale,
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


kernel_fn = gemm_block_scaled
