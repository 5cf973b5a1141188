"""The requests that the worker serves."""

from __future__ import annotations

from .bench import bench
from .cache_keys import launches
from .compile import compile_ahead, compile_case
from .device import choose, describe
from .prewarm import prewarm
from .protocol import Handler
from .run import run
from .verify import verify


def handlers(device_name: str, gpu: int | None = None) -> dict[str, Handler]:
    """One handler for each type of request, on the requested device, of whose GPUs it may name one."""
    device = choose(device_name, gpu)
    if device.kind == "compiler":
        # It imports Triton, which decides then whether it interprets: the device must have been chosen before.
        from .importing import match, read_kernels

        return {
            "hello": lambda request: describe(device),
            "compile": compile_case,
            "ahead": compile_ahead,
            "launches": launches,
            "import": read_kernels,
            "match": match,
        }
    return {
        "hello": lambda request: describe(device),
        "verify": lambda request: verify(request, device),
        "call": lambda request: run(request, device),
        "bench": lambda request: bench(request, device),
        "prewarm": lambda request: prewarm(request, device),
        "launches": launches,
    }
