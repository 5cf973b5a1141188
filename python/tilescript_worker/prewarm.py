"""Fills Triton's cache: compiles each config and runs the autotuner, as the first call would."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from .bench import chosen_config
from .device import Device
from .inputs import values_of
from .invoke import Arguments, argument_list, call
from .modules import autotuners, load
from .protocol import RequestError


def prewarm(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``prewarm`` request."""
    if device.interpreted:
        raise RequestError("no-device", "prewarming needs the GPU that will run the kernel")
    from triton import knobs

    folder = Path(knobs.cache.dir)
    entries_before = _entries(folder)
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    arguments: Arguments = {
        name: value.to(device.torch) for name, value in values_of(request, module).items()
    } | argument_list(request)
    start = time.perf_counter()
    call(module.kernel_fn, arguments)
    device.synchronize()
    seconds = time.perf_counter() - start
    tuned = [tuner for tuner in autotuners(module) if len(tuner.configs) > 1]
    return {
        "seconds": round(seconds, 3),
        "folder": str(folder),
        "added": len(_entries(folder) - entries_before),
        "config": chosen_config(module, request["jits"], arguments),
        "keepsChoice": all(tuner.cache_results for tuner in tuned),
    }


def _entries(folder: Path) -> set[str]:
    """The entries of the cache: one folder per compiled kernel or autotuning result."""
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
