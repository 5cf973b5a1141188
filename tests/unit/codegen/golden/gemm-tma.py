"""C = A @ B, accumulated in float32, in blocks that the GPU's copy engine moves.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad
from triton.tools.tensor_descriptor import TensorDescriptor

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["a_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_K"]]
    args["b_desc"].block_shape = [args["BLOCK_K"], args["BLOCK_N"]]
    args["c_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_N"]]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=num_warps,
            num_stages=num_stages,
            pre_hook=_set_blocks,
        )
        for BLOCK_M, BLOCK_N, num_warps, num_stages in [
            (128, 256, 8, 3),
            (128, 128, 8, 3),
            (128, 128, 4, 4),
            (128, 64, 4, 4),
            (64, 128, 4, 4),
            (64, 64, 4, 4),
        ]
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def gemm_tma_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    K,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Grouped order: neighboring programs share rows of A in L2.
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    first_pid_m = (pid // num_pid_in_group) * GROUP_M
    group_size_m = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + (pid % num_pid_in_group) % group_size_m
    pid_n = (pid % num_pid_in_group) // group_size_m

    off_m = pid_m * BLOCK_M
    off_n = pid_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        k = step * BLOCK_K
        # What lies outside A and B reads as 0.
        x = a_desc.load([off_m, k])
        y = b_desc.load([k, off_n])
        acc = tl.dot(x, y, acc)
    # What lies outside C is not written.
    c_desc.store([off_m, off_n], acc.to(c_desc.dtype))


def gemm_tma(
    a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """C = A @ B, accumulated in float32, in blocks that the GPU's copy engine moves.

    Args:
        a: [M, K] float16 or bfloat16.
        b: [K, N] float16 or bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.
    """
    if a.ndim != 2 or b.ndim != 2 or b.shape[0] != a.shape[1]:
        raise ValueError(
            f"gemm_tma: a and b must have shapes [M, K] and [K, N], got {a.shape} "
            f"and {b.shape}"
        )
    M, K = a.shape
    N = b.shape[1]
    c = a.new_empty((M, N)) if out is None else out
    if c.shape != (M, N):
        raise ValueError(f"gemm_tma: out must have shape [M={M}, N={N}], got {c.shape}")
    _check_dtypes("gemm_tma", (torch.float16, torch.bfloat16), a=a, b=b)
    _check_dtypes("gemm_tma", (a.dtype,), out=c)
    _check_tensors("gemm_tma", ("a", "b", "out"), a=a, b=b, out=c)
    _check_strided("gemm_tma: out", out, a=a, b=b)
    if M * N == 0:
        return c

    _check_descriptor("gemm_tma: a", a, 1)
    _check_descriptor("gemm_tma: b", b, 1)
    _check_descriptor("gemm_tma: out", c, 1, is_written=True)
    if M >= 2**31 - 2**20:
        raise ValueError(
            f"gemm_tma: M is {M}, and tensor descriptors count in int32; pass the "
            "tensor in parts, or use views with { offsets: tl.int64 }"
        )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"gemm_tma: K is {K}, and tensor descriptors count in int32; pass the "
            "tensor in parts, or use views with { offsets: tl.int64 }"
        )
    if N >= 2**31 - 2**20:
        raise ValueError(
            f"gemm_tma: N is {N}, and tensor descriptors count in int32; pass the "
            "tensor in parts, or use views with { offsets: tl.int64 }"
        )
    a_desc = TensorDescriptor.from_tensor(a, [1, 1])
    b_desc = TensorDescriptor.from_tensor(b, [1, 1])
    c_desc = TensorDescriptor.from_tensor(c, [1, 1])

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(a.get_device()):
        gemm_tma_kernel[grid](a_desc, b_desc, c_desc, M, K, N)
    return c


def reference_fn(a, b):
    return torch.matmul(a, b)


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 1000, "K": 328, "N": 776},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((K, N), device=device, dtype=torch.float16),
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


kernel_fn = gemm_tma
