"""y = gelu(x @ weight.T + bias), accumulated in float32.

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
# The GPU that Triton's interpreter stands for: an NVIDIA H200.
_INTERPRETED_GPU = {
    "multi_processor_count": 132,
    "shared_memory_per_block_optin": 232448,
    "warp_size": 32,
    "major": 9,
    "minor": 0,
}


def _set_blocks(args):
    """Gives each descriptor the block of the config that is to run."""
    args["x_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_K"]]
    args["weight_desc"].block_shape = [args["BLOCK_N"], args["BLOCK_K"]]
    args["y_desc"].block_shape = [args["BLOCK_M"], args["HALF_N"]]


@triton.autotune(
    configs=[
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 256,
                "HALF_N": 128,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 1,
            },
            num_warps=8,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "HALF_N": 64,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
            },
            num_warps=4,
            num_stages=3,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 128,
                "BLOCK_N": 128,
                "HALF_N": 64,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
            },
            num_warps=8,
            num_stages=3,
            pre_hook=_set_blocks,
        ),
        triton.Config(
            {
                "BLOCK_M": 64,
                "BLOCK_N": 64,
                "HALF_N": 32,
                "BLOCK_K": 64,
                "GROUP_M": 8,
                "RESIDENT": 2,
            },
            num_warps=4,
            num_stages=4,
            pre_hook=_set_blocks,
        ),
    ],
    key=["M", "N", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def linear_gelu_kernel(
    x_desc,
    weight_desc,
    bias_ptr,
    y_desc,
    M,
    K,
    N,
    stride_bias_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HALF_N: tl.constexpr,
    GROUP_M: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = num_pid_n * GROUP_M
    for tile in tl.range(
        tl.program_id(0), num_pid_m * num_pid_n, tl.num_programs(0), flatten=True
    ):
        # Grouped order: programs that run at one time share rows of x in L2.
        first_pid_m = (tile // num_pid_in_group) * GROUP_M
        group_size_m = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
        off_m = (first_pid_m + (tile % num_pid_in_group) % group_size_m) * BLOCK_M
        off_n = ((tile % num_pid_in_group) // group_size_m) * BLOCK_N

        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K
            acc = tl.dot(
                x_desc.load([off_m, k]), tl.trans(weight_desc.load([off_n, k])), acc
            )
        # Asked for here, both biases arrive while the last products run.
        first = off_n + HALF_N
        offsets = off_n + tl.arange(0, HALF_N)
        left_bias = tl.load(
            bias_ptr + offsets * stride_bias_n, mask=offsets < N, other=0.0
        )
        offsets_1 = first + tl.arange(0, HALF_N)
        right_bias = tl.load(
            bias_ptr + offsets_1 * stride_bias_n, mask=offsets_1 < N, other=0.0
        )
        # In two halves, each of which needs half the shared memory on its way out.
        left, right = tl.split(
            tl.permute(tl.reshape(acc, [BLOCK_M, 2, HALF_N]), [0, 2, 1])
        )
        sums = left + left_bias.to(tl.float32)[None, :]
        size = tl.abs(sums)
        # Beyond, Φ(-a) is less than any float16 or bfloat16 with all its digits.
        a = tl.minimum(size, 13.3)
        # Not a maximum, which would make 0 of NaN and of -∞.
        y_desc.store(
            [off_m, off_n],
            (
                (sums + size) * 0.5
                - a
                * tl.exp2(
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (a * 4.950400191e-8 + -2.822321758e-6) * a
                                            + 6.882853191e-5
                                        )
                                        * a
                                        + -9.550759271e-4
                                    )
                                    * a
                                    + 0.008553429006
                                )
                                * a
                                + -0.0540285926
                            )
                            * a
                            + -0.4583713151
                        )
                        * a
                        + -1.151315173
                    )
                    * a
                    + -0.9999831767
                )
            ).to(y_desc.dtype),
        )
        sums_1 = right + right_bias.to(tl.float32)[None, :]
        size_1 = tl.abs(sums_1)
        a_1 = tl.minimum(size_1, 13.3)
        y_desc.store(
            [off_m, first],
            (
                (sums_1 + size_1) * 0.5
                - a_1
                * tl.exp2(
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (a_1 * 4.950400191e-8 + -2.822321758e-6)
                                            * a_1
                                            + 6.882853191e-5
                                        )
                                        * a_1
                                        + -9.550759271e-4
                                    )
                                    * a_1
                                    + 0.008553429006
                                )
                                * a_1
                                + -0.0540285926
                            )
                            * a_1
                            + -0.4583713151
                        )
                        * a_1
                        + -1.151315173
                    )
                    * a_1
                    + -0.9999831767
                )
            ).to(y_desc.dtype),
        )


def linear_gelu(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """y = gelu(x @ weight.T + bias), accumulated in float32.

    Args:
        x: [M, K] float16 or bfloat16.
        weight: [N, K] float16 or bfloat16.
        bias: [N] float16 or bfloat16.
        out: where to write [M, N] float16 or bfloat16; allocated if None.
    """
    _check_tensors("linear_gelu", {"x": x, "weight": weight, "bias": bias}, out=out)
    _check_strided("linear_gelu: out", out, x=x, weight=weight, bias=bias)
    if (
        x.ndim != 2
        or weight.ndim != 2
        or weight.shape[1] != x.shape[1]
        or bias.ndim != 1
        or bias.shape[0] != weight.shape[0]
    ):
        raise ValueError(
            "linear_gelu: x, weight and bias must have shapes [M, K], "
            f"[N, K] and [N], got {list(x.shape)}, {list(weight.shape)} "
            f"and {list(bias.shape)}"
        )
    M, K = x.shape
    N = weight.shape[0]
    y = x.new_empty((M, N)) if out is None else out
    if y.shape != (M, N):
        raise ValueError(
            f"linear_gelu: out must have shape [M={M}, N={N}], got {list(y.shape)}"
        )
    _check_dtypes(
        "linear_gelu",
        (torch.float16, torch.bfloat16),
        x=x,
        weight=weight,
        bias=bias,
        out=y,
    )
    if M * N == 0:
        return y

    _check_descriptor("linear_gelu: x", x, 1)
    _check_descriptor("linear_gelu: weight", weight, 1)
    _check_descriptor("linear_gelu: out", y, 1, is_written=True)
    _check_reach("linear_gelu", bias=bias)
    if M >= _INT32_REACH:
        raise ValueError(
            f"linear_gelu: M is {M}, and tensor descriptors count in "
            "int32; pass the tensor in parts, or use views with { "
            "offsets: tl.int64 }"
        )
    if K >= _INT32_REACH:
        raise ValueError(
            f"linear_gelu: K is {K}, and tensor descriptors count in "
            "int32; pass the tensor in parts, or use views with { "
            "offsets: tl.int64 }"
        )
    if N >= _INT32_REACH:
        raise ValueError(
            f"linear_gelu: N is {N}, and tensor descriptors count in "
            "int32; pass the tensor in parts, or use views with { "
            "offsets: tl.int64 }"
        )
    multi_processor_count = _gpu_property(x.device, "multi_processor_count")
    _check_bfloat16("linear_gelu", x.dtype)
    x_desc = TensorDescriptor.from_tensor(x, [1, 1])
    weight_desc = TensorDescriptor.from_tensor(weight, [1, 1])
    y_desc = TensorDescriptor.from_tensor(y, [1, 1])

    def grid(meta):
        return (
            min(
                multi_processor_count * meta["RESIDENT"],
                triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
            ),
        )

    with torch.cuda.device(x.get_device()):
        linear_gelu_kernel[grid](
            x_desc, weight_desc, bias, y_desc, M, K, N, bias.stride(0)
        )
    return y


def reference_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor):
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias))


SHAPES = [
    {"M": 512, "K": 512, "N": 512},
    {"M": 4096, "K": 4096, "N": 4096},
    {"M": 1000, "K": 328, "N": 776},
]


def get_inputs(M=512, K=512, N=512):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((N, K), device=device, dtype=torch.float16),
        torch.randn((N,), device=device, dtype=torch.float16),
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


def _gpu_property(device, name):
    """A property of the GPU that a launch is for."""
    if _INTERPRETED:
        return _INTERPRETED_GPU[name]
    return getattr(torch.cuda.get_device_properties(device), name)


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


kernel_fn = linear_gelu
