"""Filling Triton's cache: each config compiled and the autotuner's choice made, as the first call would."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from .bench import chosen_config
from .invoke import Arguments, call, given
from .device import Device
from .inputs import values_of
from .modules import autotuners, load
from .protocol import RequestError


def prewarm(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``prewarm`` request."""
    if device.interpreted:
        raise RequestError("no-device", "prewarming needs the GPU that will run the kernel")
    from triton import knobs

    folder = Path(knobs.cache.dir)
    before = _entries(folder)
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    arguments: Arguments = {name: value.to(device.torch) for name, value in values_of(request, module).items()} | given(
        request
    )
    started = time.perf_counter()
    call(module.kernel_fn, arguments)
    device.synchronize()
    seconds = time.perf_counter() - started
    tuned = [tuner for tuner in autotuners(module) if len(tuner.configs) > 1]
    return {
        "seconds": round(seconds, 3),
        "folder": str(folder),
        "added": len(_entries(folder) - before),
        "config": chosen_config(module, request["jits"], arguments),
        "keepsChoice": all(tuner.cache_results for tuner in tuned),
    }


def _entries(folder: Path) -> set[str]:
    """A compiled kernel, or the timings of its configs, is a folder of the cache."""
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
