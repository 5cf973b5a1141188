"""Compiles the launches of a case for a GPU. No GPU is needed.

Triton's cache on disk is the same for all processes, so one process can compile what another will launch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from .failures import compiler_output
from .launching import call_on_zeros, set_target
from .machine_code import machine_code
from .modules import autotuner, load
from .protocol import RequestError
from .resources import resources
from .specialized import kernels_of


def compile_case(request: dict[str, Any]) -> dict[str, Any]:
    """Serves a ``compile`` request: compiles what a case launches for a target, and reads the binaries."""
    start = time.perf_counter()
    compiled = _compile_kernels(request)
    if not compiled:
        raise RequestError("python-error", "the wrapper launches nothing for these sizes")
    seconds = round(time.perf_counter() - start, 3)
    reports = [report for kernel in compiled if (report := machine_code(kernel))]
    return resources(compiled[-1]) | {
        "seconds": seconds,
        "machineCode": reports,
        "specialized": _specialized(request, compiled[-1]),
    }


def _specialized(request: dict[str, Any], kernel: Any) -> dict[str, Any] | None:
    """The config of the warp-specialized kernel, if that was compiled."""
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    tuner = autotuner(getattr(module, kernel.name)) if kernel.name in kernels_of(module) else None
    if tuner is None:
        return None
    config = tuner.best_config
    return {"values": config.kwargs, **({"maxnreg": config.maxnreg} if config.maxnreg else {})}


def compile_ahead(request: dict[str, Any]) -> dict[str, Any]:
    """Serves an ``ahead`` request: compiles every kernel of a case for a target, into Triton's cache."""
    return {"keys": [kernel.hash for kernel in _compile_kernels(request)]}


def _compile_kernels(request: dict[str, Any]) -> list[Any]:
    set_target(request["target"])
    compiled = []

    def compile_it(_: Any, launch: Callable[..., Any], arguments: Any, options: Any) -> Any:
        if request["target"][0] == "hip":
            # The module also omits it if PyTorch is built for AMD.
            options.pop("maxnreg", None)
        compiled.append(launch(*arguments, warmup=True, **options))
        return compiled[-1]

    with compiler_output(os.path.dirname(request["module"])):
        call_on_zeros(request, compile_it)
    return compiled
