"""x + y, element by element, in a launch that overlaps with the one before it.

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
    if x.ndim != 1 or y.shape != x.shape:
        raise ValueError(
            f"dependent_add: x and y must have shape [N], got {x.shape} and {y.shape}"
        )
    N = x.shape[0]
    z = torch.empty_like(x) if out is None else out
    if z.shape != (N,):
        raise ValueError(f"dependent_add: out must have shape [N={N}], got {z.shape}")
    _check_dtypes("dependent_add", (torch.float32,), x=x, y=y)
    _check_dtypes("dependent_add", (torch.float32,), out=z)
    _check_contiguous("dependent_add", x=x, y=y, out=z)
    _check_tensors("dependent_add", x=x, y=y, out=z)
    _check_written("dependent_add: out", out, x=x, y=y)
    if N == 0:
        return z

    _check_gpu(
        x.device,
        80,
        [],
        "dependent_add is for sm_80 and later: Triton has dependent launches "
        "for NVIDIA's GPUs only",
    )

    with torch.cuda.device(x.get_device()):
        dependent_add_kernel[(triton.cdiv(N, 1024),)](
            x, y, z, N, BLOCK=1024, launch_pdl=True
        )
    return z


def reference_fn(x, y):
    return x.add(y)


SHAPES = [{"N": 100000}, {"N": 67108864}]


def get_inputs(N=100000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((N,), device=device, dtype=torch.float32),
        torch.randn((N,), device=device, dtype=torch.float32),
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


def _check_contiguous(name, /, **tensors):
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(f"{name}: {key} must be contiguous; call .contiguous()")


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        first, last = (0, 0) if x is None else (x.data_ptr(), x.data_ptr() + x.nbytes)
        if max(start, first) < min(end, last):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
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
