"""Timing one case on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .calling import Arguments, call, given
from .device import Device
from .inputs import values_of
from .modules import load
from .protocol import RequestError


def bench(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``bench`` request: medians in milliseconds, warm, autotuned unless a config is named."""
    if device.interpreted:
        raise RequestError("no-device", "a benchmark needs a GPU; times on the interpreter mean nothing")
    import torch

    module = load(request["module"], request["jits"], request["config"])
    arguments: Arguments = {name: value.to(device.torch) for name, value in values_of(request, module).items()} | given(
        request
    )
    result = {
        "kernelMs": _median(lambda: call(module.kernel_fn, arguments), request),
        "referenceMs": _median(lambda: call(module.reference_fn, arguments), request),
        "warmupMs": request["warmupMs"],
        "repeatMs": request["repeatMs"],
    }
    if request["compile"]:
        compiled = torch.compile(module.reference_fn)
        result["compiledMs"] = _median(lambda: call(compiled, arguments), request)
    return result


def _median(function: Callable[[], Any], request: dict[str, Any]) -> float:
    from triton.testing import do_bench

    function()
    return do_bench(function, warmup=request["warmupMs"], rep=request["repeatMs"], return_mode="median")
