"""Calls a wrapper without running its kernels: a function gets the arguments of each launch.

The wrapper itself is called, with tensors of zeros on the CPU: what Triton then specializes on is what a launch with
these sizes would specialize on, and constexprs are those that the wrapper and the heuristics compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from . import gradients
from .invoke import Arguments, are_placed, call, given, out_arguments
from .inputs import blank
from .modules import load
from .specialized import kernel_of, specialized


def call_on_zeros(request: dict[str, Any], launch: Callable[..., Any]) -> None:
    """Calls the wrapper, and its gradient if the request has one; ``launch`` gets the arguments of each kernel."""
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    tensors = {spec["python"]: blank(spec) for spec in request["inputs"]}
    with ExitStack() as stack:
        stack.enter_context(anywhere(module))
        form = request.get("specialized")
        if form is not None:
            stack.enter_context(specialized(module, form, compiles=True))
        others = [] if form is None else [kernel_of(module)]
        for jit in [*request["jits"], *filter(None, others)]:
            stack.enter_context(intercepted(getattr(module, jit), launch))
        names = [name for name in request.get("gradients", []) if name in tensors]
        if names:
            outputs, leaves = gradients.differentiable(module.kernel_fn, tensors, names, request)
            zeros = [torch.zeros_like(output) for output in outputs]
            # Both layouts that `verify` tries: Triton compiles another kernel for other strides.
            gradients.gradients(outputs, leaves, zeros, keep=True)
            gradients.gradients(outputs, leaves, [gradients.apart(zero) for zero in zeros])
        else:
            arguments: Arguments = tensors | given(request)
            if are_placed(request["outputs"]):
                outputs = {spec["python"]: blank(spec) for spec in request["outputs"]}
                arguments |= out_arguments(module.kernel_fn, outputs) or {}
            call(module.kernel_fn, arguments)


@contextmanager
def anywhere(module: ModuleType) -> Iterator[None]:
    """Inside a ``with``, the wrapper takes tensors of the CPU: nothing is launched."""
    before = vars(module).get("_INTERPRETED")
    module._INTERPRETED = True
    try:
        yield
    finally:
        module._INTERPRETED = before


@contextmanager
def intercepted(kernel: Any, instead: Callable[..., Any]) -> Iterator[None]:
    """Inside a ``with``, a launch of the kernel is a call of ``instead``."""
    jit = kernel
    # Below the autotuner and the heuristics.
    while hasattr(jit.fn, "run"):
        jit = jit.fn
    launch = jit.run

    def run(*arguments: Any, warmup: bool, **options: Any) -> Any:
        return instead(jit, launch, arguments, options)

    jit.run = run
    try:
        yield
    finally:
        del jit.run


def aim(target: list[Any]) -> None:
    """Lets Triton compile for a GPU, without having one."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    driver.set_active(_TargetDriver(GPUTarget(*target)))


@dataclass(frozen=True)
class _TargetDriver:
    """Tells Triton which GPU to compile for, which is all that its compiler needs from a driver."""

    target: Any

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> str:
        """The key of Triton's compiled kernels."""
        return f"{self.target.backend}:{self.target.arch}"

    def get_current_stream(self, device: str) -> int:
        return 0
