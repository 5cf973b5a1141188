"""x + y, element by element, in a launch that overlaps with the one before it.

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


@triton.jit
def dependent_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # Other GPUs start a kernel when the one before it has ended: there is nothing to
    # wait for.
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.extra.cuda.gdc_wait()
    mask = offsets < N
    first = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    second = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    # The next kernel may start, too: it waits in turn until this one has written.
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.extra.cuda.gdc_launch_dependents()
    tl.store(z_ptr + offsets, first + second, mask=mask)


def dependent_add(
    x: torch.Tensor, y: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """x + y, element by element, in a launch that overlaps with the one before it.

    Args:
        x, y: [N] float32, contiguous.
        out: where to write [N] float32; allocated if None.
    """
    _check_tensors("dependent_add", {"x": x, "y": y}, out=out)
    _check_written("dependent_add: out", out, x=x, y=y)
    if x.ndim != 1 or y.shape != x.shape:
        raise ValueError(
            "dependent_add: x and y must have shape [N], got "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    N = x.shape[0]
    z = torch.empty_like(x) if out is None else out
    if z.shape != (N,):
        raise ValueError(
            f"dependent_add: out must have shape [N={N}], got {list(z.shape)}"
        )
    _check_dtypes("dependent_add", (torch.float32,), x=x, y=y, out=z)
    _check_contiguous("dependent_add", x=x, y=y, out=z)
    if N == 0:
        return z

    _check_reach("dependent_add", x=x)
    _check_gpu(
        x.device,
        80,
        [],
        "dependent_add is for sm_80 and later: Triton has dependent "
        "launches for NVIDIA's GPUs only",
    )

    with torch.cuda.device(x.get_device()):
        dependent_add_kernel[(triton.cdiv(N, 1024),)](
            x, y, z, N, BLOCK=1024, launch_pdl=True
        )
    return z


def reference_fn(x: torch.Tensor, y: torch.Tensor):
    return x.add(y)


SHAPES = [{"N": 100000}, {"N": 67108864}]


def get_inputs(N=100000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((N,), device=device, dtype=torch.float32),
        torch.randn((N,), device=device, dtype=torch.float32),
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


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        if x is not None and max(start, x.data_ptr()) < min(
            end, x.data_ptr() + x.nbytes
        ):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


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


kernel_fn = dependent_add
