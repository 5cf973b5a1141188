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
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["a_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_K"]]
    args["b_desc"].block_shape = [args["BLOCK_K"], args["BLOCK_N"]]
    args["c_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_N"]]


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=8,
            num_stages=3,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=4,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
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
    _check_tensors("gemm_tma", {"a": a, "b": b}, out=out)
    _check_strided("gemm_tma: out", out, a=a, b=b)
    if a.ndim != 2 or b.ndim != 2 or b.shape[0] != a.shape[1]:
        raise ValueError(
            "gemm_tma: a and b must have shapes [M, K] and [K, N], got "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    M, K = a.shape
    N = b.shape[1]
    c = a.new_empty((M, N)) if out is None else out
    if c.shape != (M, N):
        raise ValueError(
            f"gemm_tma: out must have shape [M={M}, N={N}], got {list(c.shape)}"
        )
    _check_dtypes("gemm_tma", (torch.float16, torch.bfloat16), a=a, b=b, out=c)
    if M * N == 0:
        return c

    _check_descriptor("gemm_tma: a", a, 1)
    _check_descriptor("gemm_tma: b", b, 1)
    _check_descriptor("gemm_tma: out", c, 1, is_written=True)
    if M >= _INT32_REACH:
        raise ValueError(
            f"gemm_tma: M is {M}, and tensor descriptors count in int32; "
            "pass the tensor in parts, or use views with { offsets: "
            "tl.int64 }"
        )
    if K >= _INT32_REACH:
        raise ValueError(
            f"gemm_tma: K is {K}, and tensor descriptors count in int32; "
            "pass the tensor in parts, or use views with { offsets: "
            "tl.int64 }"
        )
    if N >= _INT32_REACH:
        raise ValueError(
            f"gemm_tma: N is {N}, and tensor descriptors count in int32; "
            "pass the tensor in parts, or use views with { offsets: "
            "tl.int64 }"
        )
    _check_bfloat16("gemm_tma", a.dtype)
    a_desc = TensorDescriptor.from_tensor(a, [1, 1])
    b_desc = TensorDescriptor.from_tensor(b, [1, 1])
    c_desc = TensorDescriptor.from_tensor(c, [1, 1])

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device(a.get_device()):
        gemm_tma_kernel[grid](a_desc, b_desc, c_desc, M, K, N)
    return c


def reference_fn(a: torch.Tensor, b: torch.Tensor):
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


def _check_descriptor(label, tensor, axis, is_written=False):
    """Refuses a tensor whose blocks the GPU's copy engine cannot address."""
    if 0 in tensor.shape:
        raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
    size, strides = tensor.element_size(), tensor.stride()
    if strides[axis] != 1:
        raise ValueError(
            f"{label} must have stride 1 on axis {axis}, got strides {list(strides)}; "
            "call .contiguous() first"
        )
    if any(s * size % 16 for i, s in enumerate(strides) if i != axis):
        raise ValueError(
            f"{label} must have strides of a multiple of 16 bytes on all axes but "
            f"{axis}, got {list(strides)} elements of {size} bytes; pad the tensor"
        )
    if is_written and tensor.shape[axis] * size % 16:
        raise ValueError(
            f"{label} must have a length of a multiple of 16 bytes on axis {axis}, as "
            "stores through a descriptor may write up to the next multiple, got shape "
            f"{list(tensor.shape)} with elements of {size} bytes; pad the tensor"
        )
    _check_described(label, tensor)


def _check_described(label, tensor, *steps):
    """Refuses memory that no descriptor with these strides and rows can address."""
    if tensor.data_ptr() % 16 != 0:
        raise ValueError(
            f"{label} must start at a multiple of 16 bytes; call .clone() first"
        )
    size = tensor.element_size()
    for step in steps:
        if step * size % 16:
            raise ValueError(
                f"{label} must have rows and strides of a multiple of 16 bytes, got "
                f"{step} elements of {size} bytes; pad the rows"
            )


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


kernel_fn = gemm_tma
