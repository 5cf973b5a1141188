"""The choice between the plain and the warp-specialized kernel of a module."""

import functools
import threading
import time
import warnings

import torch
import triton
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as _GluonDescriptor

from .checks import _INTERPRETED

# One thread at a time launches the warp-specialized kernel: its autotuner keeps the
# arguments of the call.
_TUNING_LOCK = threading.RLock()
# True if the warp-specialized kernel is the faster one, by what the times depend on.
_FASTER = {}


def _is_specialized(*tensors):
    """True if the warp-specialized kernel supports the GPU and the tensors' layouts."""
    if _INTERPRETED or torch.compiler.is_compiling() or torch.version.hip:
        return False
    if torch.cuda.get_device_capability() != (9, 0):
        return False
    return all(map(_is_movable, tensors))


def _is_movable(tensor):
    """True if the GPU's copy engine can move blocks of the tensor."""
    steps = [step * tensor.element_size() for step in tensor.stride()[:-1]]
    return (
        tensor.stride(-1) == 1
        and all(step % 16 == 0 and 0 < step < 2**40 for step in steps)
        and tensor.data_ptr() % 16 == 0
        # Stores may write up to the next multiple of 16 bytes behind a row.
        and tensor.shape[-1] * tensor.element_size() % 16 == 0
        and tensor.numel() > 0
    )


def _described(tensor):
    """A descriptor of the tensor, whose block the config sets."""
    size = tensor.element_size()
    block = [1] * (tensor.ndim - 1) + [16 // size]
    return _GluonDescriptor.from_tensor(tensor, block, _layout_of(size, *block))


def _set_block(desc, block):
    """Sets a descriptor's block to that of the config that is to run."""
    desc.block_shape = block
    desc.layout = _layout_of(desc.base.element_size(), *block)


@functools.cache
def _layout_of(size, *block):
    """The layout of a block in shared memory, for elements of `size` bytes."""
    dtype = getattr(gl, f"int{8 * size}")
    return gl.NVMMASharedLayout.get_default_for(list(block), dtype)


def _is_faster(label, key, specialized, plain):
    """True if the warp-specialized kernel is the faster one; each key is timed once.

    A kernel that fails is not the faster one: a warning says so.
    """
    key = (label, *key)
    if key in _FASTER:
        return _FASTER[key]
    # A stream that is captured must not be synchronized.
    if torch.cuda.is_current_stream_capturing():
        return False
    with _TUNING_LOCK:
        if key not in _FASTER:
            try:
                # The clock of a GPU changes with time, so the kernels take turns.
                rounds = [
                    (_milliseconds(specialized), _milliseconds(plain)) for _ in range(3)
                ]
                ours, theirs = (sorted(times)[1] for times in zip(*rounds))
            except Exception as error:  # noqa: BLE001
                text = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"{label}: the plain kernel is launched, as timing it beside the "
                    f"warp-specialized one failed with {text}",
                    RuntimeWarning,
                    stacklevel=3,
                )
                ours, theirs = 1.0, 0.0
            _FASTER[key] = ours <= theirs
    return _FASTER[key]


def _milliseconds(launch):
    """The time of a launch on the GPU, or on the CPU if that is longer."""
    gpu = triton.testing.do_bench(launch, warmup=10, rep=30, return_mode="median")
    return max(gpu, _cpu_milliseconds(launch))


def _cpu_milliseconds(launch):
    """The time until a launch returns, which does not wait for the GPU."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        launch()
    return (time.perf_counter() - start) * 100
