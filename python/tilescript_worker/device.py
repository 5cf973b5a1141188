"""The device that runs kernels. It must be chosen before Triton is imported."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import cache_misses
from .protocol import RequestError


@dataclass(frozen=True)
class Device:
    """``kind`` is the device that the user selected, ``torch`` the device of tensors."""

    kind: str
    torch: str
    # Number of GPUs visible to torch before one was selected.
    gpu_count: int = 0

    @property
    def interpreted(self) -> bool:
        """True if kernels run on Triton's interpreter."""
        return self.kind == "interpreter"

    def synchronize(self) -> None:
        """Waits for the device, so that an error belongs to the request that caused it."""
        if self.torch == "cuda":
            import torch

            torch.cuda.synchronize()


def choose(requested: str, gpu_index: int | None = None) -> Device:
    """Selects the requested device, or a GPU if there is one, or else the patched interpreter.

    ``gpu_index`` hides all other GPUs from this process. The compiler needs no device: each request names its target.
    """
    import torch

    gpu = "hip" if getattr(torch.version, "hip", None) else "cuda"
    count = torch.cuda.device_count()
    if gpu_index is not None:
        _see_only(gpu_index, requested, count)
    if requested == "auto":
        requested = gpu if torch.cuda.is_available() else "interpreter"
    if requested == "interpreter":
        _patch_interpreter()
        return Device("interpreter", "cpu")
    os.environ.pop("TRITON_INTERPRET", None)
    if requested == "compiler":
        return Device("compiler", "cpu")
    if requested != gpu or not torch.cuda.is_available():
        raise RequestError("no-device", f"torch {torch.__version__} sees no {requested} device; use --device auto")
    cache_misses.install()
    return Device(requested, "cuda", count)


@cache
def _patch_interpreter() -> None:
    # Triton reads this when it decorates its own library, so it must be set before the first import.
    os.environ["TRITON_INTERPRET"] = "1"
    from . import (
        patch_argmax_nan,
        patch_assertions,
        patch_bf16,
        patch_conditions,
        patch_loop_indices,
        patch_scalars,
        patch_unsupported,
    )

    patch_bf16.install()
    patch_conditions.install()
    patch_argmax_nan.install()
    patch_scalars.install()
    patch_loop_indices.install()
    patch_unsupported.install()
    patch_assertions.install()


def _see_only(index: int, kind: str, count: int) -> None:
    """Hides the other GPUs from this process."""
    import torch

    if index >= count:
        available = "one, cuda:0" if count == 1 else f"{count}, {kind}:0 to {kind}:{count - 1}"
        raise RequestError("no-device", f"there is no {kind}:{index}; torch sees {available}")
    name = "CUDA_VISIBLE_DEVICES" if kind == "cuda" else "HIP_VISIBLE_DEVICES"
    visible = [each.strip() for each in os.environ.get(name, "").split(",") if each.strip()]
    os.environ[name] = visible[index] if visible else str(index)
    # The driver reads the variable once. Without NVML, torch has already initialized it and sees all GPUs.
    if torch._C._cuda_getDeviceCount() != 1:
        raise RequestError("no-device", f"{kind}:{index} can't be chosen here; set {name}={index} instead")


_ON_THE_CPU = {"interpreter": "Triton's interpreter on the CPU", "compiler": "Triton's compiler on the CPU"}


def describe(device: Device) -> dict[str, Any]:
    """The reply to ``hello``."""
    import numpy
    import torch
    import triton

    on_gpu = device.torch == "cuda"
    target = triton.runtime.driver.active.get_current_target() if on_gpu else None
    return {
        "device": device.kind,
        "deviceName": torch.cuda.get_device_name() if on_gpu else _ON_THE_CPU[device.kind],
        "capability": list(torch.cuda.get_device_capability()) if on_gpu else None,
        "target": [target.backend, target.arch, target.warp_size] if target else None,
        "memoryGbps": _memory_gbps() if device.kind == "cuda" else None,
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "gpuCount": device.gpu_count,
        "versions": {
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "triton": triton.__version__,
            "numpy": numpy.__version__,
        },
    }


def _memory_gbps() -> float | None:
    """The bandwidth from the memory's clock and bus width; None if the driver does not report them."""
    from triton.testing import get_dram_gbps

    try:
        return float(get_dram_gbps())
    except Exception:
        return None
