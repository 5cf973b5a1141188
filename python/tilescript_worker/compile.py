"""Compiling one case for a GPU that need not be there.

The wrapper itself is called, with empty tensors: what Triton then specialises on is what a launch with these sizes
would specialise on, and constexprs are those that the wrapper and the heuristics compute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from .calling import Arguments, call, given
from .failures import compiler_output
from .inputs import dtype_of, strides_of
from .modules import load
from .protocol import RequestError
from .resources import resources


def compile_case(request: dict[str, Any]) -> dict[str, Any]:
    """Serves a ``compile`` request."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    driver.set_active(_TargetDriver(GPUTarget(*request["target"])))
    module = load(request["module"], request["jits"], request["config"])
    # Nothing is launched, so the tensors may be anywhere.
    module._INTERPRETED = True
    arguments: Arguments = {
        spec["python"]: torch.empty_strided(
            spec["shape"], strides_of(spec["shape"], spec["layout"]), dtype=dtype_of(spec["dtype"])
        )
        for spec in request["inputs"]
    } | given(request)
    started = time.perf_counter()
    (jit,) = request["jits"]
    with _compiling(getattr(module, jit)) as compiled, compiler_output(os.path.dirname(request["module"])):
        call(module.kernel_fn, arguments)
    if not compiled:
        raise RequestError("python-error", "the wrapper launches nothing for these sizes")
    return resources(compiled[-1]) | {"seconds": round(time.perf_counter() - started, 3)}


@contextmanager
def _compiling(kernel: Any) -> Iterator[list[Any]]:
    """Inside a ``with``, a launch of the kernel compiles and does not run; gives what was compiled."""
    jit = kernel
    # Below the autotuner and the heuristics.
    while hasattr(jit.fn, "run"):
        jit = jit.fn
    launch, compiled = jit.run, []

    def run(*arguments: Any, warmup: bool, **options: Any) -> Any:
        compiled.append(launch(*arguments, warmup=True, **options))
        return compiled[-1]

    jit.run = run
    try:
        yield compiled
    finally:
        del jit.run


@dataclass(frozen=True)
class _TargetDriver:
    """Says which GPU to compile for; that is all that Triton's compiler asks of a driver."""

    target: Any

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> str:
        """What Triton keeps compiled kernels by."""
        return f"{self.target.backend}:{self.target.arch}"

    def get_current_stream(self, device: str) -> int:
        return 0
