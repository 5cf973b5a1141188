"""Compiling one case for a GPU that need not be there.

The wrapper itself is called, with empty tensors: what Triton then specialises on is what a launch with these sizes
would specialise on, and constexprs are those that the wrapper and the heuristics compute.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
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
    (jit,) = request["jits"]
    compiling = _Compiling(getattr(module, jit))
    setattr(module, jit, compiling)
    started = time.perf_counter()
    try:
        with compiler_output(os.path.dirname(request["module"])):
            call(module.kernel_fn, arguments)
    finally:
        setattr(module, jit, compiling.kernel)
    if not compiling.compiled:
        raise RequestError("python-error", "the wrapper launches nothing for these sizes")
    return resources(compiling.compiled[-1]) | {"seconds": round(time.perf_counter() - started, 3)}


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


@dataclass
class _Compiling:
    """Stands for a jit function: a launch compiles, and does not run."""

    kernel: Any
    compiled: list[Any] = field(default_factory=list)

    def __getitem__(self, grid: Any) -> Any:
        def launch(*arguments: Any, **options: Any) -> None:
            self.compiled.append(self.kernel.run(*arguments, grid=grid, warmup=True, **options))

        return launch
