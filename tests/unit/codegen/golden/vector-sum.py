"""The sum of all elements of a vector, in float32.

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
# The maximum number of elements of a tile.
_MAX_TILE = 2**20


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4, num_stages=4),
        triton.Config({"BLOCK": 2048}, num_warps=8, num_stages=4),
        triton.Config({"BLOCK": 4096}, num_warps=8, num_stages=3),
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def partial_sums_kernel(
    x_ptr, sums_ptr, N, GROUPS, stride_sums_groups, BLOCK: tl.constexpr
):
    group = tl.program_id(0)
    # Each lane has a sum of its own: the lanes are added once, after the loop.
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(group * BLOCK, N, GROUPS * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < N, other=0.0).to(tl.float32)
    tl.store(sums_ptr + group * stride_sums_groups, tl.sum(total, axis=0))


def _partial_sums_meta(x, GROUPS):
    """Checks the arguments of partial_sums, and allocates its results."""
    _check_operands("partial_sums", x=x)
    if x.ndim != 1:
        raise ValueError(f"partial_sums: x must have shape [N], got {list(x.shape)}")
    _check_dtypes("partial_sums", (torch.float32, torch.float16, torch.bfloat16), x=x)
    _check_contiguous("partial_sums", x=x)
    return x.new_empty((GROUPS,), dtype=torch.float32)


def _partial_sums(x, GROUPS):
    """The sum of every GROUPS-th block of x, from the group's own on."""
    sums = _partial_sums_meta(x, GROUPS)
    _check_int("partial_sums: GROUPS", GROUPS, torch.int32, 0)
    N = x.shape[0]
    if GROUPS == 0:
        return sums

    _check_reach("partial_sums", x=x, out=sums)
    if not GROUPS >= 1:
        raise ValueError(
            "partial_sums: a requirement does not hold: GROUPS >= 1 with "
            f"GROUPS = {GROUPS}"
        )
    if not GROUPS < 2048:
        raise ValueError(
            "partial_sums: a requirement does not hold: GROUPS < 2048 "
            f"with GROUPS = {GROUPS}"
        )
    _check_bfloat16("partial_sums", x.dtype)

    with torch.cuda.device(x.get_device()):
        partial_sums_kernel[(GROUPS,)](x, sums, N, GROUPS, sums.stride(0))
    return sums


@triton.jit
def sum_of_sums_kernel(
    sums_ptr, y_ptr, GROUPS, stride_sums_groups, BLOCK: tl.constexpr
):
    offsets = tl.arange(0, BLOCK)
    tl.store(
        y_ptr,
        tl.sum(
            tl.load(
                sums_ptr + offsets * stride_sums_groups,
                mask=offsets < GROUPS,
                other=0.0,
            ),
            axis=0,
        ),
    )


def _sum_of_sums_meta(sums):
    """Checks the arguments of sum_of_sums, and allocates its results."""
    _check_operands("sum_of_sums", sums=sums)
    if sums.ndim != 1:
        raise ValueError(
            f"sum_of_sums: sums must have shape [GROUPS], got {list(sums.shape)}"
        )
    _check_dtypes("sum_of_sums", (torch.float32,), sums=sums)
    return sums.new_empty((1,))


def _sum_of_sums(sums):
    """The sum of a short vector, in one program."""
    y = _sum_of_sums_meta(sums)
    GROUPS = sums.shape[0]

    _check_reach("sum_of_sums", sums=sums, out=y)
    BLOCK = triton.next_power_of_2(GROUPS)
    if BLOCK > _MAX_TILE:
        raise ValueError(
            f"sum_of_sums: BLOCK would be {BLOCK}; a tile holds at most "
            f"{_MAX_TILE} elements"
        )
    if BLOCK < 1 or (BLOCK & (BLOCK - 1)) != 0:
        raise ValueError(
            f"sum_of_sums: BLOCK would be {BLOCK}, and a tile's dimension "
            "is a power of two"
        )
    if not BLOCK >= GROUPS:
        raise ValueError(
            "sum_of_sums: a requirement does not hold: BLOCK >= GROUPS "
            f"with BLOCK = {BLOCK}, GROUPS = {GROUPS}"
        )

    with torch.cuda.device(sums.get_device()):
        sum_of_sums_kernel[(1,)](sums, y, GROUPS, sums.stride(0), BLOCK=BLOCK)
    return y


@torch.library.custom_op("tilescript::vector_sum", mutates_args=())
def vector_sum_op(x: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.vector_sum."""
    sums = _partial_sums(x, 1056)
    return _sum_of_sums(sums)


@vector_sum_op.register_fake
def _(x):
    sums = _partial_sums_meta(x, 1056)
    return _sum_of_sums_meta(sums)


def vector_sum(x: torch.Tensor) -> torch.Tensor:
    """The sum of all elements of a vector, in float32.

    Args:
        x: [N] float32 or float16 or bfloat16, contiguous.

    Returns:
        y: [1] float32.
    """
    _refuse_tangents("vector_sum", x)
    return vector_sum_op(x)


def reference_fn(x: torch.Tensor):
    return x.float().sum(0, keepdim=True)


SHAPES = [{"N": 100003}, {"N": 67108864}]


def get_inputs(N=100003):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((N,), device=device, dtype=torch.float32)]


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


def _check_contiguous(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(
                f"{name}: {key} must be contiguous, got strides {x.stride()}; "
                "call .contiguous() first"
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


def _is_traced(tensor: torch.Tensor) -> bool:
    """True if PyTorch is making a graph, whose tensors have no addresses."""
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter)


def _check_int(label, value, dtype, least=None):
    """Refuses a value that is no integer, or that the dtype cannot hold."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


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


def _check_operands(name, /, **tensors):
    """Refuses tensors that are not dense, or not on one device.

    It reads no memory, so that it serves traced tensors too. What else a launch would
    misread, such as lazily negated views, PyTorch resolves before it calls an operator.
    """
    first, device = "", None
    for key, x in tensors.items():
        if x is None:
            continue
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if x.is_cpu and not (_INTERPRETED or _is_traced(x)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )


def _refuse_tangents(name, *tensors):
    """Refuses tensors with tangents, which a PyTorch operator drops."""
    for x in tensors:
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError(f"{name} has no forward-mode gradient")


kernel_fn = vector_sum
