"""Benchmarks one case on a GPU: the kernel and its baselines."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from .compare import compare
from .device import Device
from .gpu_state import gpu_state
from .inputs import values_of
from .invoke import Arguments, argument_list, call, results
from .modules import autotuner, load
from .protocol import RequestError

EAGER = "eager"
# Request name of each `torch.compile` baseline, and the mode passed to it.
COMPILED = {"torch.compile": None, "torch.compile max-autotune": "max-autotune"}


def bench(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``bench`` request: how long each way takes, the kernel autotuned unless a config is named."""
    if device.interpreted:
        raise RequestError("no-device", "a benchmark needs a GPU; times on the interpreter mean nothing")
    from .timing import measure

    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    arguments: Arguments = {
        name: value.to(device.torch) for name, value in values_of(request, module).items()
    } | argument_list(request)

    def time(function: Callable[..., Any]) -> dict[str, float]:
        return measure(lambda: call(function, arguments), request["warmup"], request["iterations"])

    times: dict[str, Any] = {"kernel": time(module.kernel_fn)}
    # Before anything else changes the clocks.
    state = gpu_state() if request.get("state") else None
    for name in request["providers"]:
        try:
            times[name] = time(baseline(name, module, request, arguments))
        except Exception as error:
            times[name] = {"error": f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"}
    return {
        "times": times,
        "config": chosen_config(module, request["jits"], arguments),
        **({"state": state} if state else {}),
        "flops": count_flops(module, arguments) if EAGER in request["providers"] else 0,
    }


def baseline(name: str, module: ModuleType, request: dict[str, Any], arguments: Arguments) -> Callable[..., Any]:
    """The function to time: the reference, the compiled reference, or the author's provider.

    Raises:
        ValueError: the author's function gives another result than the reference.
    """
    if name == EAGER:
        return module.reference_fn
    if name in COMPILED:
        # A graph cached for other sizes would make PyTorch compile a dynamic one.
        torch._dynamo.reset()
        return torch.compile(module.reference_fn, mode=COMPILED[name], dynamic=False)
    function = getattr(module, f"provider_{name}")
    names = request["results"]
    got, expected = (results(each, arguments, names) for each in (function, module.reference_fn))
    for output in names:
        wrong = compare(output, got[output], expected[output], request["tolerances"][output])
        if wrong["wrong"]:
            raise ValueError(
                f"{wrong['wrong']} of {wrong['total']} elements of {output} are not the reference's; "
                "a wrong result is not timed"
            )
    return function


def count_flops(module: ModuleType, arguments: Arguments) -> int:
    """FLOPs of the reference that PyTorch counts: matrix products, convolutions, attention. 0 without any."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        call(module.reference_fn, arguments)
    return counter.get_total_flops()


def chosen_config(module: ModuleType, jits: list[str], arguments: Arguments) -> int | None:
    """The index of the config that a call runs; None for several kernels or the warp-specialized kernel."""
    if len(jits) > 1:
        return None
    tuner = autotuner(getattr(module, jits[0]))
    if tuner is None or len(tuner.configs) == 1:
        return 0
    # Clear the wrapper's launch cache and the autotuner's last choice, so that this call sets `best_config`.
    getattr(module, "_LAUNCHES", {}).clear()
    tuner.best_config = None
    call(module.kernel_fn, arguments)
    if tuner.best_config is None:
        return None
    best = tuner.best_config.all_kwargs()
    return next(index for index, config in enumerate(tuner.configs) if config.all_kwargs() == best)
